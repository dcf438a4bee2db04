"""Signals and profile-dependent answers, which libghostty-vt does not provide.

The bytes are read a second time, by the default emulator's own functions with painting
switched off, and only if signals or answers are asked for. A backend that only renders
frames is not slowed down. So signals and answers are exactly those of the default
emulator, except for the cursor position, which only the renderer knows: its cursor
position reports are used, in order.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

from ptycassette.model.geometry import Size
from ptycassette.terminal._parser import Parser
from ptycassette.terminal.query_profiles import QueryProfile
from ptycassette.terminal.signal_reader import SignalTerminal
from ptycassette.terminal.signals import Signal

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
    """Answers every query but the cursor position."""

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
