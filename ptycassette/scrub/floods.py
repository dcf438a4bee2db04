r"""Floods of lines: what scrolls by without anything but text, colours and line ends.

Such lines stand on the screen as they were printed, and the print stream is searched
anyway. So the emulator is spared all but the last of them; what is left to look at
is lines that a program seems to have broken itself, for only the screen joins these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.columns import chained
from ptycassette.scrub.joins import Line, follows

__all__ = ["Flood", "floods"]

_COLOUR = rb"\x1b\[[0-9;:]*m"
_COLOURS = re.compile(_COLOUR)
_NOT_SHOWN = re.compile(rb"\t|" + _COLOUR)
# UTF-8 (RFC 3629) without the C1 controls, which would be obeyed.
_WIDE = (
    rb"\xc2[\xa0-\xbf]|[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_BREAK = b"\r\n"
_TAB = 8
_FEWEST = 64
_SEVERAL = 2


_LINE = rb"(?:[\x20-\x7e\t]++|%b|%b)*\r\n" % (_COLOUR, _WIDE)
# A line that is none is taken whole, so that nothing is looked at more than twice.
_LINES = re.compile(rb"(?P<lines>(?:%b)+)|[^\n]*+\n?" % _LINE)


def floods(data: bytes, *, lines: int, cols: int) -> Iterator[tuple[int, int]]:
    """Stretches of ``data`` that are nothing but lines, many times as many as the screen has.

    The first of them may begin in the middle of a line. Lines of which nobody can tell
    without painting where they wrap are left out.
    """
    fewest = max(_FEWEST, 4 * lines)
    for match in _LINES.finditer(data):
        start, end = match.span("lines")
        if end - start < 2 * fewest or data.count(_BREAK, start, end) < fewest:
            continue
        raws = data[start:end].split(_BREAK)
        first = start
        at = start
        count = 0
        for raw in raws[:-1]:
            if not raw.isascii() or b"\t" in raw:
                shown = _COLOURS.sub(b"", raw).expandtabs(_TAB)
                # In UTF-8 no character takes more cells than bytes.
                if len(shown) > cols:
                    if count >= fewest:
                        yield first, at
                    first, count = at + len(raw) + len(_BREAK), -1
            at += len(raw) + len(_BREAK)
            count += 1
        if count >= fewest:
            yield first, end


class _PrintedRow:
    """A row that was printed at once: its bytes stand in order. See ``rows.RowCopy``."""

    __slots__ = ("_offset", "_raw", "_start", "_stop", "wrapped")

    def __init__(self, raw: bytes, offset: int, start: int, stop: int, *, wrapped: bool) -> None:
        self._raw = raw
        self._offset = offset
        self._start = start
        self._stop = stop
        self.wrapped = wrapped

    def sources(self) -> list[int]:
        """For each canonical character of the row its offset in the output, or -1."""
        sources: list[int] = []
        column = at = 0
        for match in (*_NOT_SHOWN.finditer(self._raw), None):
            end = match.start() if match else len(self._raw)
            sources += range(self._offset + at, self._offset + end)
            column += len(self._raw[at:end].decode())
            at = match.end() if match else end
            if match and match.group() == b"\t":
                blanks = _TAB - column % _TAB
                sources += [-1] * blanks
                column += blanks
        return sources[self._start : self._stop]


class Flood:
    """Whole lines, each ended by CR LF, that scroll by.

    Args:
        data: the lines.
        offset: where they stand in the output.
        cols: columns of the screen.
    """

    def __init__(self, data: bytes, *, offset: int, cols: int) -> None:
        self._data = data
        self._offset = offset
        self._cols = cols
        self._texts: list[str] = []
        self._raws: list[bytes] = []
        self._starts: list[int] = []

    def read(self) -> bool:
        """Read the lines; False when they are no text."""
        try:
            texts = _COLOURS.sub(b"", self._data).decode().split("\r\n")
        except UnicodeDecodeError:
            return False
        texts.pop()
        self._texts = [text.expandtabs(_TAB).rstrip(" ") for text in texts]
        return True

    def broken(self) -> Iterator[list[Line]]:
        """Rows that seem to belong together, where these are of several lines."""
        cols, texts = self._cols, self._texts
        joins = [False] * (len(texts) + 1)
        last = ""
        for number, text in enumerate(texts):
            if last and follows(last, text[:cols], cols):
                joins[number] = True
            last = text if len(text) <= cols else text[(len(text) - 1) // cols * cols :]
        for number in chained(texts, cols):
            joins[number + 1] = True
        number = 0
        while number < len(texts):
            first = number
            number += 1
            while joins[number]:
                number += 1
            if number - first < _SEVERAL:
                continue
            yield [line for at in range(first, number) for line in self._lines(at)]

    def _lines(self, number: int) -> Iterator[Line]:
        """The rows that the line with this number takes on the screen."""
        if not self._raws:
            self._raws = self._data.split(_BREAK)
            self._starts = list(
                accumulate((len(raw) + 2 for raw in self._raws), initial=self._offset)
            )
        text, raw, offset = self._texts[number], self._raws[number], self._starts[number]
        cols = self._cols
        for start in range(0, len(text), cols) or (0,):
            part = text[start : start + cols]
            stop = start + len(canonical(part))
            row = _PrintedRow(raw, offset, start, stop, wrapped=start > 0)
            yield Line(row, part.ljust(cols))
