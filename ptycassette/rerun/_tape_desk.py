"""Answers the questions of a new run from a tape, and keeps what did not match. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ptycassette.model import TapeEntry
from ptycassette.rerun.report import RequestMiss
from ptycassette.scrub import SessionScrubber, masked_places
from ptycassette.tape import Draw
from ptycassette.tape.consent import body_without
from ptycassette.tape.matching import (
    SECRET,
    Hit,
    Matcher,
    Miss,
    Question,
    Rules,
    TapeExchange,
    published_fingerprint,
    tape_damage,
    tape_fingerprint,
)

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
        self.expected_fingerprint = tape_fingerprint(
            exchanges, rules, key=key, draws=draws, version=version
        )
        self.damage = tape_damage(exchanges, rules, key=key, facts=facts or {}) or []
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
