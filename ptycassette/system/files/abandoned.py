"""Directories that their makers hold by a lock (flock), which the kernel drops when they die."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable
from pathlib import Path


def remove_unheld(places: Iterable[Path]) -> None:
    """Remove, as far as possible, the directories that nobody holds. Follows no link."""
    for place in places:
        with contextlib.suppress(OSError):
            if not stat.S_ISDIR(place.stat(follow_symlinks=False).st_mode):
                continue  # to open a pipe would be to wait
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                import shutil  # noqa: PLC0415 - there is seldom anything to remove

                shutil.rmtree(place, ignore_errors=True)
            finally:
                os.close(fd)
