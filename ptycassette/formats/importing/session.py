"""What a reader of another tool's file finds in it: a session without its end, and what it left."""

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
"""What is counted where a file has a character of which only one half is there."""


class BadImportError(ValueError):
    """The file is not of its format. The message says where: a line, or the number of an entry."""


class ImportedScript(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says that is to be done to a program, as an input script.

    Attributes:
        steps: lines of the script.
        options: of ``rec``, that do what a script has no step for.
        argv: the program, or the shell.
        skipped: what could not be taken: how many times, by reason.
    """

    steps: tuple[str, ...]
    options: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    skipped: Mapping[str, int] = {}


class ImportedSession(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file.

    Attributes:
        events: what happened at the terminal, in order of time, without the end. It is iterated
            over several times.
        items: model traffic, in order of time; times count from the same moment.
        compared_headers: the headers of questions that the file holds; a rerun compares no others.
        rebuilt_entries: the questions that were rebuilt from parts, numbered from 1.
        end_us: when the session ended.
        size: of the terminal.
        size_known: whether the file gives the size; otherwise it is assumed.
        made_by: the program that made the file, with its version; None where the file does not
            name it.
        format_version: of the file's format; None where it has none.
        argv: of the program; empty where the file does not say it.
        harness: the name of the program.
        harness_version: its version; None where the file does not say it.
        recorded_at: when it began; None where the file does not say it.
        exit: how the program ended; None where the file does not say it.
        title: of the recording.
        final: what the file says of the whole session besides: fields of ``Finished``.
        term: the terminal's type; None where the file does not say it.
        kept: what the file says besides, to be written again by an export.
        skipped: what could not be taken: how many times, by reason.
        faults: broken calls among these: where each is, its field, and the reason.
        rebuilt: whether the traffic was made of what the file says about it, because the file
            does not hold what was sent.
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
        """Where its calls have inputs under forbidden keys, in words; empty where they do not.

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
"""An event takes some 25 us to be saved, however short it is. Typical ones have more than 50 bytes
in a file; a recording of no more than so many events may have shorter ones."""
_WEIGHTS: dict[type, int] = {Typed: 2, Noted: 5}
"""These take longer."""


class Skipped(msgspec.Struct, frozen=True):
    """Something that a cassette has no place for; ``reason`` is the same for all alike."""

    reason: str


Parser = Callable[[], Iterator[JournalEvent | Skipped]]


class _Events:
    """The events of a parser, up to the end or to the first fault. Each iteration parses again."""

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
        file_bytes: the length of the file, with those beside it; more events than it allows are a
            fault.
        parse: starts a parser. It raises ``BadImportError`` at a fault; ``Finished``, with the
            exit status, is its last event if it has one.
        partial: keep what stands before a fault, and count the rest as skipped.
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
    """A length of time, or a moment since the start.

    Raises:
        BadImportError: it is negative, no number, or longer than 31 years.
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
    """The exit of a program that no signal ended."""
    return ExitStatus(code=code, exited=True, signaled=False)
