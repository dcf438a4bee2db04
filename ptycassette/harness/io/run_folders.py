"""Private folders for runs of a program: of an offline run, of a scenario, of a probe.

A folder is held by a lock as long as the run, or a program that inherited the lock, is alive.
Folders of killed runs are removed by the next one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ptycassette.errors import StorageError
from ptycassette.system.files import remove_unheld


class RunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A private folder.

    ``lock`` is a file descriptor that holds it: a program that inherits it holds the folder, too.
    """

    path: Path
    lock: int


@contextmanager
def run_folder(root: Path | None, *, keep: bool = False) -> Iterator[RunFolder]:
    """A private folder for a run, removed at its end.

    Args:
        root: where to make it; in the user's cache folder when None, because some CLIs refuse
            homes under the system's temporary folder.
        keep: leave it there.

    Raises:
        StorageError: the disk refuses.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    parent = root or Path(cache) / "ptycassette" / "offline"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        remove_unheld(parent.glob("run-*"))
        path, lock = _held(parent, "kept-" if keep else "run-")
    except OSError as failed:
        raise StorageError(f"cannot be made: {failed.strerror}", where=str(parent)) from failed
    try:
        yield RunFolder(path=path, lock=lock)
    finally:
        if not keep:
            # Processes that the CLI started may still write while they end.
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _held(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder, and the lock on it."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # another run took it for one that is left
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.is_dir():
            return path, lock
        os.close(lock)
