"""The events of an open cassette, streamed: lines to records, records to events with bytes.

Recorders write answers of a terminal as what they are (``source: "terminal"``). Earlier versions
and other recorders wrote what a real terminal answered as input of the user: ``answered_inputs``
finds these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ptycassette.cassette._chunks import check_output_range
from ptycassette.cassette._lines import Batch, LineReader
from ptycassette.cassette._order import Source, merge_runs
from ptycassette.cassette._records import STREAM_CODECS, R
from ptycassette.cassette.layout import FINAL, OUTPUT, OUTPUT_RAW, STREAMS
from ptycassette.model.answers import LATENCY_US, AnswerReader
from ptycassette.model.events import (
    Event,
    EventKind,
    FinalRecord,
    InputRecord,
    OutputRecord,
    moment_us,
)
from ptycassette.model.limits import Limits
from ptycassette.system.files.directory_handle import BLOCK_BYTES, FileHandle

_INPUT_SOURCE = 0
_OUTPUT_SOURCE = STREAMS.index(OUTPUT)
_KINDS: tuple[EventKind, ...] = (*(codec.kind for codec in STREAM_CODECS), "final")


def record_batches(file: FileHandle, reader: LineReader[R]) -> Iterator[Batch[R]]:
    """The records of a stream, a block of the file at a time.

    Raises:
        InvalidCassetteError: while iterating, at a line that is not valid.
    """
    for block in file.blocks():
        yield reader.feed(block)
    yield reader.finish()


def final_source(files: Mapping[str, FileHandle], final: FinalRecord) -> Source:
    """The final record as a stream of one record, to merge with the others."""
    batch: Batch[Any] = Batch(1, [final])
    return Source(files[FINAL].place, iter([batch]))


def merged_events(
    files: Mapping[str, FileHandle], final: FinalRecord, *, resolution_ms: int, limits: Limits
) -> Iterator[Event]:
    """All events in the order of ``seq``, with their bytes.

    Raises:
        InvalidCassetteError: while iterating, at what is not valid.
    """
    sources: list[Source] = []
    for codec in STREAM_CODECS:
        file = files[codec.name]
        reader = LineReader(codec, place=file.place, limits=limits)
        sources.append(Source(file.place, record_batches(file, reader)))
    sources.append(final_source(files, final))
    window = _Window(files[OUTPUT_RAW], files[OUTPUT].place, limits)
    for run in merge_runs(sources, resolution_ms=resolution_ms):
        kind = _KINDS[run.source]
        if run.source == _OUTPUT_SOURCE:
            yield from window.events(run.records)
            continue
        for record in run.records:
            data = (record.bytes or b"") if run.source == _INPUT_SOURCE else b""
            yield Event(record.seq, moment_us(record), kind, record, data)


class _Window:
    """A stretch of ``output.raw`` in memory, moved along as records ask for their bytes."""

    def __init__(self, file: FileHandle, place: str, limits: Limits) -> None:
        self._file = file
        self._place = place
        self._limits = limits
        self._data = b""
        self._start = 0

    def events(self, records: list[OutputRecord]) -> Iterator[Event]:
        """One event for each record, with its bytes."""
        data, start = self._data, self._start
        for record in records:
            begin = record.offset - start
            end = begin + record.length
            if begin < 0 or end > len(data):
                data, start = self._move(record)
                begin, end = 0, record.length
            t_us = record.t_us
            yield Event(
                record.seq,
                record.t_ms * 1000 if t_us is None else t_us,
                "output",
                record,
                data[begin:end],
            )

    def _move(self, record: OutputRecord) -> tuple[bytes, int]:
        check_output_range(record, self._file.size, self._place, limits=self._limits)
        length = min(max(BLOCK_BYTES, record.length), self._file.size - record.offset)
        self._data = self._file.read_at(record.offset, length)
        self._start = record.offset
        return self._data, self._start


def answered_inputs(
    records: Iterable[InputRecord], outputs: Iterator[tuple[int, bytes]]
) -> dict[int, InputRecord]:
    """The input records that hold answers of a terminal and are not marked so, by their ``seq``.

    One that is all answer has the source ``terminal``. One that is partly typed has only the
    typed bytes.

    Args:
        records: the records of ``input.jsonl``.
        outputs: each ``seq`` of output to the terminal with its bytes; read as far as needed.
    """
    found: dict[int, InputRecord] = {}
    held: list[InputRecord] = []

    def shown() -> Iterator[bytes]:
        for seq, data in outputs:
            yield data
            if seq > held[-1].seq:  # a query that is read too early changes nothing
                break

    def settle() -> None:
        for record, stretches in zip(held, reader.take(), strict=True):
            typed = b"".join(stretch.data for stretch in stretches if not stretch.answer)
            if len(typed) == len(record.bytes or b""):
                continue
            found[record.seq] = (
                msgspec.structs.replace(record, bytes=typed, key=None)
                if typed
                else msgspec.structs.replace(record, source="terminal")
            )
        held.clear()

    reader = AnswerReader(shown)
    last_us = 0
    for record in records:
        if record.kind != "input" or not record.bytes:
            continue
        if held and moment_us(record) - last_us > LATENCY_US:
            settle()
        if record.source == "terminal" or record.paste:
            settle()
        elif held or b"\x1b" in record.bytes:
            held.append(record)
            last_us = moment_us(record)
            if not reader.typed(record.bytes, focus=record.source != "driver"):
                settle()
    settle()
    return found
