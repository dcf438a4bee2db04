"""The terminal or the pipes between a stand-in and its driver: bytes, size, signals, exit.

Rules:

- The terminal is set raw without echo, because the recorded output already holds
  the echo and the line ends that the line discipline of the recording made.
- What was typed before that went through a line discipline; it is marked ``cooked``.
- Output goes out without blocking, so that input and signals are taken meanwhile.
- The process ends as the recorded program did, a signal raised again included.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time
from collections import deque
from collections.abc import Iterator
from typing import NoReturn

import msgspec

from ptycassette.model import ExitStatus, Size

__all__ = [
    "WATCHED_SIGNALS",
    "Data",
    "DriverPort",
    "Happening",
    "InputEnded",
    "SignalCame",
    "TerminalResized",
    "end_process",
    "now_us",
    "signal_of_text",
]

WATCHED_SIGNALS = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "WINCH", "CONT")
READ_BYTES = 65_536


class Data(msgspec.Struct, frozen=True):
    """The driver sent bytes."""

    data: bytes
    cooked: bool = False


class InputEnded(msgspec.Struct, frozen=True):
    """No more input comes. ``gone``: nothing can be written any more either."""

    gone: bool


class TerminalResized(msgspec.Struct, frozen=True):
    """The terminal has another size."""

    size: Size


class SignalCame(msgspec.Struct, frozen=True):
    """A signal came; ``name`` is its lower-case short name."""

    name: str


Happening = Data | InputEnded | TerminalResized | SignalCame


class DriverPort:
    """Standard input and output of a stand-in.

    Args:
        stdin, stdout: the descriptors.
        early: what was read before this object existed; it was cooked.
        saved: terminal attributes to put back at the end, when raw mode is already set.
    """

    def __init__(
        self,
        stdin: int = 0,
        stdout: int = 1,
        *,
        early: bytes = b"",
        saved: list[object] | None = None,
    ) -> None:
        self.stdin = stdin
        self.stdout = stdout
        # A terminal that was closed meanwhile does not look like one any more.
        self.is_terminal = saved is not None or os.isatty(stdout)
        self._input_is_terminal = saved is not None or os.isatty(stdin)
        self._saved = saved
        self._early = early
        self._pending: deque[bytes] = deque()
        self._input_open = True
        self._gone = False
        self._hung_up = False
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)
        self._out = self._open_output()

    # -- start and end -----------------------------------------------------------

    def start(self) -> None:
        """Watch signals, set the terminal raw."""
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in watched_numbers():
            signal.signal(number, _woken)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, watched_numbers())
        if self._saved is None and self._input_is_terminal:
            self._saved = set_raw(self.stdin)
            self._early = read_now(self.stdin)

    def close(self) -> None:
        """Put the terminal back; descriptors of the driver stay open."""
        if self._saved is not None and not self._gone:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.stdin, termios.TCSANOW, self._saved)  # type: ignore[arg-type]
        signal.set_wakeup_fd(-1)
        for end in (self._wake_read, self._wake_write):
            os.close(end)
        if self._out != self.stdout:
            os.close(self._out)

    # -- what is going on --------------------------------------------------------

    @property
    def gone(self) -> bool:
        """Whether the driver closed its side: nothing can be written any more."""
        return self._gone

    @property
    def size(self) -> Size | None:
        """The size of the terminal; None over pipes and where none is set."""
        if not self.is_terminal:
            return None
        try:
            packed = fcntl.ioctl(self.stdout, termios.TIOCGWINSZ, b"\0" * 8)
        except OSError:
            return None
        rows, cols = struct.unpack("HHHH", packed)[:2]
        return Size(rows=rows, cols=cols) if rows and cols else None

    @property
    def hung_up(self) -> bool:
        """Whether the terminal was closed on the driver's side (its ioctls fail then)."""
        if not self.is_terminal:
            return False
        try:
            fcntl.ioctl(self.stdout, termios.TIOCGWINSZ, b"\0" * 8)
        except OSError:
            return True
        return False

    def queue(self, data: bytes) -> None:
        """Write ``data`` as the driver takes it; see ``flushed``."""
        if data:
            self._pending.append(data)

    @property
    def flushed(self) -> bool:
        """Whether everything queued was written, or the driver is gone."""
        return self._gone or not self._pending

    def wait(self, timeout_us: int | None) -> Iterator[Happening]:
        """Wait for the driver's next event, at most ``timeout_us`` (for ever when None)."""
        if self._early:
            early, self._early = self._early, b""
            yield Data(early, cooked=True)
            return
        # select, because poll does not know terminals on every macOS.
        readers = [self._wake_read, self.stdin] if self._input_open else [self._wake_read]
        writers = [self._out] if self._pending else []
        timeout_s = None if timeout_us is None else timeout_us / 1e6
        readable, writable, _ = select.select(readers, writers, [], timeout_s)
        if self._wake_read in readable:
            yield from self._signals()
        if writable:
            yield from self._write()
        if self.stdin in readable and self._input_open:
            yield self._read()

    # -- inside --------------------------------------------------------------------

    def _read(self) -> Happening:
        try:
            data = os.read(self.stdin, READ_BYTES)
        except OSError as exc:
            if exc.errno != errno.EIO:
                raise
            data = b""
        if data:
            return Data(data)
        self._input_open = False
        self._hung_up = self._input_is_terminal
        self._gone = self._gone or (self._hung_up and self.is_terminal)
        return InputEnded(gone=self._gone)

    def _write(self) -> Iterator[Happening]:
        data = self._pending[0]
        try:
            # A pipe that is ready takes PIPE_BUF bytes without blocking (POSIX).
            done = os.write(self._out, data if self.is_terminal else data[: select.PIPE_BUF])
        except BlockingIOError:
            return
        except OSError as exc:
            if exc.errno not in {errno.EIO, errno.EPIPE}:
                raise
            self._gone = True
            yield InputEnded(gone=True)
            return
        if done == len(data):
            self._pending.popleft()
        else:
            self._pending[0] = data[done:]

    def _signals(self) -> Iterator[Happening]:
        for number in os.read(self._wake_read, READ_BYTES):
            if number == signal.SIGWINCH:
                size = self.size
                if size is not None:
                    yield TerminalResized(size)
            elif number == signal.SIGCONT:
                if self._saved is not None:  # a shell put its own modes back while we stood still
                    with contextlib.suppress(termios.error):
                        set_raw(self.stdin)
            else:
                yield SignalCame(signal.Signals(number).name.removeprefix("SIG").lower())

    def _open_output(self) -> int:
        """The output without blocking. A second opening leaves the driver's own flags alone."""
        if self.is_terminal:
            with contextlib.suppress(OSError):
                flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
                return os.open(os.ttyname(self.stdout), flags)
        return self.stdout


def now_us() -> int:
    """Monotonic microseconds. ``system.clock`` would load asyncio, which slows the start-up."""
    return time.monotonic_ns() // 1000


def watched_numbers() -> list[signal.Signals]:
    """The signals of ``WATCHED_SIGNALS``."""
    return [signal.Signals[f"SIG{name}"] for name in WATCHED_SIGNALS]


def set_raw(fd: int) -> list[object]:
    """Set a terminal raw without echo; returns the attributes that it had."""
    saved = termios.tcgetattr(fd)
    raw = [*saved[:6], list(saved[6])]
    raw[0] &= ~(
        termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.INPCK
        | termios.ISTRIP | termios.IXON
    )  # fmt: skip
    raw[1] &= ~termios.OPOST
    raw[2] = (raw[2] & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
    raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
    with contextlib.suppress(termios.error):
        termios.tcsetattr(fd, termios.TCSANOW, raw)
    return list(saved)


def read_now(fd: int) -> bytes:
    """What can be read without waiting."""
    if not select.select([fd], [], [], 0)[0]:
        return b""
    try:
        return os.read(fd, READ_BYTES)
    except OSError:
        return b""


def signal_of_text(text: str) -> int | None:
    """The number of a signal as cassettes describe it: ``terminated``, ``TERM``, ``signal 15``."""
    wanted = text.strip().lower()
    digits = wanted.removeprefix("signal ").strip()
    if digits.isdecimal():
        number = int(digits) if len(digits) < 4 else 0
        return number if 0 < number < signal.NSIG else None
    short = wanted.removeprefix("sig")
    for known in signal.valid_signals():
        described = (signal.strsignal(known) or "").split(":")[0].lower()
        named = getattr(known, "name", "").removeprefix("SIG").lower()  # real-time ones have none
        if (described and wanted == described) or (named and short == named):
            return int(known)
    return None


_NO_END = {
    *(signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT),
    *(signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH),
}
"""No program ends by these, whatever a recording says; some would stop the stand-in for ever."""


def end_process(exit_status: ExitStatus) -> NoReturn:
    """End as the recorded program did: with its status, or by its signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    if exit_status.signaled:
        number = signal_of_text(exit_status.signal)
        if number is not None:
            if number not in _NO_END:
                _raise_again(number)
            os._exit(128 + number)
    os._exit(exit_status.code & 0xFF if exit_status.exited else 125)


def _raise_again(number: int) -> None:
    import resource  # noqa: PLC0415 - rarely needed, and start-up counts

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


def _woken(number: int, frame: object) -> None:
    """Do nothing: the wake-up descriptor has the number of the signal."""
