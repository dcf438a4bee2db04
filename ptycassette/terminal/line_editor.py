"""The text that typed keys produce in a line editor, in two readings.

Line disciplines know rubout, ctrl-u and ctrl-w (termios: VERASE, VKILL, VWERASE). Line editors
(readline's emacs mode, which shells, prompts and the input boxes of agents share) also move the
cursor, so that later characters may be inserted before earlier ones, and ctrl-y brings back what
was removed. Which keys a program obeyed is not known, so both readings are made.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptycassette.model import lazy_pattern
from ptycassette.terminal.keys import KILL_LINE, KILL_WORD, RUBOUT, Place, typed_keys

_Cell = tuple[str, list[Place]]

_SEQUENCE = lazy_pattern(
    r"\x1b(?:\[(?P<number>\d{0,2})(?:;(?P<held>\d{1,3})(?::(?P<event>\d))?)?(?P<key>[CDFH~])"
    r"|O(?P<pad>[CDFH])|(?P<meta>[bdf\x7f\x08]))\Z"
)
_RELEASE = "3"
_DELETE = "3"
_KEYPAD = {"1": "home", "7": "home", "4": "end", "8": "end", "C": "right", "D": "left",
           "F": "end", "H": "home"}  # fmt: skip
_BY_WORDS = {"left": "word before", "right": "word behind"}
# Where each goes, and whether it removes what lies on the way.
_META = {
    "b": ("word before", False), "f": ("word behind", False), "d": ("word behind", True),
    "\x7f": ("word before", True), "\x08": ("word before", True),
}  # fmt: skip
_DISCIPLINE = {
    KILL_LINE: ("home", True), KILL_WORD: ("blank before", True),
    **dict.fromkeys(RUBOUT, ("left", True)),
}  # fmt: skip
_CONTROLS = {
    **_DISCIPLINE, "\x01": ("home", False), "\x02": ("left", False), "\x04": ("right", True),
    "\x05": ("end", False), "\x06": ("right", False), "\x0b": ("end", True),
}  # fmt: skip
_YANK = "\x19"
_MOVES_BACK = lazy_pattern("[\x01\x02\x19]|\x1b(?:\\[[0-9;:]*[DHu~]|O[DH]|b)")
_WORD = "[A-Za-z0-9\x80-\xff]"
_BEFORE = {
    "left": lazy_pattern("(?:[^\x80-\xbf][\x80-\xbf]*|.)\\Z", re.DOTALL),
    "word before": lazy_pattern(f"{_WORD}*(?:(?!{_WORD}).)*\\Z", re.DOTALL),
    "blank before": lazy_pattern(r"[^ ]* *\Z"),
}
_BEHIND = {
    "right": lazy_pattern("(?:.[\x80-\xbf]*)?", re.DOTALL),
    "word behind": lazy_pattern(f"(?:(?!{_WORD}).)*{_WORD}*", re.DOTALL),
}
_LONGEST_LINE = 4096
_LONGEST_WORD = 256
_MOST_COPIED = 1 << 18


class TypedText(NamedTuple):
    """Typed text as bytes (characters 0 to 255), and the input positions that encode each."""

    text: str
    sources: list[list[Place]]


def typed_text(raw: str, *, base: int = 0, editing: bool = True) -> TypedText:
    """The text typed by ``raw``; ``editing`` applies rubout and kill keys."""
    editor = _Editor(moves=False)
    for text, places in typed_keys(raw, base=base):
        if editing or text not in _DISCIPLINE:
            editor.key(text, places)
    return editor.typed()


def edited_text(raw: str, *, base: int = 0) -> TypedText | None:
    """The text of ``raw`` with cursor keys applied; None if they change nothing."""
    if not _MOVES_BACK.search(raw):
        return None
    editor = _Editor(moves=True)
    for text, places in typed_keys(raw, base=base):
        editor.key(text, places)
    typed = editor.typed()
    return typed if editor.changed else None


class _Editor:
    """A line with a cursor, and the lines before it.

    A line that loses something in the middle is kept as it was, too.

    Args:
        moves: whether keys that move the cursor do so.

    Attributes:
        changed: whether anything was typed or removed anywhere but at the end of a line.
    """

    def __init__(self, *, moves: bool) -> None:
        self._moves = moves
        self._done: list[_Cell] = []
        self._line: list[_Cell] = []
        self._at = 0
        self._killed: list[_Cell] = []
        self._kills = False
        self._copied = 0
        self._typed = self._inside = False
        self.changed = False

    def key(self, text: str, places: list[Place]) -> None:
        """Apply one key: the text that it types, or the sequence that it sends, without places."""
        if places:
            does = (_CONTROLS if self._moves else _DISCIPLINE).get(text)
        else:
            does = _command_of(text) if self._moves else None
        kills, self._kills = self._kills, False
        if does is not None:
            self._do(*does, again=kills)
        elif text == _YANK and self._moves and places:
            self._yank()
        elif text == "\n":
            self._enter([(text, places)])
        elif places:
            self._insert([(char, places) for char in text])

    def typed(self) -> TypedText:
        """All lines."""
        self._enter([])
        chars = "".join([char for char, _ in self._done])
        return TypedText(chars, [places for _, places in self._done])

    def _enter(self, end: list[_Cell]) -> None:
        self._done += [*self._line, *end]
        self._line, self._at = [], 0
        self._typed = self._inside = False

    def _insert(self, cells: list[_Cell]) -> None:
        if self._at < len(self._line):
            self._inside = self.changed = True
        self._line[self._at : self._at] = cells
        self._at += len(cells)
        self._typed = True
        if len(self._line) >= _LONGEST_LINE:
            self._enter([])

    def _yank(self) -> None:
        self._copied += len(self._killed)
        if self._killed and self._copied <= _MOST_COPIED:
            self.changed = True
            self._insert(self._killed)

    def _do(self, place: str, removes: bool, *, again: bool) -> None:  # noqa: FBT001 - a row
        """Move the cursor, or remove the text on the way; ``again``: the key before did, too."""
        to = self._place(place)
        start, end = min(self._at, to), max(self._at, to)
        self._at = start if removes else to
        if not removes or start == end:
            return
        if end < len(self._line):
            self._inside = self.changed = True
        if self._inside and self._typed and self._copied <= _MOST_COPIED:
            self._copied += len(self._line)
            self._done += [*self._line, ("\n", [])]
            self._typed = False
        if place not in _BY_WORDS:
            cut, kept = self._line[start:end], self._killed if again else []
            self._killed = cut + kept if to < end else kept + cut
            self._kills = True
        del self._line[start:end]

    def _place(self, name: str) -> int:
        """The target of a movement, in characters from the start of the line."""
        at = self._at
        if name in _BEFORE:
            cells = self._line[max(0, at - _LONGEST_WORD) : at]
            match = _BEFORE[name].search("".join([char for char, _ in cells]))
            return at - (match.end() - match.start() if match else 0)
        if name in _BEHIND:
            cells = self._line[at : at + _LONGEST_WORD]
            match = _BEHIND[name].match("".join([char for char, _ in cells]))
            return at + (match.end() if match else 0)
        return 0 if name == "home" else len(self._line)


def _command_of(sequence: str) -> tuple[str, bool] | None:
    """The line editor command for the sequence of a key; None if there is none."""
    match = _SEQUENCE.match(sequence)
    if match is None or match["event"] == _RELEASE:
        return None
    if match["meta"]:
        return _META[match["meta"]]
    by_words = match["held"] not in {None, "", "1"}
    if match["key"] == "~" and match["number"] == _DELETE:
        return ("word behind" if by_words else "right"), True
    key = match["number"] if match["key"] == "~" else match["key"] or match["pad"]
    place = _KEYPAD.get(key)
    if place is None:
        return None
    return (_BY_WORDS.get(place, place) if by_words else place), False
