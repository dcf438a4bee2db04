"""Reads signals out of a program's output, without rendering it.

``SignalReader`` uses the parser and the functions of the default emulator, but paints
nothing. Signals are not stored in a recording; it derives them when they are asked for.
``TurnReader`` only looks for marks of turns, at the speed of a search.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Final

from ptycassette.model.screen import Size
from ptycassette.terminal.core import MAX_SIGNALS, Signal
from ptycassette.terminal.emulator import SPLIT, Parser, Terminal
from ptycassette.terminal.query_profiles import QueryProfile
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
    """Treats control characters that give no signals as text, which is ignored at full speed."""

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


# Signals and profile-dependent answers, which libghostty-vt does not provide.


HELD_BYTES: Final = 8 << 20
"""Output kept in case signals are asked for. After so much without a call, none is kept."""

_MAX_REPORTS: Final = 4096
_REPORT: Final = re.compile(rb"\x1b\[\d+;\d+R")
_PRIVATE: Final = b"\x1b[?6n"
_MARKS: Final = {False: "\x1b[R", True: "\x1b[?R"}
"""Stand for cursor position reports among the answers; no answer of ours looks so."""

_CPR: Final = Signal("query", {"query": "cpr"})


def without_private_reports(data: bytes) -> bytes:
    """``data`` with DECXCPR made CPR: libghostty-vt answers that one alone."""
    return data.replace(_PRIVATE, b"\x1b[6n") if _PRIVATE in data else data


def held_back(data: bytes) -> int:
    """The number of bytes at the end that may be the start of a DECXCPR, and must wait."""
    return next((n for n in range(len(_PRIVATE) - 1, 0, -1) if data.endswith(_PRIVATE[:n])), 0)


class _Answering(SignalTerminal):
    """Answers every query except the cursor position."""

    def report_device_status(self, mode: int = 0, *, private: bool = False) -> None:
        """DSR: leaves a mark in place of the cursor position."""
        if mode != 6:
            super().report_device_status(mode, private=private)
            return
        self.signals.add(_CPR)
        if "cpr" in self.profile.answers and len(self.replies) < _MAX_REPORTS:
            self.replies.append(_MARKS[private])


class GhosttySignals:
    """Signals and answers of a ghostty backend, found by reading its output a second time.

    Args:
        size: of the screen.
        profile: which queries are answered, and how.
    """

    def __init__(self, size: Size, profile: QueryProfile) -> None:
        self._terminal = _Answering(size.cols, size.rows)
        self._terminal.profile = profile
        self._parser = Parser(self._terminal)
        self._unread: list[bytes | Size] = []
        self._held = 0
        self._asked = False
        self._deaf = False
        self._reports: deque[bytes] = deque(maxlen=_MAX_REPORTS)

    def fed(self, data: bytes) -> None:
        """Take output."""
        if self._deaf:
            return
        self._unread.append(data)
        self._held += len(data)
        if self._held > HELD_BYTES:
            if self._asked:
                self._read()
            else:
                self._deaf = True
                self._unread.clear()

    def resized(self, size: Size) -> None:
        """Take a new size."""
        self._unread.append(size)

    def reported(self, reply: bytes) -> None:
        """Take an answer of libghostty-vt; only its cursor position reports are used."""
        self._reports.extend(_REPORT.findall(reply))

    def answers(self) -> bytes:
        """Take the answers since the last call."""
        self._read()
        replies = self._terminal.replies
        taken = b"".join(map(self._answer, replies))
        replies.clear()
        self._reports.clear()
        return taken

    def signals(self) -> tuple[Signal, ...]:
        """Take the signals since the last call."""
        self._read()
        return self._terminal.signals.take()

    def _answer(self, reply: str) -> bytes:
        if reply not in _MARKS.values():
            return reply.encode()
        if not self._reports:
            return b""
        report = self._reports.popleft()
        return report.replace(b"[", b"[?") if reply == _MARKS[True] else report

    def _read(self) -> None:
        self._asked = True
        for item in self._unread:
            if isinstance(item, Size):
                self._terminal.resize(item.rows, item.cols)
            else:
                self._parser.feed(item)
        self._unread.clear()
        self._held = 0
