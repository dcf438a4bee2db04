"""A budget that stops before it is exceeded: what a question may cost at most is reserved first.

A text has no more tokens than bytes. So the length of a question bounds what it puts in, its own
limit or the model's bounds what comes out, and what it refers to on the provider's side (an earlier
response, a file) is bounded by what was said of it or by the model's context. When the answer says
what was used, that counts in place of the reserve; where it does not say, the reserve stays spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ptycassette.tape._facts import AnswerFacts, question_model
from ptycassette.tape.consent._prices import Model, Prices
from ptycassette.tape.consent.terms import Limit
from ptycassette.tape.gate import QuestionRefusedError

_GENERATES = (":generateContent", ":streamGenerateContent")
_COUNTS = ("count_tokens", ":countTokens")
_OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_CHOICES = ("n", "candidateCount")
_REFERENCES = (b'"file_id"', b'"file_uri"', b'"fileUri"', b'"conversation"', b'"cachedContent"')
_REFERENCES_BY_URL = (b'"url":"http', b'"url": "http', b'"image_url":"http', b'"image_url": "http')
_HIDDEN = 1000
"""Tokens that a provider adds by itself: how to call tools, which role speaks."""
_UNKNOWN = Model(input=0.0, output=0.0, context=2_000_000, max_output=256_000)


class Amount(msgspec.Struct, frozen=True):
    """An amount of what is limited."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.requests + other.requests, self.tokens + other.tokens, self.usd + other.usd
        )


class _Reserve(msgspec.Struct):
    """What a question may cost, until it is known what it did."""

    amount: Amount
    model: Model


class Budget:
    """Counts what was spent.

    Args:
        limit: how much may be.
        prices: what models cost.
        unknown_models: let models pass that are not in the table. Money is then not counted.
    """

    def __init__(self, limit: Limit, prices: Prices, *, unknown_models: bool) -> None:
        self._limit, self._prices, self._unknown = limit, prices, unknown_models
        self.spent = Amount()
        self._reserved: dict[int, list[_Reserve]] = {}
        self._totals: dict[str, int] = {}  # tokens of responses that questions can refer to

    @property
    def active(self) -> bool:
        """Whether anything is limited."""
        return self._limit != Limit()

    def reserve(self, exchange: int, method: str, target: str, body: bytes, document: Any) -> None:
        """Reserve what a question may cost, if it asks a model at all.

        Raises:
            QuestionRefusedError: it may cost more than is left, or nobody knows what it costs.
        """
        if not self.active or not _asks_a_model(method, target, document):
            return
        name = question_model(document, target) or ""
        model = self._prices.model(name)
        counts_tokens = self._limit.tokens is not None or self._limit.usd is not None
        if model is None and counts_tokens and not self._unknown:
            raise QuestionRefusedError(
                f"budget: there is no price for the model {name!r} (the table is of"
                f" {self._prices.date}); let it pass with --unknown-models"
            )
        model = model or _UNKNOWN
        given = self._input_bound(body, document, model)
        taken = _output_bound(document, model)
        amount = Amount(1, given + taken, model.usd(given, taken))
        self._check(amount)
        self._reserved.setdefault(exchange, []).append(_Reserve(amount, model))

    def settle(self, exchange: int, facts: AnswerFacts | None) -> None:
        """Count what the oldest question of an exchange has cost.

        Args:
            exchange: its number.
            facts: what the answer said; None to count nothing but the request.
        """
        waiting = self._reserved.get(exchange)
        if not waiting:
            return
        reserve = waiting.pop(0)
        if not waiting:
            del self._reserved[exchange]
        if facts is None:
            self.spent += Amount(1)
            return
        usage = facts.usage
        given, taken = usage.get("input_tokens"), usage.get("output_tokens")
        if given is None or taken is None:
            self.spent += reserve.amount
            return
        given, taken = int(given), int(taken)
        self.spent += Amount(1, given + taken, reserve.model.usd(given, taken))
        if facts.name:
            self._totals[facts.name] = given + taken

    def settle_all(self, exchange: int, facts: AnswerFacts | None) -> None:
        """The same for all questions of an exchange that is over."""
        while exchange in self._reserved:
            self.settle(exchange, facts)

    def _check(self, amount: Amount) -> None:
        used = self.spent
        for waiting in self._reserved.values():
            for one in waiting:
                used += one.amount
        after, limit = used + amount, self._limit
        for what, most, before, then in (
            ("requests", limit.requests, used.requests, after.requests),
            ("tokens", limit.tokens, used.tokens, after.tokens),
            ("USD", limit.usd, used.usd, after.usd),
        ):
            if most is not None and then > most:
                raise QuestionRefusedError(
                    f"budget: it may take up to {_number(then - before)} {what},"
                    f" and {_number(max(0, most - before))} of {_number(most)} are left"
                )

    def _input_bound(self, body: bytes, document: Any, model: Model) -> int:
        earlier = document.get("previous_response_id") if isinstance(document, Mapping) else None
        beyond = any(one in body for one in (*_REFERENCES, *_REFERENCES_BY_URL))
        if beyond or (earlier and earlier not in self._totals):
            return _HIDDEN + max(model.context, len(body))
        return _HIDDEN + len(body) + (self._totals[earlier] if earlier else 0)


def _asks_a_model(method: str, target: str, document: Any) -> bool:
    path = target.partition("?")[0]
    if path.endswith(_COUNTS):
        return False
    if path.endswith(_GENERATES):
        return True
    named = isinstance(document, Mapping) and isinstance(document.get("model"), str)
    return named and method in {"POST", "GET"}  # GET: a message over a WebSocket


def _output_bound(document: Any, model: Model) -> int:
    if not isinstance(document, Mapping):
        return model.max_output
    config = document.get("generationConfig")
    holders = [document, config if isinstance(config, Mapping) else {}]
    limits = _counts(holders, *_OUTPUT_LIMITS, "maxOutputTokens")
    return max(limits, default=model.max_output) * max(_counts(holders, *_CHOICES), default=1)


def _counts(holders: list[Mapping[str, Any]], *names: str) -> list[int]:
    """The values of these names that are counts; a wrong one is the provider's to refuse."""
    found = [holder.get(name) for holder in holders for name in names]
    return [one for one in found if isinstance(one, int) and one > 0]


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
