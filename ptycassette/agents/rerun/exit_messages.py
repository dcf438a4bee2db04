"""Remove messages that a program prints only in some runs while it ends. Pure.

Its profile declares them (``screens.at_exit``). They are removed only from the last screen; a
screen on which a key was typed is compared whole. Text that such a message pushed off the screen is
missing, and is reported as a difference. So is a stack trace whose message is not above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ptycassette.model.re2_engine import file_pattern
from ptycassette.model.records import Event, InputRecord, painted_bytes
from ptycassette.model.screen import Size
from ptycassette.profiles.profile import ExitMessage
from ptycassette.terminal.emulator import PyteEmulator

_ROWS_ABOVE = 1000  # if more of a message has scrolled off, the rest is compared


def without_exit_messages(
    rows: Sequence[str], messages: Sequence[ExitMessage], above: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """The rows without these messages, and the names of the messages that were found.

    A message is its first row, the rows that follow it, and one blank row after them.

    Args:
        rows: the rows of the last screen.
        messages: in the order in which they are searched.
        above: the rows that scrolled off the screen, the oldest first: a message may begin there.
    """
    left, gone = list(rows), list(above)
    names = []
    for message in messages:
        gone, kept = _without(gone, left, message)
        if kept != left:
            left = kept
            names.append(message.name)
    return left, names


def from_farewell(
    recorded: Sequence[str], now: Sequence[str], farewell: str
) -> tuple[Sequence[str], Sequence[str]]:
    """Two last screens from the row that matches ``farewell``, if both have such a row.

    The rows above it may or may not have been painted once more while the program ended.
    """
    if not farewell:
        return recorded, now
    pattern = file_pattern(farewell)
    ends = []
    for rows in (recorded, now):
        found = [number for number, row in enumerate(rows) if pattern.found(row)]
        if not found:
            return recorded, now
        ends.append(rows[found[-1] :])
    return ends[0], ends[1]


def may_begin_above(rows: Sequence[str], messages: Sequence[ExitMessage]) -> bool:
    """Whether the first row may be the rest of a message; then the rows above it are needed."""
    return any(file_pattern(message.rows).found(row) for message in messages for row in rows[:1])


def scrolled_off(events: Iterable[Event], size: Size) -> tuple[str, ...]:
    """The rows that scrolled off the screen by the end of a recording, the oldest first.

    Args:
        events: all events.
        size: the size of its terminal at the beginning.
    """
    emulator = PyteEmulator(size, scrollback=_ROWS_ABOVE)
    for event in events:
        if event.kind == "output":
            emulator.feed(painted_bytes(event))
        elif isinstance(event.record, InputRecord) and event.record.size is not None:
            emulator.resize(event.record.size)
    return emulator.scrollback()


def _without(
    above: Sequence[str], rows: Sequence[str], message: ExitMessage
) -> tuple[list[str], list[str]]:
    """The rows that are left above the screen and on it."""
    first, more = file_pattern(message.first), file_pattern(message.rows)
    gone: list[str] = []
    kept: list[str] = []
    inside = False
    for number, row in enumerate((*above, *rows)):
        if first.found(row) or (inside and more.found(row)):
            inside = True
        elif inside and not row.strip():
            inside = False
        else:
            inside = False
            (gone if number < len(above) else kept).append(row)
    return gone, kept
