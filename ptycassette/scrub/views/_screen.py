"""The screen as views: texts that are on the screen but not in the print stream.

The output is painted by a terminal that knows which bytes painted each cell. Its unread rows are
read before anything on them is lost, together with the rows that they may continue in. Equal texts
are searched once, and again only if something was found in them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from ptycassette.model.geometry import Size
from ptycassette.scrub.views._lines import EDGE, Piece, line_of, panes
from ptycassette.scrub.views._view import View
from ptycassette.terminal.grid import Row
from ptycassette.terminal.lazy import LazyEmulator

_BESIDE = 3
"""Rows above and below an unread one that are read with it."""
_OF_ONE = 24
"""Rows that go up to the margin: so many of them may be of one value."""
_NEAR_MARGIN = 8
_FULL_BATCH = 32768
_MOST_SEEN = 1 << 20
_APART = "\n\0\n"
"""Between texts: no value goes over NUL."""

_Text = list[Piece]
_Key = tuple[tuple[str, bool, bool], ...]


class ScreenView(View):
    """Texts of the screen, one after the other. Each may have been shown several times.

    Args:
        text: all of them.
        starts: where in it each piece begins.
        pieces: for each piece the cells that showed it, once for each time.
        texts: where in it each text begins.
    """

    def __init__(
        self,
        text: str,
        *,
        starts: Sequence[int],
        shown: Sequence[Sequence[Piece]],
        texts: Sequence[int],
    ) -> None:
        super().__init__(text)
        self._starts = starts
        self._shown = shown
        self._texts = texts
        self.hit: set[int] = set()

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``; a stretch comes once for each time that it was shown."""
        self.hit.update(
            range(bisect_right(self._texts, start) - 1, bisect_right(self._texts, end - 1))
        )
        for number in range(max(0, bisect_right(self._starts, start) - 1), len(self._starts)):
            base = self._starts[number]
            if base >= end:
                break
            for piece in self._shown[number]:
                for at, source in enumerate(piece.sources(), base):
                    if start <= at < end and source >= 0:
                        yield at, 1, source


class Seen:
    """Texts of the screen in which nothing was found.

    Shared by all readers of a session: a text that one found clean need not be searched again.
    """

    def __init__(self) -> None:
        self.texts: set[_Key] = set()
        self.pages: set[tuple[object, ...]] = set()
        self._length = 0

    def add(self, texts: Iterable[_Key], pages: Iterable[tuple[object, ...]], length: int) -> None:
        """Remember texts of so many characters. If they are too many, older ones are dropped."""
        self._length += length
        if self._length > _MOST_SEEN:
            self.forget()
        self.texts.update(texts)
        self.pages.update(pages)

    def forget(self) -> None:
        """Forget all texts, because more values are known now."""
        self.texts.clear()
        self.pages.clear()
        self._length = 0


class ScreenReader:
    """The screen of a session, read as it is painted.

    Args:
        size: of the terminal at the start.
        seen: the texts that need not be searched.
        traced: whether a match maps back to its bytes; if not, ``blind`` is set by a match.
        newline_mode: whether a line feed returns to the first column (LNM), as output to a pipe
            needs it.

    Attributes:
        emulator: the default emulator, right after what was fed.
        blind: whether something was found that cannot be mapped back to its bytes.
    """

    def __init__(
        self,
        size: Size,
        seen: Seen | None = None,
        *,
        traced: bool = True,
        newline_mode: bool = False,
    ) -> None:
        self.seen = Seen() if seen is None else seen
        self.blind = False
        self._traced = traced
        self.emulator = LazyEmulator(size, self._read, traced=traced)
        self._terminal = self.emulator.terminal
        self._terminal.newline_mode = newline_mode
        self._batch: dict[_Key, list[_Text]] = {}
        self._length = 0
        self._new_pages: set[tuple[object, ...]] = set()

    @property
    def full(self) -> bool:
        """Whether enough text was collected to be searched."""
        return self._length >= _FULL_BATCH

    def feed(self, data: bytes) -> None:
        """Paint output."""
        self.emulator.feed(data)

    def resize(self, size: Size) -> None:
        """The terminal takes another size."""
        self.emulator.resize(size)

    def rest(self) -> None:
        """Read both screen buffers, at the end."""
        self.emulator.paint()
        terminal = self._terminal
        terminal.read_all()
        if terminal.buf is not terminal.main:
            shown, terminal.buf = terminal.buf, terminal.main
            terminal.read_all()
            terminal.buf = shown

    def take(self) -> Iterator[ScreenView]:
        """The texts read since the last call, as one view; those without a match are seen then."""
        batch = self._batch
        if not batch:
            return
        self._batch, self._length = {}, 0
        pages, self._new_pages = self._new_pages, set()
        view = view_of(batch.values())
        yield view
        self.blind = self.blind or (bool(view.hit) and not self._traced)
        clean = [key for number, key in enumerate(batch) if number not in view.hit]
        self.seen.add(clean, () if view.hit else pages, len(view.text))

    def _read(self, rows: Sequence[Row], numbers: Sequence[int], cols: int) -> None:
        """Collect unread rows of the screen, with the rows that they may continue in."""
        at = 0
        reached = 0
        while at < len(numbers):
            first = last = numbers[at]
            while at < len(numbers) and numbers[at] <= last + 1:
                last = numbers[at]
                at += 1
            first = max(reached, _reach(rows, first, cols, -1))
            reached = _reach(rows, last, cols, 1) + 1
            while at < len(numbers) and numbers[at] < reached:
                reached = max(reached, _reach(rows, numbers[at], cols, 1) + 1)
                at += 1
            self._keep(rows[first:reached], cols)

    def _keep(self, rows: Sequence[Row], cols: int) -> None:
        whole = (*[row.text(cols) for row in rows], *[row.wrapped for row in rows])
        if whole in self.seen.pages or (whole in self._new_pages and not self._traced):
            return  # what it says was read; only who traces it wants the cells of each time
        self._new_pages.add(whole)
        for pieces in panes([line_of(row, cols) for row in rows]):
            key = tuple((piece.text(), piece.line.wrapped, piece.line.spaced) for piece in pieces)
            if key in self.seen.texts:
                continue
            times = self._batch.get(key)
            if times is None:
                self._batch[key] = [pieces]
                self._length += sum(len(text) + 1 for text, _, _ in key)
            else:
                times.append(pieces)
                self._length += len(pieces)


def view_of(texts: Iterable[Sequence[_Text]]) -> ScreenView:
    """One view of texts, each given once for each time that it was shown."""
    parts: list[str] = []
    starts: list[int] = []
    shown: list[Sequence[Piece]] = []
    begins: list[int] = []
    length = 0
    for times in texts:
        begins.append(length)
        for number, piece in enumerate(times[0]):
            if number and not piece.line.wrapped:
                parts.append("\n")
                length += 1
            elif number and times[0][number - 1].line.spaced:
                parts.append(" ")
                length += 1
            starts.append(length)
            shown.append([pieces[number] for pieces in times])
            parts.append(piece.text())
            length += len(parts[-1])
        parts.append(_APART)
        length += len(_APART)
    return ScreenView("".join(parts), starts=starts, shown=shown, texts=begins)


def _reach(rows: Sequence[Row], at: int, cols: int, step: int) -> int:
    """The last row above (``step`` -1) or below (1) that belongs to the same text as row ``at``."""
    for distance in range(_OF_ONE):
        beyond = at + step
        if not 0 <= beyond < len(rows) or not rows[beyond].text(cols):
            break
        if distance >= _BESIDE:
            upper, lower = (beyond, at) if step < 0 else (at, beyond)
            if not (rows[lower].wrapped or _full(rows[upper].text(cols), cols)):
                break
        at = beyond
    return at


def _full(text: str, cols: int) -> bool:
    return len(text) >= cols - _NEAR_MARGIN or text[-1:] in EDGE
