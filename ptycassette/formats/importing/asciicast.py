"""Import asciicast files, versions 1, 2 and 3, as asciinema writes them.

Source: https://docs.asciinema.org/manual/asciicast/v1/, v2/ and v3/. Version 1 is one JSON document
with intervals between outputs; versions 2 and 3 are a header and a line for each event, stamped
with seconds since the start (2) or since the event before (3). Each time is rounded to microseconds
by itself, as asciinema does. Unknown codes are skipped, as the format requires.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from ptycassette.errors import LimitError
from ptycassette.formats.importing.session import (
    BadImportError,
    ImportedSession,
    Skipped,
    checked_session,
    checked_size,
    exited,
    microseconds,
)
from ptycassette.keys.quantities import parse_size, time_text
from ptycassette.model.limits import DEFAULT_LIMITS, check_density
from ptycassette.model.records import (
    Finished,
    JournalEvent,
    Noted,
    Output,
    Resized,
    Typed,
    foreign_json,
)
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Size

# JSON of other tools: one document, or one on each line, with a limit on its values.


_BYTES_A_VALUE = 8
_FEW_LINES, _LINE_BYTES = 50_000, 50
"""A call takes more than fifty bytes, and some 10 us to be read."""


def decoded(
    data: bytes, where: str, kind: Any = Any, *, max_values: int = DEFAULT_LIMITS.max_line_values
) -> Any:
    """Decode JSON as a value of ``kind``.

    Args:
        data: the JSON.
        where: its place in the file, for messages.
        kind: the type of the value.
        max_values: the limit on values, or one for each eight bytes if that is more; a value takes
            some fifty bytes of memory.

    Raises:
        BadImportError: it is not JSON of that kind, or has more values.
    """
    try:
        check_density(data, max(max_values, len(data) // _BYTES_A_VALUE), where)
        return foreign_json(data, resolved(kind))
    except LimitError as exc:
        raise BadImportError(f"{where}: {exc.message}") from exc
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        raise BadImportError(f"{where}: {_cause(exc)}") from exc


def _cause(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "it nests too deep"
    if isinstance(exc, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {exc.start + 1}"
    return str(exc)


def objects_of(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object with its line number.

    Raises:
        BadImportError: a line is not an object.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        whole = decoded(data, "the document")
    except BadImportError:
        pass
    else:
        if isinstance(whole, dict):
            yield 1, whole
            return
    most = max(_FEW_LINES, len(data) // _LINE_BYTES)
    if data.count(b"\n") > most:
        raise BadImportError(f"more than {most} lines in {len(data)} bytes; split the file")
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        value = decoded(line, f"line {number} is not JSON")
        if not isinstance(value, dict):
            raise BadImportError(f"line {number} is not an object")
        yield number, value


_MAX_LINE_BYTES = 16 << 20
_MAX_DOCUMENT_BYTES = 64 << 20
_STATUS = re.compile(r"-?\d{1,9}")
_KEPT = ("env", "idle_time_limit", "tags")


class _Header(msgspec.Struct, kw_only=True):
    """The header of versions 1 and 2, and of version 3 except for the terminal."""

    version: Literal[1, 2, 3]
    timestamp: float | None = None
    command: str | None = None
    title: str | None = None
    idle_time_limit: float | None = None
    env: dict[str, str | None] | None = None
    tags: list[str] | None = None


class _Sized(_Header, kw_only=True):
    width: int
    height: int
    theme: dict[str, Any] | None = None


class _Document(_Sized, kw_only=True):
    duration: float = 0.0
    stdout: list[tuple[float, str]]


class _Terminal(msgspec.Struct, kw_only=True):
    cols: int
    rows: int
    type: str | None = None
    version: str | None = None
    theme: dict[str, Any] | None = None


class _Header3(_Header, kw_only=True):
    term: _Terminal


class _Version(msgspec.Struct):
    version: int


def read_asciicast(data: bytes, *, partial: bool = False) -> ImportedSession:
    """The session of an asciicast.

    Args:
        data: the file.
        partial: read a broken file of version 2 or 3 up to the fault.

    Raises:
        BadImportError: it is broken, or not an asciicast; the message has the line.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    first, body = _header_line(data)
    try:
        version = decoded(first, "line 1", _Version).version
    except BadImportError:
        if first.lstrip()[:1] != b"{" or first.rstrip()[-1:] == b"}":
            raise
        return _read_v1(data)  # a document of version 1 can have many lines
    if version == 1:
        return _read_v1(data)
    if version not in {2, 3}:
        raise BadImportError(f"line 1: version {version} of asciicast is not known: it ends at 3")
    header: _Sized | _Header3 = decoded(first, "line 1", _Sized if version == 2 else _Header3)
    return checked_session(
        lambda: _events(data, body, version),
        partial=partial,
        file_bytes=len(data),
        **_facts(header, "line 1"),
    )


def _header_line(data: bytes) -> tuple[bytes, int]:
    """The first line, and the offset of the next one."""
    end = data.find(b"\n", 0, _MAX_LINE_BYTES)
    return (data, len(data)) if end < 0 else (data[:end], end + 1)


def _read_v1(data: bytes) -> ImportedSession:
    if len(data) > _MAX_DOCUMENT_BYTES:
        raise BadImportError(f"it is larger than {_MAX_DOCUMENT_BYTES >> 20} MB for version 1")
    document = decoded(data, "the document", _Document)
    if document.version != 1:
        raise BadImportError(f"a file of version {document.version} begins with one line of JSON")

    def events() -> Iterator[JournalEvent | Skipped]:
        t_us = 0
        for number, (delay, text) in enumerate(document.stdout):
            t_us += microseconds(delay, f"stdout[{number}]")
            microseconds(t_us / 1e6, f"stdout[{number}]")
            yield Output(t_us, text.encode())
        yield Finished(t_us=max(t_us, microseconds(document.duration, "the duration")))

    return checked_session(
        events, partial=False, file_bytes=len(data), **_facts(document, "the document")
    )


def _facts(header: _Sized | _Header3, where: str) -> dict[str, Any]:
    if isinstance(header, _Header3):
        size = checked_size(header.term.rows, header.term.cols, where)
        term, theme = header.term.type, header.term.theme
    else:
        size = checked_size(header.height, header.width, where)
        term, theme = (header.env or {}).get("TERM"), header.theme
    kept = {name: value for name in _KEPT if (value := getattr(header, name)) is not None}
    if theme is not None:
        kept["theme"] = theme
    command = header.command
    return {
        "size": size,
        "argv": () if command is None else ("sh", "-c", command),  # as asciinema runs it
        "term": term,
        "title": header.title,
        "recorded_at": _moment(header.timestamp, where),
        "kept": kept,
        "format_version": header.version,
    }


def _moment(timestamp: float | None, where: str) -> datetime | None:
    if timestamp is None:
        return None
    if not 0 <= timestamp < 1e11:
        raise BadImportError(f"{where}: the timestamp {timestamp:g} is not a moment since 1970")
    return datetime.fromtimestamp(timestamp, UTC)


def _events(data: bytes, begin: int, version: int) -> Iterator[JournalEvent | Skipped]:
    """The events of version 2 or 3, line by line."""
    t_us = 0
    number, end = 1, begin
    while end < len(data):
        number, begin = number + 1, end
        stop = data.find(b"\n", begin, begin + _MAX_LINE_BYTES)
        if stop < 0 and len(data) - begin > _MAX_LINE_BYTES:
            raise BadImportError(f"line {number}: it is longer than {_MAX_LINE_BYTES >> 20} MB")
        end = len(data) if stop < 0 else stop + 1
        line, where = data[begin:end].strip(), f"line {number}"
        if not line or (version == 3 and line[:1] == b"#"):
            continue
        stamp, code, value = decoded(line, where, tuple[float, str, Any])
        now_us = microseconds(stamp, where) + (t_us if version == 3 else 0)
        microseconds(now_us / 1e6, where)
        if now_us < t_us:
            raise BadImportError(
                f"{where}: the time goes back, from {time_text(t_us / 1e6)} to {time_text(stamp)}"
            )
        t_us = now_us
        one = _event(t_us, code, value, version, where)
        yield one
        if isinstance(one, Finished):
            if data[end:].strip():
                raise BadImportError(f"line {number + 1}: an event after the exit")
            return


def _event(t_us: int, code: str, value: Any, version: int, where: str) -> JournalEvent | Skipped:
    if code not in {"o", "i", "r", "m", "x"} or (code == "x" and version == 2):
        return Skipped(f"events of a code that version {version} does not name")
    if not isinstance(value, str):
        raise BadImportError(f"{where}: the data of {code} is not a text")
    match code:
        case "o":
            return Output(t_us, value.encode())
        case "i":
            return Typed(t_us, value.encode())
        case "m":
            return Noted(t_us, {"type": "marker", "label": value})
        case "x":
            if _STATUS.fullmatch(value) is None:
                raise BadImportError(f"{where}: the exit status is not a number")
            return Finished(t_us=t_us, exit=exited(int(value)))
        case _:
            return Resized(t_us, _size(value, where))


def _size(text: str, where: str) -> Size:
    try:
        size = parse_size(text)
    except ValueError as exc:
        raise BadImportError(f"{where}: the resize {exc}") from exc
    return checked_size(size.rows, size.cols, where)
