"""Read a file of another tool, and publish it as a cassette."""

from __future__ import annotations

import os
import secrets
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import RefusedError, UnreadableError
from ptycassette.formats.editing.io.editing import Operation, edit_cassettes
from ptycassette.formats.importing.charsets import InUtf8, check_charset, undecodable
from ptycassette.formats.importing.io.packed_files import is_packed, name_without, read_unpacked
from ptycassette.formats.importing.io.session_logs import (
    LogAdded,
    LogToAdd,
    harness_of_log,
    with_calls,
)
from ptycassette.formats.importing.registry import ImportFormat, import_named, import_of_file
from ptycassette.formats.importing.session import HALVES, BadImportError, ImportedSession
from ptycassette.model.ports import EventSource
from ptycassette.model.records import (
    Finished,
    Harness,
    JournalEvent,
    Noted,
    SessionMeta,
    without_halves,
)
from ptycassette.model.screen import Size
from ptycassette.model.tape import TAPE_OPTION
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.recording.io.options import timestamp
from ptycassette.recording.tape_source import TapeSource
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.files.whole_file import open_plain
from ptycassette.tape.io.price_table import load_prices
from ptycassette.tape.items import TapeItem
from ptycassette.version import __version__

_NOT_UTF8 = "outputs that are not UTF-8; their charset may be given: --charset NAME"
_BEGIN_BYTES = 1 << 16
_DATABASE = b"SQLite format 3\0"


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import. ``skipped`` counts what was not imported, by reason.

    ``events`` counts service events. ``assumed_size`` is the size (COLSxROWS) of the terminal if
    the file of a recording does not give it. ``log`` is the result for a session log that was added
    to a recording.
    """

    cassette: str
    source: str
    format: str
    entries: int
    events: int
    duration_ms: int
    skipped: dict[str, int]
    rebuilt: bool
    format_version: str | None = None
    made_by: str | None = None
    assumed_size: str | None = None
    log: LogAdded | None = None

    @property
    def kind(self) -> str:
        """The format with its version, and the program that made the file, in words."""
        words = [" ".join(filter(None, (self.format, self.format_version)))]
        if self.made_by:
            words.append(f"made by {self.made_by}")
        return ", ".join(words)


def import_of(path: Path) -> ImportFormat:
    """The import for a file, by the suffix of its name or by its content.

    Session logs are tried first, because traces have the same suffix.

    Raises:
        NotFoundError, UnreadableError, UnsafeFileError: the file cannot be read.
        UsageError: neither determines the format.
    """
    with os.fdopen(open_plain(path), "rb") as file:
        begin = file.read(_BEGIN_BYTES)
    name = path.name
    if is_packed(begin):
        begin, name = read_unpacked(path)[:_BEGIN_BYTES], name_without(path)
    if harness_of_log(name, begin) is not None:
        return import_named("session-log")
    return import_of_file(name, begin)


def import_file(  # noqa: PLR0913 - one for each thing that a user may say
    path: Path,
    target: Path,
    *,
    by: ImportFormat,
    overwrite: bool = False,
    partial: bool = False,
    beside: Mapping[str, Path] | None = None,
    harness: str | None = None,
    size: Size | None = None,
    charset: str | None = None,
    whole: Sequence[str] | None = None,
) -> Imported:
    """Publish the content of a file as a cassette. It is scrubbed like a recording.

    Args:
        path: the file.
        target: the path of the cassette.
        by: the file's format.
        overwrite: replace the cassette that is there.
        partial: import a broken file up to the fault.
        beside: the other files that belong to it, by name (``ImportFormat.beside``).
        harness: the CLI that wrote a session log; None to find out.
        size: the size of the terminal at the start, instead of the one in the file.
        charset: the charset of terminal output and input; None for UTF-8.
        whole: for a test of the calls. Broken calls are refused and not skipped, the model calls
            of a session log are made, too (``with_calls``), and no question may have inputs under
            these keys.

    Raises:
        NotFoundError, UnreadableError, UnsafeFileError, LimitError: the file cannot be read, or
            is not of the format; the message has the place.
        UsageError: a required library is not installed, or the format has no such option.
        RefusedError: a question has inputs under forbidden keys.
        ExistsError, StorageError, SecretLeftError, AmbiguousTapeError: nothing was published.
    """
    by.check_options(
        partial=partial, beside=beside, size=size is not None, charset=charset is not None
    )
    if charset is not None:
        check_charset(charset)
    data = read_unpacked(path)
    others = {name: read_unpacked(other) for name, other in (beside or {}).items()}
    with _refused(path, by):
        if by.whose:
            session = _read_whose(by, path, data, harness)
            session = session if whole is None else with_calls(session)
        else:
            session = by.read(data, partial=partial, beside=others)
        if whole is not None and session.faults:
            more = len(session.faults) - 1
            raise BadImportError(session.faults[0] + (f" (and {more} more)" if more else ""))
    if whole and (found := session.forbidden(whole)):
        raise RefusedError(found, where=str(path), hint="remove them, or name other keys: --forbid")
    session = _as_asked(session, by, data, size=size, charset=charset)
    said: dict[str, object] = {
        "from": by.name,
        "format_version": session.format_version,
        "made_by": session.made_by,
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
        format_version=None if session.format_version is None else str(session.format_version),
        made_by=session.made_by,
        assumed_size=_assumed(session) if by.terminal else None,
    )


def _assumed(session: ImportedSession) -> str | None:
    return None if session.size_known else str(session.size)


def _read_whose(by: ImportFormat, path: Path, data: bytes, harness: str | None) -> ImportedSession:
    """The content of a CLI's file, which is read by its path; a packed file is read from a copy."""
    with path.open("rb") as file:
        if not is_packed(file.read(_BEGIN_BYTES)):
            return by.read_whose(str(path), harness)
    with temporary_folder() as folder:
        copy = folder / name_without(path)
        copy.write_bytes(data)
        return by.read_whose(str(copy), harness)


def _as_asked(
    session: ImportedSession,
    by: ImportFormat,
    data: bytes,
    *,
    size: Size | None,
    charset: str | None,
) -> ImportedSession:
    """The session with the requested size and charset, and with all losses counted."""
    skipped = dict(session.skipped)
    if by.json and not data.startswith(_DATABASE) and (halves := without_halves(data)[1]):
        skipped[HALVES] = halves
    if charset is not None:
        events: Iterable[JournalEvent] = InUtf8(session.events, charset)
        session = msgspec.structs.replace(session, events=events)
    elif by.raw and (chunks := undecodable(session.events)):
        skipped[_NOT_UTF8] = chunks
    if size is not None:
        session = msgspec.structs.replace(session, size=size, size_known=True)
    return msgspec.structs.replace(session, skipped=skipped)


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
        target: the path of the new cassette.
        harness: the CLI that wrote the log; None to find out.
        overwrite: replace the cassette that is there.

    Raises:
        CassetteError: the log or the cassette cannot be read; nothing was published.
        UsageError: the log is of another session, or is in the recording already.
    """
    by = import_named("session-log")
    data = read_unpacked(path)
    with _refused(path, by):
        session = _read_whose(by, path, data, harness)
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
        made_by=session.made_by,
        log=added,
    )


@contextmanager
def _refused(path: Path, by: ImportFormat) -> Iterator[None]:
    """Add the path of the file to a reader's error."""
    try:
        yield
    except BadImportError as exc:
        ways = ["choose another --format"]
        if by.name == "trace":
            ways.append("add --harness NAME if it is the session log of an agent CLI")
        if by.partial:
            ways.append("take what can be read with --partial")
        raise UnreadableError(
            f"not a valid {by.name} file: {exc}",
            where=str(path),
            hint=f"{', '.join(ways)}, or repair the file",
        ) from exc


def _meta(session: ImportedSession, said: dict[str, object]) -> SessionMeta:
    """The head; values from this machine's environment are removed, as when recording."""
    options: dict[str, object] = {"imported": said}
    if session.items:
        described: dict[str, object] = {"compared_headers": list(session.compared_headers)}
        if session.rebuilt_entries:
            described["rebuilt"] = list(session.rebuilt_entries)
        options[TAPE_OPTION] = {"key": secrets.token_hex(32), "described": described}
    environment = dict(os.environ)
    return SessionMeta(
        id=str(uuid.uuid4()),
        argv=session.argv,
        size=session.size,
        recorded_at=timestamp(session.recorded_at or datetime.now(UTC)),
        harness=Harness(name=session.harness, binary_version=session.harness_version),
        environment=environment,
        home=environment.get("HOME", ""),
        recorder_version=f"ptycassette/{__version__}",
        title=session.title,
        term=session.term or "xterm-256color",
        options=options,
    )


class _Items:
    """Items in memory, with the interface of the proxy's journal reader."""

    head = None

    def __init__(self, items: Sequence[TapeItem]) -> None:
        self._left = deque(items)

    def poll(self) -> Iterator[TapeItem]:
        """The items that were not returned yet."""
        while self._left:
            yield self._left.popleft()

    def close(self) -> None:
        """Do nothing."""
