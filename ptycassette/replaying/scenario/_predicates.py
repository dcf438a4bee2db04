"""The table of predicates: the type of a check in a file is one of these classes.

A new predicate is a class (see ``predicate.py``) and its name in ``Predicate``: reading,
the JSON Schema, evaluation and the test of ``docs/scenarios.md`` use this table.

Semantics follow the reference implementation, with these differences: the frame at
time t is the latest at or before t (there: the nearest), a window includes the frame
that is shown at its start, and bytes may also be spread over several records.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec

from ptycassette.model.re2_engine import file_pattern
from ptycassette.model.records import FrameRecord
from ptycassette.replaying.scenario.predicate import (
    PER_CHAR,
    PER_LOOK,
    PER_PATTERN_CHAR,
    PER_RECORD,
    PER_REWRITTEN_CHAR,
    PER_VALUE,
    Base,
    Compare,
    Effort,
    Evidence,
    Failed,
    Look,
    Normaliser,
    PredicateContext,
    StyleIs,
    bad_kind,
    bad_text,
    compares,
    in_short,
    normaliser_of,
    wanted,
)

# Predicates on screens.


class Region(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rectangle of the screen, rows and columns from 0, ends not included (extension)."""

    top: int = 0
    left: int = 0
    bottom: int | None = None
    right: int | None = None


class TextQuery(Base, frozen=True, kw_only=True):
    """Where and how to search for text. All but ``text`` are extensions.

    ``regex`` instead of ``text``; ``row`` (negative from the bottom) or ``region``
    instead of the whole screen; ``normalise`` names normalisers to apply first.
    """

    text: str | None = None
    regex: str | None = None
    ignore_case: bool = False
    row: int | None = None
    region: Region | None = None
    normalise: tuple[str, ...] = ()

    def problem(self, known: PredicateContext) -> str | None:
        bad = bad_text(self, known, optional=isinstance(self, FrameStableFor))
        if bad is not None:
            return bad
        unknown = [name for name in self.normalise if name not in known.normalisers]
        if unknown:
            return f"no normaliser {unknown[0]!r}; there are {', '.join(sorted(known.normalisers))}"
        if self.row is not None and self.region is not None:
            return "give row or region, one of them"
        return None


class FrameContains(TextQuery, frozen=True, kw_only=True, tag="frame_contains"):
    """Some frame, or the one at ``at_ms``, contains the text."""

    def judge(self, look: Look) -> Failed | None:
        found = _finder(self, look)
        if any(found(frame) for frame in look.shown()):
            return None
        where = f"at {look.start_ms} ms" if look.fixed else "in any frame"
        looked_ms = look.start_ms if look.fixed else look.evidence.end_ms
        return Failed(f"{wanted(self)} is not there {where}", looked_ms)


class FrameNeverContains(TextQuery, frozen=True, kw_only=True, tag="frame_never_contains"):
    """No frame (from ``at_ms`` on, for ``within_ms``) contains the text."""

    within_ms: int | None = None

    def judge(self, look: Look) -> Failed | None:
        found = _finder(self, look)
        end_ms = look.end_ms(self.within_ms)
        for frame in look.evidence.frames_between(look.start_ms, end_ms):
            if found(frame):
                return Failed(f"{wanted(self)} is there at {frame.t_ms} ms", frame.t_ms)
        return None


class FrameEventuallyContains(
    TextQuery, frozen=True, kw_only=True, tag="frame_eventually_contains"
):
    """A frame between ``at_ms`` and ``within_ms`` later (the end, by default) contains it."""

    within_ms: int | None = None

    def judge(self, look: Look) -> Failed | None:
        return look.eventually(self.within_ms, _finder(self, look), wanted(self))


class FrameStableFor(TextQuery, frozen=True, kw_only=True, tag="frame_stable_for"):
    """The text stays for ``stable_for_ms`` from ``at_ms``; without text, nothing changes."""

    stable_for_ms: int

    def judge(self, look: Look) -> Failed | None:
        if self.stable_for_ms <= 0:
            return Failed("stable_for_ms must be above 0", look.start_ms)
        end_ms = look.start_ms + self.stable_for_ms
        if end_ms > look.evidence.end_ms:
            return Failed(f"the recording ends at {look.evidence.end_ms} ms", look.start_ms)
        frames = list(look.evidence.frames_between(look.start_ms, end_ms))
        if not frames or frames[0].t_ms > look.start_ms:
            return Failed(f"there is no frame at {look.start_ms} ms", look.start_ms)
        if self.text is None and self.regex is None:
            look.effort.spend(PER_LOOK * len(frames))
            changed = [frame for frame in frames if frame.text != frames[0].text]
            return Failed("the screen changed", changed[0].t_ms) if changed else None
        found = _finder(self, look)
        for frame in frames:
            if not found(frame):
                return Failed(f"{wanted(self)} was not there all the time", frame.t_ms)
        return None


class CursorAt(Base, frozen=True, kw_only=True, tag="cursor"):
    """The cursor at ``at_ms``; only the given fields are compared."""

    cursor_row: int | None = None
    cursor_col: int | None = None
    cursor_visible: bool | None = None

    def judge(self, look: Look) -> Failed | None:

        def right(frame: FrameRecord) -> bool:
            cursor = frame.cursor
            return (
                self.cursor_row in {None, cursor.row}
                and self.cursor_col in {None, cursor.col}
                and self.cursor_visible in {None, cursor.visible}
            )

        expected = f"row {self.cursor_row}, column {self.cursor_col}"
        if self.cursor_visible is not None:
            expected += f", visible {self.cursor_visible}"
        return look.frame_is(
            right,
            expected,
            lambda frame: (
                f"row {frame.cursor.row}, column {frame.cursor.col}, visible {frame.cursor.visible}"
            ),
        )


class SizeIs(Base, frozen=True, kw_only=True, tag="size"):
    """The size of the frame at ``at_ms``."""

    rows: int
    cols: int

    def judge(self, look: Look) -> Failed | None:
        return look.frame_is(
            lambda frame: _is_size(frame, self),
            f"{self.rows} rows x {self.cols} columns",
            lambda frame: f"{frame.size.rows} rows x {frame.size.cols} columns",
        )


class SizeEventually(Base, frozen=True, kw_only=True, tag="size_eventually"):
    """A frame of that size between ``at_ms`` and ``within_ms`` later."""

    rows: int
    cols: int
    within_ms: int | None = None

    def judge(self, look: Look) -> Failed | None:
        expected = f"{self.rows} rows x {self.cols} columns"
        return look.eventually(self.within_ms, lambda frame: _is_size(frame, self), expected)


class AltScreen(Base, frozen=True, kw_only=True, tag="alt_screen"):
    """Whether the alternate screen is shown at ``at_ms`` (extension)."""

    equals: bool = True

    def judge(self, look: Look) -> Failed | None:
        return look.frame_is(
            lambda frame: frame.alt_screen is self.equals,
            f"alternate screen {self.equals}",
            lambda frame: f"{frame.alt_screen}",
        )


class Title(Base, frozen=True, kw_only=True, tag="title"):
    """The window title at ``at_ms``, or of any frame (extension)."""

    text: str | None = None
    regex: str | None = None

    def problem(self, known: PredicateContext) -> str | None:
        return bad_text(self, known)

    def judge(self, look: Look) -> Failed | None:
        return look.any_text(self, [frame.title for frame in look.shown()], "title")


class Clipboard(Base, frozen=True, kw_only=True, tag="clipboard"):
    """Something was put into the clipboard with OSC 52 that contains it (extension)."""

    text: str | None = None
    regex: str | None = None

    def problem(self, known: PredicateContext) -> str | None:
        return bad_text(self, known)

    def judge(self, look: Look) -> Failed | None:
        return look.any_text(self, look.evidence.clipboard, "clipboard content")


class Link(Base, frozen=True, kw_only=True, tag="link"):
    """A hyperlink (OSC 8) was shown whose address contains it (extension)."""

    text: str | None = None
    regex: str | None = None

    def problem(self, known: PredicateContext) -> str | None:
        return bad_text(self, known)

    def judge(self, look: Look) -> Failed | None:
        return look.any_text(self, look.evidence.links, "link")


def _is_size(frame: FrameRecord, size: SizeIs | SizeEventually) -> bool:
    return (frame.size.rows, frame.size.cols) == (size.rows, size.cols)


def _finder(query: TextQuery, look: Look) -> Callable[[FrameRecord], bool]:
    """A function that looks for the query in one frame."""
    normalise = normaliser_of(query.normalise, look.defined)
    per_char = PER_CHAR if query.regex is None else PER_PATTERN_CHAR

    def text_of(frame: FrameRecord) -> str:
        text = _cut(frame, query)
        look.effort.spend(PER_LOOK + per_char * len(text))
        for _ in query.normalise:
            look.effort.spend(PER_REWRITTEN_CHAR * len(text))
        return normalise(text) if query.normalise else text

    if query.regex is not None:
        pattern = file_pattern(query.regex, ignore_case=query.ignore_case)
        return lambda frame: pattern.found(text_of(frame))
    sought = normalise(query.text or "")
    if query.ignore_case:
        sought = sought.lower()
        return lambda frame: sought in text_of(frame).lower()
    return lambda frame: sought in text_of(frame)


def _cut(frame: FrameRecord, query: TextQuery) -> str:
    """The part of the frame that the query covers."""
    rows = frame.text
    if query.row is not None:
        at = query.row if query.row >= 0 else frame.size.rows + query.row
        return rows[at] if 0 <= at < len(rows) else ""
    if query.region is not None:
        region = query.region
        return "\n".join(
            row[region.left : region.right] for row in rows[region.top : region.bottom]
        )
    return "\n".join(rows)


# Predicates on output, input, service events and the end.


Kind = str
MAX_PATH_CHARS = 1000
_EVERYWHERE = re.compile(r"\.\.|[*?:]")
"""A path that looks at more than one value on its way."""
_COSTLY = re.compile(r"=~|\b(?:match|search)\s*\(")
"""Regular expressions inside of a JSONPath: they run on an engine that may never end."""


class RawOutputOrder(Base, frozen=True, kw_only=True, tag="raw_output_order"):
    """Output chunks are in the order of ``seq``, time and offset."""

    def judge(self, look: Look) -> Failed | None:
        look.effort.spend(PER_RECORD * len(look.evidence.outputs))
        last = (0, -1, -1)
        for record in look.evidence.outputs:
            here = (record.seq, record.t_ms, record.offset)
            if here[0] <= last[0] or here[1] < last[1] or here[2] < last[2]:
                return Failed(f"output {record.seq} is out of order", record.t_ms)
            last = here
        return None


class _Sent(Base, frozen=True, kw_only=True):
    bytes_hex: str = ""
    key: str = ""

    def problem(self, known: PredicateContext) -> str | None:  # noqa: ARG002
        return _bad_bytes(self)

    def judge(self, look: Look) -> Failed | None:
        return _sent(self, look)


class InputBytes(_Sent, frozen=True, kw_only=True, tag="input_bytes"):
    """These bytes were sent (as one record, or as several in a row), or that key was."""


class PasteBoundary(_Sent, frozen=True, kw_only=True, tag="paste_boundary"):
    """These bytes, paste brackets included, were sent as separate records."""


class InputText(Base, frozen=True, kw_only=True, tag="input_text"):
    """A line with that text was sent, editing keys applied (extension)."""

    text: str | None = None
    regex: str | None = None

    def problem(self, known: PredicateContext) -> str | None:
        return bad_text(self, known)

    def judge(self, look: Look) -> Failed | None:
        texts = [entry.text for entry in look.evidence.entries if not entry.masked]
        return look.any_text(self, texts, "input")


class ResizeOrder(Base, frozen=True, kw_only=True, tag="resize_order"):
    """Every resize has an event of one kind before it and of another after it."""

    before_kind: Kind = ""
    after_kind: Kind = ""

    def problem(self, known: PredicateContext) -> str | None:  # noqa: ARG002
        return bad_kind(before_kind=self.before_kind, after_kind=self.after_kind)

    def judge(self, look: Look) -> Failed | None:
        timed = look.evidence.timed
        look.effort.spend(PER_RECORD * len(timed))
        resizes = [record for record in look.evidence.inputs if record.kind == "resize"]
        if not resizes:
            return Failed("there is no resize", look.start_ms)
        first = min((seq for seq, _, kind in timed if kind == self.before_kind), default=None)
        last = max((seq for seq, _, kind in timed if kind == self.after_kind), default=None)
        for resize in resizes:
            if self.before_kind and (first is None or first >= resize.seq):
                return Failed(f"no {self.before_kind} before the resize", resize.t_ms)
            if self.after_kind and (last is None or last <= resize.seq):
                return Failed(f"no {self.after_kind} behind the resize", resize.t_ms)
        return None


class ServiceJson(Compare, frozen=True, kw_only=True, tag="service_json"):
    """Some service event has such a value at ``json_path`` (RFC 9535)."""

    json_path: str

    def problem(self, known: PredicateContext) -> str | None:
        return super().problem(known) or _bad_json_path(self.json_path)

    def judge(self, look: Look) -> Failed | None:
        import jsonpath  # noqa: PLC0415 - most scenarios have none

        path = jsonpath.compile(self.json_path)
        everywhere = _EVERYWHERE.search(self.json_path) is not None
        seen: list[Any] = []
        for number, record in enumerate(look.evidence.services):
            count = look.evidence.values_in(number) if everywhere else len(self.json_path)
            look.effort.spend(PER_LOOK + PER_VALUE * count)
            values = _values_at(path, record.payload)
            if not values and self.exists is False:
                return None
            for value in values:
                if compares(self, value):
                    return None
                seen.append(value)
        message = (
            f"no service event has such a value at {self.json_path}; there was {in_short(seen)}"
        )
        return Failed(message, look.start_ms)


class FinalMetadata(Compare, frozen=True, kw_only=True, tag="final_metadata"):
    """The final record's metadata has such a value, and its final text contains ``text``."""

    metadata_key: str = ""
    text: str = ""

    def judge(self, look: Look) -> Failed | None:
        final = look.evidence.final
        if final is None:
            return Failed("there is no final event", look.evidence.end_ms)
        if self.metadata_key:
            metadata = final.metadata or {}
            there = self.metadata_key in metadata
            value = metadata.get(self.metadata_key)
            absent_is_right = self.exists is False and not there
            if not absent_is_right and not (there and compares(self, value)):
                return Failed(f"metadata {self.metadata_key!r} is {in_short([value])}", final.t_ms)
        if self.text and self.text not in (final.final_text or ""):
            return Failed(f"the final text does not contain {self.text!r}", final.t_ms)
        return None


class ExitStatusIs(Base, frozen=True, kw_only=True, tag="exit_status"):
    """How the program ended. ``signal`` is an extension."""

    exit_code: int | None = None
    signaled: bool | None = None
    signal: str | None = None

    def judge(self, look: Look) -> Failed | None:
        return _ended(self, look)


class TimeoutCancelStatus(Base, frozen=True, kw_only=True, tag="timeout_cancel_status"):
    """How a program that was timed out or cancelled ended."""

    exit_code: int | None = None
    signaled: bool | None = None
    signal: str | None = None

    def judge(self, look: Look) -> Failed | None:
        return _ended(self, look)


class TimingGap(Base, frozen=True, kw_only=True, tag="timing_gap"):
    """All gaps between events of a kind are within the bounds."""

    kind: Kind = ""
    min_ms: int | None = None
    max_ms: int | None = None

    def problem(self, known: PredicateContext) -> str | None:  # noqa: ARG002
        return bad_kind(kind=self.kind)

    def judge(self, look: Look) -> Failed | None:
        look.effort.spend(PER_RECORD * len(look.evidence.timed))
        times = [t for _, t, kind in look.evidence.timed if self.kind in {"", kind}]
        bounded = self.min_ms is not None or self.max_ms is not None
        if len(times) < (2 if bounded else 1):
            return Failed(f"there are {len(times)} events of kind {self.kind!r}", 0)
        for before, after in itertools.pairwise(times):
            gap = after - before
            if self.min_ms is not None and gap < self.min_ms:
                return Failed(f"a gap of {gap} ms is below {self.min_ms} ms", after)
            if self.max_ms is not None and gap > self.max_ms:
                return Failed(f"a gap of {gap} ms is above {self.max_ms} ms", after)
        return None


def _sent(query: _Sent, look: Look) -> Failed | None:
    sought = bytes.fromhex(query.bytes_hex)
    look.effort.spend(PER_RECORD * len(look.evidence.inputs))
    records = [record for record in look.evidence.inputs if record.kind == "input"]
    if query.key and any(record.key == query.key for record in records):
        return None
    if sought and _in_a_row(sought, [record.bytes or b"" for record in records], look.effort):
        return None
    named = repr(sought) if sought else f"key {query.key!r}"
    return Failed(f"{named} was not sent", look.start_ms)


def _in_a_row(sought: bytes, chunks: list[bytes], effort: Effort) -> bool:
    """Whether some consecutive chunks are together exactly ``sought``."""
    sent = b"".join(chunks)
    starts = [0, *itertools.accumulate(map(len, chunks))]
    ends = set(starts)
    for start in starts:
        if start + len(sought) in ends:
            effort.spend(PER_LOOK + len(sought))
            if sent.startswith(sought, start):
                return True
    return False


def _ended(query: ExitStatusIs | TimeoutCancelStatus, look: Look) -> Failed | None:
    final = look.evidence.final
    if final is None or final.exit is None:
        return Failed("there is no exit status", look.evidence.end_ms)
    for name, want, got in (
        ("exit_code", query.exit_code, final.exit.code),
        ("signaled", query.signaled, final.exit.signaled),
        ("signal", query.signal, final.exit.signal),
    ):
        if want is not None and want != got:
            return Failed(f"{name} is {got!r}, expected {want!r}", final.t_ms)
    return None


def _bad_bytes(query: _Sent) -> str | None:
    if not query.bytes_hex and not query.key:
        return "give bytes_hex or key"
    try:
        bytes.fromhex(query.bytes_hex)
    except ValueError:
        return f"bytes_hex {query.bytes_hex!r} is not hexadecimal"
    return None


def _values_at(path: Any, payload: Any) -> list[Any]:
    """The values at a compiled path. The library parses a text that begins like JSON as JSON."""
    if isinstance(payload, str):
        return [payload] * len(path.findall(0))  # of any scalar, a path finds itself or nothing
    found: list[Any] = path.findall(payload)
    return found


def _bad_json_path(path: str) -> str | None:
    """Why a JSONPath is refused: its syntax, or unbounded effort."""
    if len(path) > MAX_PATH_CHARS:
        return f"json_path {path[:40]!r}... is longer than {MAX_PATH_CHARS} characters"
    import jsonpath  # noqa: PLC0415 - most scenarios have none

    try:
        jsonpath.compile(path)
    except jsonpath.JSONPathError as exc:
        return f"json_path {path!r}: {str(exc).splitlines()[0]}"
    if _COSTLY.search(path):
        return f"json_path {path!r}: no regular expressions here; use matches"
    if path.count("..") > 1:
        return f"json_path {path!r}: at most one '..', or it may never end"
    return None


Predicate = (
    FrameContains
    | FrameNeverContains
    | FrameEventuallyContains
    | FrameStableFor
    | CursorAt
    | SizeIs
    | SizeEventually
    | StyleIs
    | AltScreen
    | Title
    | Clipboard
    | Link
    | RawOutputOrder
    | InputBytes
    | PasteBoundary
    | InputText
    | ResizeOrder
    | ServiceJson
    | FinalMetadata
    | ExitStatusIs
    | TimeoutCancelStatus
    | TimingGap
)

PREDICATES: tuple[type[Predicate], ...] = get_args(Predicate)


def type_name(predicate: Predicate | type[Predicate]) -> str:
    """Its ``type`` in files."""
    return str(predicate.__struct_config__.tag)


def evaluate(
    predicate: Predicate,
    evidence: Evidence,
    defined: Mapping[str, Normaliser],
    effort: Effort,
) -> Failed | None:
    """Evaluate one predicate, ``not`` included."""
    effort.spend(PER_LOOK)
    start_ms = 0 if predicate.at_ms is None else predicate.at_ms
    if predicate.exchange is not None:
        sent_ms = evidence.start_of(predicate.exchange)
        if sent_ms is None:
            total = len(evidence.entries)
            return Failed(f"there is no input {predicate.exchange}; there are {total}", 0)
        start_ms += sent_ms
    fixed = predicate.at_ms is not None or predicate.exchange is not None
    failed = predicate.judge(Look(evidence, defined, start_ms, effort, fixed=fixed))
    if not predicate.negate:
        return failed
    return Failed("it holds, and must not", start_ms) if failed is None else None
