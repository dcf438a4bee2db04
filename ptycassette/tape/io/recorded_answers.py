"""Answers of another recording, for questions that a provider does not answer."""

from __future__ import annotations

from pathlib import Path

from ptycassette.cassette._tape_lines import tape_facts
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.tape._kept import kept_target
from ptycassette.tape._unpacking import unpacked_body
from ptycassette.tape.gate import OutgoingRequest
from ptycassette.tape.io._exchange_context import RecordedAnswer
from ptycassette.tape.io.matching_rules import load_matching_rules
from ptycassette.tape.matching._misses import Miss
from ptycassette.tape.matching.matcher import Matcher
from ptycassette.tape.matching.question import Question

_ERRORS = 400


class RecordedAnswers:
    """The answers of a cassette's tape. Each is given once. It is open until ``close``.

    Args:
        path: of the cassette.

    Raises:
        CassetteError: it cannot be read, or has no tape.
    """

    def __init__(self, path: Path) -> None:
        self._cassette = open_cassette(path)
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the cassette; safe to call twice."""
        self._cassette.close()

    def _read(self) -> None:
        tape = self._cassette.tape()
        exchanges = list(tape)
        self._upstreams = {
            one.entry.target.partition("?")[0]: one.entry.upstream for one in exchanges
        }
        harness = self._cassette.manifest.harness.name
        self._matcher = Matcher(
            exchanges,
            load_matching_rules(
                (harness,) if harness else (), tape=tape_facts(self._cassette.manifest)
            ),
            key=bytes.fromhex(tape.key),
        )

    def find(self, question: OutgoingRequest) -> RecordedAnswer | None:
        """The answer to a question; None where it was not asked there, or not answered."""
        target = kept_target(question.target)[0]
        upstream = self._upstreams.get(target.partition("?")[0])
        if upstream is None:
            return None
        answer = self._matcher.ask(
            Question(
                kind="http",
                method=question.method,
                upstream=upstream,
                target=target,
                headers=question.headers,
                body=unpacked_body(question.body, question.packing),
            )
        )
        if isinstance(answer, Miss) or answer.status is None or answer.status >= _ERRORS:
            return None
        if answer.entry.outcome != "complete":
            return None
        kind = dict(answer.headers).get("content-type", "application/json")
        body = b"".join(data for _, data in answer.pieces)
        return RecordedAnswer(answer.status, kind, body)
