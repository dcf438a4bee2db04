"""Which bytes of the output painted a part of the screen."""

from __future__ import annotations

from itertools import chain

from ptycassette.model.geometry import Size
from ptycassette.terminal._core import bounded
from ptycassette.terminal._trace import TracedParser, TracedTerminal
from ptycassette.terminal.grid import Row
from ptycassette.terminal.widths import width_mode


class PaintedBytes:
    """Collects the stretches of output whose characters are seen in a part of the screen.

    Args:
        size: of the screen at the start.
        rows: the rows, counted from 0; all when None.
        columns: the cells of each, counted from 0; all when None.
    """

    def __init__(
        self, size: Size, *, rows: range | None = None, columns: range | None = None
    ) -> None:
        size = bounded(size)
        self._terminal = _Listening(size.cols, size.rows, width_mode=width_mode("cluster"))
        self._terminal.rows, self._terminal.cells = rows, columns
        self._parser = TracedParser(self._terminal)

    def feed(self, data: bytes, *, listen: bool) -> None:
        """Take output. What is seen counts only while ``listen`` is true."""
        terminal = self._terminal
        if listen and not terminal.listens:
            terminal.listens = True
            terminal.look()
        terminal.listens = listen
        self._parser.feed(data)
        if listen:
            terminal.look()

    def resize(self, size: Size) -> None:
        """Take another size."""
        self._terminal.resize(size.rows, size.cols)
        if self._terminal.listens:
            self._terminal.look()

    def stretches(self) -> list[tuple[int, int]]:
        """The stretches (start, end) of all output, in order, neighbours joined."""
        found: list[tuple[int, int]] = []
        for start, end in sorted(self._terminal.seen):
            if found and start <= found[-1][1]:
                found[-1] = found[-1][0], max(end, found[-1][1])
            else:
                found.append((start, end))
        return found


class _Listening(TracedTerminal):
    """A traced terminal that notes what is seen in a part of it before it is lost."""

    watched = True
    listens = False
    rows: range | None = None
    cells: range | None = None

    def _set_up(self) -> None:
        if not hasattr(self, "seen"):
            self.seen: set[tuple[int, int]] = set()
        super()._set_up()

    def losing(self, first: int, last: int) -> None:
        del first, last
        if self.listens:
            self.look()

    def draw(self, data: str) -> None:
        """Paint text. On the whole screen it is seen wherever it goes."""
        if not self.listens:
            super().draw(data)
            return
        if self.rows is None and self.cells is None and self._repeated is None:
            place = next(self.places)
            self.places = chain((place,), self.places)
            last = place + len(data) - 1
            self.seen.add((self.starts[place], self.starts[last] + len(data[-1].encode())))
            super().draw(data)
            return
        above = self.buf.y
        super().draw(data)
        self._see(range(min(above, self.buf.y), self.buf.y + 1))

    def look(self) -> None:
        """Note what is in the part now."""
        if self.rows is None and self.cells is None:
            return
        self._see(range(self.lines))

    def _see(self, numbers: range) -> None:
        rows = self.buf.rows
        for number in numbers:
            if self.rows is None or number in self.rows:
                self._see_row(rows[number])

    def _see_row(self, row: Row) -> None:
        if row.origins is None:
            return
        cells = (
            slice(self.columns)
            if self.cells is None
            else slice(self.cells.start, min(self.cells.stop, self.columns))
        )
        for origin, char in zip(row.origins[cells], row.chars[cells], strict=True):
            if isinstance(origin, int):
                self.seen.add((origin, origin + len(char.encode())))
            elif origin is not None and origin[0] < origin[1]:
                self.seen.add(origin)
