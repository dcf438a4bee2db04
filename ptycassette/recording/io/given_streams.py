"""The standard streams of the recorder, and those that the program gets in their place.

The program finds the same kinds. Files, ``/dev/null`` and devices are passed on themselves. For a
pipe or a socket it gets another one, for a terminal a PTY; what goes through these is relayed.
Only the recorder keeps the caller's end of a pipe, so that the caller sees the end of a stream
when the program ends it.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from ptycassette.model.streams import StreamKind, StreamKinds
from ptycassette.system.streams import reopened, same_stream, stream_kind

_HIGH = 10  # descriptors that posix_spawn's dup2 to 0, 1 and 2 cannot meet


def given_kinds(*, pipes: bool = False) -> StreamKinds:
    """The kinds of our own stdin, stdout and stderr, for a program to find.

    Args:
        pipes: a pipe in place of a terminal.
    """
    kinds: list[StreamKind] = [stream_kind(fd) for fd in range(3)]
    if pipes:
        kinds = ["pipe" if kind == "terminal" else kind for kind in kinds]
    stdin, stdout, stderr = kinds
    merged = stdout == stderr and stdout in {"pipe", "socket", "file"} and same_stream(1, 2)
    merged = merged and stream_kind(1) != "terminal"  # two pipes in its place keep them apart
    return StreamKinds(stdin=stdin, stdout=stdout, stderr=stderr, merged=merged)


def release_streams() -> None:
    """Put ``/dev/null`` in place of our stdin, stdout and stderr."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)


class GivenStreams(msgspec.Struct, kw_only=True):
    """Both sides of each stream.

    Attributes:
        kinds: what they are.
        given: the caller's stdin, stdout and stderr; -1 where we do not need one.
        ours: our ends of the program's streams; -1 where there is none.
        theirs: the program's ends; None for the PTY. Closed by ``started``.
        program_has_file: whether it got the caller's file itself.
        starts: the positions in such files before the program started.
    """

    kinds: StreamKinds
    given: list[int]
    ours: list[int]
    theirs: list[int | None]
    program_has_file: list[bool]
    starts: list[int]

    @classmethod
    def take(cls, kinds: StreamKinds) -> GivenStreams:
        """Take over our own streams. Afterwards 0, 1 and 2 are ``/dev/null``.

        Raises:
            OSError: no descriptors are left.
        """
        given = [_raised(fd) for fd in range(3)]
        made = cls(
            kinds=kinds,
            given=given,
            ours=[-1] * 3,
            theirs=[None] * 3,
            program_has_file=[False] * 3,
            starts=[0] * 3,
        )
        for number, kind in enumerate((kinds.stdin, kinds.stdout, kinds.stderr)):
            if number == 2 and kinds.merged and made.ours[1] >= 0:
                made._merge()
            else:
                made._open(number, kind)
        release_streams()
        return made

    def _merge(self) -> None:
        """Give the program one stream for stdout and stderr."""
        shared = self.given[2] if self.program_has_file[1] else self.theirs[1]
        self.theirs[2] = None if shared is None else _raised(shared)
        self.close_given(2)

    def _open(self, number: int, kind: StreamKind) -> None:
        if kind in {"null", "device"}:
            self.theirs[number], self.given[number] = self.given[number], -1
        elif kind == "file":
            self._share_file(number)
        elif kind != "terminal":
            self._make_pipe(number, kind)

    def _share_file(self, number: int) -> None:
        """Give the program the file itself; its output is read from the file."""
        if number == 0:
            self.theirs[0] = _raised(self.given[0])
            self.program_has_file[0] = True
            self.starts[0] = os.lseek(self.given[0], 0, os.SEEK_CUR)
            return
        try:
            self.ours[number] = reopened(self.given[number], os.O_RDONLY)
        except OSError:  # it is write-only for us: what goes there goes through a pipe
            self._make_pipe(number, "pipe")
            return
        given = self.given[number]
        self.theirs[number] = _raised(given)
        self.program_has_file[number] = True
        appends = fcntl.fcntl(given, fcntl.F_GETFL) & os.O_APPEND
        at = os.lseek(given, 0, os.SEEK_CUR)
        self.starts[number] = os.fstat(given).st_size if appends else at

    def _make_pipe(self, number: int, kind: StreamKind) -> None:
        if kind == "socket":
            one, other = socket.socketpair()
            ours, theirs = one.detach(), other.detach()
        elif number == 0:
            theirs, ours = os.pipe()
        else:
            ours, theirs = os.pipe()
        self.ours[number], self.theirs[number] = _raised(ours), _raised(theirs)
        os.close(ours)
        os.close(theirs)
        os.set_blocking(self.ours[number], False)

    @property
    def for_program(self) -> tuple[int | None, int | None, int | None]:
        """The descriptors for ``spawn``."""
        stdin, stdout, stderr = self.theirs
        return stdin, stdout, stderr

    def started(self) -> None:
        """Close our copies of the program's ends."""
        _close(self.theirs)
        self.theirs = [None] * 3

    def close(self) -> None:
        """Close everything. Idempotent."""
        self.started()
        _close(self.given)
        _close(self.ours)
        self.given, self.ours = [-1] * 3, [-1] * 3

    def close_given(self, number: int) -> None:
        """Close the caller's end of a stream."""
        _close([self.given[number]])
        self.given[number] = -1

    def close_ours(self, number: int) -> None:
        """Close our end of a stream of the program."""
        _close([self.ours[number]])
        self.ours[number] = -1


def _raised(fd: int) -> int:
    """A copy of ``fd`` with a high number, which no other program inherits."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)


def _close(fds: Sequence[int | None]) -> None:
    for fd in fds:
        if fd is not None and fd >= 0:
            with suppress(OSError):
                os.close(fd)
