"""The neutral form of a conversation and its answer, common to the four provider APIs.

Each API is one module of this package. It turns requests into an ``Ask``, an ``Answer`` into the
bytes of that API, and recorded answers into a ``ModelAnswer``. Nothing here reads a clock or a
socket.

An ``Ask`` keeps the parts of a conversation that a script can match: the roles, the text, the tool
calls and their results. Images and other attachments count as text of the form ``[image]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar

import msgspec

from ptycassette.model.resolved_types import resolved

Api = Literal["anthropic", "responses", "chat", "gemini"]
"""The APIs: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, Gemini."""

Role = Literal["system", "user", "assistant"]

Stop = Literal["end", "tool", "length", "refusal"]
"""Why the model stopped: it is done, calls a tool, ran out of tokens, or refuses."""

_CHARS_PER_TOKEN = 4
_MAX_MESSAGE_CHARS = 4000


class WireError(Exception):
    """A request that the API would refuse, or that this fake does not support.

    Args:
        message: the fault, with the name of the field.
        status: the HTTP status to answer with.
        kind: the API's own word for it; the API's default for the status when empty.
    """

    def __init__(self, message: str, *, status: int = 400, kind: str = "") -> None:
        # It may quote the client's input, which may be megabytes.
        more = len(message) - _MAX_MESSAGE_CHARS
        self.message = message if more <= 0 else f"{message[:-more]} ... ({more} more characters)"
        super().__init__(self.message)
        self.status = status
        self.kind = kind


class Call(msgspec.Struct, frozen=True):
    """A tool call that the model asks for.

    ``arguments`` are an object, or text: the JSON of an object, or free text if the API supports
    that.
    """

    call_id: str
    name: str
    arguments: Any = {}

    @property
    def values(self) -> dict[str, Any]:
        """The arguments by name; free text has the name ``input``."""
        found = self.arguments or {}
        if isinstance(found, str):
            with suppress(ValueError, RecursionError):
                found = json.loads(found)
        return found if isinstance(found, dict) else {"input": found}


class ToolResult(msgspec.Struct, frozen=True):
    """The result of a tool, as text. ``call_id`` is empty if the API has none (Gemini)."""

    call_id: str
    text: str
    name: str = ""


class Message(msgspec.Struct, frozen=True):
    """One message of the conversation."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[ToolResult, ...] = ()


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a model's answer, with the terms common to all four APIs."""

    api: Api
    model: str
    stream: bool
    turns: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    wants_usage: bool = True
    sse: bool = True

    @property
    def system(self) -> str:
        """All system text, joined by line breaks."""
        return "\n".join(turn.text for turn in self.turns if turn.role == "system")

    @property
    def prompt(self) -> str:
        """The user's text since the model's last message, or the last before a tool's result."""
        texts: list[str] = []
        for turn in reversed(self.turns):
            if turn.role == "user" and turn.text:
                texts.append(turn.text)
            elif texts and turn.role == "assistant":
                break
        return "\n".join(reversed(texts))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Tool results since the model's last message."""
        found: list[ToolResult] = []
        for turn in reversed(self.turns):
            if turn.role == "assistant":
                break
            found += reversed(turn.results)
        return tuple(reversed(found))

    @property
    def size_tokens(self) -> int:
        """A rough count of the input: a token per four characters."""
        return estimate_tokens(
            "".join(
                turn.text + "".join(result.text for result in turn.results) for turn in self.turns
            )
        )


class Text(msgspec.Struct, frozen=True):
    """A text of the model."""

    text: str


class Thought(msgspec.Struct, frozen=True):
    """A reasoning summary of the model."""

    text: str


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens. ``cached_input`` is part of ``input``, ``reasoning_output`` part of ``output``."""

    input: int
    output: int
    cached_input: int = 0
    reasoning_output: int = 0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the model. ``chunk_chars`` is how much text goes into one stream event."""

    parts: tuple[Text | Thought | Call, ...]
    stop: Stop
    usage: Usage
    chunk_chars: int = 16


class Stamp(msgspec.Struct, frozen=True):
    """Identity of one answer: its number (ids are made from it) and the epoch second."""

    number: int
    created_s: int

    def id(self, prefix: str, index: int | None = None) -> str:
        """An id that is the same in every run: ``prefix_fake_000001`` or ``..._000001_2``."""
        tail = "" if index is None else f"_{index}"
        return f"{prefix}_fake_{self.number:06d}{tail}"


class Piece(msgspec.Struct, frozen=True):
    """One event of a stream. ``paced``: whether the script's pace applies before it."""

    data: bytes
    paced: bool = False


def slices(text: str, size: int) -> Iterator[str]:
    """``text`` in slices of ``size`` characters; one empty slice for an empty text."""
    for start in range(0, max(len(text), 1), size):
        yield text[start : start + size]


def estimate_tokens(text: str) -> int:
    """A token per four characters, at least one: an estimate without a tokenizer."""
    return max(1, len(text) // _CHARS_PER_TOKEN)


# What a recorded question or answer holds: tool results, tool calls, tokens.


class ToolPlace(msgspec.Struct, frozen=True):
    """The result of a tool in a question: an object and its member.

    ``call`` is the id of the call; empty if there is no id, as in most of Gemini's questions.
    """

    within: dict[str, Any]
    member: str
    call: str


FoundCall = tuple[Any, Any, Mapping[str, Any]]
"""A tool call in an answer: its id and name, as they are there, and the object of the call."""


class UsageNames(msgspec.Struct, frozen=True, kw_only=True):
    """How an API names its counts of tokens; a dot leads into an object.

    Counts of ``input_beside`` and ``output_beside`` are not part of the input or output there, and
    have to be added.
    """

    input: str
    output: str
    cached: str
    reasoning: str = ""
    input_beside: tuple[str, ...] = ()
    output_beside: tuple[str, ...] = ()


class AskedCall(msgspec.Struct):
    """A tool call that the model asks for; ``arguments`` are JSON or free text."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class ModelAnswer:
    """A recorded answer, put together from its events.

    Attributes:
        text: the pieces of the text.
        thoughts: the pieces of the visible reasoning.
        calls: the tool calls, by their place in the answer.
        model: the model that answered.
        fingerprint: the fingerprint of the system that answered.
        stop: why the answer ended, as the provider names it.
        items_done: whether whole items came in events of their own, before the end.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.thoughts: list[str] = []
        self.calls: dict[str, AskedCall] = {}
        self.model: str | None = None
        self.fingerprint: str | None = None
        self.stop: str | None = None
        self.items_done = False

    def call(self, call: AskedCall) -> None:
        """Add a call behind the others."""
        self.calls[str(len(self.calls))] = call


def text_in(value: Mapping[str, Any], name: str) -> str:
    """A string in an object; empty without one."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


# Read JSON from a client: strictly, with messages that name the field, or leniently.


_UNTOLD = frozenset({"", "thinking", "redacted_thinking", "reasoning"})
"""Types of blocks that are left out completely if they have no text."""

UnknownFields = Literal["accept", "reject", "report"]
"""How to treat a request with a top-level field that is unknown to this fake.

``accept``: it is named in the log; a name close to that of a known field is a mistake, and
refused. ``report``: it is a problem, too. ``reject``: the request is refused.
"""
_LONGEST_NAME = 64
_MISTYPED = 0.85
"""The similarity (0 to 1) from which one name counts as a misspelling of another."""

S = TypeVar("S", bound=msgspec.Struct)


def read(
    body: Any, kind: type[S], *, unknown_fields: UnknownFields = "reject"
) -> tuple[S, tuple[str, ...]]:
    """``body`` decoded as ``kind``, and the names of its unknown top-level fields.

    Args:
        body: decoded JSON.
        kind: a struct with ``forbid_unknown_fields``.
        unknown_fields: how to treat such a field.

    Raises:
        WireError: not an object, a field missing or of the wrong type, or unknown fields.
    """
    if not isinstance(body, dict):
        raise WireError("the request body must be a JSON object")
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    unknown = tuple(sorted(set(body) - known))
    if unknown and unknown_fields == "reject":
        raise WireError(f"unknown request field: {', '.join(unknown)}")
    if unknown_fields == "accept":
        _refuse_mistyped(unknown, known)
    try:
        value = msgspec.convert({k: v for k, v in body.items() if k in known}, resolved(kind))
    except msgspec.ValidationError as wrong:
        raise WireError(str(wrong)) from wrong
    return value, unknown


def _refuse_mistyped(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Refuse ``max_token`` and ``maxTokens``; other unknown names may come from a newer SDK."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for unknown fields

    plain = {name.replace("_", "").lower(): name for name in known}
    for name in unknown:
        if len(name) > _LONGEST_NAME:
            raise WireError(f"unknown request field: {name}")
        short = name.replace("_", "").lower()
        if meant := get_close_matches(short, plain, n=1, cutoff=_MISTYPED):
            raise WireError(f"unknown request field: {name} (did you mean {plain[meant[0]]}?)")


class Field(msgspec.Struct, frozen=True):
    """A value in a request, and its place.

    A value that the API does not allow is refused if ``strict``; otherwise as much as possible is
    read.
    """

    value: Any
    where: str
    strict: bool = True

    def refuse(self, why: str) -> None:
        """Report that the value is wrong.

        Raises:
            WireError: the reading is strict.
        """
        if self.strict:
            raise WireError(f"{self.where}{why}")

    def is_a(self, kind: type, called: str) -> bool:
        """Whether the value has a type; if not, it is refused."""
        if isinstance(self.value, kind):
            return True
        self.refuse(f": expected {called}")
        return False

    def get(self, name: str, default: Any = None) -> Field:
        """A field of an object."""
        found = self.value.get(name, default) if self.is_a(dict, "an object") else default
        return Field(found, f"{self.where}.{name}", self.strict)

    def word(self, name: str, default: str | None = None) -> str:
        """A string in an object; empty if a required one is missing."""
        found = self.get(name, default)
        return found.value if found.is_a(str, "a string") else ""

    def items(self) -> Iterator[Field]:
        """The objects in a list."""
        for number, value in enumerate(self.value if self.is_a(list, "a list") else ()):
            found = Field(value, f"{self.where}[{number}]", self.strict)
            if found.is_a(dict, "an object"):
                yield found

    def text(self, types: Mapping[str, str | None]) -> str:
        """The text of a content: a string, or a list of typed blocks.

        Args:
            types: block type -> the field that holds its text, or None if the block counts as
                ``[type]``. All other types are refused; if that does not raise, they count so, too.
        """
        if isinstance(self.value, str) or self.value is None:
            return self.value or ""
        if isinstance(self.value, dict) and not self.strict:
            names = (name for name in ("parts", "text", "content") if self.value.get(name))
            return self.get(next(names, "text")).text(types)
        return joined(block.block_text(types) for block in self.items())

    def block_text(self, types: Mapping[str, str | None]) -> str:
        """The text of one typed block."""
        kind = self.word("type")
        if kind not in types:
            self.refuse(f".type: unknown block type {kind!r}")
        name = types.get(kind, "text" if "text" in self.value else None)
        if name is None:
            return "" if kind in _UNTOLD else f"[{kind}]"
        return self.word(name)


def joined(texts: Iterable[str]) -> str:
    """Texts, each on lines of its own."""
    return "\n".join(filter(None, texts))
