r"""One line of a stream and its record, both ways.

Writing is canonical: one compact object a line, keys in the order of
``FORMAT.md``, what equals its default left out. Reading takes any spelling
that JSON allows (``<`` and ``\u003c`` alike) and ignores unknown keys, but
nothing on which two readers could disagree (see ``strict_json``).

Reading is fast because most lines are canonical: a whole block of lines is
decoded at once, encoded again and compared. Equal bytes prove that no line
holds a duplicate key, an unknown key or an odd number. Only a block that
differs is looked at line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

import msgspec

from ptycassette.cassette._frame_lines import FrameSpelling
from ptycassette.cassette.layout import FRAMES, INPUT, OUTPUT, SERVICE_EVENTS
from ptycassette.cassette.strict_json import check_keys, check_value, explain, parse_strict
from ptycassette.errors import RecordError
from ptycassette.model.events import (
    EventKind,
    FrameRecord,
    InputRecord,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.geometry import Size
from ptycassette.model.limits import (
    DEFAULT_LIMITS,
    INT64_MAX,
    UINT16_MAX,
    Limits,
    check_density,
    check_line_density,
)
from ptycassette.model.resolved_types import resolved
from ptycassette.model.tape import TapeEntry

StreamRecord = InputRecord | OutputRecord | FrameRecord | ServiceEventRecord
R = TypeVar("R", bound=StreamRecord | TapeEntry)

_ENCODER = msgspec.json.Encoder()


class Spelling(Protocol[R]):
    """How lines spell records of another shape."""

    @property
    def struct(self) -> type[msgspec.Struct]:
        """What a line decodes to."""
        ...

    def line_of(self, record: R) -> msgspec.Struct:
        """What the line of ``record`` holds."""
        ...

    def record_of(self, line: Any, limits: Limits) -> R:
        """The record. Raises ``ValueError`` with the reason where there is none."""
        ...


class RecordCodec(Generic[R]):
    """Reads and writes the lines of one stream.

    Args:
        name: the file.
        kind: the kind of its events.
        struct: the class of its records.
        fault: says what is wrong with a record beyond the types of its
            fields, or None; must be cheap, it sees every record.
        untyped: takes from a record the field that holds any JSON, or None.
        forbidden: keys that no line may have, although unknown ones are ignored.
        spelling: how a line spells its records, where that is not field by field.
    """

    def __init__(
        self,
        name: str,
        *,
        kind: EventKind,
        struct: type[R],
        fault: Callable[[R], str | None],
        untyped: Callable[[R], Any] | None = None,
        forbidden: frozenset[str] = frozenset(),
        spelling: Spelling[R] | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.struct: type[Any] = struct if spelling is None else spelling.struct
        self._spelling = spelling
        self._fault = fault
        self._untyped = untyped
        self._forbidden = forbidden
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(resolved(self.struct))

    def encode(self, record: R, *, limits: Limits = DEFAULT_LIMITS) -> bytes:
        """The line of ``record``, newline included.

        Raises:
            RecordError: a field holds what the format does not allow.
            LimitError: a value nests too deep.
        """
        fault = self._fault(record)
        if fault is not None:
            raise RecordError(fault, where=self._written(record))
        if self._untyped is not None:
            self._check_untyped(record, self._written(record), limits)
        if isinstance(record, InputRecord) and record.bytes == b"":
            record = msgspec.structs.replace(record, bytes=None)  # the reference leaves it out
        spelt = record if self._spelling is None else self._spelling.line_of(record)
        try:
            line = _ENCODER.encode(spelt) + b"\n"
        except (TypeError, UnicodeError) as exc:
            raise RecordError(explain(exc), where=self._written(record)) from exc
        if len(line) >= limits.max_line_values:
            check_density(line, limits.max_line_values, self._written(record))
        return line

    def _written(self, record: R) -> str:
        return f"{self.name} seq {record.seq}"

    def decode(
        self,
        lines: bytes,
        *,
        first_line: int = 1,
        place: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> list[R]:
        """The records of whole lines.

        Args:
            lines: lines, each ended by a newline.
            first_line: the number of the first of them in the file.
            place: what an error calls the file; its name when None.
            limits: what is accepted.

        Raises:
            RecordError: a line is not what the format says; it names the line.
            LimitError: a line holds too many values or nests too deep.
        """
        place = place or self.name
        check_line_density(lines, limits.max_line_values, place, first_line)
        try:
            records = self._decoder.decode_lines(lines)
            canonical = _ENCODER.encode_lines(records) == lines
        except (msgspec.MsgspecError, ValueError, RecursionError):
            canonical = False
        if not canonical:
            return self._decode_each(lines, first_line, place, limits)
        fault = self._fault
        if self._spelling is not None:
            records = [
                self._read(line, _where(place, number, line), limits)
                for number, line in enumerate(records, first_line)
            ]
        for number, record in enumerate(records, first_line):
            reason = fault(record)
            if reason is not None:
                raise RecordError(reason, where=_where(place, number, record))
            if self._untyped is not None:
                self._check_untyped(record, _where(place, number, record), limits)
        return cast("list[R]", records)

    def _decode_each(self, lines: bytes, first_line: int, place: str, limits: Limits) -> list[R]:
        return [
            self.decode_line(line, number=number, place=place, limits=limits)
            for number, line in enumerate(lines[:-1].split(b"\n"), first_line)
        ]

    def decode_line(self, line: bytes, *, number: int, place: str, limits: Limits) -> R:
        """The record of one line (without its newline), read with all strictness.

        Raises:
            RecordError: the line is not what the format says.
            LimitError: it nests too deep.
        """
        where = f"{place} line {number}"
        if not line.strip():
            raise RecordError("an empty line", where=where)
        value = parse_strict(line, where=where, error=RecordError, limits=limits)
        check_keys(value, self.struct, where=where, error=RecordError)
        if self._forbidden and isinstance(value, dict) and not self._forbidden.isdisjoint(value):
            raise RecordError("inline bytes are forbidden: they stand in output.raw", where=where)
        try:
            record = self._decoder.decode(line)
        except (msgspec.MsgspecError, ValueError) as exc:
            raise RecordError(explain(exc), where=where) from exc
        record = self._read(record, _where(place, number, record), limits)
        reason = self._fault(record)
        if reason is not None:
            raise RecordError(reason, where=_where(place, number, record))
        return record

    def _read(self, line: Any, where: str, limits: Limits) -> R:
        """The record that a decoded line spells."""
        if self._spelling is None:
            return cast("R", line)
        try:
            return self._spelling.record_of(line, limits)
        except ValueError as exc:
            raise RecordError(str(exc), where=where) from exc

    def _check_untyped(self, record: R, where: str, limits: Limits) -> None:
        if self._untyped is not None:
            value = self._untyped(record)
            if value is not None:
                check_value(value, where=where, error=RecordError, limits=limits, inside=1)


def _where(place: str, number: int, record: StreamRecord | TapeEntry | Any) -> str:
    t_ms = record.t_us // 1000 if isinstance(record, TapeEntry) else record.t_ms
    return f"{place} line {number} (seq {record.seq}, t_ms {t_ms})"


def check_stamp(record: Any) -> str | None:
    """What is wrong with ``seq``, ``t_ms`` and ``t_us``, or None."""
    if not 1 <= record.seq <= INT64_MAX:
        return f"seq {record.seq} is not between 1 and 2^63-1"
    if not 0 <= record.t_ms <= INT64_MAX:
        return f"t_ms {record.t_ms} is not between 0 and 2^63-1"
    t_us = record.t_us
    if t_us is not None and not 0 <= t_us <= INT64_MAX:
        return f"t_us {t_us} is not between 0 and 2^63-1"
    return None


def _size_fault(size: Size) -> str | None:
    if 0 <= size.rows <= UINT16_MAX and 0 <= size.cols <= UINT16_MAX:
        return None
    return f"the size {size.rows}x{size.cols} does not fit 16 bits each"


def _input_fault(record: InputRecord) -> str | None:
    if record.kind == "resize":
        if record.size is None:
            return "a resize without its size"
        return _size_fault(record.size) or check_stamp(record)
    if record.kind == "signal" and not record.signal:
        return "a signal without its name"
    return check_stamp(record)


def _output_fault(record: OutputRecord) -> str | None:
    # One comparison for what nearly all records are; there may be millions of them.
    if record.t_us is None or 0 <= record.t_us <= INT64_MAX:  # noqa: SIM102 - reads better apart
        if (
            0 < record.seq <= INT64_MAX
            and 0 <= record.t_ms <= INT64_MAX
            and record.offset >= 0
            and record.length >= 0
        ):
            return None
    if record.offset < 0 or record.length < 0:
        return f"offset {record.offset} or length {record.length} is negative"
    return check_stamp(record)


def _frame_fault(record: FrameRecord) -> str | None:
    if not 0 <= record.raw_start <= record.raw_end <= INT64_MAX:
        return f"raw_start {record.raw_start} and raw_end {record.raw_end} are not a range"
    if not 0 <= record.parser_offset <= INT64_MAX:
        return f"parser_offset {record.parser_offset} is negative or too large"
    cursor = record.cursor
    if not (abs(cursor.row) <= INT64_MAX and abs(cursor.col) <= INT64_MAX):
        return "the cursor does not fit 64 bits"
    return _size_fault(record.size) or check_stamp(record)


INPUT_CODEC = RecordCodec(INPUT, kind="input", struct=InputRecord, fault=_input_fault)
OUTPUT_CODEC = RecordCodec(
    OUTPUT,
    kind="output",
    struct=OutputRecord,
    fault=_output_fault,
    forbidden=frozenset({"bytes", "data"}),
)
FRAME_CODEC = RecordCodec(
    FRAMES,
    kind="frame",
    struct=FrameRecord,
    fault=_frame_fault,
    untyped=lambda record: record.cells,
    spelling=FrameSpelling(),
)
SERVICE_EVENT_CODEC = RecordCodec(
    SERVICE_EVENTS,
    kind="service-event",
    struct=ServiceEventRecord,
    fault=check_stamp,
    untyped=lambda record: record.payload,
)

STREAM_CODECS: Sequence[RecordCodec[Any]] = (
    INPUT_CODEC,
    OUTPUT_CODEC,
    FRAME_CODEC,
    SERVICE_EVENT_CODEC,
)
"""The codec of each stream, in the order of ``layout.STREAMS``."""
