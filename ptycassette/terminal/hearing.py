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

__all__ = ["Listener", "SignalReader", "TurnReader"]

_SLICE: Final = MAX_SIGNALS // 2
_STEP: Final = 256
_MARKS: Final = (b"\x1b]", b"\x1bc", b"\xc2\x9d")
"""How an OSC or a reset begins. Between them nothing tells of turns."""


class Listener(Terminal):
    """A terminal that hears everything and shows nothing."""

    def __init__(self, columns: int = 2, lines: int = 1) -> None:
        super().__init__(columns, lines, width_mode=width_mode("cluster"), scrollback=0)

    def draw(self, data: str) -> None:
        """Text tells nothing."""

    def repeat(self, count: int | None = None) -> None:
        """Nor does text that is repeated."""


class SignalReader:
    """Takes output, in any pieces, and gives the signals that it completes.

    They are those of ``PyteEmulator.signals`` for the same bytes, none dropped.
    """

    def __init__(self) -> None:
        self._terminal = Listener()
        self._parser = Parser(self._terminal)

    @property
    def open(self) -> bool:
        """Whether the output ends within a control function or a character."""
        return self._parser.in_sequence or self._parser.pending > 0

    def feed(self, data: bytes) -> tuple[Signal, ...]:
        """What ``data`` tells."""
        told: tuple[Signal, ...] = ()
        for start in range(0, len(data), _SLICE):
            self._parser.feed(data[start : start + _SLICE])
            told += self._terminal.signals.take()
            self._terminal.replies.clear()
        return told


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
        told: tuple[Signal, ...] = ()
        while data:
            if not self._within:
                start = _first_mark(data)
                if start is None:
                    break
                data = data[start:]
            told += self._reader.feed(data[:_STEP])
            self._within = self._reader.open
            data = data[_STEP:]
        return told


def _first_mark(data: bytes) -> int | None:
    """Where the first thing begins that may tell of turns."""
    places = [place for mark in _MARKS if (place := data.find(mark)) >= 0]
    if data.endswith((b"\x1b", b"\xc2")):
        places.append(len(data) - 1)
    return min(places, default=None)
