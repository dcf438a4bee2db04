"""Relays a stdin that is not a terminal from the caller to the program.

Only bytes that the program has read are recorded, before any output that followed. So a
recording does not depend on whether the caller was fast or slow, and a program that reads
nothing has no input.

- Of a pipe, the kernel reports how much is unread. Its end is passed on when it is empty;
  afterwards we could not see how much the program reads.
- A socket does not report what is unread; bytes that it took count as read.
- A file is given to the program itself. Our own descriptor shares its position.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

from ptycassette.model.journal import Typed
from ptycassette.system.streams import unread_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptycassette.recording.io.given_streams import GivenStreams
    from ptycassette.recording.io.journal_file import JournalFile

_READ_BYTES = 64 << 10
_GONE = {errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EBADF}


class NoInput:
    """A stdin of which nothing is recorded: ``/dev/null``, a device, or the PTY."""

    @property
    def wants_input(self) -> bool:
        """Whether the caller's next bytes can be taken."""
        return False

    @property
    def wants_room(self) -> bool:
        """Whether bytes wait for room in the program's pipe."""
        return False

    @property
    def unsettled(self) -> bool:
        """Whether there is work that no descriptor announces."""
        return False

    def settle(self, t_us: int) -> None:
        """Record what the program has read since the last call."""

    def end(self, t_us: int) -> int | None:
        """Finish after the program's end; returns the position in a file that was its stdin."""
        del t_us
        return None


class FileInput(NoInput):
    """A file that the program reads itself."""

    def __init__(self, streams: GivenStreams, journal: JournalFile) -> None:
        self._fd, self._journal = streams.given[0], journal
        self._start = self._at = streams.starts[0]
        self._ended = False

    @property
    def unsettled(self) -> bool:
        """See ``NoInput``."""
        return True

    def settle(self, t_us: int) -> None:
        """See ``NoInput``."""
        offset = os.lseek(self._fd, 0, os.SEEK_CUR)
        while self._at < offset:
            try:
                data = os.pread(self._fd, min(_READ_BYTES, offset - self._at), self._at)
            except OSError:  # it is open for writing only
                return
            if not data:
                return
            self._at += len(data)
            at_end = self._at >= os.fstat(self._fd).st_size
            self._ended = self._ended or at_end
            self._journal.on_event(Typed(t_us, data, eof=at_end))

    def end(self, t_us: int) -> int | None:
        """See ``NoInput``."""
        self.settle(t_us)
        return os.lseek(self._fd, 0, os.SEEK_CUR) - self._start


class PipedInput(NoInput):
    """A pipe or a socket that we write to."""

    def __init__(
        self, streams: GivenStreams, journal: JournalFile, *, now_us: Callable[[], int]
    ) -> None:
        self._streams, self._journal, self._now_us = streams, journal, now_us
        self._is_socket = streams.kinds.stdin == "socket"
        self._waiting = b""
        self._unread = bytearray()  # sent, and not recorded as read
        self._ended = False  # the caller's side
        self.closed_early = False

    @property
    def wants_input(self) -> bool:
        """See ``NoInput``."""
        return not self._ended and not self._waiting and self._streams.given[0] >= 0

    @property
    def wants_room(self) -> bool:
        """See ``NoInput``."""
        return bool(self._waiting)

    @property
    def unsettled(self) -> bool:
        """See ``NoInput``."""
        return bool(self._unread) or (self._ended and self._streams.ours[0] >= 0)

    def take(self) -> None:
        """Take what the caller sent."""
        try:
            data = os.read(self._streams.given[0], _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._waiting = data
            self.send()
        else:
            self._ended = True
            self._streams.close_given(0)

    def send(self) -> None:
        """Write waiting input."""
        try:
            done = os.write(self._streams.ours[0], self._waiting)
        except BlockingIOError:
            return
        except OSError as exc:
            if exc.errno not in _GONE:
                raise
            self.lose_reader()
            return
        self._unread += self._waiting[:done]
        self._waiting = self._waiting[done:]

    def lose_reader(self) -> None:
        """Close the caller's stream too, after the program has closed its stdin."""
        if self._streams.ours[0] < 0:
            return
        self.closed_early = True
        self.settle(self._now_us())
        self._waiting = b""
        self._streams.close_ours(0)
        self._streams.close_given(0)

    def settle(self, t_us: int) -> None:
        """See ``NoInput``."""
        fd = self._streams.ours[0]
        if fd < 0:
            return
        left = 0 if self._is_socket else unread_bytes(fd)
        read = len(self._unread) - left
        ends = self._ended and not self._waiting and not left and not self.closed_early
        if read > 0 or ends:
            data = bytes(self._unread[:read])
            del self._unread[:read]
            self._journal.on_event(Typed(t_us, data, eof=ends))
        if ends:
            self._end_stream(fd)

    def _end_stream(self, fd: int) -> None:
        if self._is_socket:
            with socket.socket(fileno=os.dup(fd)) as end:
                end.shutdown(socket.SHUT_WR)
        self._streams.close_ours(0)

    def end(self, t_us: int) -> int | None:
        """See ``NoInput``."""
        if not self._is_socket and self._streams.ours[0] >= 0 and not self.closed_early:
            self._ended = False  # nobody is left to see the end
            self.settle(t_us)
        self._streams.close_ours(0)
        self._streams.close_given(0)
        return None
