"""Chooses the scripted reply for a request, and makes the answer."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable

import msgspec

from ptycassette.harness.provider.fake.script import Part, Reply, Script, When
from ptycassette.harness.provider.wire.neutral import (
    Answer,
    Ask,
    Call,
    Stop,
    Text,
    Thought,
    Usage,
    WireError,
    estimate_tokens,
)

_RESULT_PREVIEW = 60


def misfits(when: When, ask: Ask) -> tuple[str, ...]:
    """The conditions of ``when`` that do not hold for ``ask``; empty if the reply matches."""
    results = "\n".join(result.text for result in ask.results)
    after = "tool" if ask.results else "prompt"
    checks = {
        "api": when.api is None or when.api == ask.api,
        "model": when.model is None or fnmatch.fnmatchcase(ask.model, when.model),
        "prompt_contains": when.prompt_contains is None or when.prompt_contains in ask.prompt,
        "system_contains": when.system_contains is None or when.system_contains in ask.system,
        "result_contains": when.result_contains is None or when.result_contains in results,
        "after": when.after is None or when.after == after,
        "tools": when.tools is None or when.tools == bool(ask.tools),
    }
    return tuple(name for name, holds in checks.items() if not holds)


class Replies:
    """The replies of a script, used up in order."""

    def __init__(self, script: Script) -> None:
        self._replies = script.replies
        self._used = [0] * len(script.replies)

    def pick(self, ask: Ask) -> tuple[str, Reply]:
        """The name and the reply for ``ask``: the first that fits and is not used up.

        Raises:
            WireError: none matches; the message has the reason for each reply.
        """
        for index, reply in enumerate(self._replies):
            if self._left(index) and not misfits(reply.when, ask):
                self._used[index] += 1
                return self._name(index), reply
        mismatches = [
            f"{self._name(index)} {self._why_not(index, reply, ask)}"
            for index, reply in enumerate(self._replies)
        ]
        reasons = "; ".join(mismatches) or "the script has none"
        raise WireError(
            f"no reply for this request (api {ask.api}, model {ask.model}, "
            f"prompt {ask.prompt[:_RESULT_PREVIEW]!r}, {len(ask.results)} tool results): {reasons}"
        )

    def unused(self) -> tuple[str, ...]:
        """Replies that were used less often than ``times`` (``0``: not even once)."""
        return tuple(
            self._name(index)
            for index, reply in enumerate(self._replies)
            if self._used[index] < max(reply.times, 1)
        )

    def _left(self, index: int) -> bool:
        times = self._replies[index].times
        return times == 0 or self._used[index] < times

    def _name(self, index: int) -> str:
        return self._replies[index].name or f"replies[{index}]"

    def _why_not(self, index: int, reply: Reply, ask: Ask) -> str:
        if not self._left(index):
            return "is used up"
        return f"does not fit ({', '.join(misfits(reply.when, ask))})"


def make_answer(
    reply: Reply, ask: Ask, *, chunk_chars: int, next_call_id: Callable[[], str]
) -> Answer:
    """The answer of ``reply`` to ``ask``.

    Args:
        reply: from the script.
        ask: the request.
        chunk_chars: text per stream event.
        next_call_id: makes the id of a tool call.

    Raises:
        WireError: the reply calls a tool that the request does not offer.
    """
    parts = reply.parts or (Part(text=reply.text or ""),)
    said = tuple(_part(part, ask, next_call_id) for part in parts)
    called = any(isinstance(part, Call) for part in said)
    stop: Stop = reply.stop or ("tool" if called else "end")
    return Answer(parts=said, stop=stop, usage=_usage(reply, ask, said), chunk_chars=chunk_chars)


def _part(part: Part, ask: Ask, next_call_id: Callable[[], str]) -> Text | Thought | Call:
    """A part of the script as a part of the answer."""
    if part.text is not None:
        return Text(part.text)
    if part.think is not None:
        return Thought(part.think)
    name = part.tool or ""
    if name not in ask.tools and not part.unoffered:
        offered = ", ".join(ask.tools) or "none"
        raise WireError(f"the reply calls the tool {name!r}, the request offers: {offered}")
    said = (part.arguments or {}) if part.input is None else part.input
    return Call(next_call_id(), name, said)


def _usage(reply: Reply, ask: Ask, said: tuple[Text | Thought | Call, ...]) -> Usage:
    """Token counts: those of the script, else estimates."""
    counts = reply.usage
    text = "".join(
        part.text
        if not isinstance(part, Call)
        else part.arguments
        if isinstance(part.arguments, str)
        else msgspec.json.encode(part.arguments).decode()
        for part in said
    )
    return Usage(
        input=ask.size_tokens if counts.input is None else counts.input,
        output=estimate_tokens(text) if counts.output is None else counts.output,
        cached_input=counts.cached_input,
        reasoning_output=counts.reasoning_output,
    )
