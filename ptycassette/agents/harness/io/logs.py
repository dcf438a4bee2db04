"""Read the session logs of a CLI, whose paths and formats are in its profile."""

from __future__ import annotations

import glob
import os
import re
import sqlite3
import time
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, Protocol

import msgspec

from ptycassette.errors import (
    CassetteError,
    LimitError,
    NotFoundError,
    UnreadableError,
    UnsafeFileError,
    UsageError,
)
from ptycassette.model.limits import check_density
from ptycassette.model.re2_engine import file_pattern
from ptycassette.model.records import Noted, foreign_json
from ptycassette.profiles.profile import Profile
from ptycassette.profiles.session_log import LogFacts, LogSource, read_rows
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.system.files.state_dirs import home_dir
from ptycassette.system.files.whole_file import open_plain, read_plain

_HINT = "give the log as the CLI wrote it"
_MAX_BYTES = 256 * 1024 * 1024
# A row takes about 7 us if no rule matches it, else up to 20; rows of CLIs have hundreds of bytes.
_MAX_SHORT_ROWS, _ROW_BYTES = 50_000, 50
_MAX_SHORT_MATCHES, _MATCH_CHARS = 20_000, 250
_QUERY_S, _BYTES_A_SECOND = 0.5, 50_000_000
"""Processor time of one query, and more by the size of the database: rows that are sorted may each
carry a copy of the longest value, which is few steps and many bytes."""
_QUERY_STEPS, _STEPS_AT_ONCE = 5_000_000, 1000
"""Instructions of SQLite for one query, and one more for each byte of the database: less than half
a second. A row takes some fifty."""
_ROWS_BYTES = 1 << 20
"""Bytes of the rows of one query, and twice those of the database: joined rows repeat some."""
_MAX_MORE_FILES = 1000
_MAX_VALUES, _VALUE_BYTES = 500_000, 8


def read_logs(
    profile: Profile, *, home: Path, cwd: Path, since_s: float = 0.0
) -> tuple[LogFacts, str | None]:
    """The facts in the newest logs, and the path of the first one.

    Args:
        profile: the CLI's profile.
        home: the home of the run.
        cwd: the folder in which the run was started.
        since_s: only files changed at or after this epoch second count.

    Returns:
        Facts (empty if there is no log) and the log's path relative to its base.

    Raises:
        UnreadableError: a log exists, but cannot be read in its format.
    """
    facts = LogFacts()
    relative_path: str | None = None
    for source in profile.logs:
        base = home if source.base == "home" else cwd
        paths = _newest(base, source, since_s)
        if not paths:
            continue
        relative_path = relative_path or str(paths[-1].relative_to(base))
        files = [file for one in paths for file in (one, *_more(one, source))]
        rows = chain.from_iterable(_rows(source, one) for one in files)
        facts = _merged(facts, read_rows(source, rows))
    return facts, relative_path


def read_log_file(profile: Profile, path: Path) -> LogFacts:
    """The facts in one file, which is a log of that CLI in any folder.

    Raises:
        UnreadableError: it cannot be read in the log's format.
        UsageError: the CLI has no readable logs.
    """
    named = [log for log in profile.logs if fnmatch(path.name, PurePath(log.glob).name)]
    logs = named or [log for log in profile.logs if log.glob == profile.logs[0].glob]
    if not logs:
        raise UsageError(f"the profile of {profile.name} describes no session log")
    facts = LogFacts()
    for log in logs:
        files = (*_together(path, log), *_more(path, log))
        rows = chain.from_iterable(_rows(log, one) for one in files)
        facts = _merged(facts, read_rows(log, rows))
    return facts


def _more(path: Path, log: LogSource) -> list[Path]:
    """Files of the same session below the file's folder, such as those of subagents."""
    if log.beside is None:
        return []
    pattern = log.beside.replace("{stem}", glob.escape(path.stem))
    found = (one for one in path.parent.glob(pattern) if one.is_file() and not one.is_symlink())
    return sorted(found)[:_MAX_MORE_FILES]


def _together(path: Path, log: LogSource) -> list[Path]:
    """The file, or all files of its log, in the order of their changes."""
    if not log.together:
        return [path]
    files = (one for one in path.parent.glob(PurePath(log.glob).name) if not one.is_symlink())
    return [one for _, one in sorted((one.stat().st_mtime_ns, one) for one in files)]


def _newest(base: Path, source: LogSource, since_s: float) -> list[Path]:
    """The file that changed last, or all files of its folder in the order of their changes."""
    found = sorted(
        (path.stat().st_mtime_ns, path)
        for path in base.glob(source.glob)
        if path.is_file() and not path.is_symlink()
    )
    if not found or found[-1][0] < since_s * 1e9:
        return []
    folder = found[-1][1].parent
    files = [path for _, path in found if path.parent == folder]
    return files if source.together else files[-1:]


def _merged(one: LogFacts, two: LogFacts) -> LogFacts:
    """Both merged; fields of the second override those of the first."""
    return LogFacts(
        events=one.events + two.events,
        times=one.times + two.times,
        unread=dict(Counter(one.unread) + Counter(two.unread)),
        usage=two.usage or one.usage,
        cost_usd=one.cost_usd if two.cost_usd is None else two.cost_usd,
        final_text=two.final_text or one.final_text,
        model=two.model or one.model,
        version=two.version or one.version,
    )


def _rows(source: LogSource, path: Path) -> Iterator[Any]:
    try:
        match source.format:
            case "json":
                yield _document(path)
            case "jsonl":
                yield from _json_lines(path)
            case "sqlite":
                yield from _query(path, source.query or "")
            case "text":
                text = read_plain(path, max_bytes=_MAX_BYTES).decode("utf-8", "replace")
                yield from _matches(source.regex or "", text, path)
    except (OSError, sqlite3.Error, NotFoundError, UnsafeFileError, LimitError) as failed:
        why = failed.message if isinstance(failed, CassetteError) else failed
        raise UnreadableError(
            f"the session log cannot be read: {why}", where=str(path), hint=_HINT
        ) from failed


def _matches(regex: str, text: str, path: Path) -> Iterator[dict[str, Any]]:
    """The groups of every match. The pattern is trusted: the profile also names the program."""
    most = max(_MAX_SHORT_MATCHES, len(text) // _MATCH_CHARS)
    for number, match in enumerate(file_pattern(regex).matches(text, max_steps=None)):
        if number > most:
            raise LimitError(
                f"more than {most} matches, of less than {_MATCH_CHARS} characters",
                where=str(path),
            )
        yield match.groupdict()


def _document(path: Path) -> Any:
    """A file that is one JSON document."""
    data = read_plain(path, max_bytes=_MAX_BYTES)
    check_density(data, max(_MAX_VALUES, len(data) // _VALUE_BYTES), str(path))
    try:
        return foreign_json(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as wrong:
        raise UnreadableError(
            f"the session log is not JSON: {wrong}", where=str(path), hint=_HINT
        ) from wrong


def _json_lines(path: Path) -> Iterator[Any]:
    """Lines of JSON. A broken line is a ``Raw``; a torn last one is left out.

    A CLI that is killed leaves a torn line, and a machine that loses power leaves zeros instead. If
    the session continues, its rows follow.

    Raises:
        UnreadableError: no line is JSON.
    """
    data = read_plain(path, max_bytes=_MAX_BYTES).removeprefix(BOM_UTF8)
    if data.count(b"\n") > max(_MAX_SHORT_ROWS, len(data) // _ROW_BYTES):
        raise LimitError(
            f"more than {_MAX_SHORT_ROWS} rows, of less than {_ROW_BYTES} bytes each",
            where=str(path),
        )
    check_density(data, max(_MAX_VALUES, len(data) // _VALUE_BYTES), str(path))
    lines = data.split(b"\n")
    broken: UnreadableError | None = None
    read = False
    for number, line in enumerate(lines, 1):
        text = line.strip(b"\0 \t\r")
        if not text:
            continue
        try:
            row = foreign_json(text)
        except (msgspec.DecodeError, ValueError, RecursionError) as wrong:
            if number == len(lines):
                continue
            broken = broken or UnreadableError(
                f"the session log is not JSON: {wrong}", where=f"{path}:{number}", hint=_HINT
            )
            row = msgspec.Raw(text)
        else:
            read = True
        yield row
    if broken is not None and not read:
        raise broken


def _query(path: Path, query: str) -> Iterator[dict[str, Any]]:
    """Rows of a query; columns with JSON objects or lists are decoded."""
    # Opening a pipe would wait for ever, and SQLite opens by name.
    fd = open_plain(path)
    try:
        size = os.fstat(fd).st_size
        if size > _MAX_BYTES:
            raise LimitError(f"larger than {_MAX_BYTES} bytes", where=str(path))
    finally:
        os.close(fd)
    with suppress(OSError):
        size += Path(f"{path}-wal").lstat().st_size
    # Read-only, and with the write-ahead log that the CLI may have left.
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        steps = iter(range((_QUERY_STEPS + size) // _STEPS_AT_ONCE))
        allowed = _QUERY_S + size / _BYTES_A_SECOND
        until = time.thread_time() + allowed

        def is_enough() -> bool:
            return next(steps, None) is None or time.thread_time() > until

        database.set_progress_handler(is_enough, _STEPS_AT_ONCE)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ROWS_BYTES + size)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        database.execute("pragma trusted_schema = off")
        database.execute("pragma temp_store = file")  # sorted data may be as large as the tables
        try:
            _refuse_made_up(database, query, path)
            for row in _rows_of(database.execute(query), size, path):
                begun = time.thread_time()
                yield row
                until += time.thread_time() - begun  # what the caller took
        except sqlite3.OperationalError as failed:
            if str(failed) != "interrupted":
                raise
            raise LimitError(
                f"reading it takes more than {_QUERY_STEPS + size} steps of SQLite, or more than"
                f" {allowed:.1f} s of processor",
                where=str(path),
            ) from failed


def _refuse_made_up(database: sqlite3.Connection, query: str, path: Path) -> None:
    """Refuse a database in which the query reads anything but tables with stored columns.

    Views, virtual tables and generated columns are programs, which can make endless rows from a
    file of a few kilobytes.
    """
    read: set[str] = set()

    def note(action: int, table: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ and table:
            read.add(table.lower())
        return sqlite3.SQLITE_OK

    database.set_authorizer(note)
    database.execute(f"explain {query}").close()
    database.set_authorizer(None)
    made = "select 1 from pragma_table_xinfo(?) where hidden != 0"
    for name, kind, sql in database.execute("select name, type, sql from sqlite_schema").fetchall():
        if str(name).lower() not in read or kind not in {"table", "view"}:
            continue
        virtual = str(sql).lower().split()[:2] == ["create", "virtual"]
        if kind == "view" or virtual:
            problem = f"{name} is a view" if kind == "view" else f"{name} is a virtual table"
        elif database.execute(made, (name,)).fetchone() is not None:
            problem = f"{name} has a generated column"
        else:
            continue
        raise LimitError(f"{problem}, and only plain tables are read", where=str(path))


def _rows_of(cursor: sqlite3.Cursor, size: int, path: Path) -> Iterator[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    most_rows = max(_MAX_SHORT_ROWS, size // _ROW_BYTES)
    most_bytes = room = _ROWS_BYTES + 2 * size
    for number, row in enumerate(cursor):
        room -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if number > most_rows:
            raise LimitError(f"more than {most_rows} rows", where=str(path))
        if room < 0:
            raise LimitError(f"its rows have more than {most_bytes} bytes", where=str(path))
        yield {name: _decoded(value, path) for name, value in zip(names, row, strict=True)}


def _decoded(value: Any, path: Path) -> Any:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        data = value.encode("utf-8", "surrogatepass")
        check_density(data, max(_MAX_VALUES, len(data) // _VALUE_BYTES), str(path))
        try:
            return foreign_json(value)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return value
    return value


# Recording with a profile: the CLI's own session log goes into the cassette.


_FEW_PARTS = 2  # "/" and one folder, whose name may be a word like any other


class _Recorder(Protocol):
    """The methods of ``Recorder`` that are used here."""

    journal: JournalFile

    def set_final(self, **fields: Any) -> None: ...


def plain_environment(profile: Profile) -> dict[str, str]:
    """The variables of a profile for all runs, including the user's own."""
    return {name: value for name, value in profile.environment.items() if "${" not in value}


def log_reader(
    profile: Profile, *, home: Path, cwd: Path, since_s: float
) -> Callable[[_Recorder, int], None]:
    """A function for ``RecordOptions.at_end`` that reads the log after the program's end.

    Args:
        profile: the CLI's profile.
        home: the home of the run.
        cwd: the folder in which the run was started.
        since_s: epoch second of the start; older logs are from other sessions.
    """

    def at_end(recorder: _Recorder, t_us: int) -> None:
        try:
            facts, path = read_logs(profile, home=home, cwd=cwd, since_s=since_s)
        except CassetteError as failed:
            note = {"type": "session-log-unreadable", "message": failed.message}
            recorder.journal.on_event(Noted(t_us, note))
            return
        for event in facts.events:
            recorder.journal.on_event(Noted(t_us, event))
        named = None if path is None else without_folder(path, cwd)
        recorder.set_final(**_final(facts), session_log_path=named)

    return at_end


def without_folder(path: str, cwd: Path) -> str:
    """The path of a log with ``$PWD`` for the work folder, from which some CLIs make a file name.

    They write ``-home-ada-my-notes`` for ``/home/ada/my_notes`` or ``/home/ada/my.notes``: each
    character that is neither a letter nor a digit becomes a dash, or only the slashes do.
    """
    if len(cwd.absolute().parts) <= _FEW_PARTS:
        return path
    folders = {str(cwd.absolute()).strip("/"), str(cwd.resolve()).strip("/")}
    names = {
        name
        for one in folders
        for name in (one.replace("/", "-"), re.sub(r"[^A-Za-z0-9]", "-", one))
    }
    for name in sorted(names, key=len, reverse=True):
        path = path.replace(name, "$PWD")
    return path


def reader_for(
    profile: Profile, cwd: str | None, home: str | None = None
) -> Callable[[_Recorder, int], None]:
    """A log reader for a run that starts now; in the user's own home when ``home`` is None."""
    place = (home_dir() or Path("/dev/null")) if home is None else Path(home)
    return log_reader(profile, home=place, cwd=Path(cwd or "."), since_s=time.time())


def _final(facts: LogFacts) -> dict[str, Any]:
    return {
        "usage": facts.usage,
        "cost_usd": facts.cost_usd,
        "final_text": facts.final_text,
        "routing_actual": facts.model,
    }
