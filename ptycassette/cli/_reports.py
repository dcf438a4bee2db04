"""The objects that ``--json`` prints, a struct for each command. ``docs/json.md`` documents them.

Text from a cassette is unchanged in these objects (JSON escapes it).
Bytes are base64, as in the format. Times are microseconds since the start of
the recording where a name ends in ``_us``, milliseconds where in ``_ms``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.cassette.io.listing import ListedCassette
from ptycassette.cli._seals import ErrorReport, SealReport
from ptycassette.formats.export.event_lines import EventLine
from ptycassette.model.records import (
    Command,
    DiscoveryRecord,
    EmulatorId,
    ExitStatus,
    FrameRecord,
    Harness,
    Provenance,
    QuotaRecord,
    ScrubReport,
    StreamKinds,
    Timing,
)
from ptycassette.model.screen import Cursor, Size
from ptycassette.replaying.divergence import DriftChange

__all__ = [
    "Check",
    "DemoReport",
    "DiffReport",
    "DoctorReport",
    "DriftChange",
    "ErrorReport",
    "EventLine",
    "FrameDiff",
    "FrameLine",
    "FramesReport",
    "InfoReport",
    "ListReport",
    "ListedCassette",
    "Mismatch",
    "RowChange",
    "SealReport",
    "StreamCounts",
    "TapeBody",
    "TapeChunk",
    "TapeEntryReport",
    "TapeLine",
    "TapeReport",
    "VerifiedCassette",
    "VerifyReport",
]


class StreamCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many records each stream holds, and how many bytes of output there are."""

    inputs: int
    outputs: int
    frames: int
    service_events: int
    output_bytes: int
    tape_entries: int = 0


class ImportedFrom(msgspec.Struct, frozen=True, kw_only=True):
    """The source file of an imported cassette.

    ``skipped`` counts the parts that could not be used.
    """

    format: str
    format_version: str | None
    made_by: str | None
    rebuilt: bool
    skipped: int


class InfoReport(msgspec.Struct, frozen=True, kw_only=True):
    """``info --json``."""

    path: str
    id: str
    version: int
    sha256: str
    pinned: bool
    duration_us: int
    size: Size
    term: str | None
    locale: str | None
    emulator: EmulatorId
    harness: Harness
    command: Command
    timing: Timing
    provenance: Provenance
    streams: StreamCounts
    standard_streams: StreamKinds
    exit: ExitStatus | None
    scrub: ScrubReport
    title: str | None
    quota: QuotaRecord | None
    discovery: DiscoveryRecord | None
    required_features: tuple[str, ...]
    optional: tuple[str, ...]
    edits: tuple[str, ...]
    imported: ImportedFrom | None = None


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """A stored frame that the emulator does not reproduce. ``field``: see ``rederive``."""

    seq: int
    t_ms: int
    field: str
    stored: Any
    derived: Any


class VerifiedCassette(msgspec.Struct, frozen=True, kw_only=True):
    """One cassette of ``verify``. ``streams`` is null when it is not valid.

    ``frames_rederived`` is null without ``--rederive``; ``mismatches`` holds
    the first differences, ``mismatch_count`` is their number. ``seal`` is null if it was not
    requested. ``git_risks`` lists the changes that git would make, one sentence each; ``ignored``
    names files that a file manager or an editor left among its files; ``restored`` has the files
    that ``--fix`` restored, with the cause, ``added`` those it added.
    """

    path: str
    ok: bool
    error: ErrorReport | None
    id: str | None
    pinned: bool | None
    scrub_status: str | None
    streams: StreamCounts | None
    frames_rederived: int | None
    mismatch_count: int
    mismatches: tuple[Mismatch, ...]
    seal: SealReport | None = None
    git_risks: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    restored: dict[str, str] = {}
    added: tuple[str, ...] = ()


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """``verify --json``."""

    ok: bool
    cassettes: tuple[VerifiedCassette, ...]


class ListReport(msgspec.Struct, frozen=True, kw_only=True):
    """``ls --json``."""

    path: str
    cassettes: tuple[ListedCassette, ...]


class DiffReport(msgspec.Struct, frozen=True, kw_only=True):
    """``diff --json``."""

    old: str
    new: str
    same: bool
    exchanges: tuple[DriftChange, ...]
    screens: tuple[DriftChange, ...]
    divergences: tuple[dict[str, Any], ...]


class FrameLine(msgspec.Struct, frozen=True, kw_only=True):
    """A frame in a list: ``number`` counts from 1, ``first_line`` is the first that has text."""

    number: int
    seq: int
    t_us: int
    size: Size
    cursor: Cursor
    title: str
    alt_screen: bool
    first_line: str


class RowChange(msgspec.Struct, frozen=True, kw_only=True):
    """A row that differs between two screens; ``row`` counts from 0, null means no such row."""

    row: int
    before: str | None
    after: str | None


class FrameDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The changes from one frame to the next."""

    before_seq: int | None
    after_seq: int
    rows: tuple[RowChange, ...]
    cursor_before: Cursor | None
    cursor_after: Cursor
    size_before: Size | None
    size_after: Size
    title_before: str | None
    title_after: str
    styles_changed: tuple[int, ...]


class FramesReport(msgspec.Struct, frozen=True, kw_only=True):
    """``frames --json``: the list, one frame whole (``--at``, ``--seq``), or differences."""

    path: str
    count: int
    frames: tuple[FrameLine, ...] = ()
    frame: FrameRecord | None = None
    diffs: tuple[FrameDiff, ...] = ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check. ``status`` is ``ok``, ``warn`` (works, but not as well) or ``fail``."""

    name: str
    status: str
    detail: str
    hint: str | None = None


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """``doctor --json``."""

    ok: bool
    version: str
    checks: tuple[Check, ...]


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    """``demo --json``. ``kept`` is the path of the cassette, null if it was removed."""

    ok: bool
    program: tuple[str, ...]
    steps: tuple[Check, ...]
    streams: StreamCounts
    kept: str | None


class TapeLine(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the tape, without bodies. Tokens are null if no provider reported them."""

    entry: int
    seq: int
    t_us: int
    end_us: int | None
    kind: str
    within: int | None
    method: str | None
    upstream: str | None
    target: str | None
    model: str | None
    status: int | None
    sent_bytes: int
    received_bytes: int
    chunks: int
    input_tokens: int | None
    output_tokens: int | None
    tools: tuple[str, ...]
    outcome: str
    detail: str
    key: str | None


class TapeReport(msgspec.Struct, frozen=True, kw_only=True):
    """``tape --json``."""

    path: str
    entries: tuple[TapeLine, ...]


class TapeBody(msgspec.Struct, frozen=True, kw_only=True):
    """Headers and body of one side; ``packing`` is the encoding that was undone."""

    headers: tuple[tuple[str, str], ...]
    packing: str | None
    data: bytes


class TapeChunk(msgspec.Struct, frozen=True, kw_only=True):
    """When a piece of the answer came, and how many bytes of its body it is."""

    t_us: int
    bytes: int


class TapeEntryReport(msgspec.Struct, frozen=True, kw_only=True):
    """``tape --entry N --json``."""

    line: TapeLine
    question: TapeBody
    answer: TapeBody | None
    chunks: tuple[TapeChunk, ...]
