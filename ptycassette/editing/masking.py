"""Makes what one does not want to show unreadable: as many bytes and cells, but crosses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ptycassette.editing.session import BadEditError, Take
from ptycassette.model.journal import JournalEvent, Output, Resized, Typed
from ptycassette.model.screen import Screen
from ptycassette.scrub._mask import mask_text
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.painted import PaintedBytes


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the screen: rows and columns counted from 1, as terminals count them."""

    row: int
    column: int
    rows: int
    columns: int


class Mask(msgspec.Struct, frozen=True, kw_only=True):
    """What to mask: words wherever they are, or what was seen in a stretch of time.

    Attributes:
        words: texts; then there is neither a region nor a stretch.
        region: only what was seen there, and nothing that was typed.
        start_us, end_us: the stretch; to the end of the recording when ``end_us`` is None.
    """

    words: tuple[str, ...] = ()
    region: Region | None = None
    start_us: int = 0
    end_us: int | None = None


def mask(take: Take, what: Mask) -> Take:
    """Mask a region or a stretch. Words are masked when the result is scrubbed.

    Raises:
        BadEditError: nothing was there.
    """
    if what.words:
        return take
    if what.region is not None:
        return mask_region(take, what.region, what.start_us, what.end_us)
    return mask_stretch(take, what.start_us, what.end_us)


def masked_screen(take: Take, what: Mask, paintings: int) -> Screen:
    """The screen after so many outputs and resizes, with a region or a stretch masked.

    Raises:
        BadEditError: nothing was there.
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
    """Mask every character that was seen in a region between two moments, wherever it moved.

    Raises:
        BadEditError: nothing was seen there, or there is no screen.
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
            painted.feed(b"", listen=True)  # what is there at the start is seen, too
            listens = True
        if event.t_us > stop_us:
            break
        _feed(painted, event, listen=event.t_us >= start_us)
    if not listens:
        painted.feed(b"", listen=True)
    return _masked(take, painted.stretches(), inputs=None)


def mask_stretch(take: Take, start_us: int, end_us: int | None = None) -> Take:
    """Mask all that was typed and printed from ``start_us`` until just before ``end_us``.

    Raises:
        BadEditError: nothing was.
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
    """Masks stretches of the output. What is cut off in the middle of one waits for its end."""

    def __init__(self, stretches: Sequence[tuple[int, int]]) -> None:
        self._stretches = iter(stretches)
        self._next = next(self._stretches, None)
        self._start = 0
        self._held: list[JournalEvent] = []
        self._data = b""

    def of(self, event: Output) -> Iterator[JournalEvent]:
        """The events that are done once this one is here."""
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
        """The same for an event that is no output."""
        if self._held:
            self._held.append(event)
        else:
            yield event

    def rest(self) -> Iterator[JournalEvent]:
        """All that is held."""
        for event in self._held:
            if isinstance(event, Output):
                length = len(event.data)
                self._start += length
                yield msgspec.structs.replace(event, data=self._data[:length])
                self._data = self._data[length:]
            else:
                yield event
        self._held.clear()
