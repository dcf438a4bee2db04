"""Where traces are: a directory for each run of pytest, one inside it for each test.

Only the newest runs are kept. Nothing is deleted but what this package wrote: the files of traces,
by their names, in the directories of tests, in directories of runs that carry our mark; no link is
followed, and a directory with anything else in it stays.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["FILES", "MARK", "prune_runs", "run_name", "runs_of"]

FILES = ("trace.html", "trace.json", "trace.md")
MARK = ".ptycassette-traces-of-a-run"
_RUN = re.compile(r"\d{8}T\d{6}Z-\d+\Z")


def run_name() -> str:
    """The name of a run that starts now; later runs sort behind it."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid():07d}"


def runs_of(place: Path) -> list[Path]:
    """The directories of runs in ``place``, the newest first."""
    try:
        found = [Path(entry) for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    ours = [path for path in found if _RUN.match(path.name) and _is_file(path / MARK)]
    return sorted(ours, key=lambda path: path.name, reverse=True)


def prune_runs(place: Path, keep: int) -> None:
    """Delete the traces of all runs but the newest ``keep``. What cannot be deleted stays."""
    for run in runs_of(place)[max(0, keep) :]:
        with suppress(OSError):
            _delete(run)


def _delete(run: Path) -> None:
    for test in [Path(entry) for entry in os.scandir(run) if entry.is_dir(follow_symlinks=False)]:
        for name in FILES:
            if _is_file(test / name):
                (test / name).unlink()
        with suppress(OSError):
            test.rmdir()
    if [entry.name for entry in os.scandir(run)] == [MARK]:
        (run / MARK).unlink()
        run.rmdir()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
