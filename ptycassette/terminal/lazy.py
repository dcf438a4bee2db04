"""The emulator behind the screen reader. It paints on demand.

Of plain lines that only scroll by, it paints the last ones. Earlier ones have left the history,
and their text is in the print stream.
"""

from __future__ import annotations

from ptycassette.model.geometry import Size
from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.model.screen import Screen
from ptycassette.terminal._core import DEFAULT_SCROLLBACK, bounded
from ptycassette.terminal._parser import Parser
from ptycassette.terminal._trace import TracedParser, TracedTerminal
from ptycassette.terminal._watched import OnRead, WatchedTerminal
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.widths import width_mode

# UTF-8 (RFC 3629) without the C1 controls, which are obeyed; at the end it may be cut anywhere.
_WIDE = (
    rb"\xc2[\xa0-\xbf]|[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_CUT = rb"\r|[\xc3-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2}"
_LINES = lazy_pattern(rb"[\x20-\x7e]*(?:(?:\r\n|%b)[\x20-\x7e]*)*(?P<cut>%b)?" % (_WIDE, _CUT))
_MUCH = 4
"""Screens with their history that are held before what cannot be seen any more is left out."""


class _TracedWatchedTerminal(WatchedTerminal, TracedTerminal):
    """Watched and traced."""


class LazyEmulator(PyteEmulator):
    """The default emulator, with a watched terminal.

    Args:
        size: the size to start with.
        on_read: see ``WatchedTerminal``.
        traced: whether cells know which bytes painted them; takes 1.5 times as long.
    """

    terminal: WatchedTerminal

    def __init__(self, size: Size, on_read: OnRead, *, traced: bool = True) -> None:
        super().__init__(size)
        size = bounded(size)
        kind = _TracedWatchedTerminal if traced else WatchedTerminal
        self.terminal = kind(size.cols, size.rows, width_mode=width_mode("cluster"))
        self.terminal.on_read = on_read
        self._parser = (
            TracedParser(self.terminal)
            if isinstance(self.terminal, TracedTerminal)
            else Parser(self.terminal)
        )
        self._held: list[bytes] = []
        self._length = 0
        self._cut = b""
        self._most = _most(size.rows, size.cols)

    def feed(self, data: bytes) -> None:
        """See ``Emulator``."""
        if self._held or self._scrolls_as_printed():
            lines = _LINES.fullmatch(self._cut + data)
            if lines is not None:
                self._cut = lines["cut"] or b""
                self._held.append(data)
                self._length += len(data)
                if self._length > _MUCH * self._most and not self._drop():
                    self.paint()
                return
            self.paint()
        super().feed(data)

    def _scrolls_as_printed(self) -> bool:
        parser = self._parser
        return not parser.pending and not parser.in_sequence and self.terminal.scrolls_as_printed()

    def _drop(self) -> bool:
        """Drop lines that have scrolled out of the history; False when there are none."""
        data = b"".join(self._held)
        rows = self.terminal.lines + self.terminal.scrollback
        gone, *last = data.rsplit(b"\n", rows + 1)
        at = len(gone) + 1 if len(last) > rows else 0
        if data.isascii():  # a row shows a byte in each cell, and two end a line
            at = max(at, data.rfind(b"\n", 0, len(data) - self._most) + 1)
        if not at:
            return False
        self.terminal.clear_for_lines()
        if isinstance(self._parser, TracedParser):
            self._parser.skip(at)
        self._held = [data[at:]]
        self._length = len(data) - at
        return True

    def paint(self) -> None:
        """Paint the output that is waiting."""
        if self._length > self._most:
            self._drop()
        if self._held:
            held, self._held, self._length, self._cut = b"".join(self._held), [], 0, b""
            super().feed(held)

    def resize(self, size: Size) -> None:
        """See ``Emulator``."""
        self.paint()
        super().resize(size)
        self._most = _most(self.terminal.lines, self.terminal.columns)

    def snapshot(self) -> Screen:
        """See ``Emulator``."""
        self.paint()
        return super().snapshot()

    @property
    def pending(self) -> int:
        """See ``Emulator``."""
        self.paint()
        return super().pending


def _most(rows: int, cols: int) -> int:
    """The number of bytes of ASCII lines that certainly fill the screen and its history."""
    return (rows + DEFAULT_SCROLLBACK) * (cols + 2)
