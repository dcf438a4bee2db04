"""One line editor: the text that keys leave in a line, as readline's emacs mode has it.

Shells, prompts and the input boxes of agents share these keys. Two users: comparisons of input
(``Line``), where only the line at the Enter key matters, and the search for secrets in what was
typed (``typed_text``, ``edited_text``), where each character keeps the places of the input that
name it. Which keys a program obeyed is not known there, so two readings are made: line disciplines
know rubout, ctrl-u and ctrl-w (termios: VERASE, VKILL, VWERASE); line editors also move the
cursor, so that later characters may be inserted before earlier ones, and ctrl-y brings back what
was removed.

Text is edited as UTF-8 bytes, each shown as one character (0 to 255).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ptycassette.keys.reader import REMOVING, Key, Place, key_name, typed_keys
from ptycassette.model.re2_engine import lazy_pattern

Cell = tuple[str, list[Place]]
"""One byte of a line, and the places of the input that name it."""

_YANK = "ctrl-y"
_COMMANDS = {
    # A key, its target, and whether it removes the text on the way.
    "backspace": ("left", True), "delete": ("right", True), "ctrl-d": ("right", True),
    "ctrl-u": ("home", True), "ctrl-k": ("end", True), "ctrl-w": ("blank before", True),
    "alt-backspace": ("word before", True), "alt-d": ("word behind", True),
    "ctrl-delete": ("word behind", True), "alt-delete": ("word behind", True),
    **dict.fromkeys(("left", "ctrl-b"), ("left", False)),
    **dict.fromkeys(("right", "ctrl-f"), ("right", False)),
    **dict.fromkeys(("home", "ctrl-a"), ("home", False)),
    **dict.fromkeys(("end", "ctrl-e"), ("end", False)),
    **dict.fromkeys(("alt-b", "alt-left", "ctrl-left"), ("word before", False)),
    **dict.fromkeys(("alt-f", "alt-right", "ctrl-right"), ("word behind", False)),
}  # fmt: skip
_DISCIPLINE = frozenset({"backspace", "ctrl-u", "ctrl-w"})
_SINGLE = frozenset({"left", "right"})
_MOVES_BACK = lazy_pattern("[\x01\x02\x19]|\x1b(?:\\[[0-9;:]*[DHu~]|O[DH]|b)")
_LONGEST_LINE = 4096
_LONGEST_WORD = 256
_MOST_COPIED = 1 << 18


class _Editor:
    """A line with a cursor, and what was removed last.

    Args:
        longest_word: how many bytes a movement by words looks at.
    """

    def __init__(self, *, longest_word: int) -> None:
        self.cells: list[Cell] = []
        self.at = 0
        self.killed: list[Cell] = []
        self._kills = False
        self._longest_word = longest_word

    def insert(self, cells: list[Cell]) -> None:
        self.cells[self.at : self.at] = cells
        self.at += len(cells)
        self._kills = False

    def do(self, name: str) -> bool:
        """Apply a key; False if it does not edit the line."""
        if name == _YANK:
            self.insert(self.killed)
            return True
        command = _COMMANDS.get(name)
        if command is None:
            return False
        place, removes = command
        again, self._kills = self._kills, False
        to = self._place(place)
        start, end = min(self.at, to), max(self.at, to)
        self.at = start if removes else to
        if not removes or start == end:
            return True
        self.removing(end)
        if place not in _SINGLE:
            cut, kept = self.cells[start:end], self.killed if again else []
            self.killed = cut + kept if to < end else kept + cut
            self._kills = True
        del self.cells[start:end]
        return True

    def removing(self, end: int) -> None:
        """Called before the cells from the cursor to ``end`` are removed."""

    def _place(self, name: str) -> int:
        """The target of a movement, in bytes from the start of the line."""
        if name in {"home", "end"}:
            return 0 if name == "home" else len(self.cells)
        if name == "left":
            return self._start_of_character(self.at)
        if name == "right":
            past = min(self.at + 1, len(self.cells))
            is_long = self.at < past and self.cells[self.at][0] >= "\xc0"
            return self._past(_continues, past, 1) if is_long else past
        if name == "blank before":
            return self._past(_in_argument, self._past(_is_blank, self.at, -1), -1)
        by = -1 if name == "word before" else 1
        return self._past(_in_word, self._past(_between_words, self.at, by), by)

    def _past(self, belongs: Callable[[str], bool], at: int, by: int) -> int:
        """The first place from ``at`` on, in steps of ``by``, where a byte does not belong."""
        cells, before = self.cells, -1 if by < 0 else 0
        low, high = max(0, self.at - self._longest_word), self.at + self._longest_word
        low, high = (low, len(cells)) if by < 0 else (0, min(len(cells), high))
        while (at > low if by < 0 else at < high) and belongs(cells[at + before][0]):
            at += by
        return at

    def _start_of_character(self, at: int) -> int:
        start = at - 1
        while start > 0 and _continues(self.cells[start][0]):
            start -= 1
        is_whole = start >= 0 and self.cells[start][0] >= "\xc0"
        return start if is_whole else max(0, at - 1)


def _continues(char: str) -> bool:
    """Whether a byte continues a character of UTF-8."""
    return "\x80" <= char <= "\xbf"


def _in_word(char: str) -> bool:
    """Letters and digits, and every byte of a character that is not ASCII."""
    return char.isalnum() or char >= "\x80"


def _between_words(char: str) -> bool:
    return not _in_word(char)


def _is_blank(char: str) -> bool:
    return char == " "


def _in_argument(char: str) -> bool:
    return char != " "


class Line:
    """One line of text under edit. ``apply`` returns whether a key edited it.

    On an empty line an editing key is an action instead: it moves a menu, scrolls a pager or ends a
    program.
    """

    def __init__(self) -> None:
        self._editor = _Editor(longest_word=1 << 30)

    @property
    def text(self) -> str:
        """The line now."""
        return (
            "".join([char for char, _ in self._editor.cells])
            .encode("latin-1")
            .decode("utf-8", "surrogateescape")
        )

    def apply(self, key: Key) -> bool:
        """Apply one key. False when it is an action, neither text nor an edit."""
        editor = self._editor
        if key.kind in {"text", "paste"}:
            data = key.text.encode("utf-8", "surrogateescape").decode("latin-1")
            editor.insert([(char, []) for char in data])
            return True
        if key.kind != "key" or not (editor.cells or (key.name == _YANK and editor.killed)):
            return False
        if key.name == "ctrl-d" and editor.at == len(editor.cells):
            return False
        return editor.do(key.name)


class TypedText(NamedTuple):
    """Typed text as bytes (characters 0 to 255), and the input positions that encode each."""

    text: str
    sources: list[list[Place]]


def typed_text(raw: str, *, base: int = 0, editing: bool = True) -> TypedText:
    """The text typed by ``raw``; ``editing`` applies rubout and kill keys."""
    editor = _TypedLines(moves=False)
    for text, places in typed_keys(raw, base=base):
        if editing or text not in REMOVING:
            editor.key(text, places)
    return editor.typed()


def edited_text(raw: str, *, base: int = 0) -> TypedText | None:
    """The text of ``raw`` with cursor keys applied; None if they change nothing."""
    if not _MOVES_BACK.search(raw):
        return None
    editor = _TypedLines(moves=True)
    for text, places in typed_keys(raw, base=base):
        editor.key(text, places)
    typed = editor.typed()
    return typed if editor.changed else None


class _TypedLines(_Editor):
    """A line under edit, and the lines before it.

    A line that loses something in the middle is kept as it was, too.

    Args:
        moves: whether keys that move the cursor do so.

    Attributes:
        changed: whether anything was typed or removed anywhere but at the end of a line.
    """

    def __init__(self, *, moves: bool) -> None:
        super().__init__(longest_word=_LONGEST_WORD)
        self._moves = moves
        self._done: list[Cell] = []
        self._copied = 0
        self._typed = self._inside = False
        self.changed = False

    def key(self, text: str, places: list[Place]) -> None:
        """Apply one key: the text that it types, or the sequence that it sends (without places)."""
        if text == "\n" and places:
            self._enter([(text, places)])
            return
        name = key_name(text) if not places or text < " " or text == "\x7f" else ""
        if places:
            edits = self._moves or name in _DISCIPLINE
        else:  # a sequence; input boxes of agents move by one character with shift, too
            edits, name = self._moves, name.replace("shift-", "")
        if edits and self.do(name):
            return
        if places:
            self.insert([(char, places) for char in text])
        else:
            self._kills = False

    def typed(self) -> TypedText:
        self._enter([])
        chars = "".join([char for char, _ in self._done])
        return TypedText(chars, [places for _, places in self._done])

    def do(self, name: str) -> bool:
        """Apply a key; text that ctrl-y inserts is bounded."""
        if name == _YANK:
            self._copied += len(self.killed)
            if not self.killed or self._copied > _MOST_COPIED:
                return True
            self.changed = True
        return super().do(name)

    def insert(self, cells: list[Cell]) -> None:
        """Insert text at the cursor; a line that is too long ends."""
        if self.at < len(self.cells):
            self._inside = self.changed = True
        super().insert(cells)
        self._typed = True
        if len(self.cells) >= _LONGEST_LINE:
            self._enter([])

    def removing(self, end: int) -> None:
        """Keep the line as it was if it loses something in the middle."""
        if end < len(self.cells):
            self._inside = self.changed = True
        if self._inside and self._typed and self._copied <= _MOST_COPIED:
            self._copied += len(self.cells)
            self._done += [*self.cells, ("\n", [])]
            self._typed = False

    def _enter(self, end: list[Cell]) -> None:
        self._done += [*self.cells, *end]
        self.cells, self.at = [], 0
        self._typed = self._inside = False
        self._kills = False
