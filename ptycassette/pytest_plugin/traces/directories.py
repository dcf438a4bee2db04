"""The directories of traces: one for each run of pytest, and one in it for each test.

Only the newest runs are kept. Only files that this package wrote are deleted: traces, by their
names, in directories of runs that have our mark. Links are not followed, and a directory with other
files stays.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

PLACE = ".ptycassette-traces"
"""The directory of all traces, in the root directory of pytest, where nobody names another."""
FILES = ("trace.html", "trace.json", "trace.md")
INDEX = "index.html"
MARK = ".ptycassette-traces-of-a-run"
_RUN = re.compile(r"\d{8}T\d{6}Z-\d+\Z")


def runs_of(place: Path) -> list[Path]:
    """The directories of runs in ``place``, the newest first."""
    try:
        found = [Path(entry) for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    ours = [path for path in found if _RUN.match(path.name) and _is_file(path / MARK)]
    return sorted(ours, key=lambda path: path.name, reverse=True)


def find_traces(start: Path) -> list[Path]:
    """The JSON of the traces nearest to ``start``: in it, or in a directory above; newest first."""
    for directory in (start, *start.parents):
        found = traces_at(directory / PLACE)
        if found:
            return found
    return []


def traces_at(path: Path) -> list[Path]:
    """The JSON of the traces at ``path``, the newest first.

    Args:
        path: a file of a trace, or a directory: of a test, of a run, or of all runs.
    """
    if path.name in FILES and _is_file(path.with_name("trace.json")):
        return [path.with_name("trace.json")]
    if _is_file(path / "trace.json") and not (path / "manifest.json").exists():
        return [path / "trace.json"]
    runs = [path] if _is_file(path / MARK) else runs_of(path)
    return [trace for run in runs for trace in _tests_of(run)]


def _tests_of(run: Path) -> list[Path]:
    """The traces of one run, the newest first."""
    try:
        places = [Path(entry) for entry in os.scandir(run) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    found = [place / "trace.json" for place in places if _is_file(place / "trace.json")]
    return sorted(found, key=lambda path: (-path.stat().st_mtime_ns, path.parent.name))


def prune_runs(place: Path, keep: int) -> None:
    """Delete the traces of all but the newest ``keep`` runs, as far as possible."""
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
    if {entry.name for entry in os.scandir(run)} <= {MARK, INDEX}:
        if _is_file(run / INDEX):
            (run / INDEX).unlink()
        (run / MARK).unlink()
        run.rmdir()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
