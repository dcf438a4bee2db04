"""The names of the files of a cassette, version 1, and which of them must exist.

Other names may be in a cassette only when the manifest pins them in
``optional.artifacts`` (see ``_artifacts``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

import msgspec

from ptycassette.cassette.strict_json import check_keys, check_value, explain, parse_strict
from ptycassette.errors import (
    DigestError,
    InvalidCassetteError,
    LimitError,
    ManifestError,
    MissingFileError,
    RecordError,
    UnexpectedFileError,
)
from ptycassette.model.limits import (
    DEFAULT_LIMITS,
    INT64_MAX,
    INT64_MIN,
    UINT16_MAX,
    Limits,
    check_density,
    check_line_density,
)
from ptycassette.model.records import (
    SCRUB_STATUSES,
    DiscoveryRecord,
    EventKind,
    FinalRecord,
    FrameRecord,
    InputRecord,
    Manifest,
    OutputRecord,
    QuotaRecord,
    ScrubReport,
    ServiceEventRecord,
)
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import visible

FORMAT_VERSION = 1

KNOWN_FEATURES: frozenset[str] = frozenset()
"""What ``required_features`` may name. Version 1 knows none."""

MANIFEST = "manifest.json"
INPUT = "input.jsonl"
OUTPUT_RAW = "output.raw"
OUTPUT = "output.jsonl"
FRAMES = "frames.jsonl"
SERVICE_EVENTS = "service-events.jsonl"
FINAL = "final.json"
SCRUB_REPORT = "scrub-report.json"
QUOTA = "quota.json"
DISCOVERY = "discovery.json"

DIAGNOSTIC = "diagnostic.json"
"""Marks the diagnostic directory of a failed run, which no reader accepts."""

STREAMS = (INPUT, OUTPUT, FRAMES, SERVICE_EVENTS)
"""The files of one record a line, in the order in which they are reported."""

DOCUMENTS = (FINAL, SCRUB_REPORT, QUOTA, DISCOVERY)
"""The files of one JSON object each, the manifest apart."""

REQUIRED_FILES = (
    INPUT,
    OUTPUT_RAW,
    OUTPUT,
    FRAMES,
    SERVICE_EVENTS,
    FINAL,
    SCRUB_REPORT,
)
"""What must exist besides the manifest, even when it is empty."""

OPTIONAL_FILES = (QUOTA, DISCOVERY)
"""What exists when it was probed."""

GIT_ATTRIBUTES = ".gitattributes"
"""Tells git to keep the files of the cassette byte for byte.

It is not part of the recording: no manifest pins it and no seal names it, so that it can be added
to a cassette that exists. Readers ignore what is in it.
"""

_LITTER = re.compile(
    r"\.ds_store|\._.+|\.localized|icon\r|(ehthumbs|thumbs)(_vista)?\.db|desktop\.ini|\.directory"
    r"|\..+\.sw[a-z]|.+~|#.+#|\.#.+|\..+\.kate-swp|\.~lock\..+#|\.nfs[0-9a-f]+|\.fuse_hidden[0-9a-f]+",
    re.IGNORECASE | re.DOTALL,
)


def is_litter(name: str) -> bool:
    """Whether a file was put beside others by a file manager, an editor or a file system.

    Readers ignore it: it is no part of the recording. ``verify`` lists it, ``verify-scrub``
    searches it.
    """
    return _LITTER.fullmatch(name) is not None


GIT_ATTRIBUTES_TEXT = """\
# Written by ptycassette: git must keep these files byte for byte.
* -text -working-tree-encoding -ident -export-subst -merge -whitespace -diff
*.json diff=cassette
*.jsonl diff=cassette
.gitattributes diff
"""
"""``-text`` switches the conversion of line ends off, whatever the repository's own settings are.

Without ``-diff`` the patch of a file of bytes is text, and ``git am`` removes CRs from text.
``-merge``: two recordings are never mixed line by line. See gitattributes(5).
"""

MAX_GIT_ATTRIBUTES_BYTES = 64 << 10
"""A longer ``.gitattributes`` in a cassette is refused."""


# How a line of ``frames.jsonl`` spells the styles of a screen.


_Row = tuple[int, ...] | int
_PER_RUN = 3
_FEW_RUNS = 12
"""So many runs are spelt as objects: a table would save little."""


class FrameLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``frames.jsonl`` as it is written. The fields are those of ``FrameRecord``."""

    seq: int
    t_ms: int
    size: Size
    text: tuple[str, ...]
    cells: Any = None
    cursor: Cursor
    title: str = ""
    raw_start: int
    raw_end: int
    parser_offset: int
    t_us: int | None = None
    styles: tuple[tuple[StyleRun, ...], ...] | None = None
    style_table: tuple[Style, ...] | None = None
    style_rows: tuple[_Row, ...] | None = None
    alt_screen: bool = False
    hash: str | None = None


class FrameSpelling:
    """Turns frames into lines and back."""

    struct = FrameLine

    def line_of(self, record: FrameRecord) -> FrameLine:
        """The line of a frame, with its styles as a table and rows where there are many."""
        styles = record.styles
        table: dict[Style, int] = {}
        rows: list[_Row] | None = None
        if styles is not None and sum(map(len, styles)) > _FEW_RUNS:
            rows, styles = [], None
            seen: dict[tuple[StyleRun, ...], int] = {}
            for number, runs in enumerate(record.styles or ()):
                first = seen.setdefault(runs, number)
                if first != number and runs:
                    rows.append(first)
                    continue
                flat: list[int] = []
                for run in runs:
                    flat += (run.col, run.length, table.setdefault(run.style, len(table)))
                rows.append(tuple(flat))
        return FrameLine(
            seq=record.seq,
            t_ms=record.t_ms,
            size=record.size,
            text=record.text,
            cells=record.cells,
            cursor=record.cursor,
            title=record.title,
            raw_start=record.raw_start,
            raw_end=record.raw_end,
            parser_offset=record.parser_offset,
            t_us=record.t_us,
            styles=styles,
            style_table=None if rows is None else tuple(table),
            style_rows=None if rows is None else tuple(rows),
            alt_screen=record.alt_screen,
            hash=record.hash,
        )

    def record_of(self, line: FrameLine, limits: Limits) -> FrameRecord:
        """The frame that a line holds.

        Raises:
            ValueError: the styles are no styles of a screen; the message is the reason.
        """
        return FrameRecord(
            seq=line.seq,
            t_ms=line.t_ms,
            size=line.size,
            text=line.text,
            cells=line.cells,
            cursor=line.cursor,
            title=line.title,
            raw_start=line.raw_start,
            raw_end=line.raw_end,
            parser_offset=line.parser_offset,
            t_us=line.t_us,
            styles=_styles_of(line, limits),
            alt_screen=line.alt_screen,
            hash=line.hash,
        )


def _styles_of(line: FrameLine, limits: Limits) -> tuple[tuple[StyleRun, ...], ...] | None:
    if line.style_rows is None:
        if line.style_table is not None:
            raise ValueError("style_table without style_rows")
        return line.styles
    if line.styles is not None:
        raise ValueError("both styles and style_rows")
    table = line.style_table or ()
    rows: list[tuple[StyleRun, ...]] = []
    count = 0
    for number, row in enumerate(line.style_rows):
        if isinstance(row, int):
            if not 0 <= row < number:
                raise ValueError(f"style_rows[{number}] is {row}, and no earlier row")
            rows.append(rows[row])
        else:
            rows.append(_runs_of(row, table, number))
        count += len(rows[-1])
        if count > limits.max_line_values:
            raise ValueError(f"style_rows give more than {limits.max_line_values} runs")
    return tuple(rows)


def _runs_of(flat: tuple[int, ...], table: tuple[Style, ...], number: int) -> tuple[StyleRun, ...]:
    where = f"style_rows[{number}]"
    if len(flat) % _PER_RUN:
        raise ValueError(f"{where} is not made of column, length and style")
    runs = []
    for at in range(0, len(flat), _PER_RUN):
        col, length, style = flat[at : at + _PER_RUN]
        if not (0 <= col <= UINT16_MAX and 1 <= length <= UINT16_MAX):
            raise ValueError(f"{where}: column {col} and length {length} are not a run of a row")
        if not 0 <= style < len(table):
            raise ValueError(f"{where}: style {style} is not in style_table")
        runs.append(StyleRun(col, length, table[style]))
    return tuple(runs)


# One line of a stream and its record, both ways.


StreamRecord = InputRecord | OutputRecord | FrameRecord | ServiceEventRecord
R = TypeVar("R", bound=StreamRecord | TapeEntry)

_ENCODER = msgspec.json.Encoder()


class Spelling(Protocol[R]):
    """How lines spell records of another shape."""

    @property
    def struct(self) -> type[msgspec.Struct]:
        """The type that a line decodes to."""
        ...

    def line_of(self, record: R) -> msgspec.Struct:
        """The line of ``record``."""
        ...

    def record_of(self, line: Any, limits: Limits) -> R:
        """The record of a line.

        Raises:
            ValueError: the line holds no valid record; the message is the reason.
        """
        ...


class RecordCodec(Generic[R]):
    """Reads and writes the lines of one stream.

    Args:
        name: the file.
        kind: the kind of its events.
        struct: the class of its records.
        fault: returns the problem with a record beyond the types of its fields, or None; must be
            cheap, because it sees every record.
        untyped: takes from a record the field that holds any JSON, or None.
        forbidden: keys that no line may have, although unknown ones are ignored.
        spelling: how a line spells its record, if not field by field.
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
            RecordError: a field has a value that the format does not allow.
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
            place: the file's name in errors; its name when None.
            limits: the limits.

        Raises:
            RecordError: a line breaks the format; the error names the line.
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
        """The record of one line (without its newline), checked strictly.

        Raises:
            RecordError: the line breaks the format.
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
    """The problem with ``seq``, ``t_ms`` and ``t_us``, or None."""
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
    # One comparison for the form of nearly all records; there may be millions of them.
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


# The files of one JSON object each: final, scrub report, quota, discovery.


DOCUMENT_TYPES: dict[str, type[msgspec.Struct]] = {
    FINAL: FinalRecord,
    SCRUB_REPORT: ScrubReport,
    QUOTA: QuotaRecord,
    DISCOVERY: DiscoveryRecord,
}
"""The class of each document."""

D = TypeVar("D", FinalRecord, ScrubReport, QuotaRecord, DiscoveryRecord)


def parse_document(
    data: bytes,
    *,
    where: str,
    error: type[InvalidCassetteError] = RecordError,
    limits: Limits = DEFAULT_LIMITS,
    strict: bool = True,
) -> dict[str, Any]:
    """The JSON object that a file is.

    Args:
        data: the whole file.
        where: its name in errors.
        error: the class to raise for anything but a limit.
        limits: the limits.
        strict: refuse what two readers could read differently.

    Raises:
        LimitError: too large, or nested too deep.
        InvalidCassetteError: ``error``, with the reason.
    """
    if len(data) > limits.max_document_bytes:
        raise LimitError(
            f"{len(data)} bytes, and a reader accepts {limits.max_document_bytes}", where=where
        )
    check_density(data, limits.max_values, where)
    if strict:
        value = parse_strict(data, where=where, error=error, limits=limits)
    else:
        try:
            value = msgspec.json.decode(data)
        except RecursionError as exc:
            raise LimitError(f"nested deeper than {limits.max_depth}", where=where) from exc
        except (msgspec.MsgspecError, ValueError) as exc:
            raise error(explain(exc), where=where) from exc
    if not isinstance(value, dict):
        raise error(f"not a JSON object but {type(value).__name__}", where=where)
    return value


def decode_document(
    data: bytes, struct: type[D], *, where: str, limits: Limits = DEFAULT_LIMITS
) -> D:
    """Decode the record in a file.

    Raises:
        RecordError: it breaks the format.
        LimitError: it is too large, or nested too deep.
    """
    value = parse_document(data, where=where, limits=limits)
    check_keys(value, struct, where=where, error=RecordError)
    if struct is FinalRecord:
        _forget_go_error(value)
    try:
        record = msgspec.convert(value, resolved(struct))
    except msgspec.ValidationError as exc:
        raise RecordError(explain(exc), where=where) from exc
    fault = _fault(record)
    if fault is not None:
        raise RecordError(fault, where=where)
    return record


def encode_document(
    record: msgspec.Struct, *, where: str, error: type[InvalidCassetteError] = RecordError
) -> bytes:
    """The bytes of a document.

    Raises:
        InvalidCassetteError: ``error``, when a field has a value that the format does not allow.
        LimitError: it is too large, or nested too deep.
    """
    try:
        value = msgspec.to_builtins(record)
    except RecursionError as exc:
        raise LimitError(
            f"nested deeper than {DEFAULT_LIMITS.max_depth} levels", where=where
        ) from exc
    except TypeError as exc:
        raise error(explain(exc), where=where) from exc
    fault = _fault(record)
    if fault is not None:
        raise error(fault, where=where)
    if isinstance(record, FinalRecord):
        value = {"seq": record.seq, "t_ms": record.t_ms, "exit": None, **value}
    check_value(value, where=where, error=error, limits=DEFAULT_LIMITS)
    data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    if len(data) > DEFAULT_LIMITS.max_document_bytes:
        raise LimitError(
            f"{len(data)} bytes, and a reader accepts {DEFAULT_LIMITS.max_document_bytes}",
            where=where,
        )
    check_density(data, DEFAULT_LIMITS.max_values, where)
    return data


def _forget_go_error(value: dict[str, Any]) -> None:
    """Read ``exit.Err`` as null where the reference wrote an object.

    Its writer hands Go's error of a program that ended with anything but 0 to
    encoding/json, which makes ``{"Stderr":null}`` or ``{}`` of it. It holds
    no message to keep, and the reference's own reader fails on it.
    """
    exit_status = value.get("exit")
    if isinstance(exit_status, dict) and isinstance(exit_status.get("Err"), dict):
        exit_status["Err"] = None


def _fault(record: msgspec.Struct) -> str | None:
    """Check what the types of a document cannot express; None if all is well."""
    if isinstance(record, FinalRecord):
        return _final_fault(record)
    if isinstance(record, ScrubReport) and record.status not in SCRUB_STATUSES:
        return (
            f"the scrub status is {visible(record.status, limit=80)!r}, and none of "
            f"{', '.join(SCRUB_STATUSES)}: it is not known whether it was scrubbed"
        )
    return None


def _final_fault(record: FinalRecord) -> str | None:
    if not 0 <= record.duration_ms <= INT64_MAX:
        return f"duration_ms {record.duration_ms} is not between 0 and 2^63-1"
    exit_status = record.exit
    if exit_status is not None and not INT64_MIN <= exit_status.code <= INT64_MAX:
        return "exit.Code does not fit 64 bits"
    return check_stamp(record)


# SHA-256, in the spelling of the format: 64 lower-case hexadecimal digits.


_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


def sha256_hex(data: bytes | memoryview) -> str:
    """The digest of ``data``."""
    return hashlib.sha256(data).hexdigest()


def is_sha256(text: str) -> bool:
    """Whether ``text`` is spelled as a digest is."""
    return _SHA256.match(text) is not None


# ``optional.artifacts``: for every file but the manifest and ``output.raw``, its digest and size.


ARTIFACTS_KEY = "artifacts"

CHANGED_HINT = "the file was changed after recording: fetch the cassette again, or record it again"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


class Artifact(msgspec.Struct, frozen=True):
    """The pin of one file: SHA-256 in hexadecimal, and the length in bytes."""

    sha256: str
    bytes: int


def read_artifacts(
    manifest: Manifest, *, where: str = MANIFEST, limits: Limits = DEFAULT_LIMITS
) -> dict[str, Artifact] | None:
    """The artifacts that the manifest pins, by name; None when the cassette is not pinned.

    Raises:
        ManifestError: the table is malformed, names a path instead of a file
            of the directory, or lacks a file that every cassette has.
        LimitError: too many or too long names.
    """
    table = (manifest.optional or {}).get(ARTIFACTS_KEY)
    if table is None:
        return None
    try:
        artifacts = msgspec.convert(table, resolved(dict[str, Artifact]))
    except msgspec.ValidationError as exc:
        raise ManifestError(
            f"optional.artifacts: {visible(str(exc), limit=300)}", where=where
        ) from exc
    if len(artifacts) > limits.max_entries:
        raise LimitError(
            f"{len(artifacts)} artifacts, and a reader accepts {limits.max_entries}", where=where
        )
    for name, artifact in artifacts.items():
        _check_entry(name, artifact, where, limits)
    for name in REQUIRED_FILES:
        if name != OUTPUT_RAW and name not in artifacts:
            raise ManifestError(f"optional.artifacts does not pin {name}", where=where)
    return artifacts


def _check_entry(name: str, artifact: Artifact, where: str, limits: Limits) -> None:
    if len(name) > limits.max_name_bytes:
        shown = visible(name, limit=80)
        raise LimitError(f"optional.artifacts: the name {shown!r} is too long", where=where)
    if not _NAME.match(name) or name == MANIFEST:
        shown = visible(name, limit=80)
        raise ManifestError(f"optional.artifacts may not name {shown!r}", where=where)
    if not is_sha256(artifact.sha256) or artifact.bytes < 0:
        raise ManifestError(
            f"optional.artifacts: {name!r} has no proper sha256 or bytes", where=where
        )


def with_artifacts(manifest: Manifest, artifacts: Mapping[str, Artifact]) -> Manifest:
    """The same manifest pinning ``artifacts``, whatever it pinned before."""
    optional = dict(manifest.optional or {})
    optional[ARTIFACTS_KEY] = {
        name: {"sha256": artifacts[name].sha256, "bytes": artifacts[name].bytes}
        for name in sorted(artifacts)
    }
    return msgspec.structs.replace(manifest, optional=optional)


def check_entries(
    entries: frozenset[str], artifacts: Mapping[str, Artifact] | None, *, place: str
) -> None:
    """Compare the files of a directory with those that must and those that may exist.

    Args:
        entries: all names in the directory.
        artifacts: the pins of the manifest; None when it does not.
        place: the directory's name in errors.

    Raises:
        MissingFileError: a required or pinned file is not there.
        UnexpectedFileError: the cassette is pinned, and there is another entry.
    """
    wanted = (*REQUIRED_FILES, *(name for name in artifacts or () if name not in REQUIRED_FILES))
    for name in wanted:
        if name not in entries:
            raise MissingFileError(
                f"{name} is missing",
                where=place,
                hint="the copy is incomplete: fetch the cassette again, or record it again",
            )
    if artifacts is None:
        return
    others = entries - set(wanted) - {MANIFEST, GIT_ATTRIBUTES}
    extra = sorted(name for name in others if not is_litter(name))
    if extra:
        shown = ", ".join(visible(name, limit=80) for name in extra[:3])
        more = f" and {len(extra) - 3} more" if len(extra) > 3 else ""
        raise UnexpectedFileError(
            f"{shown}{more}: not among the files that the manifest pins",
            where=place,
            hint="move what does not belong to the recording out of the directory",
        )


def check_artifact(
    name: str, artifacts: Mapping[str, Artifact] | None, *, sha256: str, size: int, place: str
) -> None:
    """Compare a whole file with its pin, if it has one.

    Raises:
        DigestError: it has other bytes.
    """
    pin = (artifacts or {}).get(name)
    if pin is None or (pin.sha256 == sha256 and pin.bytes == size):
        return
    if pin.bytes != size:
        reason = f"{size} bytes, and the manifest pins {pin.bytes}"
    else:
        reason = f"the sha256 is {sha256}, and the manifest pins {pin.sha256}"
    raise DigestError(reason, where=place, hint=CHANGED_HINT)
