"""Turn a WebSocket message of the Responses API into a separate HTTP request. Pure.

Such a message continues an earlier answer by its id, and a provider does not have the ids of
answers that came from a tape. So the request contains the whole conversation instead, as requests
of clients without a WebSocket do. The conversation is known, because all of it was served here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from ptycassette.model.records import decoded_json

_PREVIOUS = "previous_response_id"
_OF_A_MESSAGE = ("type", "generate", _PREVIOUS)
_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))


class Conversations:
    """The conversation up to each answer that was served over a WebSocket."""

    def __init__(self) -> None:
        self._said: dict[str, list[Any]] = {}
        self._warm = 0

    def learn(self, question: bytes, answer: Sequence[bytes]) -> None:
        """Note an answered message.

        Args:
            question: the message of the client.
            answer: the messages of the provider.
        """
        asked = _object(question)
        if asked is None:
            return
        said = self._before(asked)
        if said is None:
            return
        output: list[Any] = []
        for event in map(_object, answer):
            if event is None:
                continue
            if event.get("type") == "response.output_item.done":
                output.append(event.get("item"))
            response = event.get("response")
            if event.get("type") in _ENDS and isinstance(response, dict):
                listed = response.get("output")
                self._said[str(response.get("id"))] = said + (listed or output)

    def whole(self, message: bytes) -> bytes | None:
        """The request's body; None if the message is not one, or continues an unknown answer."""
        asked = _object(message)
        if asked is None:
            return None
        said = self._before(asked)
        if said is None:
            return None
        kept = {name: value for name, value in asked.items() if name not in _OF_A_MESSAGE}
        return msgspec.json.encode({**kept, "input": said, "stream": True})

    def warmed(self, message: bytes) -> tuple[bytes, ...] | None:
        """The answer to a message that wants nothing generated; None if it wants something.

        HTTP has no such request: its content is sent with the next message.
        """
        asked = _object(message)
        if asked is None or asked.get("generate") is not False:
            return None
        self._warm += 1
        head: dict[str, Any] = {
            "id": f"resp_warm_{self._warm}", "object": "response", "created_at": 0, "error": None,
            "model": asked.get("model"), "output": [], "status": "completed", "usage": None,
        }  # fmt: skip
        return tuple(
            msgspec.json.encode({"type": kind, "sequence_number": number, "response": head})
            for number, kind in enumerate(("response.created", "response.completed"))
        )

    def _before(self, asked: dict[str, Any]) -> list[Any] | None:
        """All items of a message, after the conversation before it."""
        now = asked.get("input")
        if isinstance(now, str):
            now = [{"type": "message", "role": "user", "content": now}]
        if not isinstance(now, list):
            return None
        previous = asked.get(_PREVIOUS)
        if previous is None:
            return now
        earlier = self._said.get(str(previous))
        return None if earlier is None else earlier + now


def asks(message: bytes) -> bool:
    """Whether a message wants an answer; others confirm that one has arrived."""
    asked = _object(message)
    return asked is None or asked.get("type") == "response.create"


def messages_of(status: int, body: bytes) -> Iterator[bytes]:
    """The WebSocket messages that correspond to an answer over HTTP.

    Each event of a stream is one; an error is one, in the form of the API.
    """
    if status == HTTPStatus.OK:
        for line in body.splitlines():
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data != b"[DONE]":
                yield data
        return
    found = _object(body) or {}
    problem = found.get("error") or {"type": "error", "message": body.decode("utf-8", "replace")}
    yield msgspec.json.encode({"type": "error", "status": status, "error": problem})


def _object(data: bytes) -> dict[str, Any] | None:
    value = decoded_json(data)
    return value if isinstance(value, dict) else None
