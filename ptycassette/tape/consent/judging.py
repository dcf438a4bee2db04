"""The gate of a recording: approval, forbidden inputs, budget. See ``Gate``."""

from __future__ import annotations

from collections.abc import Mapping

from ptycassette.errors import CassetteError
from ptycassette.model.json_values import decoded_json
from ptycassette.tape._facts import AnswerFacts
from ptycassette.tape._unpacking import Unpacker, unpacker_for
from ptycassette.tape.consent._budget import Amount, Budget
from ptycassette.tape.consent._forbidden import Searched, UnsearchedBodyError, search_body
from ptycassette.tape.consent._prices import Prices
from ptycassette.tape.consent.terms import Terms
from ptycassette.tape.gate import OutgoingRequest, Permitted, QuestionRefusedError
from ptycassette.tape.routing import Origin

MAX_UNPACKED_BYTES = 256 << 20
"""Of a question that is judged."""
_FIRST_ERROR = 400


class _Answer:
    """An answer as it passes."""

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        self.failed = status >= _FIRST_ERROR
        self.facts = AnswerFacts(headers.get("content-type", ""))
        self._unpacker: Unpacker | None
        try:
            self._unpacker = unpacker_for(headers.get("content-encoding", ""))
        except CassetteError:
            self._unpacker = None  # what it used is not known: the reserve stays spent

    def feed(self, data: bytes) -> None:
        if self._unpacker is not None:
            for piece in self._unpacker.feed(data):
                self.facts.feed(piece)


class TermsGate:
    """A ``Gate`` for terms.

    Args:
        terms: what was agreed to.
        prices: what models cost.
    """

    def __init__(self, terms: Terms, prices: Prices) -> None:
        self._terms = terms
        self._budget = Budget(terms.limit, prices, unknown_models=terms.unknown_models)
        self._answers: dict[int, _Answer] = {}

    @property
    def spent(self) -> Amount:
        """What the answers have cost so far, at most."""
        return self._budget.spent

    def reads(self, origin: Origin) -> bool:
        """Whether questions to that provider must be held until they were judged."""
        known = self._terms.allows(origin) and not self._terms.keys_for(origin)
        return self._budget.active or not known

    def judge(self, question: OutgoingRequest) -> Permitted:
        """The body to send on.

        Raises:
            QuestionRefusedError: nothing of it may be sent on.
        """
        origin = question.origin
        if not self._terms.allows(origin):
            raise QuestionRefusedError(f"sending data to {origin} was not agreed to")
        plain = _unpacked(question)
        document = decoded_json(plain)
        permitted = self._permitted(question, plain)
        self._budget.reserve(question.exchange, question.method, question.target, plain, document)
        return permitted

    def begun(self, exchange: int, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of an answer."""
        if self._budget.active:
            self._answers[exchange] = _Answer(status, headers)

    def answered(self, exchange: int, data: bytes) -> None:
        """Take a piece of an answer."""
        if exchange in self._answers:
            self._answers[exchange].feed(data)

    def said(self, exchange: int, data: bytes) -> None:
        """Take a message of the provider over a WebSocket."""
        if not self._budget.active:
            return
        facts = AnswerFacts()
        facts.feed(data)
        facts.end()
        if facts.usage:
            self._budget.settle(exchange, facts)

    def over(self, exchange: int, *, sent: bool) -> None:
        """Note that nothing more comes of an exchange."""
        answer = self._answers.pop(exchange, None)
        if not sent or (answer is not None and answer.failed):
            self._budget.settle_all(exchange, None)
            return
        facts = AnswerFacts() if answer is None else answer.facts
        facts.end()
        self._budget.settle_all(exchange, facts)

    def _permitted(self, question: OutgoingRequest, plain: bytes) -> Permitted:
        keys = self._terms.keys_for(question.origin)
        if not keys:
            return Permitted(question.body)
        kind = dict(question.headers).get("content-type", "")
        try:
            searched = search_body(plain, keys, content_type=kind)
        except UnsearchedBodyError as unread:
            if self._terms.unsearched:
                return Permitted(question.body)
            raise QuestionRefusedError(f"forbidden keys cannot be ruled out: {unread}") from unread
        if not searched.paths:
            return Permitted(question.body)
        return self._stripped(question, searched)

    def _stripped(self, question: OutgoingRequest, searched: Searched) -> Permitted:
        found = ", ".join(searched.paths)
        if not self._terms.strip or question.over_websocket:
            raise QuestionRefusedError(f"it has inputs under forbidden keys: {found}")
        if searched.left is None:
            raise QuestionRefusedError(f"only JSON is sent without some of its inputs: {found}")
        return Permitted(searched.left, searched.paths)


def _unpacked(question: OutgoingRequest) -> bytes:
    try:
        unpacker = unpacker_for(question.packing)
    except CassetteError as missing:
        raise QuestionRefusedError(str(missing)) from missing
    plain = bytearray()
    for piece in unpacker.feed(question.body):
        plain += piece
        if len(plain) > MAX_UNPACKED_BYTES:
            raise QuestionRefusedError("it unpacks to more than anybody can look at")
    unpacker.end()
    if unpacker.problem is not None:
        raise QuestionRefusedError(f"it cannot be looked at: {unpacker.problem}")
    return bytes(plain)
