"""What a stretch of output tells the terminal, without rendering it.

``SignalReader`` reads the same grammar with the same functions as the default
emulator and paints nothing: it is what a recording's signals are derived with at read
time. ``TurnReader`` looks for turn marks alone, at the speed of a search.
"""

from __future__ import annotations

from typing import Final

from ptycassette.terminal.parser import Parser
from ptycassette.terminal.signals import MAX_SIGNALS, Signal
from ptycassette.terminal.terminal import Terminal
from ptycassette.terminal.widths import width_mode

__all__ = ["SignalReader", "SignalTerminal", "TurnReader"]

_SLICE: Final = MAX_SIGNALS // 2
_STEP: Final = 256
_MARKS: Final = (b"\x1b]", b"\x1bc", b"\xc2\x9d")
"""How an OSC or a reset begins. Between them nothing tells of turns."""


class SignalTerminal(Terminal):
    """A terminal that collects signals and answers, and paints nothing."""

    def __init__(self, columns: int = 2, lines: int = 1) -> None:
        super().__init__(columns, lines, width_mode=width_mode("cluster"), scrollback=0)

    def draw(self, data: str) -> None:
        """Ignore text: it gives no signals."""

    def repeat(self, count: int | None = None) -> None:
        """REP: ignore repeated text as well."""


class SignalReader:
    """Takes output, in any pieces, and gives the signals that it completes.

    They are those of ``PyteEmulator.signals`` for the same bytes, none dropped.
    """

    def __init__(self) -> None:
        self._terminal = SignalTerminal()
        self._parser = Parser(self._terminal)

    @property
    def open(self) -> bool:
        """Whether the output ends within a control function or a character."""
        return self._parser.in_sequence or self._parser.pending > 0

    def feed(self, data: bytes) -> tuple[Signal, ...]:
        """The signals that ``data`` completes."""
        signals: tuple[Signal, ...] = ()
        for start in range(0, len(data), _SLICE):
            self._parser.feed(data[start : start + _SLICE])
            signals += self._terminal.signals.take()
            self._terminal.replies.clear()
        return signals


class TurnReader:
    """Finds in output what tells of turns: looks at OSC strings and resets alone.

    A sequence whose introducer is torn apart by a control character (ESC, NUL, ``]``), which
    no program sends, is not found.
    """

    def __init__(self) -> None:
        self._reader = SignalReader()
        self._within = False

    def feed(self, data: bytes) -> tuple[Signal, ...]:
        """The signals ``turn``, ``prompt`` and ``reset`` in ``data``, and perhaps others."""
        signals: tuple[Signal, ...] = ()
        while data:
            if not self._within:
                start = _first_mark(data)
                if start is None:
                    break
                data = data[start:]
            signals += self._reader.feed(data[:_STEP])
            self._within = self._reader.open
            data = data[_STEP:]
        return signals


def _first_mark(data: bytes) -> int | None:
    """Where the first thing begins that may tell of turns."""
    places = [place for mark in _MARKS if (place := data.find(mark)) >= 0]
    if data.endswith((b"\x1b", b"\xc2")):
        places.append(len(data) - 1)
    return min(places, default=None)
