"""Recordings of a test that has not passed yet, kept in the library's directory until it passes.

A test may fail after its program was recorded. Until the test passes, its recordings are in a
separate directory on the library's file system. Then they are moved into the library, one rename
each, or dropped. Git ignores the directory, in case a crash leaves it behind.

The directory is locked (flock) as long as its maker lives. One without a lock was left by a crash,
and the result of its test will never be known. It is removed when the next one is made in the
library, or a recording is recovered into the library.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ptycassette.cassette.io.staging import check_target, disk_errors, exchange
from ptycassette.errors import CassetteError, RefusedError
from ptycassette.model.records import ExitStatus
from ptycassette.system.clock import monotonic_s
from ptycassette.system.files.locks import remove_unheld, try_lock
from ptycassette.system.ownership import Owner

# Whether a run may replace the cassette that is there (docs/decisions/0154).


def reason_to_keep(
    target: Path, status: ExitStatus | None, *, showed_output: Callable[[], bool]
) -> str | None:
    """Why the cassette at ``target`` must be kept; None if this run may replace it.

    A run that failed without any output must not replace a recording that has some.

    Args:
        target: the path of the cassette, which need not exist.
        status: how the program ended.
        showed_output: whether this run had output; asked only where that matters.
    """
    if status is None or (status.exited and status.code == 0) or not _has_output(target):
        return None
    if showed_output():
        return None
    how = f"by a signal ({status.signal})" if status.signaled else f"with status {status.code}"
    return f"the program ended {how} and showed nothing; the cassette that is there was kept"


def _has_output(target: Path) -> bool:
    from ptycassette.cassette.io.reader import open_cassette  # noqa: PLC0415 - failed runs need it

    try:
        with open_cassette(target, check="manifest", allow_unscrubbed=True) as cassette:
            return cassette.output_size > 0
    except CassetteError:
        return False


PREFIX = ".ptycassette-pending-"
_RECORDER = ".recorder-"
_LOOK_S = 0.02

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PendingRecordings:
    """Recordings for ``library`` in ``place``, a directory of their own inside of it.

    ``lock`` is a descriptor of ``place`` that is locked. A process that inherits it holds the lock,
    too.
    """

    def __init__(self, library: Path, place: Path, lock: int) -> None:
        self.library = library
        self.place = place
        self.lock = lock
        self._owner = Owner()

    @classmethod
    def around(cls, recording: Path) -> PendingRecordings | None:
        """The pending recordings around one of them, without their lock; None for another path."""
        for place in recording.parents:
            if place.name.startswith(PREFIX):
                return cls(place.parent, place, -1)
        return None

    @classmethod
    def new(cls, library: Path) -> PendingRecordings:
        """Make an empty one; remove what crashes left of others.

        Raises:
            StorageError: the disk refuses.
        """
        with disk_errors("making a place for recordings", library):
            library.mkdir(parents=True, exist_ok=True)
            remove_abandoned_recordings(library)
            while True:
                place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=library))
                lock = os.open(place, _DIRECTORY)
                try_lock(lock, wait=True)  # without locks, nothing is removed either
                if place.exists():  # else another process removed it before it was locked
                    break
                os.close(lock)
            (place / ".gitignore").write_text("*\n", encoding="utf-8")
        return cls(library, place, lock)

    def wait(self, timeout_s: float) -> bool:
        """Wait for recorders that have outlived their shims; whether all have ended in time."""
        until = monotonic_s() + timeout_s
        for path in self.place.glob(f"{_RECORDER}*"):
            with contextlib.suppress(OSError):  # a file system without locks
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    while try_lock(fd) is False:
                        if monotonic_s() > until:
                            return False
                        time.sleep(_LOOK_S)
                finally:
                    os.close(fd)
        return True

    def publish(self) -> list[Path]:
        """Move all recordings into the library; returns where they are now.

        Raises:
            RefusedError: ``refuse_unwanted`` refuses one; only that one is dropped.
            NewerCassetteError, ExistsError: the target exists and is not replaced.
            StorageError: the disk refuses.
        """
        published, refused = [], None
        for manifest in sorted(self.place.rglob("manifest.json")):
            made = manifest.parent
            target = self.library / made.relative_to(self.place)
            try:
                refuse_unwanted(made, target)
            except RefusedError as exc:
                refused = exc
                continue
            self._move(made, target)
            published.append(target)
        self.drop()
        if refused is not None:
            raise refused
        return published

    def drop(self) -> None:
        """Remove all recordings that are still pending."""
        if not self._owner.here:
            return
        shutil.rmtree(self.place, ignore_errors=True)
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def _move(self, made: Path, target: Path) -> None:
        replaced = check_target(target, overwrite=True)
        with disk_errors("publishing the cassette", target):
            target.parent.mkdir(parents=True, exist_ok=True)
            if replaced is not None and not exchange(made, target):
                target.rename(made.with_name(f"{made.name}.old"))
                replaced = None
            if replaced is None:
                made.rename(target)


def hold_pending(place: Path) -> int:
    """A locked descriptor for a recorder to inherit; ``PendingRecordings.wait`` waits for it.

    Args:
        place: of the recordings, which another process publishes.

    Raises:
        StorageError: the disk refuses.
    """
    with disk_errors("making a place for recordings", place):
        fd, _ = tempfile.mkstemp(prefix=_RECORDER, dir=place)
        try_lock(fd, wait=True)
    return fd


def published_path(path: Path) -> Path:
    """The path that a pending recording will have in its library; any other path unchanged."""
    for number, part in enumerate(path.parts):
        if part.startswith(PREFIX):
            return Path(*path.parts[:number], *path.parts[number + 1 :])
    return path


def remove_abandoned_recordings(library: Path) -> None:
    """Remove, as far as possible, the directories of pending recordings whose makers are gone."""
    found: list[Path] = []
    with contextlib.suppress(OSError):
        found += library.glob(f"{PREFIX}*")
    remove_unheld(found)


def refuse_unwanted(made: Path, target: Path) -> None:
    """Refuse a recording that must not become the cassette at ``target``.

    Refused are an empty recording of a program that did not end by itself, and a failed run
    without output where the existing cassette has some.

    Raises:
        RefusedError: it is such a recording.
    """
    from ptycassette.cassette.io.reader import open_cassette  # noqa: PLC0415 - savers need it rarely

    with open_cassette(made, check="manifest", allow_unscrubbed=True) as cassette:
        status = cassette.final.exit
        silent = cassette.output_size == 0  # the ends of its streams are no output
    kept = reason_to_keep(target, status, showed_output=lambda: not silent)
    if kept is not None:
        raise RefusedError(
            kept,
            where=target.name,
            hint="delete the existing cassette if the program should fail without output",
        )
    if silent and (status is None or status.signaled):
        raise RefusedError(
            "nothing was shown, and the program did not end by itself: an empty recording "
            "is not kept",
            where=target.name,
            hint="let the program show its first screen before it is ended",
        )
