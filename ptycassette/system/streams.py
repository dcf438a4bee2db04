"""The kind of a descriptor: terminal, pipe, file or null."""

from __future__ import annotations

import array
import fcntl
import os
import stat
import termios

from ptycassette.model.records import StreamKind


def stream_kind(fd: int) -> StreamKind:
    """The kind of ``fd``; ``null`` if it is not open."""
    try:
        found = os.fstat(fd)
    except OSError:
        return "null"
    if os.isatty(fd):
        return "terminal"
    mode = found.st_mode
    if stat.S_ISFIFO(mode):
        return "pipe"
    if stat.S_ISSOCK(mode):
        return "socket"
    if stat.S_ISREG(mode):
        return "file"
    try:
        null = os.stat(os.devnull).st_rdev  # noqa: PTH116
    except OSError:  # a container without /dev
        null = -1
    return "null" if stat.S_ISCHR(mode) and found.st_rdev == null else "device"


def same_stream(one: int, other: int) -> bool:
    """Whether two descriptors are the same pipe, socket, file or device."""
    try:
        first, second = os.fstat(one), os.fstat(other)
    except OSError:
        return False
    return (first.st_dev, first.st_ino, first.st_rdev) == (
        second.st_dev,
        second.st_ino,
        second.st_rdev,
    )


def unread_bytes(fd: int) -> int:
    """How many unread bytes are in the pipe that ``fd`` is an end of (pipe(7), FIONREAD)."""
    found = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, found)
    return found[0]


def reopened(fd: int, flags: int) -> int:
    """Open the same file again, so that flags set on the new descriptor do not affect ``fd``.

    Raises:
        OSError: it cannot be opened again (a socket, no rights, macOS).
    """
    return os.open(f"/proc/self/fd/{fd}", flags | os.O_CLOEXEC | os.O_NOCTTY)
