"""The screen as views: rows are read before anything unread on them is lost.

The output is fed to the traced emulator in blocks of fixed size, so that the
views depend on the bytes alone. Rows that were painted since they were last
read, and their neighbours, are copied; copies are searched many at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ptycassette.model import Size
from ptycassette.screen.grid import BLANK, Row
from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.columns import chained
from ptycassette.scrub.floods import Flood, floods
from ptycassette.scrub.joins import Line, continues, follows
from ptycassette.scrub.long_lines import long_lines, torn_seams
from ptycassette.scrub.panes import may_have_panes, pane_texts
from ptycassette.scrub.paragraphs import unwrapped_again
from ptycassette.scrub.rows import RowCopy, ScreenView, Segment, joined_rows, line_of, put_together
from ptycassette.scrub.trace import FastTrace
from ptycassette.scrub.unread import ENOUGH_ROWS

__all__ = ["OutputCells"]

_BLOCK = 65536
_BATCH = 32768
_AROUND = 48
_BEFORE = 24
_WRAPPED_BEFORE = 480
_OF_PARAGRAPH = 8
_MOST_REMEMBERED = 1 << 20
_MOST_KNOWN = 1 << 19
_PART = 16384
_SPENT_AT_ONCE = 1 << 17
_SPENT_PER_BYTE = 20
_BREAK = re.compile(b"\r\n")
# Where it begins in a text; the number of the line that it is of, where it begins and ends in it.
_Part = tuple[int, int, int, int]


class OutputCells:
    """The cells that output paints. ``size`` is the size of the terminal at the start.

    Attributes:
        repeats: whether rows were left out because they had been searched as they are.
    """

    def __init__(self, size: Size) -> None:
        self._trace = FastTrace(size, before_loss=self._before_loss)
        self._spent = 0
        self._held = bytearray()
        self._seen: set[tuple[str, ...]] = set()
        self._seen_length = 0
        self._known: dict[tuple[tuple[str, bool], ...], list[tuple[str, list[_Part]]]] = {}
        self._known_length = 0
        self._written: set[tuple[str, tuple[int, ...]]] = set()
        self.repeats = False
        self._new()

    def _new(self) -> None:
        self._texts: list[str] = []
        self._starts: list[int] = []
        self._segments: list[Segment | None] = []
        self._length = 0
        self._pending: list[tuple[str, ...]] = []

    def forget(self) -> None:
        """More is known than before: rows that were searched are searched again."""
        self._seen.clear()
        self._seen_length = 0

    def feed(self, data: bytes) -> Iterator[ScreenView]:
        """Take bytes; views whenever enough rows were read."""
        self._held += data
        while len(self._held) >= _BLOCK:
            block = bytes(self._held[:_BLOCK])
            del self._held[:_BLOCK]
            for part in self._parts(block):
                self._trace.feed(part)
                if self._length >= _BATCH:
                    yield from self._take()

    def _parts(self, block: bytes) -> Iterator[bytes]:
        """What of a block has to be painted; floods of lines are skipped on the way."""
        lines, cols = self._trace.terminal.lines, self._trace.terminal.columns
        at = 0
        for start, end in floods(block, lines=lines, cols=cols):
            breaks = [found.start() + 2 for found in _BREAK.finditer(block, start, end)]
            first, last = breaks[lines + _BEFORE], breaks[-lines]
            yield block[at:first]
            at = first
            if not self._trace.steady:
                continue
            context = breaks[lines]
            offset = self._trace.offset - (first - context)
            flood = Flood(block[context:end], offset=offset, cols=cols)
            if flood.read():
                self._read()
                for group in flood.broken():
                    self._add_joined(group)
                self._trace.skip(block[first:last])
                at = last
        for start in range(at, len(block), _PART):
            yield block[start : start + _PART]

    def resize(self, size: Size) -> Iterator[ScreenView]:
        """The terminal takes another size."""
        self._flush()
        self._trace.resize(size)
        self._trace.unread()
        if self._length >= _BATCH:
            yield from self._take()

    def rest(self) -> Iterator[ScreenView]:
        """What is on the screens at the end: all of it, together."""
        self._flush()
        self._read()
        self._trace.unread()
        self._read()
        terminal = self._trace.terminal
        if terminal.buf is not terminal.main:
            terminal.buf = terminal.main
            self._read()
        if self._length:
            yield from self._take()

    def _flush(self) -> None:
        self._trace.feed(bytes(self._held))
        self._held.clear()

    def _before_loss(self) -> None:
        """Unread cells are about to be lost.

        What is read stays within a multiple of what is painted. A cell that turns on a screen
        full of text would have all of it read at every turn; some turns are left out, then,
        of which the print stream knows.
        """
        if self._spent <= _SPENT_AT_ONCE + _SPENT_PER_BYTE * self._trace.reached:
            before = self._length
            self._read()
            self._spent += self._length - before + self._trace.terminal.lines

    def _read(self) -> None:
        """Copy the unread rows, and those that they may continue, into the batch."""
        terminal = self._trace.terminal
        above = terminal.gone(max(0, ENOUGH_ROWS - terminal.lines))
        unread, cols = [*terminal.kept(), *terminal.buf.rows], terminal.columns
        rows = [*above, *unread, *terminal.below]
        at, last = len(above), len(above) + len(unread)
        terminal.waiting = 0
        news = [row.view is None for row in rows[:last]]  # copying looks at those around, too
        while at < last:
            if not news[at]:
                at += 1
                continue
            first = at
            texts = []
            while at < last and news[at]:
                texts.append(rows[at].text(cols))
                at += 1
            self._copy(rows, first, at, texts)

    def _copy(self, rows: Sequence[Row], first: int, last: int, texts: list[str]) -> None:
        """Copy rows ``first`` up to ``last``, which show ``texts``.

        Most rows are lines of their own. The others are taken apart, together with the
        rows around that they may belong to.
        """
        cols = self._trace.terminal.columns
        before = rows[first - 1].text(cols) if first else ""
        after = rows[last].text(cols) if last < len(rows) else ""
        joins = [
            row.wrapped
            or follows(
                above, text, cols if above.isascii() else self._width(rows, number - 1, above)
            )
            for number, (row, (above, text)) in enumerate(
                zip(rows[first : last + 1], pairwise((before, *texts, after)), strict=False), first
            )
        ]
        if last == len(rows):
            joins.append(False)
        for number in chained(texts, cols):
            joins[number + 1] = True
        start, count, read = 0, last - first, len(self._texts)
        if not (joins[0] or joins[-1]):
            key = (before, *texts, after)
            if key in self._seen:
                self.repeats = True
                return
            self._pending.append(key)
        for number in range(count):
            if joins[number + 1] and number + 1 < count:
                continue
            if start == number and not joins[start] and not joins[number + 1]:
                if texts[number]:
                    self._add_row(rows[first + number], texts[number])
            else:
                around = joins[start], joins[number + 1]
                self._copy_joined(rows, first + start, first + number + 1, around)
            start = number + 1
        self._copy_unwrapped(rows, first, last, read)

    def _copy_unwrapped(self, rows: Sequence[Row], first: int, last: int, read: int) -> None:
        """Paragraphs in rows ``first`` up to ``last``, with the rows of them that stand around.

        Those left out are in what was read of these rows, the texts from number ``read``.
        """
        cols = self._trace.terminal.columns
        start, stop = first, last
        while start > max(0, first - _OF_PARAGRAPH) and rows[start - 1].text(cols):
            start -= 1
        while stop < min(len(rows), last + _OF_PARAGRAPH) and rows[stop].text(cols):
            stop += 1
        around = rows[start:stop]
        texts = [row.text(cols) for row in around]
        paragraphs = (
            [(_line(around[row]), left, end) for row, left, end in pieces]
            for pieces in unwrapped_again(texts, cols)
            if pieces[0].row < last - start and pieces[-1].row >= first - start
        )
        self._add_others(map(put_together, paragraphs), read)
        self._copy_long(around, texts, read)
        if may_have_panes(texts):
            self._add_others(pane_texts([_copy(row) for row in around], cols), read)

    def _copy_long(self, rows: Sequence[Row], texts: Sequence[str], read: int) -> None:
        """Paragraphs of lines of which the terminal wrapped some. See ``_copy_unwrapped``."""
        wrapped = [row.wrapped for row in rows]
        seams = list(torn_seams(texts, wrapped)) if any(wrapped) else []
        if not seams:
            return
        cols = self._trace.terminal.columns
        wide = [
            text if not goes_on else text.ljust(cols) if text.isascii() else _line(row).text
            for row, text, goes_on in zip(rows, texts, [*wrapped[1:], False], strict=True)
        ]
        self._add_others(long_lines(wide, wrapped, seams, lambda at: _copy(rows[at])), read)

    def _add_others(
        self, others: Iterable[tuple[str, list[tuple[int, Segment]]]], read: int
    ) -> None:
        """Other readings of rows, unless texts from number ``read`` say the same.

        What is of one row is there because of what stands before or behind it.
        """
        known = ""
        for text, parts in others:
            known = known or "\n".join(("", *self._texts[read:]))
            at = known.find(text)
            glued = at > 0 and known[at - 1].isalnum()  # to another word
            if at < 0 or glued or len(parts) == 1:
                self._add_parts(text, parts)

    def _width(self, rows: Sequence[Row], number: int, text: str) -> int:
        """How many characters fit in a row that shows ``text``."""
        if text.isascii():
            return self._trace.terminal.columns
        return len(rows[number].chars) - rows[number].chars.count("")

    def _add_row(self, row: Row, text: str) -> None:
        """A row that is a line of its own."""
        origins = row.origins or []
        if text.isascii():
            copy = RowCopy(text, origins[: len(text)], row.wrapped)
        else:
            copy = RowCopy(row.chars[:], origins[:], row.wrapped)
            text = canonical(text)
        self._starts += (self._length, self._length + len(text))
        self._segments += (Segment(copy, 0, len(text)), None)
        self._texts.append(text)
        self._length += len(text) + 1

    def _copy_joined(
        self, rows: Sequence[Row], first: int, last: int, around: tuple[bool, bool]
    ) -> None:
        """Rows ``first`` up to ``last`` and the rows around that belong to their lines.

        Of a line that the terminal wrapped only what rules reach: the print stream has it whole.
        ``around`` says whether the rows right before and behind these may belong to them.
        """
        lines = [_line(row) for row in rows[first:last]]
        wrapped = 0
        for row in reversed(rows[max(0, first - _AROUND) : first]) if around[0] else ():
            line = _line(row)
            if lines[0].row.wrapped:
                wrapped += len(line.text)
                if wrapped > _WRAPPED_BEFORE:
                    break
            elif not continues(line, lines[0]):
                break
            lines.insert(0, line)
        for row in rows[last : last + _AROUND] if around[1] else ():
            line = _line(row)
            if not (row.wrapped or continues(lines[-1], line)):
                break
            lines.append(line)
        self._add_joined(lines)

    def _add_joined(self, lines: Sequence[Line]) -> None:
        """Rows, those joined that belong together."""
        for text, parts in self._joined(lines):
            self._add_parts(
                text,
                ((at, Segment(lines[number].row, start, end)) for at, number, start, end in parts),
            )

    def _add_parts(self, text: str, parts: Iterable[tuple[int, Segment]]) -> None:
        for position, segment in parts:
            self._starts.append(self._length + position)
            self._segments.append(segment)
        self._starts.append(self._length + len(text))
        self._segments.append(None)
        self._texts.append(text)
        self._length += len(text) + 1

    def _joined(self, lines: Sequence[Line]) -> list[tuple[str, list[_Part]]]:
        """What ``joined_rows`` gives, kept for when the same rows are painted again."""
        key = tuple((line.text, line.row.wrapped) for line in lines)
        joined = self._known.get(key)
        if joined is None:
            numbers = {id(line.row): number for number, line in enumerate(lines)}
            joined = [
                (
                    text,
                    [(at, numbers[id(part.row)], part.start, part.end) for at, part in segments],
                )
                for text, segments in joined_rows(lines)
                if text and not text.isspace()
            ]
            self._known_length += sum(len(text) for text, _ in key)
            if self._known_length > _MOST_KNOWN:
                self._known.clear()
                self._known_length = 0
            self._known[key] = joined
        return joined

    def _take(self) -> Iterator[ScreenView]:
        """The batch; rows in which nothing was found need not be searched again."""
        view = ScreenView(
            "\n".join(self._texts),
            starts=self._starts,
            segments=self._segments,
            seen=self._written,
        )
        pending = self._pending
        self._new()
        yield view
        if view.found:
            return
        self._seen_length += sum(len(text) for key in pending for text in key)
        if self._seen_length > _MOST_REMEMBERED:
            self.forget()
        self._seen.update(pending)


def _line(row: Row) -> Line:
    copy = _copy(row)
    return line_of(copy) if not isinstance(copy.chars, str) else Line(copy, copy.chars)


def _copy(row: Row) -> RowCopy:
    text = "".join(row.chars).replace(BLANK, " ")
    chars = text if text.isascii() and len(text) == len(row.chars) else row.chars[:]
    return RowCopy(chars, (row.origins or [])[:], row.wrapped)
