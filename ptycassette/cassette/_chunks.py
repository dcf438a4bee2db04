"""Output records against ``output.raw``: in range, in order, and with the right digest.

Chunks must not go back or overlap: that bounds the work of checking them by
the size of the file. In a pinned cassette they cover it without a gap; the
reference format does not ask for that, so elsewhere gaps are tolerated up to
a limit.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptycassette.errors import ChunkError, LimitError
from ptycassette.model.limits import DEFAULT_LIMITS, Limits
from ptycassette.model.records import FrameRecord, OutputRecord
from ptycassette.model.visible_text import visible


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
        place: what errors call the file of the records.
        limits: what is tolerated at the end.
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
