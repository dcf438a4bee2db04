"""The memory of a provider, and its checks of conversations.

The Responses API may continue an earlier answer by its id; the provider then has
the conversation so far. All APIs refuse tool results without a call, and calls
without a result.
"""

from __future__ import annotations

from collections import deque

from ptycassette.harness.provider.wire.neutral import (
    Answer,
    Ask,
    Call,
    Message,
    Text,
    WireError,
)

_KEPT = 64


class History:
    """Conversations by the id of their last answer; the oldest are forgotten."""

    def __init__(self) -> None:
        self._turns: dict[str, tuple[Message, ...]] = {}

    def keep(self, answer_id: str, ask: Ask, answer: Answer | None) -> None:
        """Store a conversation and its answer, under the answer's id."""
        said: tuple[Message, ...] = ()
        if answer is not None:
            text = "".join(part.text for part in answer.parts if isinstance(part, Text))
            calls = tuple(part for part in answer.parts if isinstance(part, Call))
            said = (Message("assistant", text, calls),)
        self._turns[answer_id] = ask.turns + said
        while len(self._turns) > _KEPT:
            del self._turns[next(iter(self._turns))]

    def continued(self, ask: Ask, previous_id: str | None) -> Ask:
        """``ask`` with the conversation before it.

        Raises:
            WireError: the id is unknown.
        """
        if previous_id is None:
            return ask
        before = self._turns.get(previous_id)
        if before is None:
            raise WireError(
                f"Previous response with id {previous_id!r} not found.",
                kind="previous_response_not_found",
            )
        return Ask(
            api=ask.api,
            model=ask.model,
            stream=ask.stream,
            turns=before + ask.turns,
            tools=ask.tools,
            include_usage=ask.include_usage,
            sse=ask.sse,
        )

    def check(self, ask: Ask) -> None:
        """Check that each result belongs to a call: by id, or by name if there is no id.

        Raises:
            WireError: a result without its call, or a call without a result before the
                conversation goes on.
        """
        called: dict[str, str] = {}
        answered: set[str] = set()
        waiting: dict[str, deque[str]] = {}
        for turn in ask.turns:
            for use in turn.calls:
                if use.call_id:
                    called[use.call_id] = use.name
                    waiting.setdefault(use.name, deque()).append(use.call_id)
            for result in turn.results:
                if result.call_id and result.call_id not in called:
                    raise WireError(f"a tool result for {result.call_id!r}, which no call has")
                open_calls = waiting.get(result.name, deque())
                answered.add(result.call_id or _oldest_open(open_calls, answered))
        missing = called.keys() - answered
        if missing:
            raise WireError(f"no tool result for the call {min(missing)!r}")


def _oldest_open(calls: deque[str], answered: set[str]) -> str:
    """The first call of a tool that has no result yet; empty when there is none.

    Gemini takes results that name only the function.
    """
    while calls and calls[0] in answered:
        calls.popleft()
    return calls[0] if calls else ""
