"""Read a small file that a user named: a regular one, of bounded size, without waiting.

A name may lead to a pipe (opening it would wait for ever), a device without an
end, or a file that is far too large. Links are followed by default: the user, not a cassette, named
the path.
"""

from __future__ import annotations

import os
import stat

from ptycassette.errors import LimitError, NotFoundError, UnreadableError, UnsafeFileError
from ptycassette.system.files.near_names import hint_for_missing


def open_plain(path: str | os.PathLike[str], *, follow_links: bool = True) -> int:
    """Open a regular file for reading; returns its descriptor.

    Raises:
        NotFoundError: nothing is there.
        UnsafeFileError: a device, a pipe, a socket or a directory is, or an unwanted link.
        UnreadableError: the system refuses.
    """
    place = os.fspath(path)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    try:
        fd = os.open(place, flags)
    except (FileNotFoundError, ValueError) as exc:
        raise NotFoundError(
            "there is no such file", where=place, hint=hint_for_missing(place)
        ) from exc
    except OSError as exc:
        raise UnreadableError(f"cannot be read: {exc.strerror}", where=place) from exc
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise UnsafeFileError(
            "not a regular file",
            where=place,
            hint="give a file; folders, pipes and devices are not read",
        )
    return fd


def read_plain(path: str | os.PathLike[str], *, max_bytes: int, follow_links: bool = True) -> bytes:
    """The bytes of a regular file.

    Raises:
        NotFoundError: nothing is there.
        UnsafeFileError: a device, a pipe, a socket or a directory is.
        UnreadableError: the system refuses, or an unwanted link is there.
        LimitError: it is larger than ``max_bytes``.
    """
    with os.fdopen(open_plain(path, follow_links=follow_links), "rb") as file:
        try:
            # A file whose size is too large is not read; one that grows meanwhile is cut.
            large = os.fstat(file.fileno()).st_size > max_bytes
            data = b"" if large else file.read(max_bytes + 1)
        except OSError as exc:
            raise UnreadableError(f"cannot be read: {exc.strerror}", where=os.fspath(path)) from exc
    if large or len(data) > max_bytes:
        raise LimitError(
            f"larger than {max_bytes} bytes",
            where=os.fspath(path),
            hint="no more than that is read: give a smaller file",
        )
    return data
