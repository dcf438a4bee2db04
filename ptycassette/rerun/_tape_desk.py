"""Answers the questions of a new run from a tape, and keeps what did not match. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ptycassette.model.json_values import decoded_json, objects_in
from ptycassette.model.tape import TapeEntry
from ptycassette.rerun.report import RequestMiss
from ptycassette.scrub._masked_places import masked_places
from ptycassette.tape.consent._forbidden import body_without
from ptycassette.tape.draws import Draw
from ptycassette.tape.matching._misses import Miss
from ptycassette.tape.matching._recorded import TapeExchange
from ptycassette.tape.matching.checking import published_fingerprint, tape_damage, tape_fingerprint
from ptycassette.tape.matching.matcher import Hit, Matcher
from ptycassette.tape.matching.question import Question
from ptycassette.tape.matching.rules import SECRET, Rules

if TYPE_CHECKING:
    from ptycassette.scrub.session import SessionScrubber

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
        from ptycassette.harness.provider.wire.questions import (  # noqa: PLC0415 - few need it
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
        from ptycassette.rerun.made_answers import as_asked  # noqa: PLC0415 - few tapes need it

        served = as_asked(hit, question, _NoClock())
        body = b"".join(data for _, data in served.pieces)
        named, whole = _ANSWER_ID.search(body), self._whole(question)
        if named is not None and whole is not None:
            texts = [line.removeprefix(b"data:") for line in body.splitlines()]
            ended = (decoded_json(text) for text in (body, *texts))
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
        before = self._said.get(str(asked.get("previous_response_id")), [])
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
