"""A running program, its PTY, and the supervisor that watches over it. ``spawn`` makes one."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios
import threading
from contextlib import suppress

from ptycassette.model.records import ExitStatus
from ptycassette.model.screen import Size
from ptycassette.system.clock import monotonic_s
from ptycassette.system.closing import Closing
from ptycassette.system.ownership import Owner
from ptycassette.system.pty import _supervisor as pty_supervisor
from ptycassette.system.pty.core_dumps import NoCoreDumps
from ptycassette.system.pty.terminal import LineMode, exit_status, signal_number

DEFAULT_GRACE_S = 1.0
"""How long who is left may take to end after SIGTERM before SIGKILL."""

_DISABLED = b"\0"  # _POSIX_VDISABLE on Linux; on macOS it is 0xff, which no line holds
_MAX_LINE = 1023 if sys.platform == "darwin" else 4095  # MAX_CANON and N_TTY_BUF_SIZE, less the end
_STUCK_AFTER_S = 5.0
_LOST = exit_status(signal.SIGKILL)
_LOST_RELAY = "the relay between the program and the tape's proxy was killed while the program ran"
_LOST_SUPERVISOR = "the supervisor of the program was killed while the program ran"


class PtyChild(Closing):
    """A running program, its PTY, and the supervisor that watches over its process tree.

    Attributes:
        fd: the master side of the PTY, non-blocking and not inherited by others.
        pid: process id of the program itself, leader of its session and process group.
        tty: path of the slave side.
        lost: why the run proves nothing: a process of ours was killed before the program ended.
            None if all is well.

    In a fork of the process that made it, it does nothing.

    Thread-safe except for ``close``. ``ended`` reports the program's end at once;
    ``poll`` and ``wait`` when no process of its tree is left. Keep reading ``fd``
    meanwhile: a program that cannot write does not end.
    """

    def __init__(
        self,
        fd: int,
        pid: int,
        *,
        tty: str,
        supervisor: int,
        control: socket.socket,
        heard: bytes = b"",
        cores: NoCoreDumps | None = None,
    ) -> None:
        self.fd = fd
        self.pid = pid
        self.tty = tty
        self.lost: str | None = None
        self._supervisor = supervisor
        self._control = control
        self._lock = threading.Lock()
        self._owner = Owner()
        self._heard = heard
        self._ended: ExitStatus | None = None
        self._gone = self._given_up = False
        self._slave = -1
        self._cores = cores

    @property
    def control_fd(self) -> int:
        """Readable when ``ended`` or ``poll`` may have changed; for ``select``, not for reading."""
        return self._control.fileno()

    @property
    def ended(self) -> ExitStatus | None:
        """How the program ended, as soon as it did; other processes of its tree may still run."""
        self._listen()
        return self._ended

    def processes(self) -> list[int]:
        """The process ids of the program and all that it started, as far as they still run."""
        return pty_supervisor.descendants(self._supervisor)

    def poll(self) -> ExitStatus | None:
        """How the program ended, once no process of its tree is left; None before."""
        self._listen()
        return self._ended if self._gone else None

    def wait(self, timeout_s: float | None = None) -> ExitStatus | None:
        """As ``poll``, after at most ``timeout_s`` seconds; for ever when None."""
        deadline = None if timeout_s is None else monotonic_s() + timeout_s
        news = select.poll()
        news.register(self._control, select.POLLIN)
        while (status := self.poll()) is None:
            left_s = None if deadline is None else deadline - monotonic_s()
            if left_s is not None and left_s <= 0:
                return None
            news.poll(None if left_s is None else left_s * 1000)
        return status

    def read(self, max_bytes: int) -> bytes | None:
        """The program's output, at most ``max_bytes``; None if nothing can be read now.

        Empty when no process has the slave side open (EIO on Linux). While the
        program runs it may open it again.
        """
        try:
            return os.read(self.fd, max_bytes)
        except BlockingIOError:
            return None
        except OSError as exc:
            if exc.errno == errno.EIO:
                return b""
            raise

    def write(self, data: bytes) -> int:
        """How many bytes from the front of ``data`` the terminal took; 0 when its queue is full."""
        try:
            return os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError as exc:
            if exc.errno == errno.EIO:  # no process has the other side open: it will never be read
                return len(data)
            raise

    def line_mode(self) -> LineMode:
        """The current mode of the line discipline (termios(3))."""
        try:
            iflag, _, _, lflag, _, _, cc = termios.tcgetattr(self.fd)
        except (OSError, termios.error):  # the other side is gone
            return LineMode()
        ends = [b"\n", cc[termios.VEOF], cc[termios.VEOL], cc[termios.VKILL]]
        if iflag & termios.ICRNL:
            ends.append(b"\r")
        if lflag & termios.ISIG:
            ends += [cc[termios.VINTR], cc[termios.VQUIT], cc[termios.VSUSP]]
        return LineMode(
            canonical=bool(lflag & termios.ICANON),
            echo=bool(lflag & termios.ECHO),
            resets=b"".join(end for end in ends if isinstance(end, bytes) and end != _DISABLED),
            max_line=_MAX_LINE,
        )

    def set_size(self, size: Size, pixels: tuple[int, int] = (0, 0)) -> None:
        """Give the terminal another size; the foreground process group gets SIGWINCH.

        Args:
            size: rows and columns.
            pixels: its width and height in pixels; 0 for unknown.

        Raises:
            ValueError: not within 1 to 65535.
        """
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, winsize(size, pixels))

    def send_signal(self, which: str | int) -> None:
        """Signal the foreground process group, as the terminal does for ctrl-c.

        Falls back to the program's own group and then to the program. Does
        nothing once the program has ended.

        Args:
            which: ``int``, ``INT``, ``SIGINT`` or a number.

        Raises:
            ValueError: no such signal.
        """
        number = signal_number(which)
        if not self._owner.here or self.ended is not None:
            return
        with suppress(OSError):
            group = os.tcgetpgrp(self.fd)
            if group > 1 and group != os.getpgrp():
                os.killpg(group, number)
                return
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def request_end(self, grace_s: float = DEFAULT_GRACE_S) -> None:
        """Like ``terminate``, but return at once; ``poll`` shows when it is done."""
        # A grace of 0 means SIGKILL, so less than a millisecond must not become one.
        grace_ms = 0 if grace_s <= 0 else max(1, round(grace_s * 1000))
        self._order(b"T %d\n" % grace_ms)

    def leave(self) -> None:
        """Let processes that the program left running live, if it ``lingers``; returns at once."""
        self._order(b"L\n")

    def _order(self, line: bytes) -> None:
        if self._owner.here:
            with suppress(OSError):
                self._control.send(line)

    def terminate(self, grace_s: float = DEFAULT_GRACE_S) -> ExitStatus:
        """End the whole process tree: SIGTERM, SIGHUP at half of ``grace_s``, SIGKILL after it.

        With a grace of 0, SIGKILL at once. Returns when no process is left. Idempotent.
        """
        if not self._owner.here:
            return _LOST
        self.request_end(grace_s)
        status = self.wait(grace_s + _STUCK_AFTER_S)
        if status is None:
            # The supervisor is stopped or gets no processor time; closing the socket ends it.
            self._given_up = True
            with suppress(ProcessLookupError):
                os.kill(self._supervisor, signal.SIGKILL)
            self._end_alone()
            status = self.wait()
        return status or _LOST

    def kill(self) -> ExitStatus:
        """End the whole process tree with SIGKILL."""
        return self.terminate(0)

    def close(self) -> None:
        """End what still runs and close the PTY. Unread output is lost. Idempotent."""
        if self.fd < 0:
            return
        if self._owner.here and self.poll() is None:
            self.kill()
        self._control.close()
        self.release_slave()
        os.close(self.fd)
        self.fd = -1
        if self._cores is not None:
            self._cores.release()

    def hold_slave(self) -> None:
        """Keep the slave side open, so that unread output survives the last writer (macOS)."""
        with suppress(OSError):
            self._slave = os.open(self.tty, os.O_RDWR | os.O_NOCTTY)

    def release_slave(self) -> None:
        """Close the slave side, after everything has been read."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def _listen(self) -> None:
        """Read the supervisor's reports."""
        with self._lock:
            if self._gone or not self._owner.here:
                return
            while True:
                try:
                    data = self._control.recv(4096)
                except BlockingIOError:
                    break
                except OSError:
                    data = b""
                if not data:
                    self._farewell()
                    break
                self._heard += data
            *lines, self._heard = self._heard.split(b"\n")
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        if line.startswith(b"X "):
            self._ended = exit_status(int(line[2:]))
        elif line == b"R":
            self.lost = _LOST_RELAY

    def _farewell(self) -> None:
        """The supervisor is gone: reap it; if it was killed, end the processes that it left."""
        for line in self._heard.split(b"\n"):
            self._take(line)
        if self._ended is None:
            self._end_alone()
            self._ended = _LOST
            if not self._given_up:
                self.lost = _LOST_SUPERVISOR
        with suppress(ChildProcessError):  # other code in this process waited for all children
            os.waitpid(self._supervisor, 0)
        self._gone = True

    def _end_alone(self) -> None:
        """End the program's tree without the supervisor, as far as it can still be seen."""
        for pid in [*pty_supervisor.descendants(self.pid), self.pid]:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def winsize(size: Size, pixels: tuple[int, int] = (0, 0)) -> bytes:
    """``struct winsize`` (tty_ioctl(4)): rows, columns, and width and height in pixels."""
    if not (0 < size.rows <= 0xFFFF and 0 < size.cols <= 0xFFFF):
        raise ValueError(f"a terminal size is 1 to 65535 rows and columns, not {size}")
    return struct.pack("HHHH", size.rows, size.cols, *pixels)
