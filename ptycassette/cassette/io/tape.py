"""Reads the tape of a cassette: entries one by one, their bodies when they are asked for."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import chain
from typing import Any

import msgspec

from ptycassette.cassette._lines import Batch, LineReader, Source, check_output_range, merge_runs
from ptycassette.cassette.layout import (
    FINAL,
    OUTPUT,
    OUTPUT_RAW,
    SERVICE_EVENT_CODEC,
    SERVICE_EVENTS,
    STREAM_CODECS,
    STREAMS,
    R,
)
from ptycassette.cassette.tape_lines import TAPE_CODEC, TapeDeclared, check_entries_fit, moments_of
from ptycassette.errors import TapeError
from ptycassette.keys.reader import LATENCY_US, AnswerReader
from ptycassette.model.limits import Limits
from ptycassette.model.records import (
    Event,
    EventKind,
    FinalRecord,
    InputRecord,
    OutputRecord,
    moment_us,
)
from ptycassette.model.tape import TAPE, TAPE_BODIES, BodyPlace, Chunk, TapeEntry
from ptycassette.system.files.directory_handle import BLOCK_BYTES, FileHandle

# The events of an open cassette, streamed: lines to records, records to events with bytes.


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
        InvalidCassetteError: while iterating, at the first invalid record.
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
    """A stretch of ``output.raw`` in memory, moved along as records need their bytes."""

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


_BLOCK = 1 << 20


class Tape:
    """The model traffic of a session. Iterate over it for its exchanges, as often as wanted.

    Attributes:
        key: of the HMACs in the entries.
    """

    def __init__(
        self, files: Mapping[str, FileHandle], declared: TapeDeclared, limits: Limits
    ) -> None:
        self._entries, self._bodies = files[TAPE], files[TAPE_BODIES]
        self._declared, self._limits = declared, limits
        self.key = declared.key

    def __len__(self) -> int:
        """The number of entries in the manifest."""
        return self._declared.entries

    def __iter__(self) -> Iterator[RecordedExchange]:
        """The exchanges, in the order of their numbers.

        Raises:
            InvalidCassetteError: while iterating, at a line that is not valid.
        """
        for entry in self.entries():
            yield RecordedExchange(entry, self)

    def entries(self) -> Iterator[TapeEntry]:
        """The entries alone. Raises as iterating does."""
        reader = LineReader(TAPE_CODEC, place=self._entries.place, limits=self._limits)
        number = 0
        for batch in record_batches(self._entries, reader):
            for entry in batch.records:
                number += 1
                check_entries_fit(
                    entry,
                    number,
                    self._bodies.size,
                    place=self._entries.place,
                    limits=self._limits,
                )
                yield entry

    def blocks(self, body: BodyPlace | None) -> Iterator[bytes]:
        """A body, unpacked and checked, in blocks of at most 1 MiB.

        Raises:
            TapeError: it does not match its place.
        """
        if body is None:
            return
        inflate, digest, left = zlib.decompressobj(), sha256(), body.bytes
        end = body.at + body.packed
        try:
            for block in chain(self._bodies.blocks(body.at, end), (b"",)):
                data = block
                while True:
                    piece = inflate.decompress(data, _BLOCK)
                    data = inflate.unconsumed_tail
                    left -= len(piece)
                    if left < 0 or (not piece and not data):
                        break
                    digest.update(piece)
                    yield piece
        except zlib.error as exc:
            raise TapeError(f"a body cannot be unpacked: {exc}", where=self._place(body)) from exc
        if left or not inflate.eof or inflate.unused_data:
            raise TapeError(f"a body is not {body.bytes} bytes long", where=self._place(body))
        if digest.hexdigest() != body.sha256:
            raise TapeError(
                f"a body's sha256 is {digest.hexdigest()}, but its entry has {body.sha256}",
                where=self._place(body),
            )

    def _place(self, body: BodyPlace) -> str:
        return f"{self._bodies.place} at {body.at}"


class RecordedExchange:
    """A question with its answer.

    Attributes:
        entry: what is said of it.
    """

    def __init__(self, entry: TapeEntry, tape: Tape) -> None:
        self.entry = entry
        self._tape = tape

    def question(self) -> bytes:
        """The body of the question, unpacked; as ``Tape.blocks``."""
        return b"".join(self._tape.blocks(self.entry.body))

    def answer(self) -> bytes:
        """The body of the answer, unpacked; empty without one."""
        return b"".join(chunk for _, chunk in self.pieces())

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]:
        """The chunks of the answer, each with its bytes, in bounded memory but for one chunk."""
        answer = self.entry.answer
        if answer is None:
            return
        blocks, held = self._tape.blocks(answer.body), b""
        for chunk in answer.chunks:
            parts = [held]
            missing = chunk.length - len(held)
            while missing > 0:
                parts.append(next(blocks, b""))
                if not parts[-1]:
                    break
                missing -= len(parts[-1])
            whole = b"".join(parts)
            held = whole[chunk.length :]
            yield chunk, whole[: chunk.length]
        for _ in blocks:  # to its end, where it is checked
            pass


def verify_tape(tape: Tape, files: Mapping[str, FileHandle], limits: Limits) -> int:
    """Check every entry, every body once, and the service events that they name.

    Returns:
        The number of entries.

    Raises:
        InvalidCassetteError: the first rule that is broken.
    """
    place = files[TAPE].place
    moments: dict[int, tuple[int, str]] = {}
    seen: set[BodyPlace] = set()
    number = 0
    for entry in tape.entries():
        number += 1
        for seq, kind in moments_of(entry):
            if seq in moments:
                raise TapeError(f"seq {seq} is named twice", where=f"{place} line {number}")
            moments[seq] = (number, kind)
        for body in (entry.body, entry.answer.body if entry.answer is not None else None):
            if body is not None and body not in seen:
                seen.add(body)
                for _ in tape.blocks(body):
                    pass
    _check_covered(seen, files[TAPE_BODIES])
    if number != len(tape):
        raise TapeError(f"{number} entries, but the manifest counts {len(tape)}", where=place)
    _check_moments(moments, files[SERVICE_EVENTS], limits)
    return number


def _check_covered(bodies: Iterable[BodyPlace], file: FileHandle) -> None:
    """Check that every byte belongs to a body: bytes that are not read could hold anything."""
    end = 0
    for at, packed in sorted({(body.at, body.packed) for body in bodies}):
        if at > end:
            break
        end = max(end, at + packed)
    if end != file.size:
        raise TapeError(f"the bytes from {end} on belong to no entry", where=file.place)


def _check_moments(moments: dict[int, tuple[int, str]], file: FileHandle, limits: Limits) -> None:
    reader = LineReader(SERVICE_EVENT_CODEC, place=file.place, limits=limits)
    for batch in record_batches(file, reader):
        for record in batch.records:
            named = moments.pop(record.seq, None)
            if named is None:
                continue
            said = record.payload if isinstance(record.payload, dict) else {}
            if (said.get("entry"), said.get("type")) != named:
                raise TapeError(
                    f"the service event with seq {record.seq} is not the {named[1]} of entry"
                    f" {named[0]}",
                    where=file.place,
                )
    if moments:
        seq, (number, kind) = min(moments.items())
        raise TapeError(
            f"entry {number} names seq {seq} as its {kind}, and no service event has it",
            where=file.place,
        )
