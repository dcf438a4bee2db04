"""What a film shows and when: distinct rows, and frames as lists of them, with their times.

Bounded before anything is drawn: a picture is no larger than ``MOST_PIXELS``, and of a film whose
frames have more than ``MOST_PIXELS_IN_ALL`` together, frames are left out, evenly in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from ptycassette.errors import UsageError
from ptycassette.export._colors import Theme
from ptycassette.export.pace import Pace, paced
from ptycassette.export.page.film import Film, filmed
from ptycassette.export.pictures.inks import Laid
from ptycassette.export.pictures.rows import look_of
from ptycassette.export.pictures.typeface import Metrics
from ptycassette.export.registry import ExportSource
from ptycassette.model.events import Event, InputRecord, moment_us
from ptycassette.model.geometry import Cursor, Size
from ptycassette.model.screen import DEFAULT_STYLE, Screen, Style, StyleRun
from ptycassette.model.streams import streams_of
from ptycassette.model.visible_text import printable
from ptycassette.replaying.cells import Cell, cells_of_row
from ptycassette.timeline.match_entries import iter_entries

HOLD_US = 2_500_000
"""How long the last frame stays."""
LONGEST_US = 600_000_000
"""A pause in a picture: a GIF can say 655 s at most."""
MOST_PIXELS = 40_000_000
MOST_SIDE = 16_383
"""That of a WebP."""
MOST_PIXELS_IN_ALL = 4_000_000_000
_MOST_CAPTIONS = 10_000
_MOST_KEYS = 100_000
_CAPTION_STYLE = Style(fg=15, bg=0)


class Framing(NamedTuple):
    """One frame, without its time: rows by their numbers, the cursor, and the caption's row."""

    size: Size
    cursor: Cursor
    rows: tuple[int, ...]
    caption: int | None


class Reel(msgspec.Struct):
    """A film to be drawn.

    ``rows`` are text, styles and columns, by number; ``frames`` are times from 0 on and what is
    shown; ``size`` is that of the largest screen, with the caption's row.
    """

    rows: Sequence[tuple[str, tuple[StyleRun, ...], int]]
    frames: Sequence[tuple[int, Framing]]
    size: Size

    @property
    def durations_us(self) -> list[int]:
        """How long each frame stays."""
        times = [t_us for t_us, _ in self.frames]
        gaps = [min(after - before, LONGEST_US) for before, after in pairwise(times)]
        return [*gaps, HOLD_US]

    def cells(self, number: int) -> list[Cell]:
        """A row in cells."""
        text, runs, cols = self.rows[number]
        row = Screen(size=Size(1, cols), rows=(text,), styles=(runs,), cursor=Cursor(0, 0))
        return cells_of_row(row, 0)

    def pairs(self, theme: Theme) -> Iterator[Laid]:
        """The colours of text and ground that occur."""
        used = {key for _, frame in self.frames for key in frame.rows}
        used |= {frame.caption for _, frame in self.frames if frame.caption is not None}
        styles = {run.style for number in used for run in self.rows[number][1]}
        found = {look_of(style, theme).laid for style in styles | {DEFAULT_STYLE}}
        found.add(look_of(DEFAULT_STYLE, theme, cursor=True).laid)
        yield from sorted(found)


def reel_of(source: ExportSource, pace: Pace, metrics: Metrics, *, caption: bool = False) -> Reel:
    """The film of a recording.

    Args:
        source: the recording.
        pace: which stretch, and how fast.
        metrics: of a cell.
        caption: below the screen, what was typed.

    Raises:
        UsageError: the program had no terminal, it showed nothing, or the picture would be too
            large.
    """
    if not streams_of(source.manifest).with_terminal:
        raise UsageError(
            "there is no screen to draw: the program had pipes or files",
            where=str(source.path),
            hint="write a page (.html) or a text (.txt)",
        )
    film = filmed(source, start_us=pace.start_us, end_us=pace.end_us)
    if not film.shots:
        raise UsageError(
            "no frames to draw",
            where=str(source.path),
            hint="the program showed nothing; ptycassette cat writes the raw output",
        )
    size = _size(film, caption=caption)
    pixels = _checked(size, metrics)
    film.thin_to(max(1, MOST_PIXELS_IN_ALL // pixels))
    rows = film.rows
    frames: Iterable[tuple[int, Framing]] = (
        (shot.t_us, Framing(shot.size, shot.cursor, shot.rows, None)) for shot in film.shots
    )
    if caption:
        frames = _captioned(frames, _captions(source.events()), rows, size.cols)
    shown = paced(frames, pace)
    return Reel(rows, shown, size)


def reel_of_screen(screen: Screen, metrics: Metrics) -> Reel:
    """One screen as a film of one frame.

    Raises:
        UsageError: the picture would be too large.
    """
    _checked(screen.size, metrics)
    film = Film()
    film.add(0, screen)
    shot = film.shots[0]
    frame = Framing(shot.size, shot.cursor, shot.rows, None)
    return Reel(film.rows, [(0, frame)], screen.size)


def _size(film: Film, *, caption: bool) -> Size:
    rows = max(shot.size.rows for shot in film.shots)
    cols = max(shot.size.cols for shot in film.shots)
    return Size(rows=rows + caption, cols=cols)


def _checked(size: Size, metrics: Metrics) -> int:
    width, height = size.cols * metrics.width, size.rows * metrics.height
    if max(width, height) > MOST_SIDE or width * height > MOST_PIXELS:
        raise UsageError(
            f"a picture of {size} cells would have {width}x{height} pixels, and "
            f"at most {MOST_SIDE} on a side and {MOST_PIXELS} in all are drawn",
            hint="take a smaller --font-size, or write a page (.html)",
        )
    return max(1, width * height)


def _captions(events: Iterable[Event]) -> Iterator[tuple[int, str]]:
    """What was typed, as it grew: times and lines."""
    inputs = [event.record for event in events if isinstance(event.record, InputRecord)]
    times = {record.seq: moment_us(record) for record in inputs}
    for entry in iter_entries(inputs, most_keys=_MOST_KEYS):
        if entry.masked:
            yield entry.t_us, "(masked)"
            continue
        for step in entry.steps[:-1]:
            yield times.get(step.seq, entry.t_us), step.line
        yield entry.last_t_us, entry.shown


def _captioned(
    frames: Iterable[tuple[int, Framing]],
    captions: Iterable[tuple[int, str]],
    rows: list[tuple[str, tuple[StyleRun, ...], int]],
    cols: int,
) -> Iterator[tuple[int, Framing]]:
    """The frames with what was typed last below them; a frame more for each caption."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        if text not in numbers:
            numbers[text] = len(rows)
            # The end of a long line is what was typed last.
            shown = printable(text, limit=10_000)
            shown = shown if len(shown) <= cols - 2 else f"…{shown[-(cols - 3) :]}"
            rows.append((f" {shown}", (StyleRun(0, cols, _CAPTION_STYLE),), cols))
        return numbers[text]

    waiting = iter([*zip(range(_MOST_CAPTIONS), captions, strict=False)])
    following = next(waiting, None)
    now = number("")
    last: Framing | None = None
    for t_us, frame in frames:
        while following is not None and following[1][0] <= t_us:
            now = number(following[1][1])
            if last is not None and following[1][0] < t_us:
                yield following[1][0], last._replace(caption=now)
            following = next(waiting, None)
        last = frame
        yield t_us, frame._replace(caption=now)
    while following is not None and last is not None:
        now = number(following[1][1])
        yield following[1][0], last._replace(caption=now)
        following = next(waiting, None)
