r"""JSON that strangers wrote: what can be read of it is read, and what cannot is nothing.

Programs that cut a text between the two halves of a character write the half that is left as an
escape that pairs with no other (``"\ud83d"``, RFC 8259 section 8.2), or in the three bytes that
UTF-8 would give it. Parsers refuse the document then. Here it costs that one character.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ptycassette.model.resolved_types import resolved

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
        msgspec.DecodeError, ValueError, RecursionError: it is not JSON, or of another kind.
    """
    try:
        return msgspec.json.decode(data, type=resolved(kind))
    except (msgspec.DecodeError, ValueError):
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        whole, found = without_halves(raw)
        if not found:
            raise
        return msgspec.json.decode(whole, type=resolved(kind))


def decoded_json(data: bytes | str) -> Any:
    """A JSON value; None where it is none."""
    try:
        return foreign_json(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none where it is none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
