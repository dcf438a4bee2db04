"""How often each rule or command of a library was used, kept in a file between processes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.json_values import NOT_JSON, storable_text
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible
from ptycassette.system.files.locks import try_lock

STARTS_FILE = "starts.json"
_MAX_COUNTS = 1 << 20


class StartCounts:
    """Counts in a directory of state; one per test."""

    def __init__(self, state: Path) -> None:
        self._path = state / STARTS_FILE

    def count(self, key: str) -> int:
        """Count ``key`` once more; returns the count before. Safe between processes.

        Raises:
            UsageError: the file cannot be kept there, or is no file of counts.
        """
        key = storable_text(key)
        try:
            with _open_counts(self._path) as file:
                try_lock(file.fileno(), wait=True)
                counts = msgspec.json.decode(
                    file.read(_MAX_COUNTS) or b"{}", type=resolved(dict[str, int])
                )
                before = counts.get(key, 0)
                counts[key] = before + 1
                file.seek(0)
                file.truncate()
                file.write(msgspec.json.encode(counts))
        except (*NOT_JSON, OSError) as exc:
            raise UsageError(
                f"the number of the next session cannot be kept here: {visible(str(exc))}",
                where=str(self._path),
                hint="remove the file, or name another directory (ptycassette shim --state)",
            ) from exc
        return before


def forget_starts(state: Path) -> None:
    """Reset the counts: the next start of each rule is its first."""
    (state / STARTS_FILE).unlink(missing_ok=True)


def _open_counts(path: Path) -> BinaryIO:
    """Open or create the file of counts. Never follows a link, and never blocks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("no regular file")
    return os.fdopen(fd, "r+b")
