"""Relays a stdout or stderr that is not a terminal from the program to the caller."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from ptycassette.model.journal import Output
from ptycassette.system.interpreter import program_of_ours
from ptycassette.system.streams import reopened, stream_kind

if TYPE_CHECKING:
    from ptycassette.model.events import OutputStream
    from ptycassette.recording.io.given_streams import GivenStreams
    from ptycassette.recording.io.journal_file import JournalFile

_READ_BYTES = 64 << 10
_WAITING_BYTES = 64 << 10
"""As much as a pipe: a caller that does not read stops the program one pipe later."""
_GONE = {errno.EPIPE, errno.EIO, errno.ECONNRESET}


class PipedOutput:
    """A pipe or a socket of the program, and the caller's stream behind it.

    Args:
        number: 1 or 2.
        streams: both sides.
        journal: gets the output before the caller does.

    Attributes:
        closed: whether the program's side has ended.
    """

    def __init__(self, number: int, streams: GivenStreams, journal: JournalFile) -> None:
        self.number = number
        self.name: OutputStream = "stdout" if number == 1 else "stderr"
        self._streams, self._journal = streams, journal
        self._waiting = bytearray()
        self._socket: socket.socket | None = None
        self._piecewise = True  # a pipe that has room takes so much without blocking (POSIX)
        self.closed = False
        self._open()

    def _open(self) -> None:
        given = self._streams.given[self.number]
        kind = stream_kind(given)
        if kind == "socket":
            self._socket = socket.socket(fileno=os.dup(given))
        elif kind in {"pipe", "terminal"}:
            with suppress(OSError):  # then it is written to in pieces
                own = reopened(given, os.O_WRONLY | os.O_NONBLOCK)
                self._streams.close_given(self.number)
                self._streams.given[self.number] = own
                self._piecewise = False

    @property
    def fd(self) -> int:
        """The descriptor of the program's output; -1 when it has ended."""
        return self._streams.ours[self.number]

    @property
    def caller_fd(self) -> int:
        """The descriptor of the caller's stream; -1 when it is closed."""
        return self._streams.given[self.number]

    @property
    def wants_output(self) -> bool:
        """Whether more can be read from the program."""
        return not self.closed and len(self._waiting) < _WAITING_BYTES

    @property
    def wants_room(self) -> bool:
        """Whether output waits for room in the caller's stream."""
        return bool(self._waiting)

    @property
    def done(self) -> bool:
        """Whether the stream has ended on both sides."""
        return self.closed and not self._waiting

    def leave(self) -> None:
        """Have ``cat`` pass on what other processes write later, and let go of both sides."""
        if self.closed:
            return
        if self.caller_fd >= 0 and (cat := program_of_ours("cat")) is not None:
            os.set_blocking(self.fd, True)
            if not self._piecewise:  # our own description: the caller's flags are its own
                os.set_blocking(self.caller_fd, True)
            os.posix_spawn(
                cat,
                ["cat"],
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, self.fd, 0),
                    (os.POSIX_SPAWN_DUP2, self.caller_fd, 1),
                ],
                setsigmask=[],
                setsigdef=[signal.SIGPIPE],
            )
        self.closed = True

    def read(self, t_us: int) -> int | None:
        """Relay output; returns how many bytes, 0 at the end, None if there is nothing now."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            data = b""
        if not data:
            self.closed = True
            self._streams.close_ours(self.number)
            self._end_when_shown()
            return 0
        self._journal.on_event(Output(t_us, data, stream=self.name))
        self._waiting += data
        self.write()
        return len(data)

    def write(self) -> None:
        """Write waiting output, as much as the caller takes."""
        if self.caller_fd < 0 or not self._waiting:
            return
        try:
            done = self._write()
        except BlockingIOError:
            return
        except OSError as exc:
            if exc.errno not in _GONE:
                raise
            self.lose_caller()
            return
        del self._waiting[:done]
        self._end_when_shown()

    def _write(self) -> int:
        if self._socket is not None:
            return self._socket.send(self._waiting, socket.MSG_DONTWAIT)
        if not self._piecewise:
            return os.write(self.caller_fd, self._waiting)
        ready = select.select([], [self.caller_fd], [], 0)[1]
        if not ready:
            raise BlockingIOError
        return os.write(self.caller_fd, self._waiting[: select.PIPE_BUF])

    def lose_caller(self) -> None:
        """Close the program's stream too, after the caller has closed its end."""
        self._waiting.clear()
        self._close_caller()
        if not self.closed:
            self.closed = True
            self._streams.close_ours(self.number)

    def _end_when_shown(self) -> None:
        if self.done:
            self._close_caller()

    def _close_caller(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._streams.close_given(self.number)


class FileOutput:
    """A file that the program writes to itself, and that we read afterwards.

    Args:
        number, streams, journal: as for ``PipedOutput``.
    """

    def __init__(self, number: int, streams: GivenStreams, journal: JournalFile) -> None:
        self._name: OutputStream = "stdout" if number == 1 else "stderr"
        self._fd, self._journal = streams.ours[number], journal
        self._at = streams.starts[number]

    def settle(self, t_us: int) -> None:
        """Record what the program has written since the last call."""
        size = os.fstat(self._fd).st_size
        self._at = min(self._at, size)  # it was cut off
        while self._at < size:
            data = os.pread(self._fd, min(_READ_BYTES, size - self._at), self._at)
            if not data:
                return
            self._at += len(data)
            self._journal.on_event(Output(t_us, data, stream=self._name))
