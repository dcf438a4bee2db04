"""The user's terminal while a program is recorded in it: raw, and always restored."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Literal, Protocol, Self

import msgspec

from ptycassette.model.records import ExitStatus
from ptycassette.model.screen import Size

# The port between a session and its PTY: ``PtyChild`` or ``testing.ScriptedPty``.


class LineMode(msgspec.Struct, frozen=True, kw_only=True):
    """The current mode of the terminal's line discipline (termios(3)).

    Attributes:
        canonical: ICANON: the program gets whole lines; the kernel silently cuts those
            of more than ``max_line`` bytes.
        echo: ECHO: what is typed is shown.
        resets: bytes that end the line or throw it away: newline, carriage
            return if ICRNL, VEOF, VEOL, VKILL, and VINTR, VQUIT, VSUSP if ISIG.
        max_line: how many bytes a line may have before its end.
    """

    canonical: bool = False
    echo: bool = True
    resets: bytes = b"\n\r"
    max_line: int = 4095

    @property
    def secret(self) -> bool:
        """Whether this is how a password prompt reads: whole lines, not shown."""
        return self.canonical and not self.echo


class Pty(Protocol):
    """The master side of a PTY with a program on its other side."""

    @property
    def ended(self) -> ExitStatus | None:
        """How the program ended, as soon as it did."""
        ...

    def read(self, max_bytes: int) -> bytes | None:
        """The program's output; None if nothing can be read now, empty if no writer is left."""
        ...

    def write(self, data: bytes) -> int:
        """How many bytes from the front of ``data`` the terminal took; 0 when its queue is full."""
        ...

    def line_mode(self) -> LineMode:
        """The current mode of the line discipline."""
        ...

    def set_size(self, size: Size) -> None:
        """Change the size of the terminal."""
        ...

    def send_signal(self, which: str | int) -> None:
        """Signal the foreground process group."""
        ...

    def request_end(self, grace_s: float) -> None:
        """Ask for the end of the program and all that it started; returns at once."""
        ...

    def poll(self) -> ExitStatus | None:
        """How the program ended, once nothing that it started is left either."""
        ...

    def close(self) -> None:
        """Close everything. Idempotent."""
        ...


class Scripted(Pty, Protocol):
    """A PTY whose program is a script: it knows when its next output is due."""

    def due_us(self) -> int | None:
        """The time, on the session's clock, of the next event that needs no input."""
        ...


# The settings that a terminal has when a program starts in it.


_IUTF8 = getattr(termios, "IUTF8", 0o40000)  # Linux and macOS; Python 3.13 has the name
# The settings that make a visible difference, by their index in tcgetattr's result (termios(3)).
_FLAGS = (
    ("icrnl", 0, termios.ICRNL),
    ("ixon", 0, termios.IXON),
    ("iutf8", 0, _IUTF8),
    ("opost", 1, termios.OPOST),
    ("onlcr", 1, termios.ONLCR),
    ("isig", 3, termios.ISIG),
    ("icanon", 3, termios.ICANON),
    ("echo", 3, termios.ECHO),
)
_LOCALE_NAMES = ("LC_ALL", "LC_CTYPE", "LANG")


class TerminalTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for a new terminal.

    Attributes:
        attributes: what ``termios.tcgetattr`` returned for the user's terminal: modes, speed and
            control characters; None for the system's defaults.
        utf8: whether Backspace erases a whole character (IUTF8), with the defaults.
        pixels: width and height of the terminal in pixels; 0 for unknown.
    """

    attributes: list[Any] | None = None
    utf8: bool = True
    pixels: tuple[int, int] = (0, 0)

    @classmethod
    def of_terminal(cls, fd: int) -> Self | None:
        """The settings of the terminal at ``fd``; None if it is not a terminal."""
        try:
            attributes = termios.tcgetattr(fd)
        except (OSError, termios.error):
            return None
        return cls(attributes=attributes, pixels=window_pixels(fd))

    @classmethod
    def of_environment(cls, env: Mapping[str, str]) -> Self:
        """The defaults, for a program with this environment.

        UTF-8 unless the locale names another encoding. A locale without one counts as UTF-8, as
        in Python (PEP 538): most containers have none.
        """
        locale = next((env[name] for name in _LOCALE_NAMES if env.get(name)), "")
        codeset = locale.partition("@")[0].partition(".")[2].replace("-", "").lower()
        return cls(utf8=codeset in {"", "utf8"})

    def without_pixels(self) -> Self:
        """The same for a terminal of another size."""
        return msgspec.structs.replace(self, pixels=(0, 0))

    def give_to(self, slave: int) -> None:
        """Set a new terminal so, before a program starts in it."""
        attributes = termios.tcgetattr(slave) if self.attributes is None else [*self.attributes]
        if self.attributes is None and self.utf8:
            attributes[0] |= _IUTF8
        with suppress(termios.error):  # a speed that a PTY does not take
            termios.tcsetattr(slave, termios.TCSANOW, attributes)

    def modes(self) -> dict[str, Any] | None:
        """``terminal.pty_mode`` of a program that starts with it; None where no PTY can be had.

        ``kind`` is ``pty``; the rest are flags of termios(3), in lower case, true when set. They
        are read from a new PTY, which has the same settings: the program may have changed its
        own before we could look.
        """
        try:
            ours, theirs = os.openpty()
        except OSError:
            return None
        try:
            self.give_to(theirs)
            settings = termios.tcgetattr(theirs)
        except termios.error:
            return None
        finally:
            os.close(ours)
            os.close(theirs)
        return {"kind": "pty"} | {name: bool(settings[at] & flag) for name, at, flag in _FLAGS}


def window_pixels(fd: int) -> tuple[int, int]:
    """Width and height in pixels of the terminal at ``fd``; 0 for unknown."""
    try:
        packed = fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))
    except OSError:
        return (0, 0)
    _, _, width, height = struct.unpack("HHHH", packed)
    return (width, height)


def modes_of_line(mode: LineMode) -> dict[str, Any]:
    """The same for a scripted PTY, as far as its line discipline is known."""
    return {"kind": "pty", "icanon": mode.canonical, "echo": mode.echo}


# Kinds of signals, their names and exit statuses, as journals and cassettes spell them.


def _named(*names: str) -> frozenset[int]:
    return frozenset(
        int(getattr(signal, f"SIG{name}")) for name in names if hasattr(signal, f"SIG{name}")
    )


STOPPING = _named("TSTP", "TTIN", "TTOU")
"""Signals that stop a program by default, and may be caught."""
QUIET = _named("CHLD", "CONT", "URG", "WINCH", "INFO")
"""Signals that do not end a program by default."""
WAITED = _named("SEGV", "BUS", "FPE", "ILL", "PIPE", "XFSZ")
"""Signals that this process may cause itself, by a fault or a write.

A handler would run for those, too: after a fault it would be called again for ever. So these are
blocked, and a thread waits for those that others send (``SignalPipe``).
"""
TAKEN = frozenset(map(int, signal.valid_signals())) - _named("KILL", "STOP", "CHLD") - WAITED
"""All other signals that may be handled. SIGCHLD belongs to the processes of the recorder."""
_REAL_TIME = re.compile(r"rtmin\+([0-9]+)")

# Go's names (package syscall, String of Signal), because that is what cassettes hold.
_SIGNAL_TEXTS: dict[int, str] = {
    signal.SIGHUP: "hangup",
    signal.SIGINT: "interrupt",
    signal.SIGQUIT: "quit",
    signal.SIGILL: "illegal instruction",
    signal.SIGTRAP: "trace/breakpoint trap",
    signal.SIGABRT: "aborted",
    signal.SIGBUS: "bus error",
    signal.SIGFPE: "floating point exception",
    signal.SIGKILL: "killed",
    signal.SIGUSR1: "user defined signal 1",
    signal.SIGSEGV: "segmentation fault",
    signal.SIGUSR2: "user defined signal 2",
    signal.SIGPIPE: "broken pipe",
    signal.SIGALRM: "alarm clock",
    signal.SIGTERM: "terminated",
}


def exit_status(wait_status: int) -> ExitStatus:
    """How a program ended, from the status word of wait(2).

    After a signal ``code`` is -1 and ``signal`` is the description that the
    reference implementation writes: ``killed``, ``terminated``, ``hangup``,
    ``segmentation fault``; ``signal N`` for others.
    """
    if os.WIFSIGNALED(wait_status):
        number = os.WTERMSIG(wait_status)
        text = _SIGNAL_TEXTS.get(number, f"signal {number}")
        return ExitStatus(code=-1, signal=text, exited=False, signaled=True)
    return ExitStatus(code=os.WEXITSTATUS(wait_status), exited=True, signaled=False)


def signal_number(which: str | int) -> int:
    """The number of a signal: ``2``, ``int``, ``INT`` and ``SIGINT`` are one.

    Raises:
        ValueError: there is no such signal here.
    """
    try:
        if isinstance(which, int):
            return next(int(number) for number in signal.valid_signals() if number == which)
        name = which.lower().removeprefix("sig")
        if (real_time := _REAL_TIME.fullmatch(name)) and hasattr(signal, "SIGRTMIN"):
            return signal_number(int(signal.SIGRTMIN) + int(real_time[1]))
        return signal.Signals["SIG" + name.upper()]
    except (KeyError, ValueError, StopIteration) as exc:
        raise ValueError(f"no such signal: {which!r}") from exc


def signal_name(which: str | int) -> str:
    """The short lower-case name of a signal, as journals and cassettes hold it: ``int``.

    Real-time signals are ``rtmin+N``, but for ``rtmin`` and ``rtmax``.

    Raises:
        ValueError: there is no such signal here.
    """
    number = signal_number(which)
    try:
        return signal.Signals(number).name.removeprefix("SIG").lower()
    except ValueError:
        return f"rtmin+{number - signal.SIGRTMIN}"


def disposition(pid: int, number: int) -> Literal["default", "caught", "ignored", "ended"]:
    """How a process handles a signal, from ``/proc``; ``default`` if that is not known.

    ``ended`` is a child that has ended and was not waited for yet.
    """
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
            name, _, mask = line.partition(b":")
            if name == b"State" and mask.strip()[:1] == b"Z":
                return "ended"
            if name in {b"SigCgt", b"SigIgn"} and int(mask, 16) >> (number - 1) & 1:
                return "caught" if name == b"SigCgt" else "ignored"
    return "default"


def block_waited_signals() -> None:
    """Block ``WAITED`` in this thread and in those that it starts from now on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)


def put_back(handlers: Mapping[int, Any]) -> None:
    """Give signals the handlers that ``signal.signal`` returned.

    It returns None for a handler that is not Python's, such as that of ``faulthandler``, which
    PYTHONFAULTHANDLER=1 and PYTHONDEVMODE=1 switch on. It cannot be given back: the signal then
    ends the process, which is what that handler did last.
    """
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


def stop_self(number: int) -> None:
    """Stop this process as ``number`` does by default; returns when it is continued.

    Returns at once where the system does not stop it: its process group has no parent in its
    session that could continue it (POSIX: an orphaned process group).
    """
    before = signal.signal(number, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    put_back({number: before})


DEFAULT_SIZE = Size(24, 80)

_SIZE = struct.Struct("HHHH")
# Linux: asm-generic/termbits.h, struct termios.
_GET_MODES: int | None = termios.TCGETS if sys.platform == "linux" else None
_MODES = bytearray(64)
_LOCAL_MODES = struct.Struct("I")
_LOCAL_MODES_AT = 12

# Modes that a killed program leaves on: mouse reports, focus reports, bracketed paste, application
# keys, synchronized output, a hidden cursor, the alternate screen, colours. 1047 and not 1049,
# because 1049 would also move the cursor if none was saved.
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
        in_fd: the source of keys; its modes are changed.
        out_fd: the target of output; its size is used.
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
        """Switch to raw mode (cfmakeraw(3)); input that was typed ahead is kept."""
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
