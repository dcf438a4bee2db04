"""Splits input into keys and the characters that each types: CSI u, modifyOtherKeys, paste.

In the kitty keyboard protocol (``CSI code:shifted:base ; modifiers:event ; text u``), every key
may be sent as a sequence. Such a sequence names its character up to four times, and once
more when the key is released. All of these places belong to the one character that was
typed.

Bytes are given as characters 0 to 255, and so is the typed text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from ptycassette.model import lazy_pattern

_KEY = lazy_pattern(
    r"\x1b\[(?P<codes>[\d:]{0,32})(?:;(?P<modifiers>[\d:]{0,16})(?:;(?P<text>[\d:]{0,256}))?)?u"
    r"|\x1b\[27;(?P<modifiers2>\d+);(?P<codes2>\d{1,7})~"  # xterm modifyOtherKeys
    r"|\x1b\[20[01]~"  # bracketed paste
    r"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b[P_][^\x1b]{0,4096}\x1b\\"  # answers
    r"|\x1b\[M[\s\S]{3}"  # the mouse, as X10 said it
    r"|\x1b\[[\x20-\x3f]*[\x40-\x7e]|\x1bO.|\x1b[\x20-\x7e\x7f]?"
    r"|(?P<char>[\s\S])"
)
_CODE = lazy_pattern(r"\d+")
RUBOUT = frozenset("\x7f\x08")
KILL_LINE = "\x15"
KILL_WORD = "\x17"
_ENTER = frozenset("\r\n")
_SHIFT, _CTRL, _CAPS_LOCK = 1, 4, 64
_RELEASE = "3"
_FUNCTIONAL = range(57344, 63744)  # codes of keys that type nothing

Place = tuple[int, str]
"""Offset of a character's byte, and ""; or of the number that names it, and its digits."""


def typed_keys(raw: str, *, base: int) -> Iterator[tuple[str, list[Place]]]:
    """The text that each key of ``raw`` types, and the places that encode it.

    The return key types a line feed. For a sequence that types nothing: itself, and no places.
    """
    pressed: dict[int, list[Place]] = {}
    for match in _KEY.finditer(raw):
        for char, places in _key(match, base, pressed):
            yield "\n" if char in _ENTER else char, places


def _key(
    match: re.Match[str], base: int, pressed: dict[int, list[Place]]
) -> Iterator[tuple[str, list[Place]]]:
    """The characters that one key types, each with the places that encode it.

    ``pressed`` keeps the places of the keys that may be released later, by their codes.
    """
    if match["char"]:
        places = [(base + match.start(), "")]
        yield match["char"], places
        code = ord(match["char"])
        pressed[code] = pressed[_small(code)] = pressed[0] = places
        return
    name = "codes" if match["codes"] or match["text"] else "codes2"
    if match[name] is None:
        yield match.group(), []
        return
    named = [(int(digits), (base + at, digits)) for digits, at in _numbers(match, name)]
    modifiers, _, event = (match["modifiers"] or match["modifiers2"] or "1").partition(":")
    places = [place for code, place in named if _types(code)]
    codes = [code for code, _ in named if _types(code)]
    if event == _RELEASE:
        known = (pressed[code] for code in codes if code in pressed)
        key = next(known, pressed.get(0))
        if key is not None:
            key += places
        return
    typed = [(int(digits), (base + at, digits)) for digits, at in _numbers(match, "text")]
    texts = [(chr(code), place) for code, place in typed if _types(code)]
    if texts:
        places += [place for _, place in texts[:1]]
        yield _as_bytes(texts[0][0]), places
        yield from ((_as_bytes(char), [place]) for char, place in texts[1:])
    elif codes:
        shifted = (*match[name].split(":"), "")[1]
        char = _character(codes[0], int(shifted or 0), held=int(modifiers or 1) - 1)
        yield _as_bytes(char), places
    for code in codes:
        pressed[code] = pressed[_small(code)] = pressed[0] = places


def _numbers(match: re.Match[str], name: str) -> Iterator[tuple[str, int]]:
    """The numbers of one field, and their positions."""
    if match[name]:
        for number in _CODE.finditer(match.string, *match.span(name)):
            yield number.group(), number.start()


def _types(code: int) -> bool:
    """Whether a key with this code types a character."""
    return 0 < code <= sys.maxunicode and code not in _FUNCTIONAL


def _small(code: int) -> int:
    """The code of a letter's key, without modifiers."""
    return code + 32 if 65 <= code <= 90 else code


def _character(code: int, shifted: int, *, held: int) -> str:
    """The character of a key whose sequence has no text field."""
    if held & _CTRL and 97 <= code <= 122:
        return chr(code - 96)
    if held & _SHIFT and _types(shifted):
        return chr(shifted)
    if bool(held & _SHIFT) != bool(held & _CAPS_LOCK):
        upper = chr(code).upper()
        return upper if len(upper) == 1 else chr(code)
    return chr(code)


def _as_bytes(char: str) -> str:
    """The bytes of a character, each as one character."""
    return char.encode("utf-8", "surrogatepass").decode("latin-1")
