"""The terminal or the pipes between a stand-in and its driver: bytes, size, signals.

Rules:

- The terminal is set raw without echo, because the recorded output already holds
  the echo and the line ends that the line discipline of the recording made.
- Input that was typed before passed a line discipline; it is marked ``cooked``.
- Output is written without blocking, so that input and signals are read meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import struct
import termios
import time
from collections import deque
from collections.abc import Container, Iterator

import msgspec

from ptycassette.model.events import OutputStream
from ptycassette.model.geometry import Size
from ptycassette.model.streams import StreamKinds
from ptycassette.system.pty.signals import STOPPING, TAKEN, WAITED, signal_name, signal_number
from ptycassette.system.pty.terminal import WaitedSignals

READ_BYTES = 65_536


class Data(msgspec.Struct, frozen=True):
    """Bytes from the driver."""

    data: bytes
    cooked: bool = False


class InputEnded(msgspec.Struct, frozen=True):
    """The end of input. ``gone``: nothing can be written any more either."""

    gone: bool


class TerminalResized(msgspec.Struct, frozen=True):
    """The terminal has another size."""

    size: Size


class SignalCame(msgspec.Struct, frozen=True):
    """A signal; ``name`` is its lower-case short name."""

    name: str


Happening = Data | InputEnded | TerminalResized | SignalCame


class DriverPort:
    """Standard input and output of a stand-in.

    Args:
        stdin, stdout: the descriptors.
        early: input that was read before this object existed; it was cooked.
        saved: terminal attributes to restore at the end, if raw mode is already set.
        kinds: what the recorded program's streams were.

    Attributes:
        most_input: how many more bytes of stdin to read; None for all.
    """

    def __init__(
        self,
        stdin: int = 0,
        stdout: int = 1,
        *,
        early: bytes = b"",
        saved: list[object] | None = None,
        kinds: StreamKinds | None = None,
    ) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self._kinds = kinds or StreamKinds()
        self._shown = self._terminal_output()
        # A terminal that was closed meanwhile does not look like one any more.
        self.is_terminal = saved is not None or os.isatty(self._shown)
        self._input_is_terminal = saved is not None or (
            os.isatty(stdin) and self._kinds.stdin == "terminal"
        )
        self.most_input: int | None = None
        self._stdin_start = _offset_of(stdin)
        self._saved = saved
        self._early = early
        self._pending: deque[tuple[int, bytes]] = deque()
        self._lost: set[int] = set()
        self._input_open = True
        self._gone = False
        self._hung_up = False
        self._continued = False
        self._waited = WaitedSignals(self._wake)
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)
        self._out = self._open_output()

    # -- start and end -----------------------------------------------------------

    def start(self, recorded: Container[str] = ()) -> None:
        """Watch signals, and set the terminal raw.

        Signals that this process ignores from its start, and those that stop it, are watched only
        if the recording has them: otherwise they do what they do to every program.

        Args:
            recorded: the names of the signals in the recording.
        """
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in TAKEN:
            special = number in STOPPING or signal.getsignal(number) is signal.SIG_IGN
            if not special or signal_name(number) in recorded:
                signal.signal(number, self._woken)
        self._waited.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals() - WAITED)
        if self._saved is None and self._input_is_terminal:
            self._saved = set_raw(self.stdin)
            self._early = read_now(self.stdin)

    def close(self) -> None:
        """Restore the terminal; descriptors of the driver stay open."""
        if self._saved is not None and not self._gone:
            self._set_terminal(self._saved)
        offset = self._kinds.stdin_offset
        if offset is not None and self._stdin_start is not None:
            with contextlib.suppress(OSError, OverflowError):
                os.lseek(self.stdin, max(0, self._stdin_start + offset), os.SEEK_SET)
        self._waited.stop()
        signal.set_wakeup_fd(-1)
        for end in (self._wake_read, self._wake_write):
            os.close(end)
        if self._out != self._shown:
            os.close(self._out)

    def stop(self, name: str) -> None:
        """Stop this process as signal ``name`` does by default; returns when it is continued.

        Returns at once if it was continued since that signal came, or the system does not stop it
        (an orphaned process group).
        """
        number = signal_number(name)
        if self._saved is not None:
            self._set_terminal(self._saved)
        # While it is blocked it is pending, and SIGCONT takes it back.
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)
        signal.signal(number, signal.SIG_IGN if self._continued else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        signal.signal(number, self._woken)
        if self._saved is not None:
            set_raw(self.stdin)

    # -- what is going on --------------------------------------------------------

    @property
    def gone(self) -> bool:
        """Whether the driver closed its side: nothing can be written any more."""
        return self._gone

    @property
    def takes_keys(self) -> bool:
        """Whether input ends only with the driver, as at a terminal."""
        return self.is_terminal and self._kinds.stdin == "terminal"

    @property
    def size(self) -> Size | None:
        """The size of the terminal; None over pipes and where none is set."""
        if not self.is_terminal:
            return None
        try:
            packed = fcntl.ioctl(self._shown, termios.TIOCGWINSZ, b"\0" * 8)
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
            fcntl.ioctl(self._shown, termios.TIOCGWINSZ, b"\0" * 8)
        except OSError:
            return True
        return False

    def queue(self, data: bytes, stream: OutputStream | None = None) -> None:
        """Write ``data`` as the driver takes it; see ``flushed``."""
        fd = self._fd_of(stream)
        if data and fd not in self._lost:
            self._pending.append((fd, data))

    def close_stream(self, stream: OutputStream | None) -> None:
        """Close one of our streams, as the recorded program did."""
        fd = self.stdin if stream == "stdin" else self._fd_of(stream)
        if stream == "stdin":
            self._input_open = False
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, fd)
        os.close(null)

    def _terminal_output(self) -> int:
        """The descriptor for terminal output: a stream that was the program's terminal."""
        kinds = self._kinds
        if kinds.stdout == "terminal" or not kinds.with_terminal:
            return self.stdout
        return 2 if kinds.stderr == "terminal" else self.stdin

    def _fd_of(self, stream: OutputStream | None) -> int:
        """The descriptor for a stream."""
        if stream is None:
            return self._out
        return 2 if stream == "stderr" else self.stdout

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
        listens = self._input_open and self.most_input != 0
        readers = [self._wake_read, self.stdin] if listens else [self._wake_read]
        writers = [self._pending[0][0]] if self._pending else []
        timeout_s = None if timeout_us is None else timeout_us / 1e6
        readable, writable, _ = select.select(readers, writers, [], timeout_s)
        if self._wake_read in readable:
            yield from self._signals()
        if writable:
            yield from self._write()
        if self.stdin in readable and listens and self._input_open:
            yield self._read()

    # -- inside --------------------------------------------------------------------

    def _read(self) -> Happening:
        try:
            data = os.read(self.stdin, min(READ_BYTES, self.most_input or READ_BYTES))
        except OSError as exc:
            if exc.errno not in {errno.EIO, errno.EBADF, errno.ECONNRESET}:
                raise
            data = b""
        if data:
            if self.most_input is not None:
                self.most_input -= len(data)
            return Data(data)
        self._input_open = False
        self._hung_up = self._input_is_terminal
        self._gone = self._gone or (self._hung_up and self.is_terminal)
        return InputEnded(gone=self._gone)

    def _write(self) -> Iterator[Happening]:
        fd, data = self._pending[0]
        try:
            # A pipe that is ready takes PIPE_BUF bytes without blocking (POSIX).
            whole = self.is_terminal and fd == self._out
            done = os.write(fd, data if whole else data[: select.PIPE_BUF])
        except BlockingIOError:
            return
        except OSError as exc:
            if exc.errno not in {errno.EIO, errno.EPIPE, errno.ECONNRESET}:
                raise
            if not self._kinds.only_terminal:
                self._lose(fd)
                return
            self._gone = True
            yield InputEnded(gone=True)
            return
        if done == len(data):
            self._pending.popleft()
        else:
            self._pending[0] = (fd, data[done:])

    def _lose(self, fd: int) -> None:
        """Drop a stream that nobody reads any more; others may still be read."""
        self._lost.add(fd)
        self._pending = deque(item for item in self._pending if item[0] != fd)

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
                yield SignalCame(signal_name(number))

    def _woken(self, number: int, frame: object) -> None:
        """Note a stop and its end; the wake-up descriptor has the number of the signal."""
        del frame
        self._continued = number == signal.SIGCONT or (self._continued and number not in STOPPING)

    def _wake(self, number: int) -> None:
        """Take a signal that another thread waited for, as if it had been handled here."""
        with contextlib.suppress(OSError):  # it is full, or closed
            os.write(self._wake_write, bytes([number]))

    def _set_terminal(self, attributes: list[object]) -> None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.stdin, termios.TCSANOW, attributes)  # type: ignore[arg-type]

    def _open_output(self) -> int:
        """Open the output again, non-blocking, so that the driver's own flags do not change."""
        if self.is_terminal:
            with contextlib.suppress(OSError):
                flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
                return os.open(os.ttyname(self._shown), flags)
        return self._shown


def _offset_of(fd: int) -> int | None:
    """The position in a file; None for anything else."""
    try:
        return os.lseek(fd, 0, os.SEEK_CUR)
    except OSError:
        return None


def now_us() -> int:
    """Monotonic microseconds. ``system.clock`` would load asyncio, which slows the start-up."""
    return time.monotonic_ns() // 1000


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
    """All that can be read without waiting."""
    if not select.select([fd], [], [], 0)[0]:
        return b""
    try:
        return os.read(fd, READ_BYTES)
    except OSError:
        return b""
