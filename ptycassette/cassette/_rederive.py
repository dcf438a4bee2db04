"""Frames rendered again from the output of a cassette, compared with the stored ones.

The screen at a frame follows from every output and resize before it in the order
of ``seq``; no policy is needed, because the stored frames say where to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ptycassette.cassette.frames import LOOKS, frame_of
from ptycassette.model.events import Event, FrameRecord, InputRecord
from ptycassette.model.geometry import Size
from ptycassette.model.ports import EmulatorFactory
from ptycassette.model.streams import painted_bytes


class FrameMismatch(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between a stored frame and the one rendered again.

    ``field`` is the name of a field of the frame, or ``text[N]`` for row N
    counted from 0.
    """

    seq: int
    t_ms: int
    field: str
    stored: object
    derived: object


def rederive(
    events: Iterable[Event], *, size: Size, emulator: EmulatorFactory
) -> Iterator[FrameMismatch]:
    """The differences, in order; none when every frame can be rendered again.

    Styles are not compared where the stored frames keep none.

    Args:
        events: all events of a cassette by ``seq``, with data.
        size: the initial size of the terminal.
        emulator: makes the screens; the pinned one, or mismatches are no surprise.
    """
    screen = emulator(size)
    fed = 0
    for event in events:
        record = event.record
        if event.kind == "output":
            screen.feed(painted_bytes(event))
            fed += len(event.data)
        elif isinstance(record, InputRecord) and record.size is not None:
            screen.resize(record.size)
        elif isinstance(record, FrameRecord):
            derived = frame_of(
                screen,
                seq=record.seq,
                t_ms=record.t_ms,
                raw_start=record.raw_start,
                raw_end=fed,
            )
            yield from _compare(record, derived)


def _compare(stored: FrameRecord, derived: FrameRecord) -> Iterator[FrameMismatch]:
    for name in (*LOOKS, "raw_end", "parser_offset"):
        kept, made = getattr(stored, name), getattr(derived, name)
        if name == "text":
            yield from _compare_rows(stored, derived)
        elif kept != made and not (name == "styles" and not _keeps_styles(stored)):
            yield _mismatch(stored, name, kept, made)


def _keeps_styles(stored: FrameRecord) -> bool:
    """Whether None means "no styles" here: writers that keep them also stamp microseconds."""
    return stored.styles is not None or stored.t_us is not None


def _compare_rows(stored: FrameRecord, derived: FrameRecord) -> Iterator[FrameMismatch]:
    if len(stored.text) != len(derived.text):
        yield _mismatch(stored, "text", len(stored.text), len(derived.text))
    for number, (kept, made) in enumerate(zip(stored.text, derived.text, strict=False)):
        if kept != made:
            yield _mismatch(stored, f"text[{number}]", kept, made)


def _mismatch(stored: FrameRecord, field: str, kept: object, made: object) -> FrameMismatch:
    return FrameMismatch(seq=stored.seq, t_ms=stored.t_ms, field=field, stored=kept, derived=made)
