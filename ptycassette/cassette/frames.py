"""Makes frames from the bytes of a session: when the policy is due, and never two equal ones.

The bytes are those that the cassette holds, scrubbed, so that anybody can
derive the frames again from ``output.raw``. The default scrubber paints them anyway:
then its emulator is asked, and nothing is painted twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ptycassette.model.ports import Emulator, EmulatorFactory
from ptycassette.model.records import (
    Event,
    FrameRecord,
    InputRecord,
    JournalEvent,
    Output,
    Resized,
    painted_bytes,
    painted_lines,
)
from ptycassette.model.screen import Size
from ptycassette.terminal.policies import FramePolicy

LOOKS = ("size", "text", "cursor", "title", "styles", "alt_screen")
"""The fields of a frame that say how the screen looks; equal ones make an equal frame."""


def frame_of(
    emulator: Emulator, *, seq: int, t_ms: int, raw_start: int, raw_end: int
) -> FrameRecord:
    """The screen of ``emulator`` now, as a frame, not yet stamped in microseconds.

    ``raw_end`` is how many bytes it was fed; its parser has consumed those but
    what is still incomplete.
    """
    screen = emulator.snapshot()
    return FrameRecord(
        seq=seq,
        t_ms=t_ms,
        size=screen.size,
        text=screen.rows,
        cursor=screen.cursor,
        raw_start=raw_start,
        raw_end=raw_end,
        parser_offset=max(0, raw_end - emulator.pending),
        title=screen.title,
        styles=screen.styles if any(screen.styles) else None,
        alt_screen=screen.alt_screen,
    )


def _painted(event: Output) -> bytes:
    """Like ``painted_bytes`` of the resulting record."""
    return event.data if event.stream is None else painted_lines(event.data)


_LINE_BYTES, _ROW_BYTES, _RUN_BYTES, _STYLE_BYTES = 210, 3, 9, 24
"""What a line takes besides its text: by itself, for each row, each run, each style."""

_REPAINTED_ROWS = 2


def _size_of(frame: FrameRecord) -> int:
    """The approximate length in bytes of a frame's line."""
    text = sum(len(row.encode(errors="replace")) + _ROW_BYTES for row in frame.text)
    runs = [run for row in {*(frame.styles or ())} for run in row]
    styles = {run.style for run in runs}
    return _LINE_BYTES + text + len(runs) * _RUN_BYTES + len(styles) * _STYLE_BYTES


def _is_repaint(before: FrameRecord | None, frame: FrameRecord) -> bool:
    """Whether the text of at most two rows differs from ``before``: a spinner, a clock, a key."""
    if before is None or len(before.text) != len(frame.text):
        return False
    changed = sum(was != now for was, now in zip(before.text, frame.text, strict=True))
    return changed <= _REPAINTED_ROWS


class FrameMaker:
    """Follows one session and hands out the frames that are due.

    Args:
        emulator: fresh, of the session's initial size; None when ``after`` gets the screen.
        policy: fresh.
    """

    def __init__(self, emulator: Emulator | None, policy: FramePolicy) -> None:
        self._emulator = emulator
        self._policy = policy
        self._raw_end = 0
        self._last: FrameRecord | None = None

    def after(
        self,
        event: JournalEvent,
        following: JournalEvent | None,
        *,
        t_ms: int,
        seq: int,
        screen: Emulator | None = None,
    ) -> FrameRecord | None:
        """Apply ``event``; returns the frame right after it, if one is due.

        Args:
            event: the event, with its output masked.
            following: the one after it, None after the last.
            t_ms: the time of the frame.
            seq: the number of the frame, if one is due.
            screen: an emulator in its state right after the event; used if the maker has none of
                its own.
        """
        own = self._emulator
        emulator = own or screen
        assert emulator is not None  # noqa: S101 - one of the two is there
        if isinstance(event, Output):
            self._raw_end += len(event.data)
            if own is not None:
                own.feed(_painted(event))
        elif own is not None and isinstance(event, Resized):
            own.resize(event.size)
        synchronized = bool(getattr(emulator, "synchronized", False))
        if not self._policy.due(event, following, synchronized=synchronized):
            return None
        last = self._last
        start = 0 if last is None else last.raw_end
        frame = frame_of(emulator, seq=seq, t_ms=t_ms, raw_start=start, raw_end=self._raw_end)
        if last is not None and all(getattr(frame, name) == getattr(last, name) for name in LOOKS):
            return None
        if not self._policy.affords(_size_of(frame), repaint=_is_repaint(last, frame)):
            return None
        self._last = frame
        return frame


# Frames rendered again from the output of a cassette, compared with the stored ones.


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
