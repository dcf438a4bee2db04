r"""A PTY whose program is a script: sessions without a process, a thread or a clock.

::

    clock = ManualClock()
    pty = ScriptedPty(clock).say("> ").expect("hi\r").say("hello", after_s=1.5).exits(0)
    with Session.over(pty, clock=clock, sleeper=clock) as session:
        session.submit("hi")
        session.wait_for_text("hello")

Time passes only while the session waits, through the sleeper that it got.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Self

import msgspec

from ptycassette.model.ports import Clock
from ptycassette.model.records import ExitStatus
from ptycassette.model.screen import Size
from ptycassette.system.pty.process import exit_status, signal_name, signal_number
from ptycassette.system.pty.terminal import LineMode


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the script: due ``after_us`` after the step before, once ``ready`` is true."""

    action: Callable[[], None]
    after_us: int = 0
    ready: Callable[[], bool] | None = None


class ScriptedPty:
    """A program that follows its script; each method below adds a step and returns self.

    Args:
        clock: the session's clock.

    Attributes:
        written: all input that the terminal took.
        sizes: every size that was set.
        signals: the short name of every signal that was sent.
        room: how many more bytes of input the terminal takes; None for any number.
        closed: whether the session has closed it.
    """

    def __init__(self, clock: Clock) -> None:
        self.written = b""
        self.sizes: list[Size] = []
        self.signals: list[str] = []
        self.room: int | None = None
        self.closed = False
        self._clock = clock
        self._at_us = clock.now_us()
        self._steps: deque[_Step] = deque()
        self._output: deque[bytes] = deque()
        self._unexpected = b""
        self._mode = LineMode()
        self._status: ExitStatus | None = None

    # --- the script --------------------------------------------------------------------

    def say(self, data: bytes | str, *, after_s: float = 0) -> Self:
        """Write output."""
        chunk = data.encode() if isinstance(data, str) else data
        return self._then(lambda: self._output.append(chunk), after_s=after_s)

    def expect(self, data: bytes | str) -> Self:
        """Read input until ``data`` has arrived."""
        wanted = data.encode() if isinstance(data, str) else data

        def consume() -> None:
            self._unexpected = self._unexpected.partition(wanted)[2]

        return self._then(consume, ready=lambda: wanted in self._unexpected)

    def expect_signal(self, which: str | int) -> Self:
        """Wait for a signal."""
        name = signal_name(which)
        return self._then(lambda: None, ready=lambda: name in self.signals)

    def mode(self, mode: LineMode) -> Self:
        """Switch the line discipline."""

        def switch() -> None:
            self._mode = mode

        return self._then(switch)

    def takes(self, room: int | None, *, after_s: float = 0) -> Self:
        """Limit the input queue to ``room`` more bytes; None for any number."""

        def make_room() -> None:
            self.room = room

        return self._then(make_room, after_s=after_s)

    def exits(self, code: int = 0, *, signal: str | None = None, after_s: float = 0) -> Self:
        """End, with a status or by a signal."""
        word = code << 8 if signal is None else signal_number(signal)
        return self._then(lambda: self._end(exit_status(word)), after_s=after_s)

    # --- the Pty -----------------------------------------------------------------------

    @property
    def ended(self) -> ExitStatus | None:
        """How the script ended."""
        self._run()
        return self._status

    def poll(self) -> ExitStatus | None:
        """How the script ended."""
        return self.ended

    def due_us(self) -> int | None:
        """When something happens by itself: at once for unread output, None for never."""
        self._run()
        if self._output:
            return self._clock.now_us()
        if not self._steps or self._steps[0].ready is not None:
            return None
        return self._at_us + self._steps[0].after_us

    def read(self, max_bytes: int) -> bytes | None:
        """The next output of the script."""
        self._run()
        if not self._output:
            return None if self._status is None else b""
        data = self._output.popleft()
        if len(data) > max_bytes:
            self._output.appendleft(data[max_bytes:])
        return data[:max_bytes]

    def write(self, data: bytes) -> int:
        """Take input, as far as there is room."""
        taken = data if self.room is None else data[: self.room]
        if self.room is not None:
            self.room -= len(taken)
        self.written += taken
        self._unexpected += taken
        self._run()
        return len(taken)

    def line_mode(self) -> LineMode:
        """The mode that the script has set."""
        self._run()
        return self._mode

    def set_size(self, size: Size) -> None:
        """Note the size."""
        self.sizes.append(size)

    def send_signal(self, which: str | int) -> None:
        """Note the signal."""
        self.signals.append(signal_name(which))
        self._run()

    def request_end(self, grace_s: float) -> None:
        """End at once: by SIGTERM, or by SIGKILL when there is no grace."""
        self._steps.clear()
        if self._status is None:
            self._end(exit_status(signal_number("term" if grace_s > 0 else "kill")))

    def close(self) -> None:
        """Note that the session closed it."""
        self.closed = True

    # --- inside ------------------------------------------------------------------------

    def _then(
        self,
        action: Callable[[], None],
        *,
        after_s: float = 0,
        ready: Callable[[], bool] | None = None,
    ) -> Self:
        self._steps.append(_Step(action=action, after_us=round(after_s * 1e6), ready=ready))
        return self

    def _run(self) -> None:
        """Do every step that is due."""
        while self._steps:
            step = self._steps[0]
            if step.ready is not None:
                if not step.ready():
                    return
                self._at_us = self._clock.now_us()
            elif self._clock.now_us() < self._at_us + step.after_us:
                return
            else:
                self._at_us += step.after_us
            self._steps.popleft()
            step.action()

    def _end(self, status: ExitStatus) -> None:
        self._status = status
