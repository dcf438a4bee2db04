"""Keys as they were typed, and the text that came of them: rubout, ctrl-u, ctrl-w, CSI u.

The line discipline's editing keys (termios: VERASE, VKILL, VWERASE) and the
kitty keyboard protocol (``CSI code ; modifiers u``), in which every key may be
a sequence of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.mask import mask
from ptycassette.scrub.views import Patch, View

__all__ = ["TypedView", "typed_view"]

_KEY = re.compile(
    r"\x1b\[(?P<code>\d{1,7})(?::[\d:]*)?(?:;(?P<modifiers>[\d:]*)(?:;[\d:]*)?)?u"
    r"|\x1b\[27;(?P<modifiers2>\d+);(?P<code2>\d{1,7})~"  # xterm modifyOtherKeys
    r"|\x1b\[20[01]~"  # bracketed paste
    r"|\x1b\[[\x20-\x3f]*[\x40-\x7e]|\x1bO.|\x1b[\x20-\x7e\x7f]?"
    r"|(?P<char>[\s\S])"
)
_RUBOUT = frozenset("\x7f\x08")
_KILL_LINE = "\x15"
_KILL_WORD = "\x17"
_EDITS = frozenset({*_RUBOUT, _KILL_LINE, _KILL_WORD})
_ENTER = frozenset("\r\n")
_MASKED_CODES = {2: "88", 3: "120"}  # X and x: codes of as many digits


class TypedView(View):
    """Typed text. Each character stands for a byte, or for the digits of its code in a sequence."""

    def __init__(self, text: str, *, sources: list[tuple[int, int]]) -> None:
        super().__init__(text)
        self._sources = sources

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """See ``View.patches``."""
        masked = mask(self.text[start:end], form)
        for (offset, digits), char in zip(self._sources[start:end], masked, strict=True):
            if not digits:
                yield offset, char.encode("latin-1")
            elif digits in _MASKED_CODES:
                yield offset, _MASKED_CODES[digits].encode()

    def offset(self, start: int, end: int) -> int | None:
        """See ``View.offset``."""
        return self._sources[start][0] if start < end else None


def typed_view(raw: str, *, base: int, editing: bool = True) -> TypedView:
    """The characters that canonical ``raw`` typed; ``editing`` applies rubout and kill keys."""
    chars: list[str] = []
    sources: list[tuple[int, int]] = []
    for match in _KEY.finditer(raw):
        char, source = _key(match, base)
        if not char or (not editing and char in _EDITS):
            continue
        if char in _RUBOUT:
            _drop(chars, sources, 1)
        elif char == _KILL_LINE:
            _drop(chars, sources, _line(chars))
        elif char == _KILL_WORD:
            _drop(chars, sources, _word(chars))
        else:
            chars.append("\n" if char in _ENTER else char)
            sources.append(source)
    return TypedView("".join(chars), sources=sources)


def _key(match: re.Match[str], base: int) -> tuple[str, tuple[int, int]]:
    """The character of one key ("" for none), and where it stands (offset, digits of its code)."""
    if match["char"]:
        return match["char"], (base + match.start(), 0)
    for name, modifiers in (("code", "modifiers"), ("code2", "modifiers2")):
        if match[name]:
            code = int(match[name])
            held = int((match[modifiers] or "1").split(":")[0] or 1) - 1
            if held & 4 and 97 <= code <= 122:  # ctrl
                code -= 96
            elif held & 1 and 97 <= code <= 122:  # shift
                code -= 32
            char = chr(code) if code < 0x80 else ""
            return char, (base + match.start(name), len(match[name]))
    return "", (0, 0)


def _drop(chars: list[str], sources: list[tuple[int, int]], count: int) -> None:
    if count:
        del chars[-count:]
        del sources[-count:]


def _line(chars: list[str]) -> int:
    """How many characters the line has so far."""
    count = 0
    while count < len(chars) and chars[-1 - count] != "\n":
        count += 1
    return count


def _word(chars: list[str]) -> int:
    """How many characters ctrl-w removes: blanks, then up to the blank before."""
    count = 0
    while count < len(chars) and chars[-1 - count] == " ":
        count += 1
    while count < len(chars) and chars[-1 - count] not in " \n":
        count += 1
    return count
