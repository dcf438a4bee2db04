"""Private folders for runs of a program: of an offline run, of a scenario, of a probe.

A folder is held by a lock as long as the run, or a program that inherited the lock, is alive.
Folders of killed runs are removed by the next one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from ptycassette.errors import StorageError
from ptycassette.system import owned_context
from ptycassette.system.files import home_dir, remove_unheld, spare_dirs, try_lock


class RunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A private folder.

    ``lock`` is a file descriptor that holds it: a program that inherits it holds the folder, too.
    """

    path: Path
    lock: int


class RunPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run has its home and its work folder."""

    home: Path
    cwd: Path
    folder: RunFolder


@owned_context
def run_place(
    root: Path | None,
    *,
    cwd: Path | None = None,
    files: Mapping[str, str] | None = None,
    keep: bool = False,
) -> Iterator[RunPlace]:
    """A private folder, with a home and a work folder in it.

    Args:
        root: as for ``run_folder``.
        cwd: a work folder of the caller's, in place of one in the home.
        files: texts to write into the work folder, by name.
        keep: as for ``run_folder``.

    Raises:
        StorageError: the disk refuses.
    """
    with run_folder(root, keep=keep) as folder:
        # A name that occurs on no screen, because the scrubber treats it as a user's name.
        home = folder.path / "run-home"
        # Inside the home, as a user would have it: CLIs then show it as ~/work.
        place = RunPlace(home=home, cwd=cwd or home / "work", folder=folder)
        home.mkdir(mode=0o700)
        place.cwd.mkdir(exist_ok=True)
        for name, text in (files or {}).items():
            (place.cwd / name).write_text(text)
        yield place


@owned_context
def run_folder(root: Path | None, *, keep: bool = False) -> Iterator[RunFolder]:
    """A private folder for a run, removed at its end.

    Args:
        root: where to make it; in the user's cache folder when None, because some CLIs refuse
            homes under the system's temporary folder.
        keep: leave it there.

    Raises:
        StorageError: the disk refuses.
    """
    places = [root] if root else [place / "offline" for place in _caches()]
    for at, parent in enumerate(places):
        try:
            parent.mkdir(parents=True, exist_ok=True)
            remove_unheld(parent.glob("run-*"))
            path, lock = _held(parent, "kept-" if keep else "run-")
            break
        except OSError as failed:
            if at + 1 < len(places):
                continue
            raise StorageError(
                f"cannot be made: {failed.strerror}",
                where=str(parent),
                hint="set XDG_CACHE_HOME to a directory that you can write to",
            ) from failed
    else:
        raise StorageError(
            "there is no place for the folder of a run",
            hint="set XDG_CACHE_HOME to a directory that you can write to",
        )
    try:
        yield RunFolder(path=path, lock=lock)
    finally:
        if not keep:
            # Processes that the CLI started may still write while they end.
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _caches() -> Iterator[Path]:
    """The user's cache folder, and what takes its place where there is none."""
    home, xdg = home_dir(), os.environ.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/"):
        yield Path(xdg) / "ptycassette"
    elif home is not None:
        yield home / ".cache" / "ptycassette"
    yield from spare_dirs()


def _held(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder, and the lock on it."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # another run took it for one that is left
            continue
        try_lock(lock, wait=True)
        if path.is_dir():
            return path, lock
        os.close(lock)
