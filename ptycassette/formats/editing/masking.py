"""Edit one session: mask, cut, trim, change its speed, join, annotate.

Each edit takes a ``Take`` and returns a new one. Masking replaces each character with a cross that
has the same number of bytes and cells, so that the layout stays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import msgspec

from ptycassette.keys.quantities import time_text
from ptycassette.model.ports import EventSource
from ptycassette.model.records import (
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    Resized,
    SessionMeta,
    Traffic,
    Typed,
    storable_text,
)
from ptycassette.model.screen import Screen, Size
from ptycassette.scrub.mask import mask_text
from ptycassette.terminal.emulator import PyteEmulator, default_emulator
from ptycassette.terminal.repaint import RESET, repaint_bytes
from ptycassette.terminal.watched import PaintedBytes

# A session that is edited: its head, its events and its changes.


class BadEditError(ValueError):
    """The edit does not fit the recording. The message gives the reason."""


class Take(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded session, the input and the output of an edit.

    Attributes:
        meta: its head.
        source: its events, from the first to ``Finished``.
        end_us: when it ended.
        name: its name for messages.
        keeps_tape: whether its model traffic still fits. After a cut the tape would have questions
            and answers that no longer belong to the session.
    """

    meta: SessionMeta
    source: EventSource
    end_us: int
    name: str = ""
    keeps_tape: bool = True

    @property
    def on_terminal(self) -> bool:
        """Whether the program's output went to a terminal."""
        return self.meta.streams is None or self.meta.streams.stdout == "terminal"

    def changed(self, source: EventSource, *, end_us: int | None = None, **fields: Any) -> Take:
        """The same session with other events."""
        return msgspec.structs.replace(
            self, source=source, end_us=self.end_us if end_us is None else end_us, **fields
        )


def at(event: JournalEvent, t_us: int) -> JournalEvent:
    """The event, moved to another time."""
    return event if event.t_us == t_us else msgspec.structs.replace(event, t_us=t_us)


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the screen: rows and columns counted from 1, as terminals count them."""

    row: int
    column: int
    rows: int
    columns: int


class Mask(msgspec.Struct, frozen=True, kw_only=True):
    """The words to mask, or the stretch of time and the region whose content to mask.

    Attributes:
        words: texts to mask everywhere; excludes a region and a stretch.
        region: mask only output in this region, and no input.
        start_us, end_us: the stretch; to the end of the recording when ``end_us`` is None.
    """

    words: tuple[str, ...] = ()
    region: Region | None = None
    start_us: int = 0
    end_us: int | None = None


def mask(take: Take, what: Mask) -> Take:
    """Mask a region or a stretch. Words are masked when the result is scrubbed.

    Raises:
        BadEditError: there is nothing to mask.
    """
    if what.words:
        return take
    if what.region is not None:
        return mask_region(take, what.region, what.start_us, what.end_us)
    return mask_stretch(take, what.start_us, what.end_us)


def masked_screen(take: Take, what: Mask, paintings: int) -> Screen:
    """The screen after ``paintings`` outputs and resizes, with a region or a stretch masked.

    Raises:
        BadEditError: there is nothing to mask.
    """
    emulator = default_emulator(take.meta.size)
    for event in mask(take, what).source():
        if not isinstance(event, Output | Resized):
            continue
        if not paintings:
            break
        paintings -= 1
        if isinstance(event, Output):
            emulator.feed(event.data)
        else:
            emulator.resize(event.size)
    return emulator.snapshot()


def mask_region(take: Take, region: Region, start_us: int = 0, end_us: int | None = None) -> Take:
    """Mask every character that was visible in a region between two moments, wherever it moved.

    Raises:
        BadEditError: nothing was visible there, or there is no screen.
    """
    if not take.on_terminal:
        raise BadEditError("it ran over pipes: there is no screen to mask a region of")
    stop_us = take.end_us if end_us is None else end_us
    painted = PaintedBytes(
        take.meta.size,
        rows=range(region.row - 1, region.row - 1 + region.rows),
        columns=range(region.column - 1, region.column - 1 + region.columns),
    )
    listens = False
    for event in take.source():
        if event.t_us > start_us and not listens:
            painted.feed(b"", listen=True)  # the screen at the start is visible, too
            listens = True
        if event.t_us > stop_us:
            break
        _feed(painted, event, listen=event.t_us >= start_us)
    if not listens:
        painted.feed(b"", listen=True)
    return _masked(take, painted.stretches(), inputs=None)


def mask_stretch(take: Take, start_us: int, end_us: int | None = None) -> Take:
    """Mask all input and output from ``start_us`` until just before ``end_us``.

    Raises:
        BadEditError: there was none.
    """
    stop_us = take.end_us + 1 if end_us is None else end_us
    painted = PaintedBytes(take.meta.size)
    for event in take.source():
        if event.t_us >= stop_us:
            break
        _feed(painted, event, listen=event.t_us >= start_us)
    return _masked(take, painted.stretches(), inputs=range(start_us, stop_us))


def _feed(painted: PaintedBytes, event: JournalEvent, *, listen: bool) -> None:
    match event:
        case Output(data=data):
            painted.feed(data, listen=listen)
        case Resized(size=size):
            painted.resize(size)


def _masked(take: Take, stretches: Sequence[tuple[int, int]], *, inputs: range | None) -> Take:
    def events() -> Iterator[JournalEvent]:
        output = _MaskedOutput(stretches)
        for event in take.source():
            match event:
                case Output():
                    yield from output.of(event)
                case Typed() if inputs is not None and event.t_us in inputs and event.data:
                    yield from output.after(msgspec.structs.replace(event, masked=True).hidden())
                case _:
                    yield from output.after(event)
        yield from output.rest()

    typed = inputs is not None and any(
        isinstance(event, Typed) and event.data and event.t_us in inputs for event in take.source()
    )
    if not stretches and not typed:
        raise BadEditError("nothing was shown there")
    return take.changed(events, keeps_tape=False)


class _MaskedOutput:
    """Masks stretches of the output. A sequence cut by the end of an output waits for its rest."""

    def __init__(self, stretches: Sequence[tuple[int, int]]) -> None:
        self._stretches = iter(stretches)
        self._next = next(self._stretches, None)
        self._start = 0
        self._held: list[JournalEvent] = []
        self._data = b""

    def of(self, event: Output) -> Iterator[JournalEvent]:
        """The events that this output completes."""
        self._held.append(event)
        self._data += event.data
        end = self._start + len(self._data)
        masked = bytearray(self._data)
        while self._next is not None and self._next[1] <= end:
            start, stop = self._next[0] - self._start, self._next[1] - self._start
            masked[start:stop] = mask_text(bytes(masked[start:stop]))
            self._next = next(self._stretches, None)
        self._data = bytes(masked)
        if self._next is None or self._next[0] >= end:
            yield from self.rest()

    def after(self, event: JournalEvent) -> Iterator[JournalEvent]:
        """The same for an event that is not output."""
        if self._held:
            self._held.append(event)
        else:
            yield event

    def rest(self) -> Iterator[JournalEvent]:
        """Everything that is still held."""
        for event in self._held:
            if isinstance(event, Output):
                length = len(event.data)
                self._start += length
                yield msgspec.structs.replace(event, data=self._data[:length])
                self._data = self._data[length:]
            else:
                yield event
        self._held.clear()


# Takes a stretch of time out of a session, or keeps only one.


_CANCEL = b"\x18"
"""CAN: ends an incomplete sequence that the cut has left behind."""


def cut(take: Take, start_us: int, end_us: int | None = None) -> Take:
    """Remove the events from ``start_us`` until just before ``end_us``; later events move up.

    Args:
        take: the session.
        start_us: microseconds since its start.
        end_us: the same; None removes all the rest, except how the program ended.

    Raises:
        BadEditError: there are no events in between.
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
    """Keep only the events from ``start_us`` to ``end_us``, both included.

    Raises:
        BadEditError: there are no events in between, or none outside.
    """
    if end_us is not None and end_us < take.end_us:
        if end_us < start_us:
            raise BadEditError(f"{_seconds(end_us)} is before {_seconds(start_us)}")
        take = cut(take, end_us + 1)
    elif not start_us:
        raise BadEditError(f"this keeps all of it: it ends at {_seconds(take.end_us)}")
    return cut(take, 0, start_us) if start_us else take


def _beginning_at(take: Take, start_us: int, *, ends: bool) -> Take:
    """The session from ``start_us`` on, on a fresh terminal of the size at that moment."""
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
    """A moment in RFC 3339, ``us`` microseconds later; an unreadable one is unchanged."""
    try:
        later = datetime.fromisoformat(moment) + timedelta(microseconds=us)
    except (ValueError, OverflowError):
        return moment
    return later.isoformat().replace("+00:00", "Z")


class _Stretch:
    """Removes a stretch of events."""

    def __init__(self, take: Take, start_us: int, stop_us: int, *, ends: bool) -> None:
        self._take, self._ends = take, ends
        self._start_us, self._stop_us = start_us, stop_us

    def events(self) -> Iterator[JournalEvent]:
        """The remaining events, and one that paints the screen at the end of the stretch."""
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
    """The screen at a place of a session, and the output that a cut removes."""

    def __init__(self, emulator: PyteEmulator, fresh: bool) -> None:  # noqa: FBT001
        self._emulator, self._fresh = emulator, fresh
        self._size: Size | None = None
        self._open_before = False
        self._lost = False
        self._tail = b""

    def saw(self, event: JournalEvent, *, lost: bool = False) -> None:
        """Apply an event of the session, which may be ``lost``."""
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
        """Output that brings a terminal without the lost events to this screen."""
        if self._size is not None and not self._fresh:
            yield Resized(t_us, self._size)
        if self._lost:
            start = b"" if self._fresh else (_CANCEL if self._open_before else b"") + RESET
            data = start + repaint_bytes(self._emulator) + self._tail
            if data:
                yield Output(t_us, data)


def _seconds(t_us: int) -> str:
    return f"{time_text(t_us / 1_000_000)}"


# Change times: faster, slower, with shorter pauses. Order and content stay.


_Moved = Callable[[int], int]


def change_speed(take: Take, factor: float, start_us: int = 0, end_us: int | None = None) -> Take:
    """Make a session, or a stretch of it, ``factor`` times faster; later events move along.

    Raises:
        BadEditError: ``factor`` is not a finite number above 0, or the stretch has no events.
    """
    try:
        exact = Fraction(factor).limit_denominator(1_000_000)
    except (OverflowError, ValueError):
        exact = Fraction(0)
    if exact <= 0:
        raise BadEditError(f"a speed is a finite number above 0, not {factor}")
    stop_us = take.end_us if end_us is None else min(end_us, take.end_us)
    if start_us >= stop_us and take.end_us:
        raise BadEditError("there is nothing between the start and the end")
    length_us = round((stop_us - start_us) / exact)

    def moved(t_us: int) -> int:
        if t_us <= start_us:
            return t_us
        if t_us <= stop_us:
            return start_us + round((t_us - start_us) / exact)
        return start_us + length_us + t_us - stop_us

    return _retimed(take, moved)


def limit_pauses(take: Take, limit_us: int) -> Take:
    """Shorten pauses without events to ``limit_us``.

    Raises:
        BadEditError: ``limit_us`` is negative.
    """
    if limit_us < 0:
        raise BadEditError("an idle limit is 0 or more")
    begins: list[int] = [0]  # where a pause is over its limit ...
    saved: list[int] = [0]  # ... and what is saved up to there
    last_us = gone_us = 0
    for event in take.source():
        if isinstance(event, Probed | Traffic):
            continue
        pause_us = event.t_us - last_us
        if pause_us > limit_us:
            begins += [last_us + limit_us, event.t_us]
            gone_us += pause_us - limit_us
            saved += [-1, gone_us]
        last_us = max(last_us, event.t_us)

    def moved(t_us: int) -> int:
        place = bisect_right(begins, t_us) - 1
        if saved[place] < 0:  # within a pause that is over its limit
            return begins[place] - saved[place - 1]
        return t_us - saved[place]

    return _retimed(take, moved)


def _retimed(take: Take, moved: _Moved) -> Take:
    def events() -> Iterator[JournalEvent]:
        for event in take.source():
            yield at(event, moved(event.t_us))

    return take.changed(events, end_us=moved(take.end_us))


# Several sessions, one after the other, as one.


def join(takes: Sequence[Take], *, gap_us: int = 0) -> Take:
    """Join sessions; each begins ``gap_us`` after the end of the one before it, on a fresh screen.

    The head comes from the first session; exit status, usage and costs come from the last.

    Raises:
        BadEditError: fewer than two; or some ran at a terminal and some over pipes.
    """
    if len(takes) < 2:
        raise BadEditError("join takes two recordings or more")
    first = takes[0]
    for other in takes[1:]:
        if other.meta.streams != first.meta.streams:
            raise BadEditError(
                f"{other.name} and {first.name} did not run in the same way: one at a terminal,"
                " one over pipes, or over others"
            )
    end_us = sum(take.end_us for take in takes) + gap_us * (len(takes) - 1)

    def events() -> Iterator[JournalEvent]:
        begin_us = 0
        size = first.meta.size
        for number, take in enumerate(takes):
            if number and take.on_terminal:
                if take.meta.size != size:
                    size = take.meta.size
                    yield Resized(begin_us, size)
                yield Output(begin_us, RESET)
            for event in take.source():
                if isinstance(event, Resized):
                    size = event.size
                if not isinstance(event, Finished) or number == len(takes) - 1:
                    yield at(event, begin_us + event.t_us)
            begin_us += take.end_us + gap_us

    return first.changed(events, end_us=end_us, keeps_tape=False)


# Add a comment to a moment of a session.


def annotate(take: Take, t_us: int, text: str) -> Take:
    """Add a marker: a service event with a label, as in an asciicast.

    Raises:
        BadEditError: the session is already over at that time, or there is no text.
    """
    if not 0 <= t_us <= take.end_us:
        raise BadEditError(
            f"{time_text(t_us / 1e6)} is not within {take.name or 'the recording'}, which ends at"
            f" {time_text(take.end_us / 1e6)}"
        )
    if not text.strip():
        raise BadEditError("an annotation has a text")
    marker = Noted(t_us, {"type": "marker", "label": storable_text(text)})

    def events() -> Iterator[JournalEvent]:
        waiting = True
        for event in take.source():
            if waiting and (event.t_us > t_us or isinstance(event, Finished)):
                waiting = False
                yield marker
            yield event

    return take.changed(events)
