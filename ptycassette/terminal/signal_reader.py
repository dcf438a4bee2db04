"""Reads signals out of a program's output, without rendering it.

``SignalReader`` uses the parser and the functions of the default emulator, but paints
nothing. Signals are not stored in a recording; it derives them when they are asked for.
``TurnReader`` only looks for marks of turns, at the speed of a search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ptycassette.terminal._grammar import SPLIT
from ptycassette.terminal._parser import Parser
from ptycassette.terminal._terminal import Terminal
from ptycassette.terminal.signals import MAX_SIGNALS, Signal
from ptycassette.terminal.widths import width_mode

_SLICE: Final = MAX_SIGNALS // 2
_STEP: Final = 256
_MARK: Final = re.compile(rb"\x1b(?:[]c]|\Z)|\xc2(?:\x9d|\Z)")
"""The first bytes of an OSC or a reset, which may be cut. No other sequence marks a turn."""
_HEARD: Final = re.compile(
    SPLIT.pattern.replace(r"[\x00-\x1f\x7f-\x9f]", r"[\x05\x07\x18\x1a\x1b\x7f-\x9f]", 1)
)
"""``SPLIT``, but line feeds, tabs and others that give no signal count as text."""


class SignalTerminal(Terminal):
    """A terminal that collects signals and answers, and paints nothing."""

    def __init__(self, columns: int = 2, lines: int = 1) -> None:
        super().__init__(columns, lines, width_mode=width_mode("cluster"), scrollback=0)

    def draw(self, data: str) -> None:
        """Ignore text: it gives no signals."""

    def repeat(self, count: int | None = None) -> None:
        """REP: ignore repeated text as well."""

    def _paint(self, *_: object, **__: object) -> None:
        """Change nothing: the screen is empty, and the place of the cursor gives no signals."""

    erase_in_display = erase_in_line = erase_characters = alignment_display = _paint
    insert_characters = delete_characters = insert_lines = delete_lines = _paint
    insert_columns = delete_columns = scroll_up = scroll_down = scroll_left = scroll_right = _paint
    index = reverse_index = next_line = linefeed = new_line = tab = _paint


class _SignalParser(Parser):
    """Takes control characters that give no signals for text, which is ignored at full speed."""

    def _parts(self, text: str, at: int, stop: int) -> list[str]:
        return _HEARD.split(text[at:stop])


class SignalReader:
    """Takes output in pieces of any size, and returns the signals that each completes.

    They are those of ``PyteEmulator.signals`` for the same bytes, but none is dropped.
    """

    def __init__(self) -> None:
        self._terminal = SignalTerminal()
        self._parser = _SignalParser(self._terminal)

    @property
    def open(self) -> bool:
        """Whether the output ends within a control function or a character."""
        return self._parser.in_sequence or self._parser.pending > 0

    def feed(self, data: bytes) -> tuple[Signal, ...]:
        """The signals that ``data`` completes."""
        return tuple(self.each(data))

    def each(self, data: bytes) -> Iterator[Signal]:
        """The signals that ``data`` completes, one after the other; ask for all of them."""
        for start in range(0, len(data), _SLICE):
            self._parser.feed(data[start : start + _SLICE])
            yield from self._terminal.signals.take()
            self._terminal.replies.clear()


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
        signals: list[Signal] = []
        at = 0
        while at < len(data):
            if not self._within:
                mark = _MARK.search(data, at)
                if mark is None:
                    break
                at = mark.start()
            signals += self._reader.each(data[at : at + _STEP])
            self._within = self._reader.open
            at += _STEP
        return tuple(signals)
