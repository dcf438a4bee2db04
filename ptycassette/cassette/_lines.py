"""A stream file, block by block: bytes in, batches of records out.

Memory is bounded by the longest line that the limits allow. Whoever owns the
file feeds it in blocks of any size; where the blocks are cut changes nothing.

A last line without its newline that is no whole record is a *truncated*
stream (``TruncatedError``): the writer, a copy or a merge was cut off. Any
other line that cannot be read is a *corrupt* one (``RecordError``).
"""

from __future__ import annotations

import hashlib
from typing import Generic

import msgspec

from ptycassette.cassette._records import R, RecordCodec
from ptycassette.errors import LimitError, RecordError, TruncatedError
from ptycassette.model.limits import DEFAULT_LIMITS, Limits, check_density


class Batch(msgspec.Struct, Generic[R], frozen=True, gc=False):
    """Records of consecutive lines; ``first_line`` is the number of the first, from 1."""

    first_line: int
    records: list[R]


class LineReader(Generic[R]):
    """Decodes one stream.

    Args:
        codec: what the lines are.
        place: what errors call the file.
        limits: what is accepted.
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
        """The digest of all that was fed."""
        return self._hash.hexdigest()

    def feed(self, block: bytes) -> Batch[R]:
        """Take the next block; returns the records that it completes, possibly none.

        Raises:
            RecordError: a line is not what the format says.
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
