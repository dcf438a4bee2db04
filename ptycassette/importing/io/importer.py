"""Reads a file of another tool, and publishes a cassette of it."""

from __future__ import annotations

import hashlib
import os
import secrets
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ptycassette.errors import UnreadableError
from ptycassette.importing.registry import ImportFormat, import_of_file
from ptycassette.importing.session import BadImportError, ImportedSession
from ptycassette.model import EventSource, Finished, Harness, JournalEvent, SessionMeta
from ptycassette.recording import TAPE_OPTION, TapeSource
from ptycassette.recording.io import Finaliser, timestamp
from ptycassette.system.files import open_plain, read_plain
from ptycassette.tape import TapeItem
from ptycassette.tape.io import load_prices
from ptycassette.version import __version__

MAX_FILE_BYTES = 256 << 20
_BEGIN_BYTES = 1 << 16


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import made. ``skipped`` counts what could not be taken, by reason."""

    cassette: str
    source: str
    format: str
    entries: int
    duration_ms: int
    skipped: dict[str, int]
    rebuilt: bool


def import_of(path: Path) -> ImportFormat:
    """The import for a file, by the ending of its name, or by its content.

    Raises:
        NotFoundError, UnreadableError, UnsafeFileError: the file cannot be read.
        UsageError: neither tells the format.
    """
    with os.fdopen(open_plain(path), "rb") as file:
        return import_of_file(path.name, file.read(_BEGIN_BYTES))


def import_file(
    path: Path,
    target: Path,
    *,
    by: ImportFormat,
    overwrite: bool = False,
    partial: bool = False,
    beside: Mapping[str, Path] | None = None,
) -> Imported:
    """Publish a cassette of what is in a file. It is scrubbed, as a recording is.

    Args:
        path: the file.
        target: where the cassette will be.
        by: the file's format.
        overwrite: replace the cassette that is there.
        partial: of a broken file, take what stands before the fault.
        beside: the other files that belong to it, by name (``ImportFormat.beside``).

    Raises:
        NotFoundError, UnreadableError, UnsafeFileError, LimitError: the file cannot be read, or
            is not of the format; the message says where.
        UsageError: a library that reads it is not installed.
        ExistsError, StorageError, SecretLeftError, AmbiguousTapeError: nothing was published.
    """
    data = read_plain(path, max_bytes=MAX_FILE_BYTES)
    others = {
        name: read_plain(other, max_bytes=MAX_FILE_BYTES) for name, other in (beside or {}).items()
    }
    try:
        session = by.read(data, partial=partial, beside=others)
    except BadImportError as exc:
        raise UnreadableError(
            f"no {by.name}: {exc}", where=str(path), hint="say another --format, or mend the file"
        ) from exc
    said = {
        "from": by.name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "rebuilt": session.rebuilt,
        "skipped": dict(session.skipped),
        **({"kept": dict(session.kept)} if session.kept else {}),
    }
    end = Finished(t_us=session.end_us, exit=session.exit)

    def events() -> Iterator[JournalEvent]:
        yield from session.events
        yield end

    source: EventSource = events
    if session.items:
        source = TapeSource(events, lambda: _Items(session.items), load_prices())
    manifest = Finaliser().publish(_meta(session, said), source, target, overwrite=overwrite)
    return Imported(
        cassette=str(target),
        source=str(path),
        format=by.name,
        entries=((manifest.optional or {}).get(TAPE_OPTION) or {}).get("entries", 0),
        duration_ms=session.end_us // 1000,
        skipped=dict(session.skipped),
        rebuilt=session.rebuilt,
    )


def _meta(session: ImportedSession, said: dict[str, object]) -> SessionMeta:
    """The head; what this machine's environment holds is removed, as when recording."""
    options: dict[str, object] = {"imported": said}
    if session.items:
        options[TAPE_OPTION] = {"key": secrets.token_hex(32)}
    environment = dict(os.environ)
    return SessionMeta(
        id=str(uuid.uuid4()),
        argv=session.argv,
        size=session.size,
        recorded_at=timestamp(session.recorded_at or datetime.now(UTC)),
        harness=Harness(name=session.harness),
        environment=environment,
        home=environment.get("HOME", ""),
        recorder_version=f"ptycassette/{__version__}",
        title=session.title,
        term=session.term or "xterm-256color",
        options=options,
    )


class _Items:
    """Items in memory, as a reader of the proxy's journal gives them."""

    head = None

    def __init__(self, items: Sequence[TapeItem]) -> None:
        self._left = deque(items)

    def poll(self) -> Iterator[TapeItem]:
        """Those that were not given yet."""
        while self._left:
            yield self._left.popleft()

    def close(self) -> None:
        """Nothing."""
