r"""What is put in the place of secret characters: as many bytes, as many cells, the same form.

Plain text becomes ``x``; a character of several bytes becomes one of as many
bytes and cells. Escapes stay escapes (``%41`` -> ``%78``, ``\u0041`` ->
``\u0078``), hexadecimal digits and base64 become those of ``x``. Controls,
blanks and characters without a cell stay.
"""

from __future__ import annotations

import re

from wcwidth import wcwidth

__all__ = ["BASE64", "ESCAPED", "HEX", "TEXT", "VOLATILE", "mask"]

TEXT = "text"
BASE64 = "base64"
HEX = "hex"
ESCAPED = "escaped"
VOLATILE = "volatile"

_SOFT_HYPHEN = "\u00ad"
# A character for each (bytes in UTF-8, cells): of as many bytes, of as many cells.
_SAME = {
    (2, 1): "\u00b7",
    (3, 1): "\u2022",
    (4, 1): "\U0001d7d9",
    (3, 2): "\uff38",
    (4, 2): "\U0001f512",
}
_ESCAPES = re.compile(
    r"%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[0-3][0-7]{2}|\\.|[^%\\]+|.", re.DOTALL
)
_PAIRS = re.compile(r"((?:0[xX])?)[0-9A-Fa-f]{2}")
_BASE64_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_X_IN_BASE64 = "eHh4"  # decodes to xxx
_ASCII = dict.fromkeys(range(ord("!"), ord("~") + 1), "x")
_VOLATILE = str.maketrans(
    {
        **dict.fromkeys("0123456789", "0"),
        **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "x"),
        **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "X"),
    }
)


def mask(text: str, form: str = TEXT) -> str:
    """``text`` (canonical) with nothing left of what it said, of the same length.

    Args:
        text: one character for each byte.
        form: how the secret stands in it: ``TEXT``, ``HEX``, ``ESCAPED``, ``VOLATILE``
            (digits to 0, letters to x, the shape stays), or ``BASE64`` followed by the
            place of the first character in its group of four (``base642``).
    """
    if form.startswith(BASE64):
        phase = int(form[len(BASE64) :] or 0)
        return "".join(
            _X_IN_BASE64[(index + phase) % 4] if char in _BASE64_DIGITS else char
            for index, char in enumerate(text)
        )
    if form == HEX:
        return _PAIRS.sub(r"\g<1>78", text)
    if form == ESCAPED:
        return _ESCAPES.sub(lambda match: _escape(match.group()), text)
    if form == VOLATILE:
        return text.translate(_VOLATILE)
    return _characters(text)


def _escape(piece: str) -> str:
    """One escape, or text between escapes."""
    if piece[0] == "%" and len(piece) > 1:
        return "%78"
    if piece[0] == "\\":
        if piece[1:2] == "u" and len(piece) > 2:
            return "\\u0078"
        if piece[1:2] == "x" and len(piece) > 2:
            return "\\x78"
        return "\\170" if len(piece) > 2 else piece
    return _characters(piece)


def _characters(text: str) -> str:
    """Plain text."""
    if text.isascii():
        return text.translate(_ASCII)
    chars = text.encode("latin-1").decode("utf-8", "surrogateescape")
    return "".join(map(_character, chars)).encode("utf-8", "surrogateescape").decode("latin-1")


def _character(char: str) -> str:
    """One character of one or more bytes; what has no cell stays as it is."""
    if char <= "~":
        return "x" if char >= "!" else char
    if "\ud800" <= char <= "\udfff":
        return char  # a byte that is no text: nothing is painted for it alone
    if char == _SOFT_HYPHEN or "\u2500" <= char <= "\u257f":
        return char  # a cell for wcwidth, and none for terminals; a border, which says nothing
    return _SAME.get((len(char.encode()), wcwidth(char)), char)
