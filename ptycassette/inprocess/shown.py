"""What people see of a recording without a screen: its turns, as a terminal would print them.

A block of ``use_tape`` has no terminal, and an imported trace has none either. Their turns become
the output of one that never was, at their times, so that the player, the viewer, pages, pictures
and text show them as they show any session. Nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import msgspec

from ptycassette.cassette.io.reader import Cassette
from ptycassette.inprocess.drifting import Turn, has_turns, turns_in
from ptycassette.model.events import Event, FrameRecord, OutputRecord, ServiceEventRecord
from ptycassette.model.geometry import Size
from ptycassette.model.streams import STREAMS_KEY
from ptycassette.model.visible_text import visible
from ptycassette.terminal.emulator import default_emulator

_MOST_LINES = 400
_MOST_LINE = 2_000
_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"


def with_turns(cassette: Cassette) -> Cassette:
    """The cassette as it is shown to people.

    One with a screen or output is returned as it is. Of another one, this is a view on the same
    open files: its turns are output. Whoever opened the cassette closes it.
    """
    return _ShownTurns(cassette) if has_turns(cassette) else cassette


class _ShownTurns(Cassette):
    def __init__(self, source: Cassette) -> None:
        vars(self).update(vars(source))
        optional = source.manifest.optional or {}
        self._source = source
        self.manifest = msgspec.structs.replace(
            source.manifest,
            optional={name: value for name, value in optional.items() if name != STREAMS_KEY},
        )

    @property
    def output_size(self) -> int:
        return len(self._output)

    @cached_property
    def _texts(self) -> dict[int, bytes]:
        """What is printed behind the event with a ``seq``."""
        found: dict[int, bytes] = {}
        for number, turn in enumerate(turns_in(self._source), 1):
            for seq, text in (
                (turn.seq, _lines(f"{number} > ", _asked(turn), style=_BOLD)),
                (turn.end_seq, _lines(f"{number} < ", turn.said, style=_RED * turn.failed)),
            ):
                if seq is not None:
                    found[seq] = found.get(seq, b"") + text
        return found

    @cached_property
    def _printed(self) -> list[tuple[OutputRecord, int]]:
        """The output, and its time in microseconds."""
        found: list[tuple[OutputRecord, int]] = []
        offset = 0
        for event in self._source.events():
            data = self._texts.get(event.seq)
            if data and isinstance(event.record, ServiceEventRecord):
                record = OutputRecord(
                    seq=event.seq,
                    t_ms=event.record.t_ms,
                    t_us=event.t_us,
                    offset=offset,
                    length=len(data),
                )
                offset += len(data)
                found.append((record, event.t_us))
        return found

    @cached_property
    def _output(self) -> bytes:
        return b"".join(self._texts[record.seq] for record, _ in self._printed)

    def outputs(self) -> Iterator[OutputRecord]:
        return (record for record, _ in self._printed)

    def output_bytes(self, record: OutputRecord) -> bytes:
        return self._output[record.offset : record.offset + record.length]

    def raw(self, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        yield self._output[offset : None if length is None else offset + length]

    def events(self) -> Iterator[Event]:
        printed = {record.seq: record for record, _ in self._printed}
        for event in self._source.events():
            yield event
            record = printed.get(event.seq)
            if record is not None:
                yield Event(event.seq, event.t_us, "output", record, self.output_bytes(record))

    def frames(self) -> Iterator[FrameRecord]:
        terminal = self.manifest.terminal
        emulator = default_emulator(Size(rows=terminal.initial_rows, cols=terminal.initial_cols))
        for record, t_us in self._printed:
            emulator.feed(self.output_bytes(record))
            screen = emulator.snapshot()
            yield FrameRecord(
                seq=record.seq,
                t_ms=record.t_ms,
                t_us=t_us,
                size=screen.size,
                text=screen.rows,
                cursor=screen.cursor,
                title=screen.title,
                raw_start=record.offset,
                raw_end=record.offset + record.length,
                parser_offset=record.offset + record.length,
                styles=screen.styles or None,
                alt_screen=screen.alt_screen,
            )

    def frame_at(self, t_us: int) -> FrameRecord | None:
        found = None
        for frame in self.frames():
            if (frame.t_us or 0) > t_us:
                break
            found = frame
        return found


def _asked(turn: Turn) -> str:
    return turn.asked if turn.what == "model" else f"{turn.what} {turn.asked}"


def _lines(label: str, text: str, *, style: str = "") -> bytes:
    """The lines of a text, the first behind a label, with CR LF at their ends."""
    rows = [visible(row, limit=_MOST_LINE) for row in text.rstrip().split("\n")]
    if len(rows) > _MOST_LINES:
        rows[_MOST_LINES:] = [f"({len(rows) - _MOST_LINES} more lines)"]
    rows = [f"{label}{rows[0]}", *(f"{' ' * len(label)}{row}" for row in rows[1:])]
    plain = _PLAIN if style else ""
    return "".join(f"{style}{row.rstrip()}{plain}\r\n" for row in rows).encode()
