"""Takes a stretch of time out of a session, or keeps only one.

Output that follows a stretch that was taken out still finds the screen that the stretch had
painted: one piece of output at the place of the cut paints it. Nothing of what was shown in between
is left in it but what is on the screen and in its history at the end of the cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from ptycassette.editing.session import BadEditError, Take, at
from ptycassette.keys.quantities import time_text
from ptycassette.model.geometry import Size
from ptycassette.model.journal import Finished, JournalEvent, Output, Probed, Resized
from ptycassette.terminal.emulator import PyteEmulator, default_emulator
from ptycassette.terminal.repaint import RESET, repaint_bytes

_CANCEL = b"\x18"
"""CAN: ends a sequence that is not complete, which the cut has left behind."""


def cut(take: Take, start_us: int, end_us: int | None = None) -> Take:
    """Take out what happened from ``start_us`` until just before ``end_us``; what follows moves up.

    Args:
        take: the session.
        start_us: microseconds since its start.
        end_us: the same; None for all the rest. How the program ended stays.

    Raises:
        BadEditError: nothing lies there.
    """
    stop_us = take.end_us if end_us is None else min(end_us, take.end_us)
    if not 0 <= start_us < stop_us:
        raise BadEditError(
            f"there is nothing to cut between {_seconds(start_us)} and {_seconds(stop_us)}:"
            f" {take.name or 'the recording'} ends at {_seconds(take.end_us)}"
        )
    if start_us == 0 and stop_us == take.end_us:
        raise BadEditError("nothing would be left: this cuts out all of it")
    if start_us == 0:
        return _beginning_at(take, stop_us, ends=end_us is None)
    stretch = _Stretch(take, start_us, stop_us, ends=end_us is None)
    return take.changed(stretch.events, end_us=take.end_us - (stop_us - start_us), keeps_tape=False)


def trim(take: Take, start_us: int = 0, end_us: int | None = None) -> Take:
    """Keep what happened from ``start_us`` to ``end_us``, both included.

    Raises:
        BadEditError: nothing lies there, or nothing else.
    """
    if end_us is not None and end_us < take.end_us:
        if end_us < start_us:
            raise BadEditError(f"{_seconds(end_us)} is before {_seconds(start_us)}")
        take = cut(take, end_us + 1)
    elif not start_us:
        raise BadEditError(f"this keeps all of it: it ends at {_seconds(take.end_us)}")
    return cut(take, 0, start_us) if start_us else take


def _beginning_at(take: Take, start_us: int, *, ends: bool) -> Take:
    """The session from ``start_us`` on: a fresh terminal of the size that it had then."""
    size = take.meta.size
    for event in take.source():
        if event.t_us >= start_us and not ends:
            break
        if isinstance(event, Resized):
            size = event.size
    meta = msgspec.structs.replace(
        take.meta, size=size, recorded_at=_later(take.meta.recorded_at, start_us)
    )
    stretch = _Stretch(take, 0, start_us, ends=ends)
    return take.changed(stretch.events, end_us=take.end_us - start_us, meta=meta, keeps_tape=False)


def _later(moment: str, us: int) -> str:
    """A moment in RFC 3339 so much later; one that cannot be read stays."""
    try:
        later = datetime.fromisoformat(moment) + timedelta(microseconds=us)
    except (ValueError, OverflowError):
        return moment
    return later.isoformat().replace("+00:00", "Z")


class _Stretch:
    """What is left when a stretch is taken out."""

    def __init__(self, take: Take, start_us: int, stop_us: int, *, ends: bool) -> None:
        self._take, self._ends = take, ends
        self._start_us, self._stop_us = start_us, stop_us

    def events(self) -> Iterator[JournalEvent]:
        """The events that are left, with one that paints what the stretch had painted."""
        screen = _Screen(default_emulator(self._take.meta.size), self._start_us == 0)
        closed = False
        for event in self._take.source():
            if isinstance(event, Probed):
                yield event
            elif event.t_us < self._start_us:
                screen.saw(event)
                yield event
            elif self._within(event):
                screen.saw(event, lost=True)
            else:
                if not closed and not self._ends:
                    yield from screen.painted(self._start_us)
                closed = True
                moved = max(event.t_us - self._stop_us, 0) + self._start_us
                yield at(event, moved)

    def _within(self, event: JournalEvent) -> bool:
        if isinstance(event, Finished):
            return False
        return self._ends or event.t_us < self._stop_us


class _Screen:
    """The screen at a place of a session, and what of it a cut has lost."""

    def __init__(self, emulator: PyteEmulator, fresh: bool) -> None:  # noqa: FBT001
        self._emulator, self._fresh = emulator, fresh
        self._size: Size | None = None
        self._open_before = False
        self._lost = False
        self._tail = b""

    def saw(self, event: JournalEvent, *, lost: bool = False) -> None:
        """Take an event of the session, and whether it is ``lost``."""
        match event:
            case Output(data=data, stream=None):
                if lost and not self._lost:
                    self._open_before = bool(self._emulator.pending)
                self._lost |= lost
                self._emulator.feed(data)
                pending = self._emulator.pending
                self._tail = (self._tail + data)[-pending:] if pending else b""
            case Resized(size=size):
                self._emulator.resize(size)
                if lost:
                    self._size = size

    def painted(self, t_us: int) -> Iterator[JournalEvent]:
        """What brings a terminal that has not seen what was lost to this screen."""
        if self._size is not None and not self._fresh:
            yield Resized(t_us, self._size)
        if self._lost:
            start = b"" if self._fresh else (_CANCEL if self._open_before else b"") + RESET
            data = start + repaint_bytes(self._emulator) + self._tail
            if data:
                yield Output(t_us, data)


def _seconds(t_us: int) -> str:
    return f"{time_text(t_us / 1_000_000)}"
