"""Publishing a directory under a name: one system call, all or nothing.

``rename(2)`` of a directory never replaces a directory that holds something
(POSIX: ``ENOTEMPTY`` or ``EEXIST``), nor a file or a link (``ENOTDIR``). As a
cassette is never empty, a plain rename is therefore all that it takes for
exactly one of several writers to win.

Replacing needs an exchange of two names: ``renameat2(RENAME_EXCHANGE)`` on
Linux, ``renamex_np(RENAME_SWAP)`` on macOS. Where the C library or the file
system has neither, ``exchange`` says so and the caller renames aside.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h
_RENAME_SWAP = 2  # macOS sys/stdio.h
_FATAL = frozenset((errno.ENOENT, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO))
"""What a plain rename would meet, too. File systems have many other words for "not supported"."""


def exchange(one: Path, other: Path) -> bool:
    """Swap the names of two existing paths of one file system, atomically.

    Returns:
        True when they were swapped, False when this system cannot do it.

    Raises:
        OSError: the disk refuses, as it would refuse a plain rename.
    """
    call = _call(os.fsencode(one), os.fsencode(other))
    if call is None:
        return False
    function, arguments = call
    if function(*arguments) == 0:
        return True
    number = ctypes.get_errno()
    if number not in _FATAL:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def _call(one: bytes, other: bytes) -> tuple[ctypes._NamedFuncPointer, tuple[object, ...]] | None:
    """The function of the C library and its arguments; None if the library has none."""
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            return library.renamex_np, (one, other, ctypes.c_uint(_RENAME_SWAP))
        at = ctypes.c_int(_AT_FDCWD)
        return library.renameat2, (at, one, at, other, ctypes.c_uint(_RENAME_EXCHANGE))
    except AttributeError:
        return None
