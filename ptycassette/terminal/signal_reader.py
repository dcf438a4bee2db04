"""Reads signals out of a program's output, without rendering it.

``SignalReader`` uses the parser and the functions of the default emulator, but paints
nothing. Signals are not stored in a recording; it derives them when they are asked for.
``TurnReader`` only looks for marks of turns, at the speed of a search.
"""

from __future__ import annotations

from typing import Final

from ptycassette.terminal._parser import Parser
from ptycassette.terminal._terminal import Terminal
from ptycassette.terminal.signals import MAX_SIGNALS, Signal
from ptycassette.terminal.widths import width_mode

_SLICE: Final = MAX_SIGNALS // 2
_STEP: Final = 256
_MARKS: Final = (b"\x1b]", b"\x1bc", b"\xc2\x9d")
"""The first bytes of an OSC or a reset. No other sequence marks a turn."""


class SignalTerminal(Terminal):
    """A terminal that collects signals and answers, and paints nothing."""

    def __init__(self, columns: int = 2, lines: int = 1) -> None:
        super().__init__(columns, lines, width_mode=width_mode("cluster"), scrollback=0)

    def draw(self, data: str) -> None:
        """Ignore text: it gives no signals."""

    def repeat(self, count: int | None = None) -> None:
        """REP: ignore repeated text as well."""


class SignalReader:
    """Takes output in pieces of any size, and returns the signals that each completes.

    They are those of ``PyteEmulator.signals`` for the same bytes, but none is dropped.
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
    """Finds the marks of turns in output. It reads OSC strings and resets alone.

    A sequence with a control character inside its introducer (ESC, NUL, ``]``) is not found;
    no program sends that.
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
    """The start of the first sequence that may mark a turn."""
    places = [place for mark in _MARKS if (place := data.find(mark)) >= 0]
    if data.endswith((b"\x1b", b"\xc2")):
        places.append(len(data) - 1)
    return min(places, default=None)
