"""Texts to search, which map each stretch back to bytes of the recording.

A *root* view shows bytes of a channel in some order (as written, as printed, as placed on the
screen, as typed). A *derived* view shows a root view decoded. A hit in any view leads back to a
stretch of a root view. It is masked there in its own form (text, base64, hex, escapes), and
becomes patches: bytes at offsets of the channel, with the same number of bytes as before.

Only hits are mapped; a view without hits costs only its text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from ptycassette.keys.reader import TypedText, edited_text, typed_text
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.screen import Size
from ptycassette.scrub.mask import SELECTOR, TEXT, decimal_mask, mask
from ptycassette.scrub.match import INVISIBLE, canonical, plain
from ptycassette.scrub.rules.values import looks_torn_off, seems_by_chance
from ptycassette.terminal.grid import BLANK, Row
from ptycassette.terminal.watched import LazyEmulator
from ptycassette.terminal.widths import width_mode

Patch = tuple[int, bytes]
"""Offset in the channel, and the bytes to put there."""


class View:
    """A root view in which character ``i`` is byte ``base + i`` of the channel.

    Attributes:
        kind: texts of one channel and one kind continue each other.
        borders: where strings of one value meet. Only a token of a known shape goes on there.
    """

    borders: Sequence[int] = ()

    def __init__(self, text: str, *, base: int = 0) -> None:
        self.kind: tuple[str, ...] = (type(self).__name__,)
        self.text = text
        self.base = base

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """The patches that mask characters ``start`` to ``end``."""
        # A mark that makes a character wider comes after it, and has no cell of its own.
        beyond = end + len(SELECTOR) * (form == TEXT and self.text.startswith(SELECTOR, end))
        yield from self._written(start, end, mask(self.text[start:beyond], form))

    def masks(self, stretches: Iterable[tuple[int, int]], form: str) -> Iterator[Patch]:
        """The patches that mask several stretches."""
        for start, end in stretches:
            yield from self.patches(start, end, form)

    def _written(self, start: int, end: int, masked: str) -> Iterator[Patch]:
        """The patches that write ``masked`` to the bytes of characters ``start`` to ``end``."""
        for at, length, offset in self.pieces(start, end):
            yield offset, masked[at - start : at - start + length].encode("latin-1")

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(position in the text, length, offset in the channel) of what came from the channel."""
        yield start, end - start, self.base + start

    def offset(self, start: int, end: int) -> int | None:
        """Offset in the channel of the first character that has one."""
        for _, _, offset in self.pieces(start, end):
            return offset
        return None


class RunsView(View):
    """A view made of runs of another text, with gaps between them.

    Args:
        parts: the texts of the runs, each with its offset; -1 for one that has no bytes.
        parent: the view that the offsets are positions in; None if they are those of the channel.
    """

    def __init__(self, parts: Iterable[tuple[str, int]], parent: View | None = None) -> None:
        texts = [*parts]
        super().__init__("".join([text for text, _ in texts]))
        self._starts = [*accumulate((len(text) for text, _ in texts), initial=0)]
        self._offsets = [offset for _, offset in texts]
        self._parent = parent

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        run = max(0, bisect_right(self._starts, start) - 1)
        while run < len(self._offsets) and self._starts[run] < end:
            here, there = self._starts[run], self._offsets[run]
            first, last = max(start, here), min(end, self._starts[run + 1])
            run += 1
            if there < 0 or first >= last:
                continue
            shift = there - here
            if self._parent is None:
                yield first, last - first, first + shift
            else:
                for at, count, offset in self._parent.pieces(first + shift, last + shift):
                    yield at - shift, count, offset


# Rows of the screen split into panes between bars, and the text in each pane.


BARS = frozenset("\u2502\u2503\u2551|\u254e\u2506\u258f\u2595\u258c\u2590")
EDGE = " \t\xa0|>" + "".join(map(chr, range(0x2500, 0x2600))) + "\u23bf\u23fa\u276f\u2022\xb7"
"""Borders, bullets and what pads them: U+2500 to U+25FF, the signs before items of agents."""

_BAR = re.compile(f"[{''.join(sorted(BARS))}]")
_BROKEN = re.compile("[\udc80-\udcff]")  # a byte of no character, which takes a cell
_NONE: frozenset[int] = frozenset()
_REMEMBERED = 4096
"""Most rows are read several times: with those beside them that are new."""

_Cells = Sequence[str]
_Side = tuple[int, int]
_Pane = tuple[_Side, int, int]


class Line(NamedTuple):
    """A row as it was at one moment.

    ``cells`` has a string per cell ("" after a wide character), trimmed at the right; a text of
    narrow characters alone is its own list of cells. ``origins`` has the bytes that painted each: a
    stretch, or the offset of the first one, or None.
    ``wrapped``: the terminal broke the line before this one. ``spaced``: the last column is blank.
    """

    cells: _Cells
    origins: Sequence[tuple[int, int] | int | None]
    wrapped: bool
    spaced: bool = False


class Piece(NamedTuple):
    """Cells ``start`` up to ``end`` of a line."""

    line: Line
    start: int
    end: int

    def text(self) -> str:
        """The text of the cells, canonical."""
        cells = self.line.cells
        if isinstance(cells, str):
            return _canonical(cells, self.start, self.end)
        return canonical("".join(cells[self.start : self.end]))

    def sources(self) -> list[int]:
        """For each canonical character its offset in the output, or -1."""
        sources: list[int] = []
        cells = self.line.cells[self.start : self.end]
        for char, origin in zip(cells, self.line.origins[self.start : self.end], strict=False):
            width = 1 if char.isascii() and len(char) == 1 else len(char.encode())
            known = 0 if origin is None else width
            start = -1 if origin is None else origin
            if isinstance(start, tuple):
                start, end = start
                if end - start != width:  # something was between its parts
                    known = min(width, len(char[:1].encode()))
            sources += [*range(start, start + known), *[-1] * (width - known)]
        return sources


def line_of(row: Row, cols: int) -> Line:
    """A copy of a row that is ``cols`` wide."""
    text = row.text(cols)
    cells: _Cells = text
    if not (text.isascii() or _is_narrow(text)):
        cells = [" " if char == BLANK else char for char in row.chars[:cols]]
        while cells and cells[-1] == " ":
            cells.pop()
    chars = row.chars
    spaced = len(chars) >= cols and chars[cols - 1] == " "
    origins = () if row.origins is None else row.origins[: len(cells)]
    return Line(cells, origins, row.wrapped, spaced)


def line_of_text(text: str, offset: int) -> Line:
    """A row of canonical text, which is at ``offset``, in the cells of a terminal."""
    row = _BROKEN.sub("?", plain(text))
    ends = [*accumulate((len(canonical(char)) for char in row), initial=offset)]
    if row.isascii() or _is_narrow(row):
        return Line(row, ends[:-1], wrapped=False)
    cells: list[str] = []
    origins: list[int | None] = []
    for char, start in zip(row, ends, strict=False):
        beside = max(0, width_mode("cluster").classify(char)[1] - 1)
        cells += [char, *[""] * beside]
        origins += [start, *[None] * beside]
    return Line(cells, origins, wrapped=False)


@lru_cache(maxsize=_REMEMBERED)
def _canonical(cells: str, start: int, end: int) -> str:
    return canonical(cells[start:end])


@lru_cache(maxsize=_REMEMBERED)
def _is_narrow(text: str) -> bool:
    """Whether each character takes exactly one cell."""
    return width_mode("cluster").narrow.fullmatch(text) is not None


def panes(lines: Sequence[Line]) -> Iterator[list[Piece]]:
    """The texts of these lines, each a list of pieces below each other.

    A line that is blank between its bars ends a text, and so does another layout of bars.
    """
    bars = [_bars(line.cells) for line in lines]
    if not any(bars):
        yield from _texts(lines)
        return
    begun: dict[_Side, list[Piece]] = {}
    before: Sequence[_Pane] = ()
    for line, above, own, below in zip(
        lines, (_NONE, *bars), bars, (*bars[1:], _NONE), strict=False
    ):
        between = _between_bars(own, above, below, len(line.cells))
        if between is not before:
            standing = {side for side, _, _ in between}
            for side in [side for side in begun if side not in standing]:
                yield begun.pop(side)
            before = between
        for side, start, end in between:
            piece = _stripped(line, start, end)
            if piece is not None:
                if side in begun:
                    begun[side].append(piece)
                else:
                    begun[side] = [piece]
            elif side in begun:
                yield begun.pop(side)
    yield from begun.values()


@lru_cache(maxsize=_REMEMBERED)
def _between_bars(
    own: frozenset[int], above: frozenset[int], below: frozenset[int], length: int
) -> Sequence[_Pane]:
    """The panes of a line: the name of each, and the start and end of its cells."""
    bars = (-1, *sorted(own & (above | below)), length)
    # What is right of the last bar ends anywhere.
    return tuple(
        ((left, right if right < length else -1), left + 1, right) for left, right in pairwise(bars)
    )


def _texts(lines: Sequence[Line]) -> Iterator[list[Piece]]:
    """The texts of lines without bars."""
    text: list[Piece] = []
    for line in lines:
        piece = _stripped(line, 0, len(line.cells))
        if piece is not None:
            text.append(piece)
        elif text:
            yield text
            text = []
    if text:
        yield text


def _bars(cells: _Cells) -> frozenset[int]:
    if not isinstance(cells, str):
        return frozenset(at for at, char in enumerate(cells) if char in BARS)
    return _bars_of(cells)


@lru_cache(maxsize=_REMEMBERED)
def _bars_of(text: str) -> frozenset[int]:
    if text.isascii() and "|" not in text:
        return _NONE
    return frozenset([bar.start() for bar in _BAR.finditer(text)])


@lru_cache(maxsize=_REMEMBERED)
def _shown(text: str) -> tuple[int, int]:
    """The start and end of the text without padding."""
    return len(text) - len(text.lstrip(EDGE)), len(text.rstrip(EDGE))


def _stripped(line: Line, start: int, end: int) -> Piece | None:
    cells = line.cells
    if isinstance(cells, str):
        left, right = _shown(cells[start:end])
        return Piece(line, start + left, start + right) if left < right else None
    while start < end and cells[start] in EDGE:
        start += 1
    while end > start and cells[end - 1] in EDGE:
        end -= 1
    return Piece(line, start, end) if start < end else None


# The screen as views: texts that are on the screen but not in the print stream.


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
        emulator: the default emulator, right after the output that was fed.
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
            return  # its text was read; only tracing needs the cells of each time
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


# The print stream: the text that a program wrote, in order of time, without control functions.


# ECMA-48 5.4: parameter bytes 30-3F, intermediate bytes 20-2F, a final byte 40-7E. Controls inside
# of a sequence act at once (one that moves the cursor counts as its end); U+009B (C2 9B) also
# begins one. Sequences that move the cursor or paint, except SGR, erasing, modes and reports, which
# leave it there.
_MOVES = r"[\x20-\x3f]*+[A-ILMPSTZ`abdefru@]"
_PARAMETERS = r"[\x20-\x3f\x00-\x07\x0e-\x17\x19\x1c-\x1f\x7f]*[\x40-\x7e]?"  # torn ones, too
_SHORT = r"[\x20-\x2f]+[\x30-\x7e]?|[0-OQ-WYZ\\`-~]"  # charsets, save, keypad modes, ST
MOVING = rf"\x1b\[{_MOVES}|\xc2\x9b{_MOVES}|\x1b[DEMc]"
"""Control functions that move the cursor or start a line."""
_COLOUR = r"\x1b\[[0-9;:]*+m"
# A string ends at BEL, ST, CAN, SUB or any other ESC; the terminator is not part of its text.
_BODY = r"[^\x07\x1b\x18\x1a]*"
_END = r"(?:\x07|\x1b\\)?"
_DCS = "(?:[0-?]*[ -/]*[@-~])?"
_HEAD = rf"(?:\x1bP{_DCS}|\x1b[\]X^_])"
_QUIET = (
    rf"(?<=\x1b)(?:(?:P{_DCS}|[\]X^_]){_BODY}{_END}|\[{_PARAMETERS}|{_SHORT})?"
    rf"|(?<=\xc2)\x9b{_PARAMETERS}"
)
_STEER = r"\r\n\x0b\x0c"  # and BS, which counts as text until the overstruck text is known
# Each expression begins with a character or a class of them, because the engine then skips the text
# between at full speed. The second group matches if a token moves the cursor.
_TOKEN = lazy_pattern(
    rf"([{_STEER}\x1b\xc2\x00\x07\x0e\x0f\x18\x1a\x7f]"
    rf"(?:((?<=[{_STEER}])[{_STEER}]*|(?<=\x1b)(?:\[{_MOVES}|[DEMc])|(?<=\xc2)\x9b{_MOVES})"
    rf"|{_QUIET}|(?<=[\x00\x07\x0e\x0f\x18\x1a\x7f])))"
)

# The same in four steps without a look at each token. The mark, which moves nothing and ends a
# string, separates the text before and after a colour.
_MARK = "\x18"
_COLOURS = lazy_pattern(rf"{_COLOUR}(?:{_COLOUR})*")
_LINE_ENDS = ("\r\n", "\r", "\x0b", "\x0c")
_BREAKING = lazy_pattern(rf"\x1b(?:\[{_MOVES}|[DEMc])")
_BREAKING_C1 = lazy_pattern(rf"\xc2\x9b{_MOVES}")
_SILENT = lazy_pattern(
    rf"[\x1b\x00\x07\x0e\x0f\x1a\x7f\xc2](?:{_QUIET}|(?<=[\x00\x07\x0e\x0f\x1a\x7f]))"
)
_BEGIN_SILENT = "\x1b\x00\x07\x0e\x0f\x1a\x7f\xc2"
"""The characters that ``_SILENT`` may begin with."""
# What other characters are struck over. Each begins with literal characters, for the same reason.
_CHAR = "(?:[!-~]|[\xc2-\xf4][\x80-\xbf]{1,3})"
_LOW_LINE = lazy_pattern(f"_\x08(?={_CHAR})")
_SAME = "|".join(  # each with a name, because a look-behind has one width
    rf"(?<=(?P<of_{width}>{char})\x08)(?P=of_{width})"
    for width, char in enumerate(
        ("[!-~]", *(f"[\xc2-\xf4][\x80-\xbf]{{{more}}}" for more in (1, 2, 3))), 1
    )
)
_AGAIN = lazy_pattern(f"\x08(?:{_SAME})")
_BACK = lazy_pattern("\n*\x08[\n\x08]*")
_AGAIN_OR_BACK = lazy_pattern(f"\x08(?P<again>{_SAME})|\n*\x08[\n\x08]*")
_TEXT_BEFORE = lazy_pattern(rf"_\x08(?<=[^\n\x08]{{2}}[^\s\x08]_\x08)(?={_CHAR})")
"""A low line that may also be the end of the text before it."""
_LONGEST_BEFORE = 4096
_STRINGS = lazy_pattern(rf"{_HEAD}(?P<body>{_BODY})")


_Span = tuple[int, int]


class PrintedView(View):
    """The print stream of a block. The origins of its characters are computed on demand.

    Args:
        raw: canonical text of the block.
        base: the offset of its first byte in the channel.
        cuts: stretches of it that are left out, ascending.
    """

    def __init__(self, raw: str, *, base: int = 0, cuts: Sequence[_Span] = ()) -> None:
        kept = "".join([raw[slice(*kept)] for kept in _kept(raw, cuts)]) if cuts else raw
        text = _printed(kept)
        self.moves_back = "\x08" in text
        super().__init__(_struck(text) if self.moves_back else text)
        self.raw = raw
        self._base = base
        self._cuts = cuts

    @cached_property
    def written(self) -> RunsView:
        """The same with all that was struck over, and BS between."""
        return RunsView(_runs(self.raw, self._base, self._cuts))

    @cached_property
    def _resolved(self) -> tuple[RunsView, RunsView, Mapping[int, list[_Span]]]:
        """The text without low lines, the places in it of what is shown, and what is struck again.

        The latter by the place of the character that it is struck over.
        """
        written = self.written.text
        low_lines = [found.span() for found in _LOW_LINE.finditer(written)]
        single = RunsView(
            [(written[start:end], start) for start, end in _kept(written, low_lines)], self.written
        )
        parts: list[tuple[str, int]] = []
        again: dict[int, list[_Span]] = {}
        at = shown_at = 0
        for found in _AGAIN_OR_BACK.finditer(single.text):
            parts.append((single.text[at : found.start()], at))
            if found["again"] is None:
                parts.append(("\n", -1))
            else:
                if found.start() > at:  # not of the same character again
                    shown_at = found.start() - len(found["again"])
                again.setdefault(shown_at, []).append(found.span("again"))
            at = found.end()
        return single, RunsView([*parts, (single.text[at:], at)]), again

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        if not self.moves_back:
            yield from self.written.pieces(start, end)
            return
        single, shown, _ = self._resolved
        for at, length, place in shown.pieces(start, end):
            for here, count, offset in single.pieces(place, place + length):
                yield at + here - place, count, offset

    def _written(self, start: int, end: int, masked: str) -> Iterator[Patch]:
        yield from super()._written(start, end, masked)
        if not self.moves_back:
            return
        single, shown, again = self._resolved
        for at, length, place in shown.pieces(start, end) if again else ():
            for number in range(place, place + length):
                for first, last in again.get(number, ()):
                    here = at + number - place - start
                    part = masked[here : here + last - first]
                    for one, count, offset in single.pieces(first, last):
                        yield offset, part[one - first : one - first + count].encode("latin-1")


def _struck(text: str) -> str:
    """Text with BS as it looks when printed: a character struck twice appears once."""
    text = _AGAIN.sub("", _LOW_LINE.sub("", text))
    return _BACK.sub("\n", text) if "\x08" in text else text


def _printed(raw: str) -> str:
    """The text that canonical ``raw`` prints. Only the line ends of plain text change."""
    text = _COLOURS.sub(_MARK, raw) if "\x1b[" in raw else raw
    for end in _LINE_ENDS:
        text = text.replace(end, "\n")
    while "\n\n" in text:  # several in a row are one
        text = text.replace("\n\n", "\n")
    if any(char in text for char in _BEGIN_SILENT):
        text = _BREAKING.sub(f"{_MARK}\n", text)
        if "\xc2\x9b" in text:
            text = _BREAKING_C1.sub(f"{_MARK}\n", text)
        text = _SILENT.sub("", text)
    return text.replace(_MARK, "")


def printed_views(raw: str, base: int) -> tuple[View, ...]:
    """The print stream of canonical ``raw``, which is at ``base``, and its strings, one a line."""
    strings = []
    for match in _STRINGS.finditer(raw):
        strings += [(match["body"], base + match.start("body")), ("\n", -1)]
    printed = PrintedView(raw, base=base)
    return printed, RunsView(strings), *(_before_low_lines(printed) if printed.moves_back else ())


def _before_low_lines(printed: PrintedView) -> Iterator[View]:
    """The texts that end with an overstruck low line, if there are any."""
    parts: list[tuple[str, int]] = []
    text = printed.written.text if "_\x08" in printed.raw else ""
    for found in _TEXT_BEFORE.finditer(text):
        end = found.start() + 1
        least = max(0, end - _LONGEST_BEFORE)
        begin = max(text.rfind("\n", least, end), text.rfind("\x08", least, end), least - 1) + 1
        parts += [(text[begin:end], begin), ("\n", -1)]
    if parts:
        yield RunsView(parts, printed.written)


def _kept(raw: str, cuts: Sequence[_Span]) -> Iterator[_Span]:
    """The stretches between the cuts."""
    at = 0
    for start, end in cuts:
        yield at, start
        at = end
    yield at, len(raw)


def _runs(raw: str, base: int, cuts: Sequence[_Span]) -> Iterator[tuple[str, int]]:
    """The print stream, run by run."""
    for start, end in _kept(raw, cuts):
        at = base + start
        parts = _TOKEN.split(raw[start:end])  # a text, a token, its moving part, and so on
        tokens, steering = [*parts[1::3], ""], [*parts[2::3], None]
        for text, token, steers in zip(parts[::3], tokens, steering, strict=True):
            yield text, at
            if steers is not None:
                yield "\n", -1
            at += len(text) + len(token)


# A string as a terminal would show it.


_SIGNS = ("\x1b", "\xc2\x9b", "\x00", "\x08")
_SIGNS_OF_INVISIBLE = ("\xc2\xad", "\xcd\x8f", "\xe2\x80", "\xe2\x81", "\xef\xbb\xbf")
_INVISIBLE = lazy_pattern(f"(?:{INVISIBLE})+")
_MOVING = lazy_pattern(MOVING)
_EDGES = lazy_pattern("|".join(sorted(re.escape(bar.encode().decode("latin-1")) for bar in BARS)))
_SIZE = Size(100, 200)
"""Of the screen for a string: as large as the screens for which programs paint."""
_MOST_PAINTED = 1 << 18
_OPENING = lazy_pattern(r'[:\[,{] ?"(?=[^"\n]*\n)')
"""The quote before the first row of a string, which stands behind others in its JSON."""
WIDEST = 400
"""Longer lines are no rows of anything."""


def shown_views(text: str) -> Iterator[View]:
    """Texts that a screen would show for canonical text, as views whose channel is the text."""
    if any(sign in text for sign in _SIGNS):
        yield from printed_views(text, 0)
        if len(text) <= _MOST_PAINTED and _MOVING.search(text):
            screen = ScreenReader(_SIZE, newline_mode=True)
            screen.feed(text.encode("latin-1"))
            screen.rest()
            yield from screen.take()
    if not text.isascii() and any(sign in text for sign in _SIGNS_OF_INVISIBLE):
        cuts = [gap.span() for gap in _INVISIBLE.finditer(text)]
        if cuts:
            yield PrintedView(text, base=0, cuts=cuts)


def pane_views(text: str) -> Iterator[View]:
    """The texts between the bars of boxes and columns in canonical text."""
    for rows in _rows_with_bars(text) if "\n" in text else ():
        yield view_of([pieces] for pieces in panes([line_of_text(*one) for one in rows]))


def _rows_with_bars(text: str) -> Iterator[list[tuple[str, int]]]:
    """At least two rows with bars below each other: their text and its start."""
    rows: list[tuple[str, int]] = []
    end = 0  # of the last of them
    bar = _EDGES.search(text)
    while bar is not None:
        begins = text.rfind("\n", end, bar.start()) + 1 or end
        if rows and begins != end:
            if len(rows) > 1:
                yield rows
            rows = []
        if not rows:  # it comes after the quote that begins the JSON string
            begins = text.rfind('"', begins, bar.start()) + 1 or begins
        line_end = text.find("\n", bar.end())
        end = len(text) if line_end < 0 else line_end + 1
        rows.append((text[begins : min(end, begins + WIDEST)].rstrip("\n"), begins))
        bar = _EDGES.search(text, end)
    if len(rows) > 1:
        yield rows


def lines_of(text: str) -> View:
    """Canonical text, in which the first row of each string of JSON is a line of its own."""
    parts: list[tuple[str, int]] = []
    at = 0
    for quote in _OPENING.finditer(text):
        parts += [(text[at : quote.end()], at), ("\n", -1)]
        at = quote.end()
    return RunsView([*parts, (text[at:], at)]) if parts else View(text)


# Input as views: the bytes as they were sent, and the text that its keys typed.


_CURSOR_KEY = re.compile(r"\x1b(?:\[M[\s\S]{3}|\[[\x20-\x3f]{0,60}[\x40-\x7e]|O.)")
_LONGEST_KEY = 64


class _SentView(View):
    """Bytes as they were sent. Those of cursor keys are never masked."""

    def __init__(self, text: str, *, base: int) -> None:
        super().__init__(text, base=base)
        self._kept = [key.span() for key in _CURSOR_KEY.finditer(text)]

    def _written(self, start: int, end: int, masked: str) -> Iterator[Patch]:
        for first, last in self._kept[bisect_left(self._kept, (start - _LONGEST_KEY, 0)) :]:
            if first >= end:
                break
            left, right = max(first, start), min(last, end)
            if left < right:
                kept = self.text[left:right]
                masked = masked[: left - start] + kept + masked[right - start :]
        yield from super()._written(start, end, masked)


class TypedView(View):
    """Typed text. Each character has the places in which its keys name it, if any do."""

    def __init__(self, typed: TypedText) -> None:
        super().__init__(typed.text)
        self._sources = typed.sources

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """See ``View.patches``."""
        masked = mask(self.text[start:end], form)
        for places, char in zip(self._sources[start:end], masked, strict=True):
            for offset, digits in places:
                if not digits:
                    yield offset, char.encode("latin-1")
                elif char > " ":
                    yield offset, decimal_mask(digits).encode()

    def offset(self, start: int, end: int) -> int | None:
        """See ``View.offset``."""
        return next((places[0][0] for places in self._sources[start:end] if places), None)


def input_views(raw: str, base: int) -> Iterator[View]:
    """Input (canonical) at offset ``base``: as sent, its keys, and the text after editing."""
    yield _SentView(raw, base=base)
    if "\x1b" in raw:
        yield TypedView(typed_text(raw, base=base, editing=False))
    if any(key in raw for key in "\x1b\x7f\x08\x15\x17"):
        yield TypedView(typed_text(raw, base=base))
    edited = edited_text(raw, base=base)
    if edited is not None:
        yield TypedView(edited)


# Joined lines: words that a program or the terminal broke at the margin.
#
# A terminal marks the rows that it wrapped; boxes, lists and paragraphs that a program wrapped
# leave no mark. A line may continue in the next one when the first word of that one would not have
# fitted after it. The margin is the end of the widest of the lines around. Such lines are joined
# and searched as one. A match that crosses a join is then judged: do the two sides read as the
# halves of one word? Joining too often masks a word beside a secret; joining too seldom misses a
# secret.


_BLANK_EDGES = EDGE.encode().decode("latin-1")
_AROUND = 6
"""Lines above and below that say where the margin is."""
_ALIKE = 6
"""Lines that begin with so many equal characters are items of a list, or of a log."""
_LONGEST_WORD = 4096
_WORD = lazy_pattern(r"[^\s\x00]+")
_FIRST = lazy_pattern(rf"[{re.escape(_BLANK_EDGES)}]*([^\s\x00]+)\s*")
_DATE = lazy_pattern(r"\W?\d{2,4}[-/.:]\d\d[-/.:]\d\d")
_ASSIGNED = lazy_pattern(r"[A-Za-z_]\w*=[^=]")
_PLAIN = r"(?>[A-Z]?[a-z]+|[A-Z]+|\d+)"
_PLAIN_WORD_SOURCE = rf"[(\[\"'`./~*]*+{_PLAIN}(?>(?:[/._:-]{_PLAIN}?)*)[.,:;!?)\]\"'`*]*+"
_PLAIN_WORD = lazy_pattern(_PLAIN_WORD_SOURCE)
_GUTTER = lazy_pattern(
    r"(?P<n>\d{1,6}[ \t]{0,4})?"
    r"(?P<sign>[^\w\s\"'`(\[{<$~@=.]{1,4}(?<!://)|(?<=\d)|(?<=[ \t]))[ \t]{0,4}",
    re.ASCII,
)
_NUMBERED = lazy_pattern(r"[ \t]*(\d{1,6})(?:[ \t]*(?:\t|\xe2\x86\x92)| {2,})")
_MAYBE_GOES_ON = lazy_pattern(
    rf"\n(?<!\n\n)(?:(?![ ]*+(?!\d+\s){_PLAIN_WORD_SOURCE}[^\S\n]++\S)|(?<=[_-]\n))"
    r"(?![^\n0-9A-Za-z\x80-\xff]*+(?:\n|\Z))"
)
"""The line ends that ``_may_continue`` may be right at. In most text few of them are: below others
is a plain word with another one behind it, or no letter at all."""
_HYPHENS = frozenset("-_")
_SAYS = lazy_pattern(r"[^\W_]")
_PUNCTUATION = ".,:;!?)]}\"'`"
_ORDINARY = 4
"""Shorter words are told from the end of a token by nothing."""
_ITSELF = lazy_pattern(
    r"[{\"']{0,2}(?:[A-Za-z][A-Za-z0-9]{0,20}[_-]){0,6}(?i:password|passwd|pwd|passphrase|secret|token"
    r"|(?:api|access|private|secret|account|session)_?key|credentials?|auth|cookie|psk)"
    r"(?:[_-](?i:id|key|value|secret|token))?[\"']?(?:[:=]|%3[Dd])[^=:/]"
    r"|git@[a-z]|//[a-z0-9.-]+/:"  # of a remote repository, of a registry in .npmrc
)
_LISTS = frozenset(";&?,\\")
_ADDRESS = lazy_pattern(r"[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}[,;]?")
_DIGEST = lazy_pattern("(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}")  # whole or abbreviated
_HEX_BEGUN = lazy_pattern(r"(?=[a-f]*[0-9])[0-9a-f]{6,}\Z")  # after a prefix
_NO_HEX = lazy_pattern("[G-Zg-z]")
_ENOUGH = 12
_LEAST_FULL = 6
"""Narrower lines are no margin of anything."""


class JoinedLines(RunsView):
    """The lines of another view, joined where one may continue the one before.

    Args:
        parent: the view.
        parts: the lines, and where they begin there.
        joined_at: the positions at which two lines were joined, ascending.
    """

    def __init__(
        self, parent: View, parts: Iterable[tuple[str, int]], joined_at: Sequence[int]
    ) -> None:
        super().__init__(parts, parent)
        self._joined_at = joined_at

    def clipped(self, start: int, end: int, *, shaped: bool, whole: int = 0) -> int:
        """The end of a match from ``start`` to ``end``, cut at the first join that splits no word.

        0 if it crosses no real join: then it is within one line, where the other views find it.
        ``shaped``: the match begins like a token, not like a word. ``whole``: how many
        characters such a token has, 0 if that varies.
        """
        reached = 0
        for number in range(
            bisect_right(self._joined_at, start), bisect_left(self._joined_at, end)
        ):
            at = self._joined_at[number]
            if at - start == whole or not self._one_word(at, shaped=shaped):
                return at if reached else 0
            reached = at
        return end if reached else 0

    def _one_word(self, at: int, *, shaped: bool) -> bool:
        text = self.text
        above = text[max(0, at - _LONGEST_WORD) : at]
        last = above[max(above.rfind(" "), above.rfind("\n"), above.rfind("\0")) + 1 :]
        found = _WORD.match(text, at, at + _LONGEST_WORD)
        if found is None:
            return False
        word = found.group()
        number = bisect_right(self._joined_at, at)
        piece = text[at : min([found.end(), *self._joined_at[number : number + 1]])]
        ends_here = piece != word and _is_ordinary(piece)  # the next line was joined to it, too
        if ends_here or _DATE.match(word) or _ASSIGNED.match(word):
            return False
        if looks_torn_off(word):
            return not _is_a_digest_beside(last, word)
        alone = text[found.end() : found.end() + 1] in {"", "\n", "\0"}
        letters = word.strip(_PUNCTUATION)
        ordinary = len(letters) >= _ORDINARY and letters.isalpha() and not letters.isupper()
        if shaped and alone and not (ordinary and not seems_by_chance(letters)):
            return True  # it has its line for itself, and is no word
        if _PLAIN_WORD.fullmatch(word):
            hyphen = shaped and (last[-1:] in _HYPHENS or word[-1:] in _HYPHENS)
            return hyphen or (word.isalpha() and seems_by_chance(word))
        return shaped


def _is_ordinary(piece: str) -> bool:
    """Whether a line's part of a word is itself a word, in small letters."""
    small = len(piece) >= _ORDINARY and piece.isalpha() and piece.islower()
    return small and not seems_by_chance(piece)


def joined_lines(view: View, cols: int) -> JoinedLines | None:
    """The lines of a view, joined where they may continue in the next one; None if none may."""
    text = view.text
    ends = [match.start() for match in _MAYBE_GOES_ON.finditer(text)]
    if not ends:
        return None
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    numbers = [bisect_right(starts, end) - 1 for end in ends]
    numbers = [at for at in numbers if lines[at] and _may_continue(lines[at], lines[at + 1])]
    if not numbers:
        return None
    widths = [*map(_width, lines)]
    continue_below = {at for at in numbers if _is_full(lines, widths, at, cols)}
    parts: list[tuple[str, int]] = []
    joined_at: list[int] = []
    length = 0
    for number in sorted({*continue_below, *(number + 1 for number in continue_below)}):
        if number - 1 in continue_below:
            joined_at.append(length)
        elif parts:
            parts.append((_APART, -1))
            length += len(_APART)
        beside = (*lines[max(0, number - 1) : number], *lines[number + 1 : number + 2])
        start, end = _between_edges(lines[number], *beside)
        parts.append((lines[number][start:end], starts[number] + start))
        length += end - start
    return JoinedLines(view, parts, joined_at) if joined_at else None


def _may_continue(line: str, below: str) -> bool:
    """Whether the line below may begin with the end of a word."""
    if line[:_ALIKE] == below[:_ALIKE] and line[-1:] not in _HYPHENS:
        # Lines of a log are distinguished without their signs and numbers.
        words = below.split(None, 1)
        word = words[0] if len(words) > 1 else ""
        if word.isascii() and word[:1].isalnum() and not word.isdigit() and "\0" not in word:
            return False
    first = _FIRST.match(below)
    if first is not None and not _says(first[1]) and first[1] in line:
        first = _FIRST.match(below, first.end())  # a sign before both lines
    if first is not None and first[1][0].isdigit():
        numbers = _NUMBERED.match(line), _NUMBERED.match(below)
        if numbers[0] and numbers[1] and int(numbers[1][1]) == int(numbers[0][1]) + 1:
            first = _FIRST.match(below, numbers[1].end())
    if first is None or not _says(first[1]):
        return False
    word = first[1]
    if first.end() != len(below) and line[-1:] not in _HYPHENS:
        if word.isalpha() and (word.islower() or word.istitle()):
            return False
        if line[:_ALIKE] == below[:_ALIKE] or _PLAIN_WORD.fullmatch(word):
            return False
    # A line that names its own value is not part of the line above. Joined with it, that line would
    # seem longer than any token, and would not count as one.
    words = line.rstrip(_BLANK_EDGES).split()
    return not (words and _stands_alone(words[-1], word))


def _says(word: str) -> bool:
    """Whether a word has a letter or a digit."""
    return word[0].isalnum() or _SAYS.search(word) is not None


def _between_edges(line: str, *beside: str) -> tuple[int, int]:
    """The start and end of the text of a line, without what the neighbouring line has as well.

    Left out are borders, indentation, line numbers and the signs of comments, lists and diffs.
    """
    start = len(line) - len(line.lstrip(_BLANK_EDGES))
    end = len(line.rstrip(_BLANK_EDGES))
    if line[start : start + 1].isalpha() and line[start] < "\x80":
        return start, max(start, end)  # no number or sign begins like that
    own = _GUTTER.match(line, start, end)
    for other in beside if own else ():
        others = _GUTTER.match(other.lstrip(_BLANK_EDGES))
        if own and others and own["sign"] == others["sign"] and bool(own["n"]) == bool(others["n"]):
            start, sign = own.end(), own["sign"]
            if (
                sign
                and line.endswith(sign, start, end)
                and other.rstrip(_BLANK_EDGES).endswith(sign)
            ):
                end = len(line[: end - len(sign)].rstrip(_BLANK_EDGES))  # a box of signs
            break
    return start, max(start, end)


def _width(line: str) -> int:
    """The number of columns of a line, roughly: wide characters count as one."""
    if line.isascii():
        return len(line.rstrip())
    return len(line.encode("latin-1").decode("utf-8", "replace").rstrip())


def _is_full(lines: Sequence[str], widths: Sequence[int], number: int, cols: int) -> bool:
    """Whether the first word of the line below would not have fitted after a line.

    A line may also continue below its own text, or behind a hyphen, where programs break words.
    """
    line, below = lines[number], lines[number + 1]
    end = widths[number]
    if end < _LEAST_FULL or not _SAYS.search(line):
        return False
    if line[:_ALIKE] == below[:_ALIKE] and line[:_ALIKE].strip(_BLANK_EDGES).isalnum():
        return False
    start, _ = _between_edges(below, line)
    word = _WORD.match(below, start)
    if word is None or word.end() <= end or line.rstrip(_BLANK_EDGES)[-1:] in _HYPHENS:
        return word is not None
    around = widths[max(0, number - _AROUND) : number + _AROUND + 1]
    margin = max((one for one in around if one <= cols), default=cols)
    return end + word.end() - start > margin


def _stands_alone(last: str, word: str) -> bool:
    """Whether a word at the start of a row is complete without the row above.

    It is not if the row above ends in the middle of a cookie or a query. Mail addresses below
    each other are complete.
    """
    if "@" in word and "@" in last and _ADDRESS.fullmatch(last) and _ADDRESS.fullmatch(word):
        return True
    return last[-1:] not in _LISTS and _ITSELF.match(word) is not None


def _is_a_digest_beside(last: str, word: str) -> bool:
    """Whether a word at the start of a row is a whole digest, unrelated to the row above.

    Only one in thousands of random tokens ends with so many hexadecimal digits.
    """
    above = last[-_ENOUGH:]
    mixed = above[-1:].isalnum() and not above.islower() and _NO_HEX.search(above) is not None
    return mixed and not _HEX_BEGUN.search(last) and _DIGEST.fullmatch(word) is not None
