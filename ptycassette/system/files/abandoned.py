"""Directories that their makers hold by a lock (flock), which the kernel drops when they die."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from ptycassette.system.files.locks import try_lock


def remove_unheld(places: Iterable[Path]) -> None:
    """Remove, as far as possible, the directories that nobody holds. Follows no link."""
    for place in places:
        with contextlib.suppress(OSError):
            if not stat.S_ISDIR(place.stat(follow_symlinks=False).st_mode):
                continue  # to open a pipe would be to wait
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if try_lock(fd):  # where there are no locks, its maker may be at work
                    import shutil  # noqa: PLC0415 - there is seldom anything to remove

                    shutil.rmtree(place, ignore_errors=True)
            finally:
                os.close(fd)
