"""The timeline: output density, marks of other events, and the playhead.

Three lines: a strip of output density, a line of marks, the seek bar; in a low window two,
with the marks over the density. Marks differ by their shapes, and have the colours that
their kinds have in lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from ptycassette_viewer.kinds import KIND_STYLES, MarkKind
from ptycassette_viewer.session.index import EventIndex
from ptycassette_viewer.session.signals import SignalLines
from ptycassette_viewer.widgets.cells import DIFFERENT, FOUND

_BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
MARKS: tuple[tuple[MarkKind, str, str], ...] = (
    ("signal", "!", "signal"),
    ("resize", "\u2194", "resize"),
    ("input", "\u25b2", "input"),
    ("final", "\u25a0", "end"),
    ("service-event", "\u25cf", "service event"),
    ("terminal-signal", "\u25e6", "terminal signal"),
)
"""Kind, shape, word: the first of a column wins."""
EXTRA_MARKS: tuple[tuple[str, str], ...] = (
    ("/", "search hit"),
    ("\u2260", "difference"),
    ("\u25c6", "marker"),
    ("Y", "fork"),
    ("\u2717", "divergence"),
)
"""Shape, word: the last of a column wins, also over what was recorded there."""
_EXTRA_STYLES = {
    "search hit": FOUND,
    "difference": DIFFERENT,
    "marker": RichStyle(color="green", bold=True),
    "fork": RichStyle(color="cyan", bold=True),
    "divergence": RichStyle(color="red", bold=True),
}


_HEIGHT = 3
_OUTPUT = RichStyle.parse(KIND_STYLES["output"])
_Mark = tuple[str, RichStyle]


def _painted(below: str, marks: list[_Mark | None] | None, base: RichStyle) -> Strip:
    """Marks over the output density ``below``."""
    parts = [
        Segment(char, base + _OUTPUT) if mark is None else Segment(mark[0], base + mark[1])
        for char, mark in zip(below, marks or [None] * len(below), strict=True)
    ]
    return Strip(Segment.simplify(parts), len(below))


class Timeline(Widget):
    """Set ``position_us``; posts ``Timeline.Seek`` when it is clicked or dragged."""

    DEFAULT_CSS = """
    Timeline { height: 3; background: $surface; color: $text; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "timeline--played",
        "timeline--rest",
    }
    position_us: reactive[int] = reactive(0, repaint=False)

    class Seek(Message):
        """The user wants to be at ``t_us``."""

        def __init__(self, t_us: int) -> None:
            super().__init__()
            self.t_us = t_us

    def __init__(
        self,
        index: EventIndex,
        signals: SignalLines,
        *,
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        super().__init__(id=id)
        self._index = index
        self._signals = signals
        self._duration_us = 0
        self._dragging = False
        self._extra_us: dict[str, tuple[int, ...]] = {}
        self._cache: tuple[object, str, list[_Mark | None]] = (None, "", [])

    def set_duration(self, duration_us: int) -> None:
        """How long the whole is."""
        if duration_us != self._duration_us:
            self._duration_us = duration_us
            self.refresh()

    def set_extra(self, word: str, times_us: Iterable[int]) -> None:
        """Where marks of ``EXTRA_MARKS`` are."""
        self._extra_us[word] = tuple(times_us)
        self._cache = (None, "", [])
        self.refresh()

    def watch_position_us(self, before: int, after: int) -> None:
        """Paint the bar anew when the playhead is in another column."""
        if self.column_of(before) != self.column_of(after):
            self.refresh(Region(0, self.size.height - 1, self.size.width, 1))

    def column_of(self, t_us: int) -> int:
        """The column of a moment."""
        width = max(1, self.size.width)
        return min(width - 1, t_us * (width - 1) // max(1, self._duration_us))

    def time_at(self, column: int) -> int:
        """The moment of a column."""
        width = max(2, self.size.width)
        return min(max(column, 0), width - 1) * self._duration_us // (width - 1)

    def render_line(self, y: int) -> Strip:
        """Paint one of the lines."""
        width = self.size.width
        base = self.rich_style
        if y >= self.size.height or not width:
            return Strip.blank(width, base)
        if y == self.size.height - 1:
            return self._bar(width, base)
        density, marks = self._lines(width)
        below = " " * width if y else density
        over = y > 0 or self.size.height < _HEIGHT
        return _painted(below, marks if over else None, base)

    def _bar(self, width: int, base: RichStyle) -> Strip:
        at = self.column_of(self.position_us)
        known = self.column_of(self._index.duration_us) + 1
        rest = "\u2500" * max(0, known - at - 1)
        return Strip(
            [
                Segment("\u2501" * at, base + self.get_component_rich_style("timeline--played")),
                Segment("\u25cf", base + RichStyle(bold=True)),
                Segment(
                    rest + "\u00b7" * (width - at - 1 - len(rest)),
                    base + self.get_component_rich_style("timeline--rest"),
                ),
            ],
            width,
        )

    def _lines(self, width: int) -> tuple[str, list[_Mark | None]]:
        key = (width, self._index.count, len(self._signals), self._duration_us)
        if self._cache[0] != key:
            self._cache = (key, self._density(width), self._marks(width))
        return self._cache[1:]

    def _borders(self, width: int) -> list[int]:
        """The ``seq`` up to which events lie in front of each column's right border."""
        index, total = self._index, max(1, self._duration_us)
        columns = range(1, width)
        # A moment t is in column t * (width - 1) // total.
        ends = [index.at(-(-column * total // max(1, width - 1)) - 1) for column in columns]
        return [0, *ends, index.count]

    def _density(self, width: int) -> str:
        borders = self._borders(width)
        end = self._index.output_end
        amounts = [end(b) - end(a) for a, b in pairwise(borders)]
        most = math.log1p(max(amounts, default=0)) or 1.0
        steps = len(_BLOCKS) - 1
        return "".join(_BLOCKS[math.ceil(math.log1p(n) / most * steps)] for n in amounts)

    def _marks(self, width: int) -> list[_Mark | None]:
        borders = self._borders(width)
        line: list[_Mark | None] = [None] * width
        for column in range(width):
            first, last = borders[column] + 1, borders[column + 1]
            for kind, shape, _ in MARKS:
                if first <= last and self._between(kind, first, last):
                    line[column] = (shape, RichStyle.parse(KIND_STYLES[kind]))
                    break
        for shape, word in EXTRA_MARKS:
            for t_us in self._extra_us.get(word, ()):
                line[self.column_of(t_us)] = (shape, _EXTRA_STYLES[word])
        return line

    def _between(self, kind: MarkKind, first: int, last: int) -> int:
        if kind == "terminal-signal":
            return self._signals.between(first, last)
        return self._index.between(kind, first, last)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Seek, and drag from here."""
        self._dragging = True
        self.capture_mouse()
        self.post_message(self.Seek(self.time_at(event.x)))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag."""
        if self._dragging:
            self.post_message(self.Seek(self.time_at(event.x)))

    def on_mouse_up(self, event: events.MouseUp) -> None:  # noqa: ARG002 - the protocol
        """Stop dragging."""
        self._dragging = False
        self.release_mouse()
