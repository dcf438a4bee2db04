"""The result of reading another tool's file: a session, or a script, and what was skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from ptycassette.model.records import ExitStatus, Finished, JournalEvent, Noted, Output, Typed
from ptycassette.model.screen import Size
from ptycassette.model.stored_screen import MAX_SIDE
from ptycassette.tape.consent.terms import UnsearchedBodyError, search_body
from ptycassette.tape.items import RequestData, TapeItem

_SHOWN = 5

HALVES = "half of a character (an unpaired surrogate), which became U+FFFD"
"""The reason that is counted for a lone surrogate in a file."""


class BadImportError(ValueError):
    """The file is not of its format. The message has the line, or the number of an entry."""


class ImportedScript(msgspec.Struct, frozen=True, kw_only=True):
    """The actions in a file, as an input script.

    Attributes:
        steps: lines of the script.
        options: options of ``rec`` for everything that a script has no step for.
        argv: the program, or the shell.
        skipped: counts of what was not imported, by reason.
    """

    steps: tuple[str, ...]
    options: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    skipped: Mapping[str, int] = {}


class ImportedSession(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file.

    Attributes:
        events: the events at the terminal, in order of time, without the end. It is iterated
            over several times.
        items: model traffic, in order of time; times count from the same moment.
        compared_headers: the headers of questions that the file has; a rerun compares no others.
        rebuilt_entries: the questions that were rebuilt from parts, numbered from 1.
        end_us: when the session ended.
        size: the size of the terminal.
        size_known: whether the file gives the size; otherwise it is assumed.
        made_by: the program that made the file, with its version; None if unknown.
        format_version: the version of the file's format; None if it has none.
        argv: the command line; empty if unknown.
        harness: the name of the program.
        harness_version: its version; None if unknown.
        recorded_at: when it began; None if unknown.
        exit: how the program ended; None if unknown.
        title: the title of the recording.
        final: other facts about the whole session: fields of ``Finished``.
        term: the terminal's type; None if unknown.
        kept: further data of the file, which an export writes again.
        skipped: counts of what was not imported, by reason.
        faults: broken calls among these: the place, the field, and the reason of each.
        rebuilt: whether the traffic was rebuilt from a description, because the file does not have
            the actual requests.
    """

    events: Iterable[JournalEvent] = ()
    items: Sequence[TapeItem] = ()
    compared_headers: Sequence[str] = ()
    rebuilt_entries: Sequence[int] = ()
    end_us: int = 0
    size: Size = Size(24, 80)
    size_known: bool = True
    made_by: str | None = None
    format_version: int | str | None = None
    argv: tuple[str, ...] = ()
    harness: str = "imported"
    harness_version: str | None = None
    recorded_at: datetime | None = None
    exit: ExitStatus | None = None
    final: Mapping[str, Any] = {}
    title: str | None = None
    term: str | None = None
    kept: Mapping[str, Any] = {}
    skipped: Mapping[str, int] = {}
    faults: Sequence[str] = ()
    rebuilt: bool = False

    def forbidden(self, keys: Sequence[str]) -> str:
        """The places of inputs under forbidden keys in its calls, in words; empty without any.

        Bodies that cannot be searched are left out.
        """
        bodies: dict[int, bytes] = {}
        for item in self.items:
            if isinstance(item, RequestData):
                bodies[item.exchange] = bodies.get(item.exchange, b"") + item.data
        places = [(f"question {number}", body) for number, body in bodies.items()]
        for note in self.events:
            payload = note.payload if isinstance(note, Noted) else None
            if isinstance(payload, dict) and "call_id" in payload:
                what = f"{payload.get('type')} {payload.get('name') or payload['call_id']}"
                places.append((what, msgspec.json.encode(payload)))
        for where, body in places:
            with suppress(UnsearchedBodyError):
                if paths := search_body(body, keys).paths:
                    return f"{where} has inputs under forbidden keys: {', '.join(paths[:_SHOWN])}"
        return ""


# The events of a terminal recording: read once to check them, then again for each use.


MAX_SECONDS = 1_000_000_000
"""The longest recording: 31 years."""
_FEW_EVENTS, _EVENT_BYTES = 50_000, 50
"""An event takes some 25 us to save, however short it is. Typical ones have more than 50 bytes in
a file; a recording of at most this many events may have shorter ones."""
_WEIGHTS: dict[type, int] = {Typed: 2, Noted: 5}
"""These take longer."""


class Skipped(msgspec.Struct, frozen=True):
    """Something that a cassette has no place for; ``reason`` is the same for all of its kind."""

    reason: str


Parser = Callable[[], Iterator[JournalEvent | Skipped]]


class _Events:
    """The events of a parser, up to the end or the first fault. Each iteration parses again."""

    def __init__(self, parse: Parser, count: int) -> None:
        self._parse, self._count = parse, count

    def __iter__(self) -> Iterator[JournalEvent]:
        for one in islice(self._parse(), self._count):
            if not isinstance(one, Skipped | Finished):
                yield one


def checked_session(
    parse: Parser, *, partial: bool, file_bytes: int, **facts: Any
) -> ImportedSession:
    """The session of a terminal recording.

    Args:
        file_bytes: the length of the file and those beside it; more events than it allows are a
            fault.
        parse: starts a parser. It raises ``BadImportError`` at a fault; its last event is
            ``Finished``, with the exit status, if the file has one.
        partial: keep the events before a fault, and count the rest as skipped.
        **facts: the other fields of ``ImportedSession``.

    Raises:
        BadImportError: there is a fault, or no output at all.
    """
    skipped: Counter[str] = Counter()
    count = end_us = 0
    with_output = False
    ended: ExitStatus | None = None
    room = max(_FEW_EVENTS, file_bytes // _EVENT_BYTES)
    try:
        for one in parse():
            room -= _WEIGHTS.get(type(one), 1)
            if room < 0:
                raise _too_many(file_bytes)
            count += 1
            match one:
                case Skipped(reason):
                    skipped[reason] += 1
                    continue
                case Finished():
                    ended = one.exit
                case Output():
                    with_output = True
                case _:
                    pass
            end_us = one.t_us
    except BadImportError as fault:
        if not partial or not with_output:
            raise
        skipped[f"the rest of the file, because of a fault: {fault}"] += 1
    if not with_output:
        raise BadImportError("it holds no output")
    return ImportedSession(
        events=_Events(parse, count), end_us=end_us, exit=ended, skipped=dict(skipped), **facts
    )


def _too_many(file_bytes: int) -> BadImportError:
    most = max(_FEW_EVENTS, file_bytes // _EVENT_BYTES)
    return BadImportError(
        f"more than {most} events in {file_bytes} bytes (an input counts as two, a marker as five);"
        " take those before with --partial, or split the recording"
    )


def microseconds(seconds: float, where: str) -> int:
    """A length of time, or a moment since the start, in microseconds.

    Raises:
        BadImportError: it is negative, not a number, or longer than 31 years.
    """
    if not 0 <= seconds <= MAX_SECONDS:
        raise BadImportError(f"{where}: the time {seconds:g} s is not between 0 and 31 years")
    return round(seconds * 1_000_000)


def checked_size(rows: int, cols: int, where: str) -> Size:
    """The size of a terminal.

    Raises:
        BadImportError: it is empty, or larger than the emulator's largest.
    """
    if not (1 <= rows <= MAX_SIDE and 1 <= cols <= MAX_SIDE):
        raise BadImportError(
            f"{where}: the size {cols}x{rows} is not between 1x1 and {MAX_SIDE}x{MAX_SIDE}"
        )
    return Size(rows, cols)


def exited(code: int) -> ExitStatus:
    """The exit status of a program that ended without a signal."""
    return ExitStatus(code=code, exited=True, signaled=False)
