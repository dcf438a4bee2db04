"""An input field, and whether the screen shows that it is for a secret.

Programs in raw mode paint their own fields, so the modes of the terminal do not help. The screen
does: it has a prompt that asks for a secret by name, or mask characters in place of the text.

Only a prompt right before the text, and mask characters where the cursor is, are certain at once.
Everything else is a sign that waits for the end of the field: a prompt in another row, characters
anywhere else (an animation has some), nothing that appears. Text that appears after all was no
secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.typed._at_cursor import BORDERS, AtCursor, stops
from ptycassette.typed._prompts import asks_for_secret
from ptycassette.typed._readings import text_of_line
from ptycassette.typed._signs import FEW_SIGNS, MASKS, Printed, hides

_MOST_BYTES = 4 << 10
_ROWS_ABOVE = 4
_ROWS_BELOW = 2
_ROWS_WITHOUT_CURSOR = 6
_SILENT_US = 300_000
_SHORTEST_SILENT = 4
_SHORTEST_WITHOUT_CURSOR = 3
_ENOUGH_SHOWN = 12  # more may be in the next row
_LETTER = lazy_pattern(r"[^\W\d_]")
_PROMPT_ENDS = tuple(":?>=]›❯»")  # noqa: RUF001
_INPUT_BEGINS = tuple(">›❯»")  # noqa: RUF001
_ARROW = lazy_pattern(r"\s*(?:[-=~─═]+[>›❯»]|>{2,}|[→➜⇒▶])\s*")  # noqa: RUF001 - decorates a prompt
_QUESTION = lazy_pattern(r"\s*\? (.*?\w.*?)\s*[^\w\s]?\s*")
"""Of inquirer and the like; when it was answered, a tick stands in place of the question mark."""
_SAYS_SOMETHING = lazy_pattern(r"(?!\s*[>›❯»]).*[^\W\d_]{2}.*[:?>=\]›❯»]\s?")  # noqa: RUF001
_BOX = lazy_pattern(r".*[│┃|║][ _]{8,}[│┃|║].*")
_KEY = lazy_pattern(r"(?=\S*[A-Za-z])(?=\S*\d)[\w.+/=~-]{16,}")
_MOST_LABEL_WORDS = 4  # behind a sign with which input lines begin, too

How = Literal["unseen", "asked", "hidden", "silent"]
"""Why something typed is secret; see ``typed_secrets``."""


class Field:
    """Where something is typed that the line discipline does not hide.

    Args:
        at: the screen before the first key; None when it is not known.
        answered: the prompt at which something was typed before, as ``prompt`` gives it.
        t_us: the moment of the first key.
        number: the number of its event.
        begun: what the output before the first key left open; see ``_signs.begun``.

    Attributes:
        how: why what is typed is secret; None while nothing says so.
        shown: it was shown as it was typed.
        ended: Enter or the like was pressed.
        kept: for the owner: what was typed in it was learnt.
        printed: for the owner to fill: what the program printed since.
        keys: what was typed.
        events: the numbers of the events in which it was.
    """

    def __init__(
        self,
        at: AtCursor | None,
        t_us: int,
        number: int,
        *,
        answered: str = "",
        begun: bytes = b"",
    ) -> None:
        asks = None if at is None else _asks(at, answered)
        self.how: How | None = "asked" if asks == "here" else None
        self._sign: How | None = "asked" if asks == "near" else None
        self.shown = self.ended = self.kept = False
        self.keys = bytearray()
        self.printed = Printed(begun)
        self.events = [number]
        self._at = at
        self._t_us = t_us

    @property
    def prompt(self) -> str:
        """Of the screen before the first key."""
        return "" if self._at is None else self._at.prompt

    @property
    def before(self) -> AtCursor | None:
        """The screen before the first key; None when it is not known."""
        return self._at

    @property
    def unprompted(self) -> bool:
        """Whether nothing stood left of the cursor, or is known to have stood there."""
        return self._at is None or not self._at.before.strip()

    @property
    def decided(self) -> bool:
        """Whether looking again would tell nothing new: it is known, or the line is too long."""
        return self.how is not None or self.shown or len(self.keys) >= _MOST_BYTES

    def add(self, data: bytes, number: int) -> None:
        """More keys."""
        self.keys += data[: _MOST_BYTES - len(self.keys)]
        if self.events[-1] != number:
            self.events.append(number)

    def left(self, at: AtCursor | None) -> bool:
        """Whether the program has gone on to something else, without Enter (a PIN of four digits).

        A line that wraps has not been left: what it began with still stands above full rows.
        Nor has one in which the cursor stands inside of the prompt: it is being painted anew.
        """
        first = self._at
        if first is None or at is None:
            return False
        label = first.before.rstrip()
        if not (first.visible and at.visible and label):
            return _is_another(first.rows, at.rows)
        if at.before.startswith(label):
            return False
        if at.row == first.row and label.startswith(at.before.rstrip()):
            return False
        above = at.row
        while above > 0 and at.full(above - 1):
            above -= 1
            if at.rows[above].startswith(label):
                return False
        return True

    def judge(self, at: AtCursor) -> bool:
        """Look whether the keys, or signs in their place, are shown. Returns whether it decides."""
        first = self._at
        typed = text_of_line(bytes(self.keys), editing=True).strip()
        if not set(typed) - MASKS:
            return False
        rows = () if first is None else first.rows
        places = [] if first is None else [*self._in_place(first, at)]
        # Without a cursor, a program that prints its input behind the signs shows it in some row.
        certain = first is not None and not first.visible and self.ended
        certain = certain and self.printed.hides(typed, rows, at.rows, in_a_row=True)
        if not certain and any(self._is_shown(shown, typed) for shown, _ in places):
            self.shown = True
            return True
        if any(hides(shown, typed, exactly=exactly) for shown, exactly in places):
            self._sign = "hidden"
            if first is not None and first.visible:
                self.how = "hidden"
        elif self.printed.hides(typed, rows, at.rows):
            self._sign = "hidden"
        if self.ended and self._sign is None and first is not None:
            self._sign = "silent" if self._taken_unseen(first, at, typed) else None
        if self.ended:
            self.settle()
        return self.decided

    def settle(self) -> None:
        """Nothing more is known of it: what points to a secret decides, unless it was shown.

        Some programs show the key that they ask for. It is no prompt if it looks like a key.
        """
        typed = text_of_line(bytes(self.keys), editing=True).strip()
        like_a_key = self._sign == "asked" and _KEY.fullmatch(typed) is not None
        if self.how is None and (like_a_key or not self.shown):
            self.how = self._sign

    def _is_shown(self, shown: str, typed: str) -> bool:
        """Whether a text in its place is what was typed.

        Two letters tell, but not where the place is not known, or something points to a secret.
        """
        placed = self._at is not None and self._at.visible and len(typed) > 1
        if placed and (self._sign is None or shown.strip() == typed):
            return typed[:2] in shown
        return len(typed) >= _SHORTEST_WITHOUT_CURSOR and typed[:_ENOUGH_SHOWN] in shown

    def _taken_unseen(self, first: AtCursor, at: AtCursor, typed: str) -> bool:
        """Whether the program took the line, and went on without having shown any of it."""
        if len(typed) < _SHORTEST_SILENT:
            return False
        if self.printed.new_line_first and _SAYS_SOMETHING.fullmatch(first.before):
            return at.row > first.row and at.rows[first.row] == first.before.rstrip()
        if self.printed.left and first.visible and self._stood_in_box(first):
            return not self.printed.shows(typed[:_SHORTEST_SILENT])
        question = _QUESTION.fullmatch(first.before)
        return question is not None and self.printed.shows_tick(question[1], typed)

    def _stood_in_box(self, first: AtCursor) -> bool:
        """Whether the cursor stood in an empty box when it was typed, or when that was read.

        A driver may type while the box is being painted; then all the rest may come as one.
        """
        if _in_box(first):
            return True
        return any(_in_box(at) for at in stops(first, bytes(self.printed.output)))

    def look_for_silence(self, t_us: int, at: AtCursor) -> None:
        """Note whether nothing appeared at a prompt, although there was time for it."""
        if self.shown or t_us - self._t_us < _SILENT_US or at != self._at:
            return
        typed = text_of_line(bytes(self.keys), editing=True)
        prompts = at.before.rstrip().endswith(_PROMPT_ENDS)
        if prompts and len(typed) >= _SHORTEST_SILENT and not re.search(r"\s", typed):
            self._sign = self._sign or "silent"

    def _in_place(self, first: AtCursor, at: AtCursor) -> Iterator[tuple[str, bool]]:
        """What stands where the keys would be shown, and whether each must have its sign.

        Away from the cursor other things look alike.
        """
        if not first.visible:
            if len(self.keys) >= _SHORTEST_WITHOUT_CURSOR:
                yield from ((change, True) for change in _changes(first.rows, at.rows))
            return
        label = first.before.rstrip()
        if at.before.startswith(label) and (label or at.row == first.row):
            shown = at.before[len(first.before) :]
            # Behind Enter, signs may still come one by one, and so may something else.
            yield shown, self.ended and len(shown.strip()) < FEW_SIGNS
        if label and self.ended:
            for row in at.rows:
                if row.startswith(label) and row != label:
                    yield row[len(first.before) :], True


def _in_box(at: AtCursor) -> bool:
    """Whether the cursor is in a row that has nothing but blanks between borders."""
    row = at.rows[at.row]
    return _BOX.fullmatch(row) is not None and not row.strip(BORDERS + "_")


def _is_another(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Whether a screen shows something else: less than half of the rows with text are left."""
    rows = {row.strip(BORDERS) for row in before if _LETTER.search(row)}
    there = [row.strip(BORDERS) for row in now]
    return 2 * sum(any(row.startswith(old) for row in there) for old in rows) < len(rows)


def _asks(at: AtCursor, answered: str) -> Literal["here", "near"] | None:
    """Whether the screen asks for a secret where the cursor is: right before it, or near it.

    A prompt in a row above that was ``answered`` in that row asks no more.
    """
    if at.visible and _LETTER.search(at.before):
        return "here" if row_asks(at.before) or _label_asks(at.before) else None
    return "near" if _asks_near(at, answered) else None


def _asks_near(at: AtCursor, answered: str) -> bool:
    """Whether a placeholder at the cursor, or another row, asks for a secret."""
    if not at.visible:
        return _asks_somewhere(at.rows)
    behind = at.rows[at.row][len(at.before) :] if at.row < len(at.rows) else ""
    if _LETTER.search(behind):
        return row_asks(behind) or _label_asks(behind)
    for row in reversed(at.rows[max(0, at.row - _ROWS_ABOVE) : at.row]):
        if _LETTER.search(row):
            old = answered != "" and row.strip(BORDERS).startswith(answered)
            return not old and row_asks(row)
    below = [row for row in at.rows[at.row + 1 : at.row + 1 + _ROWS_BELOW] if _LETTER.search(row)]
    return bool(below) and row_asks(below[0])


def _asks_somewhere(rows: tuple[str, ...]) -> bool:
    """Whether the lowest prompt of the screen asks for a secret."""
    lettered = [row for row in rows if _LETTER.search(row)]
    for row in reversed(lettered[-_ROWS_WITHOUT_CURSOR:]):
        if row_asks(row):
            return True
        if row.rstrip(BORDERS).endswith(_PROMPT_ENDS) or row.lstrip(BORDERS).startswith("?"):
            return False
    return False


def row_asks(row: str) -> bool:
    """Whether a row asks for a secret. One that begins as an input line was typed itself."""
    arrow = _ARROW.match(row)
    text = row[arrow.end() if arrow else 0 :].strip(BORDERS)
    return not text.startswith(_INPUT_BEGINS) and asks_for_secret(text)


def _label_asks(label: str) -> bool:
    """Whether a few words beside the cursor ask for one, behind the sign of an input line."""
    text = label.strip(BORDERS).lstrip("".join(_INPUT_BEGINS))
    return len(text.split()) <= _MOST_LABEL_WORDS and asks_for_secret(text)


def _changes(before: tuple[str, ...], now: tuple[str, ...]) -> Iterator[str]:
    """In each row that changed, what is new: without what it still begins and ends with."""
    for old, new in zip(before, now, strict=False):
        if old == new:
            continue
        start = 0
        while start < min(len(old), len(new)) and old[start] == new[start]:
            start += 1
        end = 0
        while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
            end += 1
        yield new[start : len(new) - end]
