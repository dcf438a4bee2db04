r"""Masks: they have as many bytes, as many cells and the same form as the text that they replace.

Plain text becomes ``x``; a character of several bytes becomes one of as many bytes and cells
that joins its neighbours in the same way, so that flags, emoji sequences and syllables take as
much room as before, whatever is painted between their parts. Escapes stay escapes (``%41`` ->
``%78``, ``\u0041`` -> ``\u0078``, ``&#65;`` -> ``&#88;``), hexadecimal digits, base64 and numbers
become those of ``x`` (of ``X`` where a number has two digits). Controls, blanks and borders stay.
A digit that a variation selector makes as wide as an emoji becomes a zero, which it widens too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.terminal.widths import width_mode

TEXT = "text"
BASE64 = "base64"
BASE32 = "base32"
HEX = "hex"
ESCAPED = "escaped"
NUMBERS = "numbers"
QUOTED = "quoted"
VOLATILE = "volatile"

SELECTOR = "\xef\xb8\x8f"
"""U+FE0F, which asks for an emoji, as the bytes of canonical text."""

_SELECTED = "\ufe0f"
_KEPT = frozenset({_SELECTED, "\ufeff"})
"""Characters that are their own masks. The emulator drops U+FEFF: nothing else joins nothing."""
# Characters that it makes as wide as an emoji, with any marks between them (UTS #51, keycaps).
_KEYCAP = lazy_pattern(rf"[#*0-9](?=[^\x00-\x7f]*{_SELECTED})")
# One character for each class (see ``_class``), by the number of its bytes. Marks are invisible
# ones if there are any.
_STAND_INS = (
    "\u00b7\u00a9\u034f\u00ad\u0600"
    "\u2022\uff38\u2600\u231a\ufe00\u200b\u200d\u0890\u0903\u0e33"
    "\u1100\u1160\u11a8\uac00\uac01"
    "\U0001d7d9\U00020000\U0001f321\U0001f512\U000e0100\U000e0001\U000110bd\U00011000"
    "\U00016d63\U0001f1fd\U0001f3fd"
)
_ESCAPES = lazy_pattern(
    r"%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[0-3][0-7]{2}"
    r"|\\u\{(?P<braced>[0-9A-Fa-f]{1,6})\}|\\U[0-9A-Fa-f]{8}"
    r"|&\#(?P<decimal>[0-9]{1,7});|&\#[xX](?P<hexadecimal>[0-9A-Fa-f]{1,6});|&(?:amp|lt|gt|quot|apos);"
    r"|\\.|[^%\\&]+|.",
    re.DOTALL,
)
_QUOTED = lazy_pattern(r"(?P<escape>=[0-9A-F]{2})|(?P<line_end>=\r?\n)|[^=]+|=")
_NUMBER = lazy_pattern(r"[0-9]+")
_CHARACTER = lazy_pattern(r"[^=%\\&]+|.", re.DOTALL)
# Two digits become X, three become x, and more become a letter that looks like one, or the mask of
# four bytes.
_DECIMALS = {2: "88", 3: "120", 4: "1093", 5: "65336", 6: "120793"}
_NUMBERED = {"u": "\\u0078", "U": "\\U00000078", "x": "\\x78"}
_PAIRS = lazy_pattern(r"((?:0[xX])?)[0-9A-Fa-f]{2}")
_BASE64_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_BASE32_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz234567")
_BETWEEN_LINES = frozenset("\r\n\t ")
_X_IN_BASE64 = "eHh4"  # decodes to xxx
_X_IN_BASE32 = "PB4HQ6DY"  # and this to xxxxx
_ASCII = dict.fromkeys(range(ord("!"), ord("~") + 1), "x")
_VOLATILE = str.maketrans(
    {
        **dict.fromkeys("0123456789", "0"),
        **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "x"),
        **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "X"),
    }
)


def mask(text: str, form: str = TEXT) -> str:
    """Mask all of ``text`` (canonical). The length stays the same.

    Args:
        text: one character for each byte.
        form: how the secret is encoded in it: ``TEXT``, ``HEX``, ``ESCAPED``, ``NUMBERS``
            (decimal code points), ``QUOTED`` (printable), ``VOLATILE`` (digits to 0,
            letters to x, the shape stays), or ``BASE64`` followed by the place of the first
            character in its group of four (``base642``), and by ``ESCAPED`` or ``QUOTED`` where
            some of its digits are escaped (``base642escaped``). The same of ``BASE32``, whose
            groups have eight.
    """
    if form.startswith(BASE64):
        return _digits(text, form[len(BASE64) :], _BASE64_DIGITS, _X_IN_BASE64)
    if form.startswith(BASE32):
        digits = _digits(text, form[len(BASE32) :], _BASE32_DIGITS, _X_IN_BASE32)
        return digits.lower() if text.islower() else digits
    if form in _SUBSTITUTED:
        pattern, masked = _SUBSTITUTED[form]
        return pattern.sub(masked, text)
    if form == VOLATILE:
        return text.translate(_VOLATILE)
    return _characters(text)


def mask_text(data: bytes) -> bytes:
    """Mask plain text, which takes as many bytes and cells then."""
    return _characters(data.decode("latin-1")).encode("latin-1")


def decimal_mask(digits: str) -> str:
    """The code point of a neutral character, in as many decimal digits.

    One digit is a control or padding, and stays.
    """
    wanted = len(digits.lstrip("0"))
    if len(digits) > 2:
        wanted = max(wanted, 3)
    return _DECIMALS.get(wanted, digits).rjust(len(digits), "0")


def _digits(text: str, rest: str, digits: frozenset[str], xs: str) -> str:
    """Mask digits by a group of them. Line ends between them and escapes stay (%2B, =3D)."""
    phase = int(rest[:1] or 0)
    pattern, masked = _SUBSTITUTED.get(rest[1:], (_CHARACTER, re.Match.group))
    parts = []
    for match in pattern.finditer(text):
        piece = match.group()
        if len(piece) > 1 and piece[0] in "%\\&=":
            parts.append(masked(match))
            phase += not (rest.endswith(QUOTED) and match["line_end"])
            continue
        for char in piece:
            parts.append(xs[phase % len(xs)] if char in digits else char)
            phase += char not in _BETWEEN_LINES
    return "".join(parts)


def _escape(match: re.Match[str]) -> str:
    """Mask one escape, or the text between two escapes."""
    piece = match.group()
    if match.lastgroup == "decimal":
        return f"&#{decimal_mask(match['decimal'])};"
    if match.lastgroup:
        digits = match[match.lastgroup]
        masked = "78".rjust(len(digits), "0") if len(digits) > 1 else digits
        return piece.replace(digits, masked)
    if piece[0] == "%" and len(piece) > 1:
        return "%78"
    if piece[0] == "\\" or (len(piece) > 1 and piece[0] == "&"):
        named = len(piece) <= 2 or piece[0] == "&"
        return piece if named else _NUMBERED.get(piece[1], "\\170")
    return _characters(piece)


def _quoted(match: re.Match[str]) -> str:
    """Mask one escape, a soft line break, or the text between them."""
    if match["escape"]:
        return "=78"
    return match["line_end"] or _characters(match.group())


_SUBSTITUTED: dict[str, tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = {
    HEX: (_PAIRS, lambda match: match[1] + "78"),
    ESCAPED: (_ESCAPES, _escape),
    NUMBERS: (_NUMBER, lambda match: decimal_mask(match.group())),
    QUOTED: (_QUOTED, _quoted),
}


def _characters(text: str) -> str:
    if text.isascii():
        return text.translate(_ASCII)
    chars = text.encode("latin-1").decode("utf-8", "surrogateescape")
    masked = list(map(_stand_in, chars))
    if _SELECTED in chars:
        for keycap in _KEYCAP.finditer(chars):
            masked[keycap.start()] = "0"
    text = _STRAY.sub(_stray, "".join(masked))
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _stray(match: re.Match[str]) -> str:
    """Mask bytes that are no characters: a terminal paints one sign for each broken character.

    So each stays one broken character of the same length (Unicode, section 3.9, on U+FFFD).
    """
    data, masked = match.group().encode("utf-8", "surrogateescape"), b""
    while data:
        try:
            data.decode()
        except UnicodeDecodeError as exc:
            masked += _BROKEN[exc.end]
            data = data[exc.end :]
    return masked.decode("utf-8", "surrogateescape")


_STRAY = lazy_pattern("[\udc80-\udcff]+")
_BROKEN = {1: b"\xff", 2: b"\xe8\x80", 3: b"\xf1\x80\x80"}
"""Length of a broken character -> what replaces it."""


@lru_cache(maxsize=4096)
def _stand_in(char: str) -> str:
    """The character that replaces ``char``. Controls and borders stay."""
    if char <= "~":
        return "x" if char >= "!" else char
    if char < "\u00a0" or "\u2500" <= char <= "\u257f" or "\ud800" <= char <= "\udfff":
        return char
    return char if char in _KEPT else _stand_ins()[_class(char)]


def _class(char: str) -> tuple[int, int, int]:
    """The properties that a mask must keep: bytes in UTF-8, how the character joins, its cells."""
    kind, width = width_mode("cluster").classify(char)
    return len(char.encode()), kind, width


@cache
def _stand_ins() -> dict[tuple[int, int, int], str]:
    """One replacement for each class of characters."""
    return {_class(char): char for char in _STAND_INS}


_PAGE = 4096
_SAME_SECRET = 4
"""A mask may leave a byte as it was, so stretches with so few bytes between them are one."""


def masked_places(raw: bytes, masked: bytes) -> tuple[tuple[int, int], ...]:
    """The stretches (offset, length) in which ``masked`` differs from ``raw``, as long as it."""
    found: list[tuple[int, int]] = []
    for at in range(0, len(raw), _PAGE):
        if raw[at : at + _PAGE] == masked[at : at + _PAGE]:
            continue
        for place in range(at, min(at + _PAGE, len(raw))):
            if raw[place] == masked[place]:
                continue
            if found and place - sum(found[-1]) <= _SAME_SECRET:
                start = found.pop()[0]
                found.append((start, place + 1 - start))
            else:
                found.append((place, 1))
    return tuple(found)
