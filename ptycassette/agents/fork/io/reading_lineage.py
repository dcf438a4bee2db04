"""Read the origins of the recordings in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ptycassette.agents.fork.places import ForkPlace, cut_at
from ptycassette.agents.fork.report import FORK, Descent, ForkRecord, fork_of, related
from ptycassette.cassette.io.listing import listed_in
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.layout import MANIFEST
from ptycassette.errors import CassetteError, NotFoundError, UsageError
from ptycassette.model.records import Event, ServiceEventRecord
from ptycassette.system.files.whole_file import read_plain

_MOST_MANIFEST = 64 << 20


def manifest_sha256(cassette: Path) -> str:
    """The digest of a cassette's manifest, which itself has the digests of all other files."""
    return hashlib.sha256(read_plain(cassette / MANIFEST, max_bytes=_MOST_MANIFEST)).hexdigest()


def read_lineage(path: Path) -> list[Descent]:
    """The recordings of a folder, at any depth; or all relatives of one recording.

    Raises:
        CassetteError: it is neither a cassette nor a folder, or cannot be read.
    """
    if not (path / MANIFEST).exists():
        return list(_read(_paths(path, recursive=True)))
    own = _descent(path)
    beside = _paths(path.parent, recursive=False)
    found = [one for one in _read(beside) if Path(one.path).resolve() != path.resolve()]
    return related([own, *found], own.path)


def _paths(folder: Path, *, recursive: bool) -> list[Path]:
    listed = listed_in(folder, now=datetime.now(UTC), recursive=recursive)
    return [Path(one.path) for one in listed if one.state in {"ok", "stale"}]


def _read(paths: Iterable[Path]) -> Iterable[Descent]:
    for path in paths:
        try:
            yield _descent(path)
        except CassetteError:  # ``ls`` reports its faults
            continue


def _descent(path: Path) -> Descent:
    with open_cassette(path, check="manifest", allow_unscrubbed=True) as cassette:
        return Descent(
            path=str(path),
            id=cassette.manifest.id,
            sha256=manifest_sha256(path),
            origin=fork_of(cassette.final.metadata),
        )


class ForkBetween(msgspec.Struct, frozen=True):
    """The fork between two recordings, of which one is the child of the other.

    ``t_us``: when the first one reached the place, in microseconds.
    """

    t_us: int
    origin: ForkRecord


def fork_between(first: Path, second: Path) -> ForkBetween | None:
    """The place at which one recording was forked from the other; None if it was not.

    Raises:
        CassetteError: one cannot be read.
    """
    for parent, child in ((first, second), (second, first)):
        with open_cassette(child, check="manifest", allow_unscrubbed=True) as cassette:
            origin = fork_of(cassette.final.metadata)
            if origin is None or origin.parent.manifest_sha256 != manifest_sha256(parent):
                continue
            if child is first:
                mark = fork_mark(cassette)
                return None if mark is None else ForkBetween(mark.t_us, origin)
        with open_cassette(parent, check="manifest", allow_unscrubbed=True) as cassette:
            entries = [one.entry for one in cassette.tape()] if cassette.has_tape else []
            with suppress(NotFoundError, UsageError):  # a cassette may contain any value
                cut = cut_at(ForkPlace.parse(origin.at), cassette.events(), entries)
                return ForkBetween(cut.last_us, origin)
    return None


def fork_mark(child: Cassette) -> Event | None:
    """The event of a child after which the change was made; None if it has no such event."""
    for event in child.events():
        payload = event.record.payload if isinstance(event.record, ServiceEventRecord) else None
        if isinstance(payload, dict) and payload.get("type") == FORK:
            return event
    return None
