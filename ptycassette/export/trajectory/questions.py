"""What a question to a model says, by whichever of the four APIs it is asked.

Everything is read that can be: a part of an unknown type counts as ``[type]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ptycassette.harness.provider.wire import Message, anthropic, gemini, openai_chat
from ptycassette.harness.provider.wire.fields import Field
from ptycassette.harness.provider.wire.openai_responses import turns_of
from ptycassette.model import decoded_json

_OF_CHAT = frozenset({"developer", "tool"})
"""Roles that Anthropic's messages do not have."""


class AskedQuestion(msgspec.Struct, frozen=True):
    """A question. ``goes_on``: it holds only what is new since an answer that it names."""

    messages: tuple[Message, ...]
    goes_on: bool = False


def read_question(body: bytes) -> AskedQuestion | None:
    """The question in a body; None where it is not one to a model."""
    document = decoded_json(body)
    if not isinstance(document, dict):
        return None
    found = tuple(one for one in _messages(document) if one.text or one.calls or one.results)
    return AskedQuestion(found, bool(document.get("previous_response_id"))) if found else None


def _messages(document: dict[str, Any]) -> Iterator[Message]:
    asked = Field(document, "", strict=False)
    for name in ("system", "instructions", "systemInstruction", "system_instruction"):
        yield Message("system", asked.get(name).text({}))
    for message in asked.get("messages").items():
        of_chat = message.word("role") in _OF_CHAT or message.value.get("tool_calls")
        yield (openai_chat if of_chat else anthropic).turn(message)
    if isinstance(document.get("input"), str):
        yield Message("user", document["input"])
    for item in asked.get("input").items():
        yield from turns_of(item)
    yield from map(gemini.turn, asked.get("contents").items())
