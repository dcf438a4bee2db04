"""The events of a terminal recording: read once to check them, then again for each use.

A parser is a function that starts a fresh iterator over the file's bytes. It is run to its end
before anything is written, so a broken file leaves nothing half-written, and no list of events is
held in memory: a file of 256 MB can hold twenty million.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec

from ptycassette.importing.session import BadImportError, ImportedSession
from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.journal import Finished, JournalEvent, Noted, Output, Typed
from ptycassette.model.stored_screen import MAX_SIDE

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
