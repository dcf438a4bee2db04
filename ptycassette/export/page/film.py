"""The screens of a recording as a film: distinct rows once, and frames as lists of row numbers.

A frame is the screen at the end of a stretch of ``STRETCH_US`` in which something was printed, or
the screen at which something was typed. They are painted by the emulator, so that what plays is
what the terminal showed, and a browser has nothing to emulate. Stored frames are taken instead

- where there are more than ``MOST_PAINTED`` bytes of output: painting them takes seconds;
- where another emulator made them: they are what the recording holds.

Without stored frames, as in recordings by other tools, all is painted.

A film is bounded. If it has more than ``MOST_FRAMES`` frames, or more than ``MOST_CHARACTERS`` in
its rows, the stretch is doubled, and of the frames in one stretch the last one stays; again until
it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from ptycassette.export.moments import STRETCH_US, moments
from ptycassette.export.page.rows import row_pieces, screen_rows
from ptycassette.export.page.styles import StyleClasses
from ptycassette.model.events import Event, FrameRecord, moment_us
from ptycassette.model.geometry import Cursor, Size
from ptycassette.model.manifest import Manifest
from ptycassette.model.screen import Screen, StyleRun
from ptycassette.model.stored_screen import screen_of
from ptycassette.model.visible_text import visible
from ptycassette.terminal.emulator import default_emulator

MOST_PAINTED = 16 << 20
MOST_FRAMES = 10_000
MOST_CHARACTERS = 4_000_000

_Row = tuple[str, tuple[StyleRun, ...], int]
"""Its text, its styles, and the columns of the screen."""


class Shot(msgspec.Struct, frozen=True):
    """A frame: its time, what it looks like beside its rows, and the numbers of its rows."""

    t_us: int
    size: Size
    cursor: Cursor
    title: str
    rows: tuple[int, ...]

    def looks_like(self, other: Shot) -> bool:
        """Whether only the time differs."""
        return msgspec.structs.replace(other, t_us=self.t_us) == self


class Film:
    """Frames, thinned out where there are too many.

    ``start_us`` is the moment from which on they are wanted: of those before, the last one stays.
    """

    def __init__(self, start_us: int = 0) -> None:
        self.shots: list[Shot] = []
        self._start_us = start_us
        self.stretch_us = STRETCH_US
        self._numbers: dict[_Row, int] = {}
        self._characters = 0

    @property
    def rows(self) -> list[_Row]:
        """The distinct rows, by their numbers."""
        return list(self._numbers)

    def add(self, t_us: int, screen: Screen) -> None:
        """Add a screen, unless it looks like the one before."""
        if t_us < self._start_us and self.shots:
            self.shots, self._numbers, self._characters = [], {}, 0
        cols = screen.size.cols
        rows = tuple(self._number((text, runs, cols)) for text, runs in screen_rows(screen))
        shot = Shot(t_us, screen.size, screen.cursor, screen.title, rows)
        if self.shots and shot.looks_like(self.shots[-1]):
            return
        self.shots.append(shot)
        while self._is_too_much() and len(self.shots) > 1:
            self._thin()

    def thin_to(self, most: int) -> None:
        """Leave out frames, evenly in time, until there are at most so many."""
        while len(self.shots) > most:
            self._thin()

    def _number(self, row: _Row) -> int:
        number = self._numbers.get(row)
        if number is None:
            number = self._numbers[row] = len(self._numbers)
            self._characters += len(row[0]) + 10 * len(row[1]) + 10
        return number

    def _is_too_much(self) -> bool:
        return len(self.shots) > MOST_FRAMES or self._characters > MOST_CHARACTERS

    def _thin(self) -> None:
        self.stretch_us *= 2
        rows, shots = self.rows, self.shots
        self._numbers, self._characters = {}, 0
        following = (*(shot.t_us // self.stretch_us for shot in shots[1:]), None)
        self.shots = [
            msgspec.structs.replace(
                shot, rows=tuple(self._number(rows[number]) for number in shot.rows)
            )
            for shot, after in zip(shots, following, strict=True)
            if shot.t_us // self.stretch_us != after
        ]


class FilmSource(Protocol):
    """What is filmed: an open cassette."""

    @property
    def manifest(self) -> Manifest:
        """Says how large the screen is at first, and who made the stored frames."""
        ...

    @property
    def output_size(self) -> int:
        """How many bytes of output there are."""
        ...

    def frames(self) -> Iterator[FrameRecord]:
        """The stored frames."""
        ...

    def events(self) -> Iterator[Event]:
        """All events."""
        ...


def filmed(source: FilmSource, *, start_us: int = 0, end_us: int | None = None) -> Film:
    """The film of a recording, or of a stretch of it, with the screen at its start."""
    film = Film(start_us)
    terminal = source.manifest.terminal
    size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    ours = default_emulator(size).identity.name
    if terminal.emulator.name != ours or source.output_size > MOST_PAINTED:
        for frame in source.frames():
            if not film.shots or end_us is None or moment_us(frame) <= end_us:
                film.add(moment_us(frame), screen_of(frame))
    if not film.shots:
        events = source.events()
        _paint(film, (event for event in events if end_us is None or event.t_us <= end_us), size)
    return film


def _paint(film: Film, events: Iterable[Event], size: Size) -> None:
    emulator = default_emulator(size)
    film.add(0, emulator.snapshot())
    for t_us in moments(events, emulator, lambda: film.stretch_us):
        film.add(t_us, emulator.snapshot())


def film_object(film: Film, classes: StyleClasses) -> dict[str, Any]:
    """The film as the script of the page takes it.

    - ``frames``: of each ``[t_ms, cursor, size, title, ...changes]``. The cursor is
      ``row * 1000 + column``, -1 where it is hidden; size and title are indexes. The changes since
      the frame before are triples: from this row on, the rows from this number on, so many.
    - ``rows``: of each its pieces, as ``text, style, text, style, ...``; a style is its index times
      3, plus the cells of its box.
    - ``styles``: classes; the first is the default.
    - ``sizes``: ``[rows, columns]``; ``titles``: of the window.
    """
    styles: dict[str, int] = {"": 0}
    sizes: dict[Size, int] = {}
    titles: dict[str, int] = {}
    rows: list[list[Any]] = []
    for text, runs, cols in film.rows:
        pieces: list[Any] = []
        for piece in row_pieces(text, runs, cols, classes):
            style = styles.setdefault(piece.classes, len(styles))
            pieces += (piece.text, 3 * style + piece.cells)
        rows.append(pieces)
    frames = []
    before: tuple[int, ...] = ()
    for shot in film.shots:
        cursor = _cursor(shot)
        size = sizes.setdefault(shot.size, len(sizes))
        title = titles.setdefault(visible(shot.title), len(titles))
        head = [shot.t_us // 1000, cursor, size, title]
        frames.append([*head, *_changes(before, shot.rows)])
        before = shot.rows
    return {
        "frames": frames,
        "rows": rows,
        "styles": list(styles),
        "sizes": [(size.rows, size.cols) for size in sizes],
        "titles": list(titles),
    }


def _cursor(shot: Shot) -> int:
    row, col = shot.cursor.row, shot.cursor.col
    inside = 0 <= row < shot.size.rows and 0 <= col < shot.size.cols
    return row * 1000 + col if shot.cursor.visible and inside else -1


def _changes(before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[int]:
    """Triples: from this row on, the rows from this number on, so many."""
    start = count = 0
    for at, number in enumerate((*after, -1)):
        changed = number >= 0 and (at >= len(before) or before[at] != number)
        if count and not (changed and number == after[start] + count):
            yield from (start, after[start], count)
            count = 0
        if changed:
            start = start if count else at
            count += 1
