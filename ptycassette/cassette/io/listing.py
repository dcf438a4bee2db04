"""The cassettes in a directory, described by their manifests and small documents only.

The streams are not read, so that a library of hundreds is listed at once. ``ok`` in a list does
not mean that the digests are right; ``verify`` checks that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from ptycassette.cassette.freshness import age_problem, recorded_when
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.layout import DIAGNOSTIC, MANIFEST
from ptycassette.errors import (
    CassetteError,
    DiagnosticError,
    NotFoundError,
    UnreadableError,
)
from ptycassette.system.files.directory_handle import links_followed
from ptycassette.system.files.near_names import hint_for_missing

ListedState = Literal["ok", "stale", "unscrubbed", "failed", "invalid"]
STATES: dict[ListedState, str] = {
    "ok": "can be opened",
    "stale": "older than its own freshness window",
    "unscrubbed": "recorded without scrubbing",
    "failed": "a diagnostic of a run that failed",
    "invalid": "not a valid cassette, or one that this version does not read",
}
"""What each state says of a cassette."""

MAX_DEPTH = 16


class ListedCassette(msgspec.Struct, frozen=True, kw_only=True):
    """A cassette in a list. Fields that are not known are null.

    ``bytes`` is the size of its files, ``problem`` why its state is not ``ok``.
    """

    path: str
    state: ListedState
    bytes: int
    problem: str | None = None
    harness: str | None = None
    harness_version: str | None = None
    duration_us: int | None = None
    recorded_at: str | None = None
    age_s: int | None = None


def listed_in(place: Path, *, now: datetime, recursive: bool = False) -> Iterator[ListedCassette]:
    """The cassettes directly in a directory, or the cassette that the directory itself is.

    Args:
        place: the directory.
        now: timezone-aware.
        recursive: also list directories below, except hidden ones and links. A link to a cassette
            is listed if the environment allows links.

    Raises:
        NotFoundError: the directory does not exist.
        UnreadableError: the system refuses to list it.
    """
    if _is_cassette(place):
        yield _described(place, now)
        return
    yield from _below(place, now, depth=MAX_DEPTH if recursive else 0)


def _below(place: Path, now: datetime, *, depth: int, top: bool = True) -> Iterator[ListedCassette]:
    try:
        names = sorted(entry.name for entry in os.scandir(place) if _may_be_listed(entry))
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise NotFoundError(
            "there is no such directory", where=str(place), hint=hint_for_missing(place)
        ) from exc
    except OSError as exc:
        if not top:
            return
        raise UnreadableError(exc.strerror or str(exc), where=str(place)) from exc
    for name in names:
        path = place / name
        if _is_cassette(path):
            yield _described(path, now)
        elif depth and not path.is_symlink():
            with suppress(NotFoundError):  # removed since it was listed
                yield from _below(path, now, depth=depth - 1, top=False)


def _may_be_listed(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and entry.is_dir(follow_symlinks=links_followed())


def _is_cassette(path: Path) -> bool:
    return os.path.lexists(path / MANIFEST) or os.path.lexists(path / DIAGNOSTIC)


def _described(path: Path, now: datetime) -> ListedCassette:
    size = _size_of(path)
    try:
        with open_cassette(path, check="manifest", allow_unscrubbed=True) as cassette:
            manifest, final = cassette.manifest, cassette.final
            unscrubbed = cassette.scrub_report.status == "unscrubbed"
    except CassetteError as exc:
        state: ListedState = "failed" if isinstance(exc, DiagnosticError) else "invalid"
        return ListedCassette(path=str(path), state=state, bytes=size, problem=exc.message)
    when = recorded_when(manifest)
    problem = age_problem(manifest, now)
    return ListedCassette(
        path=str(path),
        state="unscrubbed" if unscrubbed else "stale" if problem else "ok",
        bytes=size,
        problem=STATES["unscrubbed"] if unscrubbed else problem,
        harness=manifest.harness.name,
        harness_version=manifest.harness.binary_version,
        duration_us=final.duration_ms * 1000 if final.t_us is None else final.t_us,
        recorded_at=manifest.harness.captured_at or manifest.provenance.recorded_at,
        age_s=None if when is None else int((now - when).total_seconds()),
    )


def _size_of(path: Path) -> int:
    total = 0
    with suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            with suppress(OSError):
                status = entry.stat(follow_symlinks=links_followed())
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total
