"""Match the questions of a new run of the real program, and report all differences. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ptycassette.model.records import ExitStatus, same_version
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import printable
from ptycassette.scrub.mask import masked_places
from ptycassette.tape.draws import Draw
from ptycassette.tape.matching.checking import published_fingerprint, tape_damage, tape_fingerprint
from ptycassette.tape.matching.matcher import Hit, Matcher
from ptycassette.tape.matching.misses import Miss, TapeExchange
from ptycassette.tape.matching.question import SECRET, Question, Rules

if TYPE_CHECKING:
    from ptycassette.scrub.session import SessionScrubber
    from ptycassette.tape.providers.openai_responses import Conversations


_MOST_ROWS = 12


class RequestMiss(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is not on the tape.

    ``nearest`` is the most similar entry, None if no entry is left; ``differences`` are the places
    of the body that differ, scrubbed.
    """

    method: str
    target: str
    nearest: int | None
    differences: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        asked = f"{self.method} {self.target}".strip() or "in a message over the WebSocket"
        near = "" if self.nearest is None else f"; the nearest is entry {self.nearest}"
        return printable(f"request {asked} is not on the tape{near}")


class ScreenChange(msgspec.Struct, frozen=True, kw_only=True):
    """A screen that differs from the recorded one: before input ``number``, or at the end (0)."""

    number: int
    expected: tuple[str, ...]
    got: tuple[str, ...]


class VersionChange(msgspec.Struct, frozen=True, kw_only=True):
    """The program has another version than the recorded one; has both version texts."""

    recorded: str
    now: str

    def __str__(self) -> str:
        return printable(f"the program is another one: recorded {self.recorded}, now {self.now}")


def version_change(recorded: str | None, now: str | None) -> VersionChange | None:
    """Both versions, if both are known and they differ."""
    if recorded is None or now is None or same_version(recorded, now):
        return None
    return VersionChange(recorded=recorded, now=now)


def version_notes(recorded: str | None, now: str | None) -> list[str]:
    """A note if the recorded version is known but the present one is not."""
    if recorded is None or now is not None:
        return []
    return [f"the program did not say its version; recorded was {printable(recorded, limit=100)}"]


class RerunReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a rerun.

    Attributes:
        argv: the command line, scrubbed.
        guard: what kept the program off the network.
        entries: how many questions the tape has.
        matched: how many of them were asked again.
        damage: changes to the tape itself since it was published.
        misses: questions that the tape does not have.
        unasked: entries of the tape that were never asked for.
        inputs: how many inputs were sent, and how many there are.
        clock: how the clock of the program was set; empty if no setting was requested.
        draws: how many draws the recording has.
        draw_changes: draws that differ from the recorded ones.
        screens: how many screens were compared.
        changes: screens that differ.
        expected_exit, exit: how the program ended, recorded and now; None if it did not end. An end
            that was not recorded, as in an import, is not compared.
        expected_text, final_text: its last answer, if its profile can find it.
        expected_fingerprint, fingerprint: of the questions and answers, in order.
        version: set if the program has another version; by itself this is not a difference.
        notes: further remarks for the reader.
    """

    argv: tuple[str, ...]
    guard: str
    entries: int
    matched: int
    damage: tuple[str, ...] = ()
    misses: tuple[RequestMiss, ...] = ()
    unasked: tuple[int, ...] = ()
    inputs: int = 0
    recorded_inputs: int = 0
    clock: str = ""
    draws: int = 0
    draw_changes: tuple[str, ...] = ()
    screens: int = 0
    changes: tuple[ScreenChange, ...] = ()
    expected_exit: ExitStatus | None = None
    exit: ExitStatus | None = None
    expected_text: str | None = None
    final_text: str | None = None
    expected_fingerprint: str = ""
    fingerprint: str = ""
    version: VersionChange | None = None
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not any(True for _ in findings_of(self))


class RerunFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One difference.

    Attributes:
        check: what was compared.
        text: the difference in one line.
        lines: the places, for people.
        sides: both texts, row by row, recorded and now, if there are two.
        entry: the entry of the tape that differs.
        input: the input before which the difference was seen. Without entry and input, it was seen
            at the end.
    """

    check: Literal[
        "tape", "requests", "screens", "draws", "inputs", "exit", "final text", "fingerprint"
    ]
    text: str
    lines: tuple[str, ...] = ()
    sides: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    entry: int | None = None
    input: int | None = None


def report_lines(report: RerunReport) -> Iterator[str]:
    """The report for people; control characters from programs are escaped."""
    yield from summary_lines(report)
    yield from finding_lines(report)
    yield "passed" if report.passed else "FAILED"


def summary_lines(report: RerunReport) -> Iterator[str]:
    """How much was compared, and the conditions of the run."""
    yield (
        f"requests: {report.matched} of {report.entries} on the tape asked for"
        f" and equal; screens: {report.screens - len(report.changes)} of {report.screens} equal;"
        f" inputs: {report.inputs} of {report.recorded_inputs} sent"
    )
    yield f"network: {report.guard}"
    if report.version is not None:
        yield f"version: {report.version}"
    if report.clock:
        yield f"clock: {printable(report.clock)}"
    if report.draws:
        yield f"draws: {report.draws} in the recording"
    yield from (f"note: {note}" for note in report.notes)


def report_json(report: RerunReport) -> dict[str, Any]:
    """The report for programs."""
    return {**msgspec.to_builtins(report), "passed": report.passed}


def finding_lines(report: RerunReport) -> Iterator[str]:
    """Every difference, in lines."""
    for finding in findings_of(report):
        yield printable(finding.text)
        yield from (f"  {printable(line)}" for line in finding.lines)


def findings_of(report: RerunReport) -> Iterator[RerunFinding]:
    """Every difference."""
    for line in report.damage:
        yield RerunFinding(check="tape", text=f"tape: {line}")
    for miss in report.misses:
        yield RerunFinding(
            check="requests",
            text=str(miss),
            lines=miss.differences or (miss.message,),
            entry=miss.nearest,
        )
    for entry in report.unasked:
        yield RerunFinding(
            check="requests",
            text=f"request: entry {entry} of the tape was never asked for",
            entry=entry,
        )
    for change in report.changes:
        where = f"before input {change.number}" if change.number else "at the end"
        yield RerunFinding(
            check="screens",
            text=f"screen: {where} it is not the recorded one",
            lines=tuple(_diff(change.expected, change.got)),
            sides=(change.expected, change.got),
            input=change.number or None,
        )
    for line in report.draw_changes:
        yield RerunFinding(check="draws", text=f"draws: {line}")
    if report.inputs < report.recorded_inputs:
        left = report.recorded_inputs - report.inputs
        yield RerunFinding(check="inputs", text=f"inputs: {left} were not sent")
    if report.expected_exit is not None and report.exit != report.expected_exit:
        was, now = _exit(report.expected_exit), _exit(report.exit)
        yield RerunFinding(check="exit", text=f"exit: expected {was}, got {now}")
    if report.final_text != report.expected_text:
        was_rows, now_rows = (
            tuple((text or "").splitlines()) for text in (report.expected_text, report.final_text)
        )
        yield RerunFinding(
            check="final text",
            text="final text: it is not the recorded one",
            lines=tuple(_diff(was_rows, now_rows)),
            sides=(was_rows, now_rows),
        )
    if not report.misses and report.fingerprint != report.expected_fingerprint:
        yield RerunFinding(
            check="fingerprint",
            text="fingerprint: what was asked and served is not what was recorded, or not in its "
            "order",
        )


def _diff(expected: Sequence[str], got: Sequence[str]) -> list[str]:
    lines = list(unified_diff(list(expected), list(got), "recorded", "now", lineterm="", n=1))[2:]
    return [*lines[:_MOST_ROWS], *(["..."] if len(lines) > _MOST_ROWS else [])]


def _exit(status: ExitStatus | None) -> str:
    if status is None:
        return "no end"
    return f"signal {status.signal}" if status.signaled else f"status {status.code}"


# Answer the questions of a new run from a tape, and keep those that do not match. Pure.


_MOST_MISSES = 100
_SHORTEST_NAME = 8
_SHOWN = 10
_OF_OPENAI = ("/responses", "/chat/completions")


class TapeDesk:
    """The matcher of one run. Used from one thread.

    Args:
        exchanges: the tape.
        rules: what may vary.
        key: the key of the cassette.
        declared: the values of this run: ``cwd``, ``home``.
        scrubber: makes a fresh scrubber, which masks a question as the recorder would. If the tape
            has no secrets, no question with a secret can match, so the scrubber is used only for
            the text of a miss.
        facts: the manifest's entry for the tape, including its fingerprint.
        draws: the draws of the recording.
        stripped: keys of inputs that were removed from the recorded questions.
        strict: the questions of one conversation must come in their recorded order.
        compare_secrets: masked values must be the recorded ones, if the tape has their digests.

    Attributes:
        asked: how many questions came.
        damage: changes to the tape itself since it was published.
        misses: questions that the tape does not have, at most a hundred.
    """

    def __init__(  # noqa: PLR0913 - one for each thing that the tape and the run say
        self,
        exchanges: Sequence[TapeExchange],
        rules: Rules,
        *,
        key: bytes,
        declared: Mapping[str, str],
        scrubber: Callable[[], SessionScrubber],
        facts: Mapping[str, Any] | None = None,
        draws: Sequence[Draw] = (),
        stripped: Sequence[str] = (),
        strict: bool = False,
        compare_secrets: bool = True,
    ) -> None:
        self._entries = [exchange.entry for exchange in exchanges]
        self._exchanges = {exchange.entry.entry: exchange for exchange in exchanges}
        self._holds_secrets = any(
            token.type == SECRET for entry in self._entries for token in entry.tokens
        )
        version = published_fingerprint(facts or {}, rules)[1]
        self._matcher = Matcher(
            exchanges,
            rules,
            key=key,
            declared=declared,
            strict=strict,
            compare_secrets=compare_secrets,
            fingerprint_version=version,
        )
        self._scrubber, self._stripped, self._compared = scrubber, stripped, compare_secrets
        self._imported = "compared_headers" in (facts or {})
        self._rebuilt = _RebuiltQuestions(exchanges, (facts or {}).get("rebuilt"))
        self.expected_fingerprint = tape_fingerprint(
            exchanges, rules, key=key, draws=draws, version=version
        )
        self.damage = (
            tape_damage(
                exchanges,
                rules,
                key=key,
                facts=facts or {},
                fingerprint="" if draws else self.expected_fingerprint,
            )
            or []
        )
        self.asked = 0
        self.misses: list[RequestMiss] = []

    def ask(self, question: Question) -> Hit | Miss:
        """The recorded answer. Each entry answers once."""
        self.asked += 1
        answer = self._answer(question)
        if isinstance(answer, Miss) and self._stripped:
            # It loads email.policy, and few tapes are recorded without some keys.
            from ptycassette.tape.consent.terms import body_without  # noqa: PLC0415

            body = body_without(question.body, self._stripped)
            if body != question.body:
                answer = self._answer(msgspec.structs.replace(question, body=body))
        if isinstance(answer, Miss) and len(self.misses) < _MOST_MISSES:
            self.misses.append(
                RequestMiss(
                    method=question.method,
                    target=self.shown_target(question),
                    nearest=answer.nearest,
                    differences=tuple(
                        f"{one.path}: recorded {one.recorded}, now {one.live}"
                        for one in answer.differences
                    ),
                    message=answer.reason,
                )
            )
        return answer

    def shown_target(self, question: Question) -> str:
        """The target of a question as the tape would store it, for people."""
        return self._as_stored(question).target

    def _answer(self, question: Question) -> Hit | Miss:
        answer = self._match(question)
        if isinstance(answer, Hit):
            return self._rebuilt.answer(answer, question) if self._imported else answer
        if not self._rebuilt:
            return answer
        unused = [one.entry for one in self._matcher.unused()]
        misses: list[Miss] = []
        for rebuilt in self._rebuilt.like(question, unused):
            found = self._match(rebuilt)
            if isinstance(found, Hit):
                return self._rebuilt.answer(found, question)
            misses.append(found)
        return min(misses, key=lambda miss: len(miss.differences) or _SHOWN, default=answer)

    def _match(self, question: Question) -> Hit | Miss:
        if not self._holds_secrets:
            upstream = question.upstream or self.upstream(question.target)
            answer = self._matcher.ask(msgspec.structs.replace(question, upstream=upstream))
            if isinstance(answer, Hit):
                return answer
        stored = self._as_stored(question)
        answer = self._matcher.ask(stored)
        if isinstance(answer, Hit):
            return answer
        others = [msgspec.structs.replace(stored, head_secrets=())] if stored.head_secrets else []
        bare = msgspec.structs.replace(question, upstream=stored.upstream)
        for other in (*others, *self._matcher.masked_as_recorded(bare)):
            found = self._matcher.ask(other)
            if isinstance(found, Hit):
                return found
        return answer

    def _as_stored(self, question: Question) -> Question:
        """A question as a tape stores it."""
        head = {"target": question.target, "headers": question.headers}
        masked, secrets = self._scrubber().head(head)
        [stored] = self._scrubber().traffic([question.body])
        target = masked["target"]
        return msgspec.structs.replace(
            question,
            upstream=question.upstream or self.upstream(target),
            target=target,
            headers=tuple((name, value) for name, value in masked["headers"]),
            head_secrets=secrets,
            stored=stored,
            secrets=masked_places(question.body, stored),
        )

    def messages_within(self, handshake: TapeEntry) -> int:
        """How many messages were sent over a recorded WebSocket."""
        return sum(entry.within == handshake.entry for entry in self._entries)

    def unasked(self) -> list[int]:
        """Entries that were never asked for."""
        return [entry.entry for entry in self._matcher.unused()]

    def names(self) -> list[tuple[str, str]]:
        """Pairs of a value of this run and the recorded value that it replaces.

        The longest come first. Short ones are left out, because they occur in any text.
        """
        pairs = {
            (one.live, one.recorded)
            for one in self._matcher.renamings()
            if one.recorded != one.live and len(one.live) >= _SHORTEST_NAME
        }
        return sorted(pairs, key=lambda pair: (-len(pair[0]), pair))

    def notes(self) -> list[str]:
        """What could not be compared."""
        numbers = self._matcher.uncompared()
        if not numbers:
            return []
        shown = ", ".join(map(str, numbers[:_SHOWN])) + (", ..." if len(numbers) > _SHOWN else "")
        of = "entry" if len(numbers) == 1 else "entries"
        return [
            f"masked values in {of} {shown} could not be compared with the recorded ones: the tape"
            " keeps no digest of what is short or could be guessed"
            if self._compared
            else f"masked values in {of} {shown} were not compared, as PTYCASSETTE_SECRETS=any asks"
        ]

    @property
    def entries(self) -> int:
        """How many questions the tape has."""
        return len(self._entries)

    def fingerprint(self, draws: Sequence[Draw] = ()) -> str:
        """The fingerprint of the questions, answers and draws, in order."""
        return self._matcher.fingerprint(draws)

    def upstream(self, target: str) -> str:
        """The recorded provider for this path, which the server replaces."""
        path = target.partition("?")[0]
        for entry in self._entries:
            if entry.target.partition("?")[0] == path:
                return entry.upstream
        return self._entries[0].upstream if self._entries else ""


class _RebuiltQuestions:
    """The questions of a tape that were rebuilt from a trace without the actual requests.

    A new question is reduced to the same form and parts before it is matched. The answer is in the
    form of the API that the question used.

    Args:
        exchanges: the tape.
        rebuilt: the rebuilt entries, from the manifest.
    """

    def __init__(self, exchanges: Sequence[TapeExchange], rebuilt: object) -> None:
        listed = rebuilt if isinstance(rebuilt, list) else ()
        entries = {one for one in listed if isinstance(one, int)}
        self._exchanges = {one.entry.entry: one for one in exchanges if one.entry.entry in entries}
        self._likes: dict[int, frozenset[str]] = {}
        self._said: Conversations | None = None

    def __bool__(self) -> bool:
        return bool(self._exchanges)

    def like(self, question: Question, entries: Sequence[int]) -> Iterator[Question]:
        """The question in the form of each of some entries, each form once."""
        from ptycassette.tape.providers.questions import (  # noqa: PLC0415 - few need it
            rebuilt_parts,
            rebuilt_question,
        )

        body = self._conversations().with_earlier(question.body)
        tried: set[Hashable] = set()
        for exchange in (self._exchanges[one] for one in entries if one in self._exchanges):
            entry = exchange.entry
            if entry.entry not in self._likes:
                self._likes[entry.entry] = rebuilt_parts(exchange.question())
            like = self._likes[entry.entry]
            if (entry.upstream, entry.target, like) in tried:
                continue
            tried.add((entry.upstream, entry.target, like))
            made = rebuilt_question(body, target=question.target, like=like)
            if made is not None:
                yield Question(
                    kind="http",
                    method=entry.method,
                    upstream=entry.upstream,
                    target=entry.target,
                    headers=entry.headers,
                    body=msgspec.json.encode(made),
                )

    def answer(self, hit: Hit, question: Question) -> Hit:
        """The recorded answer, in the form of the question's API."""
        # It loads a fake provider; answers of a proxy are served as they are.
        from ptycassette.agents.rerun.made_answers import as_asked  # noqa: PLC0415
        from ptycassette.tape.providers.sse import data_lines  # noqa: PLC0415

        served = as_asked(hit, question, _NoClock())
        body = b"".join(data for _, data in served.pieces)
        self._conversations().learn(question.body, (body, *data_lines(body)))
        return served

    def _conversations(self) -> Conversations:
        """The conversations in the Responses API; few runs need them."""
        from ptycassette.tape.providers.openai_responses import Conversations  # noqa: PLC0415

        self._said = self._said or Conversations()
        return self._said


class _NoClock:
    """A constant time for made answers."""

    @staticmethod
    def now_us() -> int:
        return 0

    @staticmethod
    def wall() -> datetime:
        return datetime.fromtimestamp(0, UTC)


def asked_providers(entries: Sequence[TapeEntry]) -> tuple[str, str]:
    """The providers to which a program that uses the real providers should be pointed.

    Returns:
        The provider that was asked most often, and the base URL of OpenAI's APIs, which is empty
        if they were not asked.
    """
    for entry in entries:
        path = entry.target.partition("?")[0]
        for tail in _OF_OPENAI:
            if path.endswith(tail):
                return entry.upstream, entry.upstream + path.removesuffix(tail)
    asked = Counter(entry.upstream for entry in entries if entry.upstream)
    return next((url for url, _ in asked.most_common(1)), ""), ""
