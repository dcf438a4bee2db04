"""The screen of a live session, and the program's terminal signals.

Output waits in a backlog until the screen is asked for, or until a query in it needs an
answer (see ``_output_backlog`` on floods). One thread
puts output in; rendering may be asked for from others once the session is over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import msgspec

from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.ports import Emulator
from ptycassette.model.screen import Screen
from ptycassette.session._output_backlog import LIMIT_BYTES, OutputBacklog
from ptycassette.session._output_scan import OutputScan
from ptycassette.terminal.signals import Signal
from ptycassette.terminal.turns import Turn, turn_after

_WORTH_SHORTENING = 1 << 15


@runtime_checkable
class SignalSource(Protocol):
    """An emulator that also reports terminal signals; this is optional."""

    def signals(self) -> tuple[Signal, ...]:
        """The signals since the last call."""
        ...


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """What a wait condition is checked against. Times are microseconds since the session's start.

    ``turn`` is whose turn it is by the program's last signal, ``turn_us`` its time;
    ``input_us`` is when a driver or user last sent something.
    """

    screen: Screen
    changed_us: int
    turn: Turn = "unknown"
    turn_us: int = 0
    input_us: int = 0
    exit: ExitStatus | None = None
    finished: bool = False


class SessionScreen:
    """Takes output, renders it when asked to.

    Args:
        emulator: renders, answers queries, and may report signals.

    Attributes:
        scan: modes and queries in the output, known before it is rendered.
        output_bytes: how many bytes there were so far.
        unpublished: whether the last snapshot may be out of date.
    """

    @property
    def confirms_keyboard(self) -> bool:
        """Whether the emulator answers that it has kitty's keyboard protocol."""
        emulator = getattr(self._emulator, "terminal", self._emulator)
        profile = getattr(emulator, "profile", None)
        return "kitty-keyboard" in getattr(profile, "answers", ())

    def __init__(self, emulator: Emulator) -> None:
        self.scan = OutputScan()
        self.output_bytes = 0
        self.unpublished = True
        self._emulator = emulator
        self._backlog = OutputBacklog()
        self._asked = False
        self._rendering = threading.Lock()
        self._screen = emulator.snapshot()
        self._changed_us = 0
        self._output_us = 0
        self._turn: Turn = "unknown"
        self._turn_us = 0

    @property
    def behind(self) -> bool:
        """Whether there is output that the emulator has not seen."""
        return len(self._backlog) > 0

    def view(self, *, input_us: int, ended: ExitStatus | None, finished: bool) -> SessionView:
        """The session as last published."""
        return SessionView(
            screen=self._screen,
            changed_us=self._changed_us,
            turn=self._turn,
            turn_us=self._turn_us,
            input_us=input_us,
            exit=ended,
            finished=finished,
        )

    def take(self, t_us: int, data: bytes) -> bool:
        """Add output to the backlog; returns whether ``answer_or_shorten`` is due."""
        self.unpublished = True
        self._output_us = t_us
        self.output_bytes += len(data)
        if self.scan.feed(data):
            self._asked = True
        self._backlog.append(data)
        return self._asked or self._backlog.full

    def answer_or_shorten(self) -> bytes:
        """Answer a query, or make room in the backlog. Returns the answers."""
        if not self._asked:
            self._shorten()
            if len(self._backlog) <= LIMIT_BYTES // 2:
                return b""
        self._asked = False
        return self.catch_up()

    def catch_up(self, interrupted: Callable[[], bool] = lambda: False) -> bytes:
        """Feed the emulator, slice by slice. Returns its answers to queries.

        ``interrupted`` is asked after each slice, a millisecond of work or so.
        """
        with self._rendering:
            if len(self._backlog) > _WORTH_SHORTENING:
                self._shorten()
            while self._backlog:
                self._emulator.feed(self._backlog.take())
                if self._backlog and interrupted():
                    break
            answers = self._emulator.answers()
            self._take_signals()
        return answers

    def publish(self) -> None:
        """Take a snapshot."""
        self.unpublished = False
        screen = self._emulator.snapshot()
        if screen != self._screen:
            self._screen = screen
            self._changed_us = self._output_us

    def resize(self, size: Size, t_us: int) -> None:
        """Take another size. Output for the old size must have been rendered before."""
        with self._rendering:
            self._emulator.resize(size)
        self._output_us = t_us

    def _take_signals(self) -> None:
        """Take the program's signals, and update the turn."""
        if isinstance(self._emulator, SignalSource):
            turn = turn_after(self._emulator.signals())
            if turn is not None:
                self._turn, self._turn_us = turn, self._output_us

    def _shorten(self) -> None:
        """Drop output that will never be visible, if emulator and margins allow it."""
        if self._emulator.pending == 0 and not self.scan.margins:
            self._backlog.shorten(self._emulator.size.rows)
