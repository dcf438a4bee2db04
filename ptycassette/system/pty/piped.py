"""A program whose stdin, stdout and stderr are pipes of ours, supervised like one under a PTY.

Each of the three is a pipe or ``/dev/null``. The program has no controlling terminal. Processes
that it leaves running keep its streams, which end when no process has them open any more.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.streams import StreamKinds
from ptycassette.system.closing import Closing
from ptycassette.system.pty.polling import raised_fd
from ptycassette.system.pty.port import LineMode
from ptycassette.system.streams import unread_bytes

if TYPE_CHECKING:
    from ptycassette.model.events import OutputStream
    from ptycassette.system.pty._child import PtyChild

Streams = tuple[int | None, int | None, int | None]

_NO_TERMINAL = "the program has no terminal, and so no size"


def spawn_piped(kinds: StreamKinds, start: Callable[[Streams], PtyChild]) -> PipedChild:
    """Start a program over pipes. The caller closes what it gets.

    Args:
        kinds: what each stream is: ``pipe`` or ``null``.
        start: starts it with these descriptors (``spawn(streams=, lingers=True)``).

    Raises:
        ValueError: a stream is something else.
        SpawnError: what ``start`` raises.
    """
    ours, theirs = [-1, -1, -1], [-1, -1, -1]
    try:
        for number, kind in enumerate((kinds.stdin, kinds.stdout, kinds.stderr)):
            if number == 2 and kinds.merged:
                theirs[2] = raised_fd(theirs[1])
            else:
                ours[number], theirs[number] = _ends(number, kind)
        stdin, stdout, stderr = theirs
        child = start((stdin, stdout, stderr))
    except BaseException:
        _close(ours)
        raise
    finally:
        _close(theirs)
    return PipedChild(child, ours)


def _ends(number: int, kind: str) -> tuple[int, int]:
    """Our end of a stream (-1 where there is none) and the program's."""
    if kind == "null":
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            return -1, raised_fd(null)
        finally:
            os.close(null)
    if kind != "pipe":
        raise ValueError(f"a stream is a pipe or null here, not {kind!r}")
    reader, writer = os.pipe()
    try:
        ours, theirs = (writer, reader) if number == 0 else (reader, writer)
        return raised_fd(ours, blocking=False), raised_fd(theirs)
    finally:
        os.close(reader)
        os.close(writer)


class PipedChild(Closing):
    """A running program and our ends of its pipes. See ``Pty`` for what a session asks of it.

    Args:
        child: the program, which lingers; owned from here on.
        ours: our ends of stdin, stdout and stderr; -1 where there is none.
    """

    piped = True

    def __init__(self, child: PtyChild, ours: list[int]) -> None:
        self._child = child
        self._ours = ours

    # -- the program ---------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Process id of the program, leader of its session and process group."""
        return self._child.pid

    @property
    def control_fd(self) -> int:
        """See ``PtyChild.control_fd``."""
        return self._child.control_fd

    @property
    def lost(self) -> str | None:
        """See ``PtyChild.lost``."""
        return self._child.lost

    @property
    def ended(self) -> ExitStatus | None:
        """See ``PtyChild.ended``."""
        return self._child.ended

    def poll(self) -> ExitStatus | None:
        """See ``PtyChild.poll``."""
        return self._child.poll()

    def send_signal(self, which: str | int) -> None:
        """Signal the program's process group."""
        self._child.send_signal(which)

    def request_end(self, grace_s: float) -> None:
        """See ``PtyChild.request_end``."""
        self._child.request_end(grace_s)

    def kill(self) -> ExitStatus:
        """End its whole process tree with SIGKILL."""
        return self._child.kill()

    def leave(self) -> None:
        """Let processes that the program left live; returns when the supervisor has exited."""
        self._child.leave()
        self._child.wait()

    def close(self) -> None:
        """End what still runs and close the pipes. Idempotent."""
        _close(self._ours)
        self._child.close()

    # -- its streams ---------------------------------------------------------------

    @property
    def readers(self) -> list[int]:
        """The descriptors that output is read from."""
        return [fd for fd in self._ours[1:] if fd >= 0]

    @property
    def writer(self) -> int:
        """The descriptor that input is written to; -1 when there is none (any more)."""
        return self._ours[0]

    @property
    def hung_up(self) -> bool:
        """Whether stdout and stderr have ended."""
        return not self.readers

    def read_stream(self, max_bytes: int) -> tuple[OutputStream | None, bytes] | None:
        """Output and its stream: empty at the end of a stream, None if there is nothing now."""
        for number, name in ((1, "stdout"), (2, "stderr")):
            if self._ours[number] < 0:
                continue
            with suppress(BlockingIOError):
                data = os.read(self._ours[number], max_bytes)
                if not data:
                    self._drop(number)
                return ("stdout" if name == "stdout" else "stderr"), data
        return None

    def read(self, max_bytes: int) -> bytes | None:
        """As ``read_stream``, without the stream."""
        piece = self.read_stream(max_bytes)
        return piece if piece is None else piece[1]

    def write(self, data: bytes) -> int:
        """How many bytes of ``data`` the pipe took; 0 when it is full.

        Raises:
            BrokenPipeError: the program has closed its stdin, or it has none.
        """
        if self._ours[0] < 0:
            raise BrokenPipeError(errno.EPIPE, "its stdin is closed")
        try:
            return os.write(self._ours[0], data)
        except BlockingIOError:
            return 0

    def unread(self) -> int:
        """How many bytes of its stdin it has not read yet."""
        return unread_bytes(self._ours[0]) if self._ours[0] >= 0 else 0

    @property
    def reader_gone(self) -> bool:
        """Whether the program has closed its stdin before we ended it."""
        if self._ours[0] < 0:
            return False
        poll = select.poll()
        poll.register(self._ours[0], 0)
        return bool(poll.poll(0))

    def end_input(self) -> None:
        """Close the program's stdin."""
        self._drop(0)

    def line_mode(self) -> LineMode:
        """Pipes have no line discipline: bytes go in unchanged."""
        return LineMode()

    def set_size(self, size: Size) -> None:
        """Pipes have no size.

        Raises:
            ValueError: always.
        """
        del size
        raise ValueError(_NO_TERMINAL)

    def _drop(self, number: int) -> None:
        _close([self._ours[number]])
        self._ours[number] = -1


def _close(fds: list[int]) -> None:
    for number, fd in enumerate(fds):
        if fd >= 0:
            with suppress(OSError):
                os.close(fd)
            fds[number] = -1
