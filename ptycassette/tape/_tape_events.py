"""The service events about entries of the tape, and what all entries add up to.

``docs/tape.md`` describes the events. Those of an entry's moments (``model-request``,
``model-answer``, ``model-end``) are payloads of the moments; tool calls, results of tools and
tokens are events of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ptycassette.model.journal import Noted
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.tape._facts import AnswerFacts, question_model, tool_results


def request_payload(
    number: int, document: Any, *, model_from: str = "", **about: Any
) -> dict[str, Any]:
    """The event of a question.

    Args:
        number: of the entry.
        document: the question, decoded; None where it is no JSON.
        model_from: the target of the request, which may name the model.
        about: other fields of the event.
    """
    model = question_model(document, model_from)
    asked = {} if model is None else {"model": model}
    return {"type": "model-request", "entry": number, **about, **asked}


def answer_payload(number: int, status: int | None) -> dict[str, Any]:
    """The event of an answer's begin; a message of a WebSocket has no status."""
    payload = {"type": "model-answer", "entry": number}
    return payload if status is None else {**payload, "status": status}


def end_payload(number: int, head: dict[str, Any]) -> dict[str, Any]:
    """The event of an entry's end: the fields of its head that are set."""
    set_fields = {name: value for name, value in head.items() if value not in {"", None}}
    return {"type": "model-end", "entry": number, **set_fields}


class TapeTotals:
    """Makes the events of tools and tokens, and sums over all entries.

    Attributes:
        usage: the tokens and costs of all answers.
        models: how often each answered.
        usage_by_model: the same as ``usage`` for each model, with how many ``requests`` said it;
            empty is the name of one that was not said.
        outcomes: how often each.
    """

    def __init__(self) -> None:
        self._results: set[str] = set()
        self.usage: dict[str, int | float] = {}
        self.models: dict[str, int] = {}
        self.usage_by_model: dict[str, dict[str, int | float]] = {}
        self.outcomes: dict[str, int] = {}

    def question(self, number: int, document: Any, t_us: int) -> Iterator[Noted]:
        """The results of tools that a question gives the provider for the first time."""
        for call_id in (place.call for place in tool_results(document)):
            if call_id and call_id not in self._results:
                self._results.add(call_id)
                yield Noted(t_us, {"type": "tool-result", "entry": number, "call_id": call_id})

    def end(
        self, number: int, facts: AnswerFacts, outcome: ExchangeOutcome, t_us: int
    ) -> Iterator[Noted]:
        """The tool calls and tokens of an entry that ended."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        for call_id, name in facts.calls.items():
            call = {"type": "tool-call", "entry": number, "call_id": call_id, "name": name}
            yield Noted(t_us, call)
        model, usage = facts.model, facts.usage
        if usage:
            by = {} if model is None else {"model": model}
            yield Noted(t_us, {"type": "usage", "entry": number, **usage, **by})
            _add(self.usage, usage)
            _add(self.usage_by_model.setdefault(model or "", {}), {"requests": 1, **usage})
        if model is not None:
            self.models[model] = self.models.get(model, 0) + 1


def _add(total: dict[str, int | float], counts: Mapping[str, int | float]) -> None:
    for name, count in counts.items():
        total[name] = total.get(name, 0) + count
