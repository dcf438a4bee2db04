r"""JSON that strangers wrote, and text of the system that must fit into JSON.

What can be read of foreign JSON is read, and what cannot is nothing. Programs that cut a text
between the two halves of a character write the half that is left as an
escape that pairs with no other (``"\ud83d"``, RFC 8259 section 8.2), or in the three bytes that
UTF-8 would give it. Parsers refuse the document then. Here it costs that one character.

Arguments, paths and variables are bytes. Python hands them over as text in which each byte that
is not part of UTF-8 is a lone surrogate (PEP 383), and JSON cannot hold those. In files and in
JSON each such byte is one character of a range that nothing else uses: byte ``0xNN`` is
``U+10FENN``. A real character of that range is written as its four bytes, so that any sequence of
bytes comes back as it was. FORMAT.md describes it for readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.model.resolved_types import resolved

NOT_JSON = (ValueError, RecursionError)
"""What decoders of JSON and MessagePack raise: errors of msgspec and of UTF-8 are ``ValueError``,
and nesting without end is a ``RecursionError``, also in fields that nobody reads."""

_BASE = 0x10FE00  # plus a byte from 0x80
_STORED = "\U0010fe80-\U0010feff"
_UNSTORABLE = lazy_pattern(f"[\ud800-\udfff{_STORED}]")
_SPELLED = lazy_pattern(f"[{_STORED}]+")
_SPELLED_UTF8 = (b"\xf4\x8f\xba", b"\xf4\x8f\xbb")

_HALVES = re.compile(
    rb"""
    \\(?:
        u[dD][89abAB][0-9a-fA-F]{2} \\u[dD][c-fC-F][0-9a-fA-F]{2}  # a pair
        | (u[dD][89a-fA-F][0-9a-fA-F]{2})                          # a half
        | [^u]                                                     # any other escape
    )
    | (\xed[\xa0-\xbf][\x80-\xbf])                                 # a half in bytes
    """,
    re.VERBOSE | re.DOTALL,
)
_ANY_HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


def without_halves(data: bytes) -> tuple[bytes, int]:
    """JSON in which each half of a character is U+FFFD, and how many there were.

    The length stays the same, so that the places of errors do, too.
    """
    if _ANY_HALF.search(data) is None:
        return data, 0
    found = 0

    def whole(match: re.Match[bytes]) -> bytes:
        nonlocal found
        if match[1] is None and match[2] is None:
            return match[0]
        found += 1
        return b"\\ufffd" if match[1] is not None else b"\xef\xbf\xbd"

    return _HALVES.sub(whole, data), found


def foreign_json(data: bytes | str, kind: Any = Any) -> Any:
    """A JSON value as ``kind``; a half of a character in it becomes U+FFFD.

    Raises:
        ValueError, RecursionError: it is not JSON, or of another kind (``NOT_JSON``).
    """
    try:
        return msgspec.json.decode(data, type=resolved(kind))
    except ValueError:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        whole, found = without_halves(raw)
        if not found:
            raise
        return msgspec.json.decode(whole, type=resolved(kind))


def decoded_json(data: bytes | str) -> Any:
    """A JSON value; None where it is none."""
    try:
        return foreign_json(data)
    except NOT_JSON:
        return None


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none where it is none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def storable_text(text: str) -> str:
    """Text of the system as JSON and our files hold it: valid Unicode, nothing lost.

    Args:
        text: bytes of the system as Python's ``os.fsdecode`` gives them.
    """
    if text.isascii() or not _UNSTORABLE.search(text):
        return text
    with suppress(UnicodeEncodeError):  # half of a pair that no byte stands for
        # Where Python decodes as ASCII, bytes that are UTF-8 come as surrogates, too.
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return _UNSTORABLE.sub(
        lambda found: "".join(chr(_BASE + byte) for byte in _bytes_of(found.group())), text
    )


def _bytes_of(char: str) -> bytes:
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return char.encode("utf-8", errors)


def native_text(text: str) -> str:
    """What ``storable_text`` was given: text that the system takes as the same bytes again."""
    if text.isascii():
        return text
    return _SPELLED.sub(
        lambda found: bytes(ord(char) - _BASE for char in found.group()).decode(
            "utf-8", "surrogateescape"
        ),
        text,
    )


def storable(value: Any) -> Any:
    """A JSON value in which each text is as ``storable_text`` makes it."""
    return _each_text(value, storable_text)


def native(value: Any) -> Any:
    """A JSON value in which each text is as ``native_text`` makes it."""
    return _each_text(value, native_text)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {
                _each_text(name, change): _each_text(one, change) for name, one in value.items()
            }
        case list() | tuple():
            return [_each_text(one, change) for one in value]
        case _:
            return value


def as_msgpack(value: Any) -> bytes:
    """A struct or builtins as MessagePack, with each text as ``storable_text`` makes it."""
    try:
        body = msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        body = b""
    if body and not any(mark in body for mark in _SPELLED_UTF8):
        return body  # nearly always
    return msgspec.msgpack.encode(storable(msgspec.to_builtins(value, builtin_types=(bytes,))))


def from_msgpack(body: bytes, type_: Any) -> Any:
    """What ``as_msgpack`` was given, as ``type_``.

    Raises:
        msgspec.MsgspecError: it is not MessagePack, or another type.
    """
    if not any(mark in body for mark in _SPELLED_UTF8):
        return msgspec.msgpack.decode(body, type=resolved(type_))
    return msgspec.convert(native(msgspec.msgpack.decode(body)), resolved(type_))
