"""Frames made again: agreement is silent, every difference is named."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest
from record_doubles import LineEmulator, ListSink, WordScrubber

from ptycassette.cassette.frames import rederive
from ptycassette.model.records import (
    Event,
    ExitStatus,
    Finished,
    FrameRecord,
    InputRecord,
    JournalEvent,
    Output,
    OutputRecord,
    Resized,
    SessionMeta,
)
from ptycassette.model.screen import Cursor, Size
from ptycassette.recording.sink_writer import finalise
from ptycassette.terminal.policies import frame_policy

END = Finished(t_us=9_000, exit=ExitStatus(code=0, exited=True, signaled=False))
SESSION: tuple[JournalEvent, ...] = (
    Output(1_000, b"one\ntwo"),
    Resized(2_000, Size(3, 20)),
    Output(3_000, b"\nthree"),
    END,
)


def events_of(sink: ListSink) -> list[Event]:
    """The records as a reader would hand them out."""
    events = []
    for record in sink.records:
        kind, data = "final", b""
        if isinstance(record, OutputRecord):
            kind, data = "output", sink.data[record.offset : record.offset + record.length]
        elif isinstance(record, InputRecord):
            kind = "input"
        elif isinstance(record, FrameRecord):
            kind = "frame"
        events.append(Event(record.seq, record.t_us or 0, kind, record, data))  # type: ignore[arg-type]
    return events


@pytest.fixture
def events(sink: ListSink, meta: SessionMeta) -> list[Event]:
    """A recorded session, a frame after each chunk."""
    finalise(
        meta,
        lambda: iter(SESSION),
        lambda: sink,
        emulator=LineEmulator,
        scrubber=WordScrubber(),
        policy=lambda: frame_policy("chunk"),
    )
    return events_of(sink)


def fields(events: Iterable[Event], meta: SessionMeta) -> list[str]:
    """The names of what differs."""
    found = rederive(events, size=meta.size, emulator=LineEmulator)
    return [mismatch.field for mismatch in found]


def changed(events: list[Event], **fields: object) -> list[Event]:
    """The same events with the last frame changed."""
    last = max(n for n, event in enumerate(events) if event.kind == "frame")
    record = msgspec.structs.replace(events[last].record, **fields)
    return [
        *events[:last],
        msgspec.structs.replace(events[last], record=record),
        *events[last + 1 :],
    ]


def test_frames_as_recorded_differ_in_nothing(events: list[Event], meta: SessionMeta) -> None:
    """What the finaliser wrote can be made again from the output."""
    assert sum(event.kind == "frame" for event in events) == 3
    assert fields(events, meta) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"text": ("one", "forged", "three")}, "text[1]"),
        ({"text": ("one", "two")}, "text"),
        ({"cursor": Cursor(2, 1)}, "cursor"),
        ({"title": "x"}, "title"),
        ({"size": Size(9, 9)}, "size"),
        ({"styles": ((),)}, "styles"),
        ({"alt_screen": True}, "alt_screen"),
        ({"raw_end": 4}, "raw_end"),
        ({"parser_offset": 4}, "parser_offset"),
    ],
)
def test_each_difference_is_named(
    events: list[Event], meta: SessionMeta, change: dict[str, object], field: str
) -> None:
    """Whatever was changed in a stored frame, that field is told."""
    assert fields(changed(events, **change), meta) == [field]


def test_a_mismatch_says_where_and_what(events: list[Event], meta: SessionMeta) -> None:
    """Its seq and time, the stored value and the one made again."""
    forged = changed(events, title="x")
    (mismatch,) = rederive(forged, size=meta.size, emulator=LineEmulator)

    assert (mismatch.t_ms, mismatch.stored, mismatch.derived) == (3, "x", "")


def test_styles_that_were_never_kept_are_not_compared(
    events: list[Event], meta: SessionMeta
) -> None:
    """Another writer may store text alone."""

    class Styled(LineEmulator):
        def snapshot(self):  # type: ignore[no-untyped-def]  # noqa: ANN202
            from ptycassette.model.screen import Style, StyleRun  # noqa: PLC0415

            runs = ((StyleRun(0, 1, Style(bold=True)),),)
            return msgspec.structs.replace(super().snapshot(), styles=runs)

    bare = changed(events, t_us=None)
    last = [event for event in bare if event.kind == "frame"][-1]
    found = [m for m in rederive(bare, size=meta.size, emulator=Styled) if m.seq == last.seq]

    assert found == []
