"""What a recorded answer holds, by whichever of the four APIs it came.

``AnswerFacts`` reads the model, tokens and calls while an answer passes; ``answer_of`` puts a whole
answer together; ``called_tools`` lists everything that any client could take for a tool call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from ptycassette.model.records import decoded_json, objects_in
from ptycassette.tape.providers import anthropic, gemini, openai_chat, openai_responses, sse
from ptycassette.tape.providers.neutral import Api, ModelAnswer, Stop, text_in

APIS: dict[Api, ModuleType] = {
    "anthropic": anthropic,
    "responses": openai_responses,
    "chat": openai_chat,
    "gemini": gemini,
}
_APIS = tuple(APIS.values())
_MOST_DOCUMENT = 8 << 20
_TELLING = re.compile(rb"usage|\"model|_call|function|" + anthropic.CALL.encode())


class AnswerFacts:
    """Collects facts from an answer while it is received.

    Args:
        content_type: the type of the answer; "" for messages of a WebSocket, each one document.

    Attributes:
        model: the model that answered.
        calls: the names of called tools, by id or number.
        name: the id of the object with the usage; a later question may refer to it.
    """

    def __init__(self, content_type: str = "") -> None:
        self._lines = sse.Lines() if _essence(content_type) in sse.LINE_TYPES else None
        self._held = bytearray()
        self._usage: dict[str, Any] = {}
        self.model: str | None = None
        self.name = ""
        self.calls: dict[str, str] = {}

    def feed(self, data: bytes) -> None:
        """Take a piece."""
        if self._lines is not None:
            for line in self._lines.feed(data):
                self._line(line)
        elif len(self._held) <= _MOST_DOCUMENT:
            self._held += data

    def end(self) -> None:
        """Note the end of the answer, or of a message of it."""
        if self._lines is not None:
            self._line(self._lines.end())
        elif len(self._held) <= _MOST_DOCUMENT:
            self._take(decoded_json(bytes(self._held)))
        self._held.clear()

    @property
    def usage(self) -> dict[str, int | float]:
        """Counts of tokens, with the names of session logs; empty if the answer gave none."""
        return usage_of(self._usage)

    def _line(self, line: bytes) -> None:
        if not _TELLING.search(line):  # most of a stream consists of pieces of text
            return
        line = sse.data_of(line.strip())
        if line[:1] == b"{":
            self._take(decoded_json(line))

    def _take(self, value: Any) -> None:
        if isinstance(value, list):  # Gemini's stream without alt=sse
            for one in objects_in(value):
                self._take(one)
            return
        if not isinstance(value, dict):
            return
        for inner in (value.get("response"), value.get("message")):
            if isinstance(inner, dict):
                self._take(inner)
        model = value.get("model") or value.get(gemini.MODEL)
        if isinstance(model, str):
            self.model = model
        for name in ("usage", gemini.USAGE_MEMBER):
            if isinstance(value.get(name), dict):
                counts = value[name].items()
                self._usage.update({key: one for key, one in counts if one is not None})
                self.name = str(value.get("id") or self.name)
        for api in _APIS:
            for call_id, name, call in api.calls_in(value, self.calls):
                if isinstance(call_id, str) and call_id:
                    named = name if isinstance(name, str) else str(call.get("type", ""))
                    self.calls[call_id] = named or self.calls.get(call_id, "")


def answer_of(pieces: Sequence[bytes], content_type: str | None) -> ModelAnswer:
    """Assemble the answer in a body: server-sent events, or one JSON document.

    Args:
        pieces: the body, cut anywhere; or messages of a WebSocket, each a JSON document.
        content_type: the type of the body; None for messages.
    """
    answer, texts = ModelAnswer(), list(pieces)
    if content_type is not None:
        body = b"".join(pieces)
        texts = sse.data_lines(body) if _essence(content_type) == sse.CONTENT_TYPE else [body]
    for text in texts:
        found = decoded_json(text)  # None for the last line of a stream, and what is cut off
        for event in objects_in(found if isinstance(found, list) else [found]):
            _take(answer, event)
    return answer


def _take(answer: ModelAnswer, event: Mapping[str, Any]) -> None:
    for one in objects_in([event, anthropic.started(event) or event.get("response")]):
        answer.model = text_in(one, "model") or text_in(one, gemini.MODEL) or answer.model
        answer.fingerprint = text_in(one, openai_chat.FINGERPRINT) or answer.fingerprint
        answer.stop = text_in(one, anthropic.STOP) or answer.stop
    for api in _APIS:
        api.take(answer, event)


_EVENT_TYPE = re.compile(rb'(?:^data: ?|^|\})\{"type": ?"([\w.]{1,80})"', re.MULTILINE)
_MODEL = re.compile(rb'"(?:model|%s)": ?"([^"\\]{1,120})"' % gemini.MODEL.encode())


def event_types(body: bytes) -> Iterator[str]:
    """The types of the events in an answer, without decoding it."""
    return (kind.decode() for kind in _EVENT_TYPE.findall(body))


def first_model(body: bytes) -> str | None:
    """The first model that a question or an answer names, without decoding it."""
    found = _MODEL.search(body)
    return None if found is None else found[1].decode("utf-8", "replace")


def api_of(document: Any) -> Api | None:
    """The API of an answer, by its document or its first event."""
    if not isinstance(document, dict):
        return None
    return next((name for name, api in APIS.items() if api.is_answer(document)), None)


_HOLDERS = (openai_chat.FUNCTION, gemini.CALL, openai_chat.OLD_CALL)
_STOPS: dict[str, Stop] = {
    word.lower(): stop
    for api in _APIS
    for stop, words in reversed(api.STOPS.items())  # the end last: Gemini has its word for calls
    for word in words
}


def stop_of(word: str | None) -> Stop | None:
    """Why an answer ended, from a provider's word for it; None if no API has that word."""
    return _STOPS.get((word or "").lower())


def called_tools(body: bytes) -> Iterator[tuple[str, str]]:
    """The names of the tools that an answer may call, each with the id of the call, if any.

    This is for people who decide whether to trust a tape, so it reads everything that any client
    could read: the body as a document, its lines and its events, whatever its content type, and
    each object that looks like a call, wherever it is. A call may be yielded several times.
    """
    for text in dict.fromkeys(sse.readings(body)):
        if text.lstrip()[:1] in {b"{", b"["}:
            yield from _called(decoded_json(text))


def _called(value: Any) -> Iterator[tuple[str, str]]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += reversed(one)
        if not isinstance(one, dict):
            continue
        left += reversed(one.values())
        kind, call_id = one.get("type"), one.get("call_id") or one.get("id")
        if isinstance(kind, str) and (kind.endswith("_call") or anthropic.CALL in kind):
            yield str(one.get("name") or kind), str(call_id or "")
        for holder in _HOLDERS:
            inner = one.get(holder)
            if isinstance(inner, dict) and inner.get("name"):
                yield str(inner["name"]), str(call_id or inner.get("id") or "")


_USAGES = tuple(api.USAGE for api in _APIS)


def usage_of(said: Mapping[str, Any]) -> dict[str, int | float]:
    """A provider's counts of tokens and cost, with the names of session logs.

    ``cached_input_tokens`` are part of ``input_tokens``, and ``reasoning_output_tokens`` part of
    ``output_tokens``; if a provider counts them separately, they are added.
    """
    given = _first(said, (one.input for one in _USAGES))
    answered = _first(said, (one.output for one in _USAGES))
    beside_input = _sum(said, (name for one in _USAGES for name in one.input_beside))
    beside_output = _sum(said, (name for one in _USAGES for name in one.output_beside))
    found: dict[str, int | float | None] = {
        "input_tokens": None if given is None else given + beside_input,
        "output_tokens": None if answered is None else answered + beside_output,
        "cached_input_tokens": _first(said, (one.cached for one in _USAGES)),
        "reasoning_output_tokens": _first(said, (one.reasoning for one in _USAGES)),
    }
    cost = said.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
        found["cost_usd"] = cost
    return {name: value for name, value in found.items() if value is not None}


def _first(said: Mapping[str, Any], names: Iterator[str]) -> int | None:
    return next((count for name in names if (count := _count(said, name)) is not None), None)


def _sum(said: Mapping[str, Any], names: Iterator[str]) -> int:
    return sum(_count(said, name) or 0 for name in names)


def _count(said: Mapping[str, Any], name: str) -> int | None:
    value: Any = said
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if whole else None


def _essence(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
