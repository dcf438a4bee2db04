"""The default emulator behind the ``Emulator`` port: pyte's names, xterm.js's behaviour.

It is an emulator of our own: its classes and methods have the names of pyte's, none of its code is
pyte's. ``stock_pyte`` runs the library itself; a table in docs/screens.md compares the two.
"""

from __future__ import annotations

from typing import Final

from ptycassette.model.geometry import Cursor, Size
from ptycassette.model.manifest import EmulatorId
from ptycassette.model.screen import Screen
from ptycassette.terminal._core import DECTCEM, DEFAULT_SCROLLBACK, bounded
from ptycassette.terminal._modes import mode_name
from ptycassette.terminal._parser import Parser
from ptycassette.terminal._terminal import Terminal
from ptycassette.terminal.grid import BLANK
from ptycassette.terminal.query_profiles import XTERM, QueryProfile
from ptycassette.terminal.signals import Signal
from ptycassette.terminal.widths import WidthModeName, width_mode

EMULATOR_NAME: Final = "pyte"

PYTE_VERSION: Final = "0.8.2"
"""The pyte whose API this is. Not asked of the installed one: none of its code decides a result."""

REVISION: Final = 1
"""Goes up with every change after which the same bytes may give another screen."""


class PyteEmulator:
    """The default emulator. ``ptycassette.model.ports.Emulator`` has the contract of each method.

    Args:
        size: the size to start with; brought into 1x2 to 1000x1000.
        width: ``cluster`` or ``codepoint``; see ``ptycassette.terminal.widths``.
        scrollback: rows kept after they scrolled off the top.
        profile: which queries are answered, and how.
    """

    def __init__(
        self,
        size: Size,
        *,
        width: WidthModeName = "cluster",
        scrollback: int = DEFAULT_SCROLLBACK,
        profile: QueryProfile = XTERM,
    ) -> None:
        size = bounded(size)
        self.terminal = Terminal(
            size.cols, size.rows, width_mode=width_mode(width), scrollback=scrollback
        )
        self.terminal.profile = profile
        self._parser = Parser(self.terminal)
        self._modes: tuple[frozenset[int], frozenset[str]] = (frozenset(), frozenset())
        self._scrollback = scrollback

    @property
    def identity(self) -> EmulatorId:
        """``pyte`` and ``0.8.2+ptycassette.N;width=MODE``, as pinned in manifests."""
        options = f";width={self.terminal.width_mode.name}"
        if self._scrollback != DEFAULT_SCROLLBACK:
            options += f";scrollback={self._scrollback}"
        return EmulatorId(EMULATOR_NAME, f"{PYTE_VERSION}+ptycassette.{REVISION}{options}")

    @property
    def size(self) -> Size:
        """The current size."""
        return Size(self.terminal.lines, self.terminal.columns)

    @property
    def parser(self) -> Parser:
        """The parser in front of ``terminal``."""
        return self._parser

    @property
    def pending(self) -> int:
        """How many bytes at the end of the input are an incomplete sequence or character."""
        return self._parser.pending

    @property
    def synchronized(self) -> bool:
        """Whether a synchronised update is open (DEC private mode 2026)."""
        return self.terminal.synchronized

    def feed(self, data: bytes) -> None:
        """Consume output of the program. Never raises, whatever the bytes."""
        self._parser.feed(data)

    def resize(self, size: Size) -> None:
        """Take another size; brought into 1x2 to 1000x1000."""
        size = bounded(size)
        self.terminal.resize(size.rows, size.cols)

    def snapshot(self) -> Screen:
        """The current screen."""
        terminal = self.terminal
        cols, buf = terminal.columns, terminal.buf
        rendered = [row.render(cols) for row in buf.rows]
        texts, styles = zip(*rendered, strict=True)
        if terminal.mode != self._modes[0]:
            self._modes = (frozenset(terminal.mode), frozenset(map(mode_name, terminal.mode)))
        return Screen(
            size=Size(terminal.lines, cols),
            rows=texts,
            styles=styles,
            cursor=Cursor(buf.y, buf.x if buf.x < cols else cols - 1, DECTCEM in terminal.mode),
            title=terminal.title,
            alt_screen=terminal.alt is not None,
            modes=self._modes[1],
        )

    def text(self) -> list[str]:
        """The rows' text alone, right-trimmed."""
        return self.terminal.display

    def cells(self) -> list[list[str]]:
        """The text of every cell; ``""`` is the right half of a wide one."""
        cols = self.terminal.columns
        return [
            [" " if char == BLANK else char for char in row.chars[:cols]]
            for row in self.terminal.buf.rows
        ]

    def answers(self) -> bytes:
        """Take the terminal's answers since the last call."""
        replies = self.terminal.replies
        if not replies:
            return b""
        taken = "".join(replies).encode()
        replies.clear()
        return taken

    def signals(self) -> tuple[Signal, ...]:
        """Take the signals since the last call."""
        return self.terminal.signals.take()

    def scrollback(self) -> tuple[str, ...]:
        """The text of the rows that scrolled off the top of the main screen, oldest first."""
        return tuple(row.text(len(row.chars)) for row in self.terminal.main.history)

    def main_lines(self) -> tuple[str, ...]:
        """The text of the scrollback and of the main screen, oldest first, as copying it gives.

        Rows that continue the previous one are joined to it. The main screen counts while the
        program is on the alternate one, too.
        """
        main = self.terminal.main
        lines: list[list[str]] = []
        for row in (*main.history, *main.rows):
            text = "".join(row.chars).replace(BLANK, " ")
            if row.wrapped and lines:
                lines[-1].append(text)
            else:
                lines.append([text])
        return tuple("".join(parts).rstrip(" ") for parts in lines)

    def forget_scrollback(self) -> None:
        """Drop the rows that scrolled off the top. They only matter for later resizes."""
        self.terminal.main.history.clear()


def default_emulator(size: Size, *, profile: QueryProfile = XTERM) -> PyteEmulator:
    """The emulator that renders frames by default."""
    return PyteEmulator(size, profile=profile)
