"""A stream file, block by block: bytes in, batches of records out.

Memory is bounded by the longest line that the limits allow. Whoever owns the
file feeds it in blocks of any size; where the blocks are cut changes nothing.

A last line without its newline that is no whole record is a *truncated*
stream (``TruncatedError``): the writer, a copy or a merge was cut off. Any
other line that cannot be read is a *corrupt* one (``RecordError``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic

import msgspec

from ptycassette.cassette.layout import R, RecordCodec
from ptycassette.errors import (
    ChunkError,
    LimitError,
    RecordError,
    SequenceError,
    TimeError,
    TruncatedError,
)
from ptycassette.model.limits import DEFAULT_LIMITS, Limits, check_density
from ptycassette.model.records import FrameRecord, OutputRecord
from ptycassette.model.visible_text import visible


class Batch(msgspec.Struct, Generic[R], frozen=True, gc=False):
    """Records of consecutive lines; ``first_line`` is the number of the first, from 1."""

    first_line: int
    records: list[R]


class LineReader(Generic[R]):
    """Decodes one stream.

    Args:
        codec: decodes the lines.
        place: the file's name in errors.
        limits: the limits of a line.
    """

    def __init__(
        self, codec: RecordCodec[R], *, place: str | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._codec = codec
        self._place = place or codec.name
        self._limits = limits
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._line = 1
        self._hash = hashlib.sha256()
        self.size = 0
        """How many bytes were fed."""

    @property
    def sha256(self) -> str:
        """The digest of all blocks so far."""
        return self._hash.hexdigest()

    def feed(self, block: bytes) -> Batch[R]:
        """Take the next block; returns the records that it completes, possibly none.

        Raises:
            RecordError: a line breaks the format.
            LimitError: a line is too long, holds too many values or nests too deep.
        """
        self._hash.update(block)
        self.size += len(block)
        cut = block.rfind(b"\n") + 1
        first = self._line
        if not cut:
            self._keep(block)
            return Batch(first, [])
        lines = b"".join((*self._tail, block[:cut]))
        self._check_length(lines)
        self._tail, self._tail_bytes = [], 0
        self._keep(block[cut:])
        records = self._codec.decode(
            lines, first_line=first, place=self._place, limits=self._limits
        )
        self._line += len(records)
        return Batch(first, records)

    def finish(self) -> Batch[R]:
        """Say that the file is over; return the record of a last line without newline.

        Raises:
            TruncatedError: the last line is cut off.
        """
        first = self._line
        if not self._tail_bytes:
            return Batch(first, [])
        line = b"".join(self._tail)
        place = f"{self._place} line {first}"
        check_density(line, self._limits.max_line_values, place)
        try:
            record = self._codec.decode_line(
                line, number=first, place=self._place, limits=self._limits
            )
        except RecordError as exc:
            raise TruncatedError(
                f"the last line is cut off after {len(line)} bytes",
                where=place,
                hint="the copy is incomplete: fetch the cassette again, or record it again",
            ) from exc
        self._line += 1
        return Batch(first, [record])

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
            self._check_line(self._tail_bytes, self._line)

    def _check_length(self, lines: bytes) -> None:
        """Refuse a line that is too long, among ``lines``."""
        if len(lines) <= self._limits.max_line_bytes:
            return
        for number, line in enumerate(lines.split(b"\n"), self._line):
            self._check_line(len(line), number)

    def _check_line(self, length: int, number: int) -> None:
        if length > self._limits.max_line_bytes:
            raise LimitError(
                f"a line of over {self._limits.max_line_bytes} bytes",
                where=f"{self._place} line {number}",
            )


# All streams of a cassette in one order: ``seq`` from 1 without a gap, time never back.


class Source(msgspec.Struct, frozen=True):
    """A stream to merge: ``place`` is its name in errors; its batches come in file order."""

    place: str
    batches: Iterator[Batch[Any]]


class Run(msgspec.Struct, frozen=True, gc=False):
    """Consecutive records of source number ``source``."""

    source: int
    first_line: int
    records: list[Any]


class _Head:
    """The position in one source: its batch and the index in it."""

    __slots__ = ("first_line", "place", "position", "records", "source")

    def __init__(self, source: Source) -> None:
        self.source = source.batches
        self.place = source.place
        self.records: list[Any] = []
        self.position = 0
        self.first_line = 1
        self.refill()

    def refill(self) -> None:
        """Load the next batch that is not empty, if there is one."""
        for batch in self.source:
            if batch.records:
                self.records, self.position = batch.records, 0
                self.first_line = batch.first_line
                return
        self.records, self.position = [], 0

    def where(self) -> str:
        record = self.records[self.position]
        line = self.first_line + self.position
        return f"{self.place} line {line} (seq {record.seq}, t_ms {record.t_ms})"


def merge_runs(sources: Sequence[Source], *, resolution_ms: int) -> Iterator[Run]:
    """The records of all sources, as runs in the order of ``seq``.

    Args:
        sources: the streams; each must be ascending by itself.
        resolution_ms: the manifest's resolution, for ``t_us`` against ``t_ms``.

    Raises:
        SequenceError: ``seq`` is not contiguous from 1 over all sources together.
        TimeError: ``t_ms`` or ``t_us`` goes back, or the two do not fit together.
    """
    heads = [_Head(source) for source in sources]
    clock = _Clock(resolution_ms)
    expected = 1
    while (number := _holder(heads, expected)) is not None:
        head = heads[number]
        records, start = head.records, head.position
        end = start + 1
        expected += 1
        bound = _next_of_others(heads, head)
        while end < len(records) and expected != bound and records[end].seq == expected:
            end += 1
            expected += 1
        run = records if end - start == len(records) else records[start:end]
        clock.check(run, head, start)
        first_line = head.first_line + start
        head.position = end
        if end == len(records):
            head.refill()
        yield Run(number, first_line, run)
    _complain(heads, expected)


def _holder(heads: Sequence[_Head], seq: int) -> int | None:
    """The number of the source whose next record has ``seq``, if no other has an earlier one."""
    holder = None
    for number, head in enumerate(heads):
        if head.records:
            found = head.records[head.position].seq
            if found < seq:
                return None
            if found == seq:
                holder = number
    return holder


def _next_of_others(heads: Sequence[_Head], head: _Head) -> int | None:
    """The end of the run of ``head``, chosen so that a duplicate ``seq`` is noticed at once."""
    nexts = [each.records[each.position].seq for each in heads if each is not head and each.records]
    return min(nexts, default=None)


def _complain(heads: Sequence[_Head], expected: int) -> None:
    """Raise for the first remaining record, if there is one."""
    left = [head for head in heads if head.records]
    if not left:
        return
    head = min(left, key=lambda each: each.records[each.position].seq)
    seq = head.records[head.position].seq
    reason = (
        f"seq {seq} occurs twice or out of order"
        if seq < expected
        else f"seq {expected} is missing: {seq} comes next"
    )
    raise SequenceError(
        reason,
        where=head.where(),
        hint="seq must be contiguous from 1 over all streams together",
    )


class _Clock:
    """Time over all streams."""

    __slots__ = ("_resolution_ms", "_t_ms", "_t_us")

    def __init__(self, resolution_ms: int) -> None:
        self._resolution_ms = resolution_ms
        self._t_ms = 0
        self._t_us = 0

    def check(self, run: list[Any], head: _Head, start: int) -> None:
        last_ms, last_us, resolution_ms = self._t_ms, self._t_us, self._resolution_ms
        for position, record in enumerate(run, start):
            t_ms = record.t_ms
            if t_ms < last_ms:
                head.position = position
                raise TimeError(f"t_ms goes back from {last_ms} to {t_ms}", where=head.where())
            last_ms = t_ms
            t_us = record.t_us
            if t_us is None:
                continue
            if t_us < last_us:
                head.position = position
                raise TimeError(f"t_us goes back from {last_us} to {t_us}", where=head.where())
            last_us = t_us
            if not t_ms <= t_us // 1000 < t_ms + resolution_ms:
                head.position = position
                raise TimeError(
                    f"t_ms {t_ms} is not t_us {t_us} floored to {resolution_ms} ms",
                    where=head.where(),
                )
        self._t_ms, self._t_us = last_ms, last_us


# Output records against ``output.raw``: in range, in order, and with the right digest.
#
# Chunks must not go back or overlap: that bounds the work of checking them by the size of the
# file. In a pinned cassette they cover it without a gap; the reference format does not ask for
# that, so elsewhere gaps are tolerated up to a limit.


def check_output_range(
    record: OutputRecord, size: int, place: str, *, limits: Limits = DEFAULT_LIMITS
) -> None:
    """Check that the bytes of a record lie within ``output.raw``.

    Raises:
        LimitError: they are more than a reader accepts in one chunk.
        ChunkError: they do not.
    """
    if record.length > limits.max_chunk_bytes:
        raise LimitError(
            f"a chunk of {record.length} bytes, and a reader accepts {limits.max_chunk_bytes}",
            where=f"{place} seq {record.seq}, t_ms {record.t_ms}",
        )
    if record.offset + record.length > size:
        raise ChunkError(
            f"bytes {record.offset} to {record.offset + record.length} of an output.raw "
            f"that has {size}",
            where=f"{place} seq {record.seq}, t_ms {record.t_ms}",
        )


def check_frame_range(record: FrameRecord, size: int, place: str) -> None:
    """Check that the range that a frame was made from is within ``output.raw``.

    Raises:
        ChunkError: it does not.
    """
    if record.raw_end > size or record.parser_offset > size:
        raise ChunkError(
            f"raw_end {record.raw_end} or parser_offset {record.parser_offset} is behind the end "
            f"of an output.raw that has {size}",
            where=f"{place} seq {record.seq}, t_ms {record.t_ms}",
        )


class ChunkCoverage:
    """Goes over all output records of a cassette in order.

    Args:
        size: the length of ``output.raw``.
        pinned: whether the cassette is pinned, and so must be covered.
        place: the name in errors for the file of the records.
        limits: the tolerance at the end.
    """

    def __init__(
        self, size: int, *, pinned: bool, place: str, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._size = size
        self._pinned = pinned
        self._place = place
        self._limits = limits
        self._end = 0

    def take(self, records: Iterable[OutputRecord]) -> None:
        """Check records against the file and each against the one before it.

        Raises:
            LimitError: one has more bytes than a reader accepts.
            ChunkError: one is out of range, overlaps another, or leaves a gap.
        """
        last, size, longest, pinned = (
            self._end,
            self._size,
            self._limits.max_chunk_bytes,
            self._pinned,
        )
        for record in records:
            offset, length = record.offset, record.length
            end = offset + length
            if end > size or length > longest:
                check_output_range(record, size, self._place, limits=self._limits)
            if offset != last and (pinned or offset < last):
                raise ChunkError(
                    f"the chunk starts at {offset}, and the one before ends at {last}",
                    where=f"{self._place} seq {record.seq}, t_ms {record.t_ms}",
                )
            last = end
        self._end = last

    def finish(self) -> None:
        """Check that no bytes remain after the last record.

        Raises:
            ChunkError: bytes that no record covers.
        """
        left = self._size - self._end
        if left > (0 if self._pinned else self._limits.max_uncovered_bytes):
            raise ChunkError(
                f"the last {left} bytes of output.raw belong to no record", where=self._place
            )


def chunk_fault(record: OutputRecord, found: str, place: str) -> ChunkError:
    """The error for a chunk whose digest is ``found`` instead of the one in its record."""
    return ChunkError(
        f"the sha256 of the chunk at {record.offset} is {found}, "
        f"but its record has {visible(record.sha256 or '', limit=80)}",
        where=f"{place} seq {record.seq}, t_ms {record.t_ms}",
    )
