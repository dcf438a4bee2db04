"""Show text that someone else made: printable, on one line, unable to act on a terminal.

Control characters (C0, C1, DEL), bidirectional controls, zero-width and other
invisible characters, line and paragraph separators, lone surrogates and bytes that are not UTF-8
are shown as escapes, so that what is printed is what is there (UAX #9 on
bidirectional controls, UTR #36 on invisible ones).
"""

from __future__ import annotations

import json
import re
from functools import cache

_UNSAFE_CHARACTERS = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\ud800-\udfff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\U0010fe80-\U0010feff"
)
_STORED_BYTES = 0x10FE80  # from here on: bytes as ``storable_text`` writes them
_NAMED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
"""Backslashes come first, because the other names hold one."""


@cache
def _unsafe() -> re.Pattern[str]:
    """The characters that are shown as escapes. Made on first use, because that takes 10 ms."""
    return re.compile(f"[{_UNSAFE_CHARACTERS}]")


@cache
def _active() -> re.Pattern[str]:
    """Characters that JSON and YAML leave alone, and that act on a terminal or are invisible."""
    return re.compile(
        "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
        "\U000e0000-\U000e007f]"
    )


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    named = _NAMED.get(char)
    if named is not None:
        return named
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF or code >= _STORED_BYTES:  # a byte that is not part of UTF-8
        code &= 0xFF
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shown(text: str) -> str:
    """Text with escapes. The usual ones are replaced first, because one by one takes longer."""
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text  # most is so
    for char, named in _NAMED.items():
        text = text.replace(char, named)
    return _unsafe().sub(_escape, text)


def visible(text: str, *, limit: int = 2000) -> str:
    """``text`` with everything invisible or active shown as an escape.

    Backslashes are doubled, so that the result is unambiguous. Text longer than
    ``limit`` characters is cut, and the cut is said.
    """
    cut = text[:limit]
    shown = _shown(cut)
    left = len(text) - len(cut)
    return f"{shown}... ({left} more characters)" if left else shown


def has_active(text: str) -> bool:
    """Whether something in a text acts on a terminal or is invisible, but for C0 controls."""
    return (not text.isascii() or "\x7f" in text) and _active().search(text) is not None


def visible_json(data: bytes) -> bytes:
    r"""The same JSON, with ``\uNNNN`` for characters that act on a terminal or are invisible."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _active().sub(lambda found: json.dumps(found.group())[1:-1], data.decode()).encode()


def printable(text: str, *, limit: int = 10_000) -> str:
    """A message on one line; characters that are still unsafe are shown as escapes.

    For text put together from parts that ``visible`` or ``repr`` escaped already:
    backslashes stay, so that nothing is escaped twice.
    """
    cut = text[:limit]
    shown = _unsafe().sub(_escape, cut)
    left = len(text) - len(cut)
    return f"{shown}... ({left} more characters)" if left else shown


def visible_bytes(data: bytes, *, limit: int = 2000) -> str:
    r"""``data`` as UTF-8, with ``\xNN`` for other bytes, then as ``visible``."""
    text = data[:limit].decode("utf-8", "surrogateescape")
    shown = _shown(text)
    left = len(data) - min(len(data), limit)
    return f"{shown}... ({left} more bytes)" if left else shown
