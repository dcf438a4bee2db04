"""What a new run of the real program showed, held against its recording. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote

import msgspec

from ptycassette.agents.harness.fake.engine import FakeProvider
from ptycassette.agents.harness.fake.script import (
    HttpRequest,
    Part,
    PlannedAnswer,
    Reply,
    Script,
    TokenCounts,
)
from ptycassette.model.ports import Clock
from ptycassette.model.records import ExitStatus, decoded_json, objects_in, same_version
from ptycassette.model.tape import Chunk, TapeAnswer, TapeEntry
from ptycassette.model.visible_text import printable
from ptycassette.scrub.masked_places import masked_places
from ptycassette.tape.consent.terms import body_without
from ptycassette.tape.draws import Draw
from ptycassette.tape.matching.checking import published_fingerprint, tape_damage, tape_fingerprint
from ptycassette.tape.matching.matcher import Hit, Matcher
from ptycassette.tape.matching.misses import Miss, TapeExchange
from ptycassette.tape.matching.question import SECRET, Question, Rules
from ptycassette.tape.providers import anthropic, gemini, openai_chat, openai_responses, sse
from ptycassette.tape.providers.answers import answer_of, api_of, usage_of
from ptycassette.tape.providers.neutral import Call, Stop
from ptycassette.tape.providers.openai_responses import PREVIOUS

if TYPE_CHECKING:
    from ptycassette.scrub.session import SessionScrubber


_MOST_ROWS = 12


class RequestMiss(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is not on the tape.

    ``nearest`` is the entry that is most like it, None when none is left; ``differences`` say at
    which places of the body, scrubbed.
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
    """A screen that is not the recorded one: before input ``number``, or at the end (0)."""

    number: int
    expected: tuple[str, ...]
    got: tuple[str, ...]


class VersionChange(msgspec.Struct, frozen=True, kw_only=True):
    """The program is another version than the recorded one: what each says that it is."""

    recorded: str
    now: str

    def __str__(self) -> str:
        return printable(f"the program is another one: recorded {self.recorded}, now {self.now}")


def version_change(recorded: str | None, now: str | None) -> VersionChange | None:
    """Both, where both are known and not the same."""
    if recorded is None or now is None or same_version(recorded, now):
        return None
    return VersionChange(recorded=recorded, now=now)


def version_notes(recorded: str | None, now: str | None) -> list[str]:
    """What is to be said where the version now is not known, and the recorded one is."""
    if recorded is None or now is not None:
        return []
    return [f"the program did not say its version; recorded was {printable(recorded, limit=100)}"]


class RerunReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a rerun.

    Attributes:
        argv: what was run, scrubbed.
        guard: what kept the program off the network.
        entries: how many questions the tape has.
        matched: how many of them were asked again.
        damage: what is wrong with the tape itself.
        misses: questions that the tape does not have.
        unasked: entries of the tape that were never asked for.
        inputs: how many inputs were sent, of how many.
        clock: how the clock of the program was set; empty if it was not asked for.
        draws: how many draws the recording has.
        draw_changes: what was drawn that was not recorded.
        screens: how many screens were compared.
        changes: screens that differ.
        expected_exit, exit: how the program ended, recorded and now; None when it did not. An end
            that was not recorded, as in an import, is not compared.
        expected_text, final_text: its last answer, where its profile knows it.
        expected_fingerprint, fingerprint: of what was received and served, in its order.
        version: set if the program is another version; no difference in itself.
        notes: what else a reader should know.
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
        sides: both texts as they are, row by row, recorded and now, where there are two.
        entry: of the tape that it is about.
        input: before which it was seen. Where there is neither, it was seen at the end.
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
    """The report for people; what comes from programs is shown without control characters."""
    yield from summary_lines(report)
    yield from finding_lines(report)
    yield "passed" if report.passed else "FAILED"


def summary_lines(report: RerunReport) -> Iterator[str]:
    """How much was compared, and how it was run."""
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


# Answers the questions of a new run from a tape, and keeps what did not match. Pure.


_MOST_MISSES = 100
_SHORTEST_NAME = 8
_SHOWN = 10
_OF_OPENAI = ("/responses", "/chat/completions")
_ANSWER_ID = re.compile(rb'"id"\s*:\s*"(resp_[^"]{1,200})"')


class TapeDesk:
    """The matcher of one run. Used from one thread.

    Args:
        exchanges: the tape.
        rules: what may vary.
        key: the key of the cassette.
        declared: the values of this run: ``cwd``, ``home``.
        scrubber: makes a fresh scrubber, which masks a question as the tape would have it. Of a
            tape without secrets no question is equal to one with a secret, so that only what is
            shown of a miss is masked.
        facts: what the manifest has of the tape, its fingerprint among it.
        draws: the draws of the recording.
        stripped: keys of inputs that questions were recorded without.
        strict: the questions of one conversation must come in their recorded order.
        compare_secrets: masked values must be the recorded ones, where the tape can tell.

    Attributes:
        asked: how many questions came.
        damage: what is wrong with the tape itself, which somebody has changed.
        misses: those that the tape does not have, at most a hundred.
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
        """The recorded answer. An entry answers once."""
        self.asked += 1
        answer = self._answer(question)
        if isinstance(answer, Miss) and self._stripped:
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
        """The target of a question as the tape would have it, for people."""
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
        """A question as a tape has it."""
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
        """Values of this run that had another name in the recording: that of now, then that one.

        The longest come first. Short ones are left out: they would be found in any text.
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
        """Of what was asked, served and drawn, in its order."""
        return self._matcher.fingerprint(draws)

    def upstream(self, target: str) -> str:
        """The provider that the server stands for: the one that was asked for this path."""
        path = target.partition("?")[0]
        for entry in self._entries:
            if entry.target.partition("?")[0] == path:
                return entry.upstream
        return self._entries[0].upstream if self._entries else ""


class _RebuiltQuestions:
    """The questions of a tape that were rebuilt from a trace, which does not hold what was sent.

    A new question is written as they are, with the parts that they have, before it is matched; its
    answer is in the form of the API by which it was asked.

    Args:
        exchanges: the tape.
        rebuilt: what the manifest has: the entries that were rebuilt.
    """

    def __init__(self, exchanges: Sequence[TapeExchange], rebuilt: object) -> None:
        listed = rebuilt if isinstance(rebuilt, list) else ()
        entries = {one for one in listed if isinstance(one, int)}
        self._exchanges = {one.entry.entry: one for one in exchanges if one.entry.entry in entries}
        self._likes: dict[int, frozenset[str]] = {}
        self._said: dict[str, list[Any]] = {}  # in the Responses API, by the id of the answer

    def __bool__(self) -> bool:
        return bool(self._exchanges)

    def like(self, question: Question, entries: Sequence[int]) -> Iterator[Question]:
        """The question in the form of each of some entries, each form once."""
        from ptycassette.tape.providers.questions import (  # noqa: PLC0415 - few need it
            rebuilt_parts,
            rebuilt_question,
        )

        body = msgspec.json.encode(whole) if (whole := self._whole(question)) else question.body
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
        """The recorded answer, in the form in which it was asked for."""
        served = as_asked(hit, question, _NoClock())
        body = b"".join(data for _, data in served.pieces)
        named, whole = _ANSWER_ID.search(body), self._whole(question)
        if named is not None and whole is not None:
            ended = (decoded_json(text) for text in (body, *sse.data_lines(body)))
            for event in objects_in(list(ended)):
                said = event.get("response", event)
                if isinstance(said, dict) and said.get("output"):
                    self._said[named[1].decode()] = [*whole["input"], *said["output"]]
        return served

    def _whole(self, question: Question) -> dict[str, Any] | None:
        """A question of the Responses API with all that was said before it; None for others."""
        asked = decoded_json(question.body)
        if not isinstance(asked, dict) or "input" not in asked:
            return None
        said = asked["input"]
        now = [{"role": "user", "content": said}] if isinstance(said, str) else said
        before = self._said.get(str(asked.get(PREVIOUS)), [])
        return {**asked, "input": [*before, *objects_in(now)]}


class _NoClock:
    """The time in made answers, which is the same in every run."""

    @staticmethod
    def now_us() -> int:
        return 0

    @staticmethod
    def wall() -> datetime:
        return datetime.fromtimestamp(0, UTC)


def asked_providers(entries: Sequence[TapeEntry]) -> tuple[str, str]:
    """Where a program that asks the real providers is to be pointed at.

    Returns:
        The provider that was asked most often, and the base URL of OpenAI's APIs, which is empty
        where none was asked.
    """
    for entry in entries:
        path = entry.target.partition("?")[0]
        for tail in _OF_OPENAI:
            if path.endswith(tail):
                return entry.upstream, entry.upstream + path.removesuffix(tail)
    asked = Counter(entry.upstream for entry in entries if entry.upstream)
    return next((url for url, _ in asked.most_common(1)), ""), ""


# Answers of the fake provider's own writers, in the form in which a tape answers. Pure.


class PacedHit(Hit, frozen=True, kw_only=True):
    """An answer, and how long to wait before each of its pieces."""

    delays_s: tuple[float, ...] = ()


class MadeAnswers:
    """Answers questions by a script.

    Args:
        script: what to answer.
        clock: for the times in answers.
        first_number: of the ids in its answers: others than those of the tape.
    """

    def __init__(self, script: Script, clock: Clock, *, first_number: int = 1) -> None:
        self._provider = FakeProvider(script, clock, first_number=first_number)
        self._opened: dict[Hashable, HttpRequest] = {}
        self._served = b""

    @property
    def problems(self) -> tuple[str, ...]:
        """Questions that the script has no answer for, one line each."""
        return tuple(self._provider.problems)

    def learn(self, handshake: Question) -> None:
        """Note the WebSocket whose messages may be asked here."""
        self._opened[handshake.within] = _request(handshake)

    def ask(self, question: Question) -> Hit:
        """The answer to any question, an error in the form of its API where there is none."""
        if question.kind == "message":
            opening = self._opened.get(question.within, HttpRequest(method="GET", path="/"))
            text = self._known(question.body).decode("utf-8", "replace")
            planned = self._provider.message(text, opening)
        elif question.kind == "websocket":
            self.learn(question)
            planned = self._provider.connect(_request(question))
        else:
            request = msgspec.structs.replace(_request(question), body=self._known(question.body))
            planned = self._provider.http(request)
        self._served += b"".join(step.data for step in planned.steps)
        return hit_of(planned, question)

    def _known(self, body: bytes) -> bytes:
        """A body that does not continue an answer of others: what they said is not known here.

        The calls whose results it tells are put in front of them.
        """
        if PREVIOUS.encode() not in body:
            return body
        document = decoded_json(body)
        previous = document.get(PREVIOUS) if isinstance(document, dict) else None
        if not isinstance(previous, str) or previous.encode() in self._served:
            return body
        said_now = document.get("input")
        if isinstance(said_now, list):
            said_now = [one for item in said_now for one in (*openai_responses.call_of(item), item)]
        return msgspec.json.encode({**document, PREVIOUS: None, "input": said_now})


def said(text: str) -> Script:
    """A script that answers everything with a text."""
    return Script.parse(
        "version = 1\n"
        'unknown_fields = "report"\n'
        "[[replies]]\n"
        "times = 0\n"
        f"text = {msgspec.json.encode(text).decode()}\n",
        where="the changed response",
    )


_PATHS = {
    "chat": openai_chat.PATH,
    "responses": openai_responses.PATH,
    "anthropic": anthropic.PATH,
    "gemini": gemini.PATH,
}
_IDS_OF_AN_ENTRY = 1000
_STOPS: dict[str, Stop] = {
    "length": "length",
    "max_tokens": "length",
    "incomplete": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
}


def as_asked(hit: Hit, question: Question, clock: Clock) -> Hit:
    """A recorded answer in the form of the API by which it is asked for: whole, or as a stream.

    A trace may have an answer as one document, although it came as a stream. It is the recorded
    one, byte by byte, where that has the form already, and where it is an error or no answer of a
    model.
    """
    path = question.target.partition("?")[0]
    api = next((name for name, tail in _PATHS.items() if tail.search(path)), None)
    body = b"".join(data for _, data in hit.pieces)
    if api is None or hit.status != HTTPStatus.OK:
        return hit
    asked = decoded_json(question.body)
    streams = ":stream" in path or (isinstance(asked, dict) and asked.get("stream") is True)
    kind = dict(hit.headers).get("content-type", "")
    streamed = sse.CONTENT_TYPE in kind
    recorded = decoded_json(next(iter(sse.data_lines(body)), b"") if streamed else body)
    if isinstance(recorded, list) or (streams == streamed and api_of(recorded) == api):
        return hit
    answer = answer_of([body], kind)
    calls = (Call(one.id, one.name, one.arguments).values for one in answer.calls.values())
    parts = [Part(text="".join(answer.text))] if answer.text else []
    parts += [
        Part(tool=one.name, arguments=values, unoffered=True)
        for one, values in zip(answer.calls.values(), calls, strict=True)
    ]
    if not parts:
        return hit
    reply = Reply(
        parts=tuple(parts),
        stop=_STOPS.get((answer.stop or "").lower()),
        usage=_tokens(recorded),
    )
    script = Script(version=1, unknown_fields="accept", replies=(reply,))
    first = hit.entry.entry * _IDS_OF_AN_ENTRY
    made = MadeAnswers(script, clock, first_number=first).ask(
        msgspec.structs.replace(question, target=_usual(api, question.target))
    )
    return msgspec.structs.replace(made, entry=hit.entry)


def _tokens(document: Any) -> TokenCounts:
    said = document.get("usage") if isinstance(document, dict) else None
    found = usage_of(said) if isinstance(said, dict) else {}
    counted = {"input": found.get("input_tokens"), "output": found.get("output_tokens")}
    return TokenCounts(**{name: int(count) for name, count in counted.items() if count is not None})


def _usual(api: str, target: str) -> str:
    """The target at the provider itself: gateways put something before it."""
    path, mark, query = target.partition("?")
    found = _PATHS[api].search(path)
    usual = {"gemini": "/v1beta"}.get(api, "/v1")
    return f"{usual}{'' if found is None else found[0]}{mark}{query}"


def _request(question: Question) -> HttpRequest:
    path, _, query = question.target.partition("?")
    return HttpRequest(
        method=question.method,
        path=unquote(path),
        query=tuple(parse_qsl(query, keep_blank_values=True)),
        headers=dict(question.headers),
    )


def hit_of(planned: PlannedAnswer, question: Question) -> Hit:
    """A planned answer, with its pace."""
    form: Literal["", "text"] = "text" if question.kind == "message" else ""
    steps = [step for step in planned.steps if step.data]
    hit = made_hit(
        question,
        planned.status,
        tuple((name.lower(), value) for name, value in planned.headers.items()),
        tuple((Chunk(0, len(step.data), form), step.data) for step in steps),
        complete=planned.ending == "complete",
    )
    delays_s = tuple(step.delay_ms / 1000 for step in steps)
    if not any(delays_s):
        return hit
    return PacedHit(
        entry=hit.entry,
        status=hit.status,
        headers=hit.headers,
        pieces=hit.pieces,
        delays_s=delays_s,
    )


def made_hit(
    question: Question,
    status: int,
    headers: tuple[tuple[str, str], ...],
    pieces: tuple[tuple[Chunk, bytes], ...],
    *,
    complete: bool = True,
) -> Hit:
    """An answer that is on no tape."""
    answer = TapeAnswer(seq=0, t_us=0, status=status, headers=headers) if status else None
    return Hit(
        entry=TapeEntry(
            entry=0,
            seq=0,
            t_us=0,
            kind=question.kind,
            connection=0,
            method=question.method,
            answer=answer,
            outcome="complete" if complete else "provider-gone",
            end_us=0,
        ),
        status=status or None,
        headers=headers,
        pieces=tuple((chunk, data) for chunk, data in pieces if data),
    )
