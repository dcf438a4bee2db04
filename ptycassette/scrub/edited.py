"""Typed text as it stood in a line that was edited: ctrl-a, arrows, Home, ctrl-y, what follows.

What is typed before the cursor was moved back stands behind what is typed then. The keys
are those of line editors (readline's emacs mode, which shells, prompts and the input
boxes of agents share) and of xterm's cursor and editing keypads, plain and with ctrl or
alt. What is removed by more than a character comes back with ctrl-y. Whether a program
reads them so is not known; so this is one more reading, beside those in which the cursor
stays where it is.
"""

from __future__ import annotations

import re

from ptycassette.scrub.typed import KILL_LINE, KILL_WORD, RUBOUT, Place, TypedView, typed_keys

__all__ = ["edited_view"]

_SEQUENCE = re.compile(
    r"\x1b(?:\[(?P<number>\d{0,2})(?:;(?P<held>\d{1,3})(?::(?P<event>\d))?)?(?P<key>[CDFH~])"
    r"|O(?P<pad>[CDFH])|(?P<meta>[bdf\x7f\x08]))\Z"
)
_RELEASE = "3"
# What each does: whether it removes what it goes over, and where it goes.
_KEYS = {"C": "right", "D": "left", "F": "end", "H": "home"}
_KEYPAD = {"1": "home", "7": "home", "4": "end", "8": "end"}
_DELETE = "3"
_BY_WORDS = {"left": "word before", "right": "word behind"}
_META = {
    "b": (False, "word before"), "f": (False, "word behind"), "d": (True, "word behind"),
    "\x7f": (True, "word before"), "\x08": (True, "word before"),
}  # fmt: skip
_CONTROLS = {
    "\x01": (False, "home"), "\x02": (False, "left"), "\x04": (True, "right"),
    "\x05": (False, "end"), "\x06": (False, "right"), "\x0b": (True, "end"),
    KILL_LINE: (True, "home"), KILL_WORD: (True, "blank before"),
    **dict.fromkeys(RUBOUT, (True, "left")),
}  # fmt: skip
_YANK = "\x19"
_BY_CHARACTERS = frozenset({"left", "right"})
_FOLLOWING = range(0x80, 0xC0)  # bytes of UTF-8 that begin no character
_SEVERAL_BYTES = "\x80"
_MOVES_BACK = re.compile("[\x01\x02\x19]|\x1b(?:\\[[0-9;:]*[DHu~]|O[DH]|b)")
_LONGEST_LINE = 4096
_LONGEST_WORD = 256
_MOST_COPIED = 1 << 18


def edited_view(raw: str, *, base: int) -> TypedView | None:
    """What canonical ``raw`` typed, in the order in which it stood; None when that is no other."""
    if not _MOVES_BACK.search(raw):
        return None
    editor = _Editor()
    for text, places in typed_keys(raw, base=base):
        editor.key(text, places)
    editor.enter("", [])
    if not editor.changed:
        return None
    return TypedView("".join(editor.chars), sources=editor.sources)


class _Editor:
    """One line with a cursor, and the lines that were there before it.

    Attributes:
        chars: the characters of those lines; a line that lost something is there as it was, too.
        sources: for each character the places that name it.
        changed: whether anything was typed or removed anywhere but at the end of a line.
    """

    def __init__(self) -> None:
        self.chars: list[str] = []
        self.sources: list[list[Place]] = []
        self.changed = False
        self._line: list[str] = []
        self._places: list[list[Place]] = []
        self._at = 0
        self._inside = False
        self._typed = False
        self._left = _MOST_COPIED
        self._killed: list[str] = []
        self._killed_places: list[list[Place]] = []
        self._kills = False

    def key(self, text: str, places: list[Place]) -> None:
        """One key: what it types, or the sequence that it sends, which has no places."""
        does = _CONTROLS.get(text) if places else _meant(text)
        kills, self._kills = self._kills, False
        if does is not None:
            self._do(does[1], removes=does[0], goes_on=kills)
        elif text == _YANK and places:
            self._yank()
        elif text == "\n":
            self.enter(text, places)
        elif places:
            self._insert([*text], [places] * len(text))

    def enter(self, text: str, places: list[Place]) -> None:
        """The line is done; ``text`` ends it."""
        self.chars += (*self._line, *text)
        self.sources += (*self._places, *[places] * len(text))
        self._line, self._places = [], []
        self._at = 0
        self._inside = self._typed = False

    def _insert(self, chars: list[str], places: list[list[Place]]) -> None:
        at = self._at
        if at < len(self._line):
            self._inside = self.changed = True
        self._line[at:at] = chars
        self._places[at:at] = places
        self._at += len(chars)
        self._typed = True
        if len(self._line) >= _LONGEST_LINE:
            self.enter("", [])

    def _do(self, place: str, *, removes: bool, goes_on: bool) -> None:
        """Go to a place, or remove what lies on the way to it.

        ``goes_on`` says whether the key before removed what can come back: this is added to it.
        """
        to = self._place(place)
        if not removes:
            self._at = to
            return
        start, end = min(self._at, to), max(self._at, to)
        if place not in _BY_CHARACTERS:
            self._kills = True
            chars, places = self._line[start:end], self._places[start:end]
            kept = (self._killed, self._killed_places) if goes_on else ([], [])
            if to < self._at:
                self._killed, self._killed_places = chars + kept[0], places + kept[1]
            else:
                self._killed, self._killed_places = kept[0] + chars, kept[1] + places
        self._remove(start, end)

    def _yank(self) -> None:
        """Put back what was removed last."""
        if self._killed and len(self._killed) <= self._left:
            self._left -= len(self._killed)
            self.changed = True
            self._insert(self._killed, self._killed_places)

    def _place(self, name: str) -> int:
        """Where a place is."""
        if name == "blank before":
            return self._blank_before()
        if name.startswith("word"):
            return self._word(-1 if name == "word before" else 1)
        if name in _BY_CHARACTERS:
            return self._beside(-1 if name == "left" else 1)
        return 0 if name == "home" else len(self._line)

    def _beside(self, step: int) -> int:
        """Where the cursor comes to stand that goes by one character, of one or more bytes."""
        at, end = self._at + step, len(self._line)
        while 0 < at < end and ord(self._line[at]) in _FOLLOWING:
            at += step
        return min(max(0, at), end)

    def _remove(self, start: int, end: int) -> None:
        """Remove characters; a line of which nobody else knows how it stood is kept as it was."""
        if start == end:
            return
        if end < len(self._line):
            self._inside = self.changed = True
        if self._inside and self._typed and len(self._line) <= self._left:
            self._left -= len(self._line)
            self.chars += (*self._line, "\n")
            self.sources += (*self._places, [])
            self._typed = False
        del self._line[start:end]
        del self._places[start:end]
        self._at = start

    def _word(self, step: int) -> int:
        """Where the cursor comes to stand that goes by one word of letters and digits."""
        at, seen = self._at, False
        for _ in range(_LONGEST_WORD):
            beside = at if step > 0 else at - 1
            char = self._line[beside] if 0 <= beside < len(self._line) else " "
            inside = char.isalnum() or char >= _SEVERAL_BYTES
            if not 0 <= beside < len(self._line) or (seen and not inside):
                break
            seen = seen or inside
            at += step
        return at

    def _blank_before(self) -> int:
        """Where the word before the cursor begins that ctrl-w removes."""
        before = "".join(self._line[max(0, self._at - _LONGEST_WORD) : self._at])
        word = before.rstrip(" ").rpartition(" ")[2]
        return self._at - len(before) + (before.rindex(word) if word else 0)


def _meant(sequence: str) -> tuple[bool, str] | None:
    """What a sequence of a key asks a line editor to do; None when nothing that is known here."""
    match = _SEQUENCE.match(sequence)
    if match is None or match["event"] == _RELEASE:
        return None
    if match["meta"]:
        return _META[match["meta"]]
    by_words = match["held"] not in {None, "", "1"}
    if match["key"] == "~":
        if match["number"] == _DELETE:
            return True, "word behind" if by_words else "right"
        place = _KEYPAD.get(match["number"])
    else:
        place = _KEYS[match["key"] or match["pad"]]
    if place is None:
        return None
    return False, _BY_WORDS.get(place, place) if by_words else place
