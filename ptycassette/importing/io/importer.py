"""Reads a file of another tool, and publishes a cassette of it."""

from __future__ import annotations

import os
import secrets
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ptycassette.cassette.io import open_cassette
from ptycassette.editing.io import Operation, edit_cassettes
from ptycassette.errors import UnreadableError
from ptycassette.importing.io.session_logs import LogAdded, LogToAdd, harness_of_log
from ptycassette.importing.registry import ImportFormat, import_named, import_of_file
from ptycassette.importing.session import BadImportError, ImportedSession
from ptycassette.model import EventSource, Finished, Harness, JournalEvent, Noted, SessionMeta
from ptycassette.recording import TAPE_OPTION, TapeSource
from ptycassette.recording.io import Finaliser, timestamp
from ptycassette.system.files import open_plain, read_plain
from ptycassette.tape import TapeItem
from ptycassette.tape.io import load_prices
from ptycassette.version import __version__

MAX_FILE_BYTES = 256 << 20
_BEGIN_BYTES = 1 << 16


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import made. ``skipped`` counts what could not be taken, by reason.

    ``events`` counts service events. ``log`` is what became of a session log that was added to a
    recording.
    """

    cassette: str
    source: str
    format: str
    entries: int
    events: int
    duration_ms: int
    skipped: dict[str, int]
    rebuilt: bool
    log: LogAdded | None = None


def import_of(path: Path) -> ImportFormat:
    """The import for a file, by the ending of its name or by its content.

    A session log is known first, because its ending is that of a trace, too.

    Raises:
        NotFoundError, UnreadableError, UnsafeFileError: the file cannot be read.
        UsageError: neither tells the format.
    """
    with os.fdopen(open_plain(path), "rb") as file:
        begin = file.read(_BEGIN_BYTES)
    if harness_of_log(path.name, begin) is not None:
        return import_named("session-log")
    return import_of_file(path.name, begin)


def import_file(
    path: Path,
    target: Path,
    *,
    by: ImportFormat,
    overwrite: bool = False,
    partial: bool = False,
    beside: Mapping[str, Path] | None = None,
    harness: str | None = None,
) -> Imported:
    """Publish a cassette of what is in a file. It is scrubbed, as a recording is.

    Args:
        path: the file.
        target: where the cassette will be.
        by: the file's format.
        overwrite: replace the cassette that is there.
        partial: of a broken file, take what stands before the fault.
        beside: the other files that belong to it, by name (``ImportFormat.beside``).
        harness: whose session log it is; None to find out.

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
    with _refused(path, by):
        if by.whose:
            by.check_options(partial=partial, beside=others)
            session = by.read_whose(str(path), harness)
        else:
            session = by.read(data, partial=partial, beside=others)
    said = {
        "from": by.name,
        "rebuilt": session.rebuilt,
        "skipped": dict(session.skipped),
        **({"kept": dict(session.kept)} if session.kept else {}),
    }
    end = Finished(t_us=session.end_us, exit=session.exit, **session.final)
    noted = 0

    def events() -> Iterator[JournalEvent]:
        nonlocal noted
        noted = 0
        for event in session.events:
            noted += isinstance(event, Noted)
            yield event
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
        events=noted,
        duration_ms=session.end_us // 1000,
        skipped=dict(session.skipped),
        rebuilt=session.rebuilt,
    )


def add_log(
    path: Path,
    cassette: Path,
    target: Path,
    *,
    harness: str | None = None,
    overwrite: bool = False,
) -> Imported:
    """Publish a recording again, with the events of the CLI's own log of that session.

    Args:
        path: the log.
        cassette: the recording, which stays as it is.
        target: where the new cassette will be.
        harness: whose log it is; None to find out.
        overwrite: replace the cassette that is there.

    Raises:
        CassetteError: the log or the cassette cannot be read; nothing was published.
        UsageError: the log is of another session, or is in the recording already.
    """
    by = import_named("session-log")
    read_plain(path, max_bytes=MAX_FILE_BYTES)  # its errors say more than those of the log's reader
    with _refused(path, by):
        session = by.read_whose(str(path), harness)
    with open_cassette(cassette, check="manifest") as opened:
        adding = LogToAdd(session, opened.manifest.provenance.recorded_at)
    arguments = {"from": session.harness}
    operation = Operation(name="import", arguments=arguments, of=adding)
    made = edit_cassettes([cassette], operation, target, overwrite=overwrite)
    added = adding.done
    return Imported(
        cassette=made.cassette,
        source=str(path),
        format=by.name,
        entries=0,
        events=0 if added is None else added.added,
        duration_ms=made.duration_ms,
        skipped=dict(session.skipped),
        rebuilt=False,
        log=added,
    )


@contextmanager
def _refused(path: Path, by: ImportFormat) -> Iterator[None]:
    """Say of which file it is that a reader refuses it."""
    try:
        yield
    except BadImportError as exc:
        raise UnreadableError(
            f"no {by.name}: {exc}", where=str(path), hint="say another --format, or mend the file"
        ) from exc


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
