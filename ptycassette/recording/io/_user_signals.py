"""The user's streams, and the signals that the recorder gets."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

import msgspec

from ptycassette.model.geometry import Size
from ptycassette.model.journal import Resized, Signalled
from ptycassette.recording.io._side_channel import SideChannel
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.system.pty.process import PtyChild
from ptycassette.system.pty.signals import (
    QUIET,
    STOPPING,
    TAKEN,
    WAITED,
    disposition,
    signal_name,
    stop_self,
)
from ptycassette.system.pty.terminal import SignalPipe, UserTerminal, suspend


class Streams(msgspec.Struct, frozen=True, kw_only=True):
    """The user's streams.

    Attributes:
        in_fd: where input comes from; -1 for nowhere.
        out_fd: where output goes; -1 for nowhere.
        terminal: the user's terminal, raw while the session runs; None if ``in_fd`` is not one.
        channel: the side channel.
        secret_key: the bytes of the key by which the user announces a secret, which ends with
            Enter; empty for none.
        fixed_size: the program's terminal keeps its size, whatever the user's does.
        on_terminal: a stream is the user's terminal.
        passes_signals: a program drives the recorder as if it were the recorded program, so
            signals are passed on unchanged, and recorded.
    """

    in_fd: int = 0
    out_fd: int = 1
    terminal: UserTerminal | None = None
    secret_key: bytes = b""
    fixed_size: bool = False
    on_terminal: bool = False
    passes_signals: bool = False
    channel: SideChannel | None = None


class UserSignals:
    """Handles signals: of changed sizes, those that are passed on, and those that end the recorder.

    Args:
        child: the program.
        journal: gets the event first, because the program may react at once.
        streams: the user's streams.
        size: the size that the program was started with.
        now_us: microseconds since the start.

    Attributes:
        caught: the signals to catch.
        ended_by: the signal that ended the recorder, if one did.
        asked_to_end: whether a signal was passed on that ends programs by default.
    """

    def __init__(
        self,
        child: PtyChild,
        journal: JournalFile,
        streams: Streams,
        *,
        size: Size,
        now_us: Callable[[], int],
    ) -> None:
        self._child, self._journal, self._now_us = child, journal, now_us
        self._in_fd, self._terminal = streams.in_fd, streams.terminal
        self._follows_size = not streams.fixed_size
        self._size = size
        self._pixels = (0, 0)
        self._passes = streams.passes_signals
        self.caught = TAKEN | WAITED
        if self._terminal is not None or streams.on_terminal:
            # The system sends these when a process in the background uses the terminal.
            self.caught -= {signal.SIGTTIN, signal.SIGTTOU}
        self.ended_by: int | None = None
        self.asked_to_end = False

    def obey(self, signals: SignalPipe) -> None:
        """Handle the signals that have come."""
        for number in signals.take():
            self._obey(number)

    def follow_size(self) -> bool:
        """Give the program's terminal the size of the user's, unless it keeps its own.

        Returns:
            Whether it changed.
        """
        if self._terminal is None or not self._follows_size:
            return False
        size, pixels = self._terminal.size(), self._terminal.pixels()
        if size != self._size:
            self._journal.on_event(Resized(self._now_us(), size))
        elif pixels == self._pixels:
            return False
        self._size, self._pixels = size, pixels
        self._child.set_size(size, pixels)
        return True

    def hang_up(self) -> None:
        """Handle the loss of the user's terminal as a SIGHUP."""
        self.ended_by = self.ended_by or int(signal.SIGHUP)
        self._child.request_end()

    def _obey(self, number: int) -> None:
        if number == signal.SIGWINCH and self._terminal is not None:
            if not self.follow_size() and self._passes:
                self._send(number)  # two changes in one; what the program sees is recorded
            return
        if number == signal.SIGCONT and self._terminal is not None and self._terminal_stands():
            self._terminal.make_raw()  # the shell has set it while we were stopped
            self.follow_size()
        if number in STOPPING:
            self._stop(number)
        elif self._passes and self._terminal_stands():
            self._pass(number)
        elif number not in QUIET:
            self.ended_by = number
            self._child.request_end()

    def _pass(self, number: int) -> None:
        self.asked_to_end = self.asked_to_end or number not in QUIET | STOPPING
        self._journal.on_event(Signalled(self._now_us(), signal_name(number)))
        self._send(number)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child.pid, number)

    def _stop(self, number: int) -> None:
        """Stop the program and this process, as ``number`` does with a program by default.

        The program leads its session, so the system does not stop it by this signal.
        """
        if self._terminal is not None and not self._passes:
            suspend(self._terminal)
            self.follow_size()
            return
        # Asked before: a program that handles the signal may end at once.
        does = disposition(self._child.pid, number)
        if self._passes:
            self._pass(number)
        if does != "default":
            return
        self._send(signal.SIGSTOP)
        if self._terminal is not None:
            self._terminal.restore()
        stop_self(number)
        if self._terminal is not None:
            self._terminal.make_raw()
            self.follow_size()
        self._send(signal.SIGCONT)

    def _terminal_stands(self) -> bool:
        """Whether the user's terminal is still there: the system sends SIGHUP when it is closed."""
        return self._terminal is None or os.isatty(self._in_fd)
