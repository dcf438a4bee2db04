"""Questions and answers that a file tells of, but does not hold, as OpenAI's chat completions.

Telemetry and logs of calls say which messages went to which model and what it said. What was
sent byte by byte is not known; a chat completion says the same, and tools can read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ptycassette.harness.provider.wire.questions import rebuilt_question
from ptycassette.tape.providers import known_providers

NOWHERE = "https://imported.invalid"
"""Where a question went of which nobody says it (RFC 2606 reserves the name)."""

CHAT = "/v1/chat/completions"
JSON = (("content-type", "application/json"),)


def base_of(provider: object) -> str:
    """The base URL of a provider; their names are those of OpenTelemetry's conventions, too."""
    known = known_providers().named(str(provider))
    return known.url if known else NOWHERE


def chat_question(model: object, messages: Sequence[Any], more: Mapping[str, Any]) -> bytes:
    """The body of a question. ``more`` are other members, of which None is left out.

    It is in the one form in which a tape compares such questions (``rebuilt_question``).
    """
    said = {"model": model, "messages": list(messages), **more}
    body = msgspec.json.encode({name: value for name, value in said.items() if value is not None})
    made = rebuilt_question(body)
    return body if made is None else msgspec.json.encode(made)


def chat_answer(
    model: object,
    choices: Sequence[tuple[Mapping[str, Any], object]],
    *,
    usage: tuple[object, object] = (None, None),
    answer_id: object = None,
) -> bytes:
    """The body of an answer.

    Args:
        model: that answered.
        choices: each message, and why it ended.
        usage: tokens in and out, None where they are not known.
        answer_id: its id.
    """
    tokens = {
        name: count
        for name, count in zip(("prompt_tokens", "completion_tokens"), usage, strict=True)
        if isinstance(count, int) and not isinstance(count, bool)
    }
    said = {
        "id": answer_id,
        "object": "chat.completion",
        "model": model,
        "choices": [
            {"index": number, "message": dict(message), "finish_reason": reason}
            for number, (message, reason) in enumerate(choices)
        ],
        "usage": tokens or None,
    }
    return msgspec.json.encode({name: value for name, value in said.items() if value is not None})


def tool_call(call_id: object, name: object, arguments: object) -> dict[str, Any]:
    """A call of a tool, in a message."""
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
