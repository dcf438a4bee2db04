"""The PTY of a program whose streams are a terminal in part, and the user's terminal."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from ptycassette.recording.io._typed_input import TypedInput

if TYPE_CHECKING:
    from ptycassette.recording.io._user_signals import Streams
    from ptycassette.recording.io.given_streams import GivenStreams
    from ptycassette.recording.io.journal_file import JournalFile
    from ptycassette.system.pty.process import PtyChild

_READ_BYTES = 64 << 10


class ProgramTerminal:
    """A context manager: the user's terminal is raw while input comes from it.

    Args:
        child: the program and its PTY.
        journal: where everything goes first.
        in_fd: where input comes from; -1 if stdin is not a terminal.
        out_fd: the user's terminal.
        streams: the user's side.

    Attributes:
        hung_up: no process has the PTY open now.
    """

    def __init__(
        self,
        child: PtyChild,
        journal: JournalFile,
        *,
        in_fd: int,
        out_fd: int,
        streams: Streams,
    ) -> None:
        self._child, self._journal = child, journal
        self._in_fd, self._out_fd = in_fd, out_fd
        self._user = streams.terminal
        self._typed = TypedInput(child.fd, journal, secret_key=streams.secret_key)
        self._held = b""
        self.hung_up = False

    @classmethod
    def of(
        cls, child: PtyChild, journal: JournalFile, given: GivenStreams, streams: Streams
    ) -> Self | None:
        """The terminal for these streams; None if none is a terminal."""
        kinds = (given.kinds.stdin, given.kinds.stdout, given.kinds.stderr)
        fds = [fd for fd, kind in zip(given.given, kinds, strict=True) if kind == "terminal"]
        if not fds:
            return None
        in_fd = given.given[0] if kinds[0] == "terminal" else -1
        return cls(child, journal, in_fd=in_fd, out_fd=fds[-1], streams=streams)

    def __enter__(self) -> Self:
        if self._user is not None:
            self._user.make_raw()
        return self

    def __exit__(self, *_: object) -> None:
        if self._user is not None:
            self._user.restore()

    def wanted(self) -> Iterator[tuple[int, int]]:
        """The descriptors to wait for."""
        if not self.hung_up:
            room = select.POLLOUT if self._typed.waiting else 0
            yield self._child.fd, select.POLLIN | room
        if self._in_fd >= 0:
            yield self._in_fd, select.POLLIN

    def serve(self, ready: dict[int, int], t_us: int) -> None:
        """Handle the ready descriptors."""
        what = ready.get(self._child.fd, 0)
        if what & select.POLLOUT:
            self._typed.send()
        if what & ~select.POLLOUT or self.hung_up:
            self._read(t_us)
        if self._in_fd in ready:
            self._take(t_us)
        self._journal.flush()

    def drain(self, t_us: int) -> bool:
        """Read the remaining output; returns whether all was read."""
        while self._read(t_us):
            pass
        return True

    def _read(self, t_us: int) -> bool:
        try:
            data = os.read(self._child.fd, _READ_BYTES)
        except BlockingIOError:
            self.hung_up = False
            return False
        except OSError as exc:
            if exc.errno != errno.EIO:
                raise
            data = b""
        self.hung_up = not data
        if data:
            self._journal.on_output(t_us, data)
            with suppress(OSError):  # the user's terminal may be gone
                self._show(data)
        return bool(data)

    def _show(self, data: bytes) -> None:
        if self._user is None:
            # It is not raw: it would translate LF to CR LF again, as the program's PTY did already.
            data = self._held + data
            self._held = b"\r" if data.endswith(b"\r") else b""
            data = data.removesuffix(self._held).replace(b"\r\n", b"\n")
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._out_fd, rest) :]

    def _take(self, t_us: int) -> None:
        try:
            data = os.read(self._in_fd, _READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._in_fd = -1
            return
        self._typed.type(t_us, data)
