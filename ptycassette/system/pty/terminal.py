"""The user's terminal while a program is recorded in it: raw, and always restored."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Self

from ptycassette.model.geometry import Size
from ptycassette.system.pty.modes import window_pixels
from ptycassette.system.pty.signals import WAITED, block_waited_signals, put_back

DEFAULT_SIZE = Size(24, 80)

_SIZE = struct.Struct("HHHH")
# Linux: asm-generic/termbits.h, struct termios.
_GET_MODES: int | None = termios.TCGETS if sys.platform == "linux" else None
_MODES = bytearray(64)
_LOCAL_MODES = struct.Struct("I")
_LOCAL_MODES_AT = 12

# What a program that was killed leaves behind: mouse reports, focus reports, bracketed paste,
# application keys, synchronized output, a hidden cursor, the alternate screen, colours.
# 1047 and not 1049, because 1049 would also move the cursor where none was saved.
_LEFT_BEHIND = (
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l"
    b"\x1b[?2004l\x1b[?2026l\x1b[?1l\x1b>\x1b[<u\x1b[?25h\x1b[?1047l\x1b[0m\r\n"
)


def window_size(fd: int) -> Size | None:
    """The size of the terminal at ``fd``; None if it is not a terminal, or has no size."""
    try:
        rows, cols, _, _ = _SIZE.unpack(fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(_SIZE.size)))
    except OSError:
        return None
    return Size(rows, cols) if rows and cols else None


def local_modes(fd: int) -> int:
    """``c_lflag`` (termios(3)) of the terminal behind ``fd``; 0 when it is gone."""
    try:
        if _GET_MODES is None:
            return int(termios.tcgetattr(fd)[3])
        # Faster than tcgetattr, which makes forty objects: this is called for each key.
        fcntl.ioctl(fd, _GET_MODES, _MODES)
    except (OSError, termios.error):
        return 0
    (flags,) = _LOCAL_MODES.unpack_from(_MODES, _LOCAL_MODES_AT)
    return int(flags)


class UserTerminal:
    """A context manager for raw mode: every key goes to the program, without echo or translation.

    Args:
        in_fd: where keys come from; its modes are changed.
        out_fd: where output goes; its size counts.
    """

    def __init__(self, in_fd: int = 0, out_fd: int = 1) -> None:
        self.in_fd = in_fd
        self.out_fd = out_fd
        self._saved: list[object] | None = None

    def __enter__(self) -> Self:
        self.make_raw()
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def size(self) -> Size:
        """Its size; 24 by 80 when it reports none."""
        return window_size(self.out_fd) or window_size(self.in_fd) or DEFAULT_SIZE

    def pixels(self) -> tuple[int, int]:
        """Its width and height in pixels now; 0 for unknown."""
        return window_pixels(self.out_fd if window_size(self.out_fd) else self.in_fd)

    def make_raw(self) -> None:
        """Switch to raw mode (cfmakeraw(3)); keeps what was typed ahead."""
        saved = termios.tcgetattr(self.in_fd)
        if self._saved is not None:
            saved = self._saved
        raw = list(saved)
        raw[0] &= ~(
            termios.IGNBRK
            | termios.BRKINT
            | termios.PARMRK
            | termios.ISTRIP
            | termios.INLCR
            | termios.IGNCR
            | termios.ICRNL
            | termios.IXON
        )
        raw[1] &= ~termios.OPOST
        raw[2] = raw[2] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
        raw[3] &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
        raw[6] = list(saved[6])
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
        self._saved = saved
        self._set(raw)

    def restore(self) -> None:
        """Restore the modes. Idempotent."""
        saved, self._saved = self._saved, None
        if saved is not None:
            # The terminal may be gone (hangup); then there is nothing to restore.
            with suppress(termios.error, OSError):
                self._set(saved)

    def clean_up(self) -> None:
        """Reset modes that a program which was killed may have left on."""
        with suppress(OSError):
            os.write(self.out_fd, _LEFT_BEHIND)

    def _set(self, attributes: list[object]) -> None:
        # Blocked, because the kernel would stop a background process that touches the terminal.
        # TCSANOW, because a terminal that is stuck would never drain.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            termios.tcsetattr(self.in_fd, termios.TCSANOW, attributes)  # type: ignore[arg-type]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class SignalPipe:
    """Signals as bytes on a descriptor, so that a loop takes them one at a time.

    Only in the main thread. Signals that the process ignores stay ignored; signals that
    its parent had blocked are unblocked. Those of ``WAITED`` are taken by a thread that waits for
    them, if others send them; call ``block_waited_signals`` before any thread is started.

    Args:
        numbers: the signals to take.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = [number for number in numbers if number not in WAITED]
        self._waited = WaitedSignals(self._write, set(numbers) & WAITED)
        self._previous: dict[int, object] = {}
        self.fd = -1

    def __enter__(self) -> Self:
        self.fd, self._writing = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._writing, False)
        self._previous_fd = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number in self._numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, _nothing)
        self._mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, self._numbers)
        self._waited.start()
        return self

    def _write(self, number: int) -> None:
        with suppress(BlockingIOError):
            os.write(self._writing, bytes([number]))

    def __exit__(self, *_: object) -> None:
        self._waited.stop()
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        put_back(self._previous)
        signal.set_wakeup_fd(self._previous_fd)
        os.close(self.fd)
        os.close(self._writing)

    def take(self) -> Iterator[int]:
        """The numbers of the signals that came, in order."""
        with suppress(BlockingIOError):
            yield from os.read(self.fd, 512)


class WaitedSignals:
    """A thread that takes the signals of ``WAITED`` which other processes send.

    Args:
        came: called with the number of each, from the thread.
        numbers: which of them.
    """

    def __init__(self, came: Callable[[int], None], numbers: Iterable[int] = WAITED) -> None:
        self._came, self._numbers = came, frozenset(numbers)
        self._thread: threading.Thread | None = None
        self._over = False

    def start(self) -> None:
        """Begin. The signals stay blocked in the calling thread after ``stop``."""
        if self._numbers:
            block_waited_signals()
            self._thread = threading.Thread(target=self._wait, name="signals", daemon=True)
            self._thread.start()

    def _wait(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            number = signal.sigwait(self._numbers)
            if self._over:
                return
            self._came(number)

    def stop(self) -> None:
        """End the thread."""
        if self._thread is not None and self._thread.ident is not None:
            self._over = True
            signal.pthread_kill(self._thread.ident, next(iter(self._numbers)))
            self._thread.join()
            self._thread = None


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor reports the signal."""


def suspend(terminal: UserTerminal) -> None:
    """Stop this process as SIGTSTP asks, with the terminal restored until SIGCONT."""
    terminal.restore()
    try:
        os.kill(os.getpid(), signal.SIGSTOP)
    finally:
        terminal.make_raw()
