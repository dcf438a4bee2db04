"""The predicates: each says None when it holds, or why it does not and at what time.

Semantics follow the reference implementation, with these differences: the frame at
time t is the latest at or before t (there: the nearest), a window includes the frame
that stands at its start, and bytes may also be spread over several records.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from typing import Any

import jsonpath
import msgspec

from ptycassette.model import FrameRecord
from ptycassette.model.bounded_regex import bounded_search
from ptycassette.scenario import model as spec
from ptycassette.scenario.comparing import compares
from ptycassette.scenario.evidence import Evidence
from ptycassette.scenario.normalise import normaliser_of
from ptycassette.scenario.styling import styled

__all__ = ["Failed", "evaluate"]


class Failed(msgspec.Struct, frozen=True):
    """Why a predicate does not hold, and where to look."""

    message: str
    t_ms: int


def evaluate(
    predicate: spec.Predicate, evidence: Evidence, defined: dict[str, spec.Normaliser]
) -> Failed | None:
    """Evaluate one predicate, ``not`` included."""
    start_ms = 0 if predicate.at_ms is None else predicate.at_ms
    if predicate.exchange is not None:
        sent_ms = evidence.start_of(predicate.exchange)
        if sent_ms is None:
            total = len(evidence.entries)
            return Failed(f"there is no input {predicate.exchange}; there are {total}", 0)
        start_ms += sent_ms
    failed = _Judge(evidence, defined, start_ms, fixed=_is_fixed(predicate)).judge(predicate)
    if not predicate.negate:
        return failed
    return Failed("it holds, and must not", start_ms) if failed is None else None


def _is_fixed(predicate: spec.Predicate) -> bool:
    return predicate.at_ms is not None or predicate.exchange is not None


class _Judge:
    def __init__(
        self,
        evidence: Evidence,
        defined: dict[str, spec.Normaliser],
        start_ms: int,
        *,
        fixed: bool,
    ) -> None:
        self._evidence = evidence
        self._defined = defined
        self._start_ms = start_ms
        self._fixed = fixed

    def judge(self, predicate: spec.Predicate) -> Failed | None:  # noqa: PLR0911, PLR0912 - a table
        match predicate:
            case spec.FrameContains():
                return self._contains(predicate)
            case spec.FrameNeverContains():
                return self._never(predicate)
            case spec.FrameEventuallyContains():
                found = _finder(predicate, self._defined)
                return self._eventually(predicate.within_ms, found, _wanted(predicate))
            case spec.FrameStableFor():
                return self._stable(predicate)
            case spec.Cursor():
                return self._cursor(predicate)
            case spec.SizeIs():
                return self._frame(
                    lambda frame: _is_size(frame, predicate),
                    f"{predicate.rows} rows x {predicate.cols} columns",
                    lambda frame: f"{frame.size.rows} rows x {frame.size.cols} columns",
                )
            case spec.SizeEventually():
                wanted = f"{predicate.rows} rows x {predicate.cols} columns"
                return self._eventually(
                    predicate.within_ms, lambda frame: _is_size(frame, predicate), wanted
                )
            case spec.StyleIs():
                return self._frame(
                    lambda frame: styled(frame, predicate),
                    f"{predicate.text!r} painted so",
                    lambda _: "no such text, or painted otherwise",
                )
            case spec.AltScreen():
                return self._frame(
                    lambda frame: frame.alt_screen is predicate.equals,
                    f"alternate screen {predicate.equals}",
                    lambda frame: f"{frame.alt_screen}",
                )
            case spec.Title():
                frames = self._shown()
                titles = [frame.title for frame in frames]
                return self._any_text(predicate, titles, "title")
            case spec.Clipboard():
                return self._any_text(predicate, self._evidence.clipboard, "clipboard content")
            case spec.Link():
                return self._any_text(predicate, self._evidence.links, "link")
            case spec.InputText():
                texts = [entry.text for entry in self._evidence.entries if not entry.masked]
                return self._any_text(predicate, texts, "input")
            case spec.RawOutputOrder():
                return self._output_order()
            case spec.InputBytes() | spec.PasteBoundary():
                return self._input(predicate)
            case spec.ResizeOrder():
                return self._resize_order(predicate)
            case spec.ServiceJson():
                return self._service(predicate)
            case spec.FinalMetadata():
                return self._final(predicate)
            case spec.ExitStatusIs() | spec.TimeoutCancelStatus():
                return self._exit(predicate)
            case spec.TimingGap():
                return self._gap(predicate)

    # -- screens -----------------------------------------------------------------

    def _shown(self) -> list[FrameRecord]:
        """The frame at the time asked for, or all frames."""
        if not self._fixed:
            return self._evidence.frames
        frame = self._evidence.frame_at(self._start_ms)
        return [frame] if frame else []

    def _contains(self, predicate: spec.TextQuery) -> Failed | None:
        found = _finder(predicate, self._defined)
        if any(found(frame) for frame in self._shown()):
            return None
        where = f"at {self._start_ms} ms" if self._fixed else "in any frame"
        looked_ms = self._start_ms if self._fixed else self._evidence.end_ms
        return Failed(f"{_wanted(predicate)} is not there {where}", looked_ms)

    def _never(self, predicate: spec.FrameNeverContains) -> Failed | None:
        found = _finder(predicate, self._defined)
        end_ms = self._end(predicate.within_ms)
        for frame in self._evidence.frames_between(self._start_ms, end_ms):
            if found(frame):
                return Failed(f"{_wanted(predicate)} is there at {frame.t_ms} ms", frame.t_ms)
        return None

    def _eventually(
        self, within_ms: int | None, found: Callable[[FrameRecord], bool], wanted: str
    ) -> Failed | None:
        end_ms = self._end(within_ms)
        if any(found(frame) for frame in self._evidence.frames_between(self._start_ms, end_ms)):
            return None
        return Failed(f"{wanted} did not come from {self._start_ms} to {end_ms} ms", end_ms)

    def _stable(self, predicate: spec.FrameStableFor) -> Failed | None:
        if predicate.stable_for_ms <= 0:
            return Failed("stable_for_ms must be above 0", self._start_ms)
        end_ms = self._start_ms + predicate.stable_for_ms
        if end_ms > self._evidence.end_ms:
            return Failed(f"the recording ends at {self._evidence.end_ms} ms", self._start_ms)
        frames = list(self._evidence.frames_between(self._start_ms, end_ms))
        if not frames or frames[0].t_ms > self._start_ms:
            return Failed(f"there is no frame at {self._start_ms} ms", self._start_ms)
        if predicate.text is None and predicate.regex is None:
            changed = [frame for frame in frames if frame.text != frames[0].text]
            return Failed("the screen changed", changed[0].t_ms) if changed else None
        found = _finder(predicate, self._defined)
        for frame in frames:
            if not found(frame):
                return Failed(f"{_wanted(predicate)} was not there all the time", frame.t_ms)
        return None

    def _cursor(self, predicate: spec.Cursor) -> Failed | None:
        def right(frame: FrameRecord) -> bool:
            cursor = frame.cursor
            return (
                predicate.cursor_row in {None, cursor.row}
                and predicate.cursor_col in {None, cursor.col}
                and predicate.cursor_visible in {None, cursor.visible}
            )

        wanted = f"row {predicate.cursor_row}, column {predicate.cursor_col}"
        if predicate.cursor_visible is not None:
            wanted += f", visible {predicate.cursor_visible}"
        return self._frame(
            right,
            wanted,
            lambda frame: (
                f"row {frame.cursor.row}, column {frame.cursor.col}, visible {frame.cursor.visible}"
            ),
        )

    def _frame(
        self,
        right: Callable[[FrameRecord], bool],
        wanted: str,
        got: Callable[[FrameRecord], str],
    ) -> Failed | None:
        frame = self._evidence.frame_at(self._start_ms)
        if frame is None:
            return Failed(f"there is no frame at {self._start_ms} ms", self._start_ms)
        if right(frame):
            return None
        return Failed(f"expected {wanted}, got {got(frame)}", frame.t_ms)

    def _end(self, within_ms: int | None) -> int:
        return self._start_ms + within_ms if within_ms else self._evidence.end_ms

    def _any_text(
        self,
        predicate: spec.Title | spec.Clipboard | spec.Link | spec.InputText,
        texts: Iterable[str],
        what: str,
    ) -> Failed | None:
        seen = list(dict.fromkeys(texts))
        if predicate.regex is not None:
            hit = any(bounded_search(predicate.regex, text) for text in seen)
        else:
            hit = any((predicate.text or "") in text for text in seen)
        if hit:
            return None
        shown = ", ".join(repr(text) for text in seen[:5]) or "nothing"
        return Failed(f"no {what} with {_wanted(predicate)}; there was {shown}", self._start_ms)

    # -- streams -----------------------------------------------------------------

    def _output_order(self) -> Failed | None:
        last = (0, -1, -1)
        for record in self._evidence.outputs:
            here = (record.seq, record.t_ms, record.offset)
            if here[0] <= last[0] or here[1] < last[1] or here[2] < last[2]:
                return Failed(f"output {record.seq} is out of order", record.t_ms)
            last = here
        return None

    def _input(self, predicate: spec.InputBytes | spec.PasteBoundary) -> Failed | None:
        wanted = bytes.fromhex(predicate.bytes_hex)
        records = [record for record in self._evidence.inputs if record.kind == "input"]
        if predicate.key and any(record.key == predicate.key for record in records):
            return None
        if wanted and _in_a_row(wanted, [record.bytes or b"" for record in records]):
            return None
        named = repr(wanted) if wanted else f"key {predicate.key!r}"
        return Failed(f"{named} was not sent", self._start_ms)

    def _resize_order(self, predicate: spec.ResizeOrder) -> Failed | None:
        resizes = [record for record in self._evidence.inputs if record.kind == "resize"]
        if not resizes:
            return Failed("there is no resize", self._start_ms)
        for resize in resizes:
            before = {kind for seq, _, kind in self._evidence.timed if seq < resize.seq}
            after = {kind for seq, _, kind in self._evidence.timed if seq > resize.seq}
            if predicate.before_kind and predicate.before_kind not in before:
                return Failed(f"no {predicate.before_kind} before the resize", resize.t_ms)
            if predicate.after_kind and predicate.after_kind not in after:
                return Failed(f"no {predicate.after_kind} behind the resize", resize.t_ms)
        return None

    def _gap(self, predicate: spec.TimingGap) -> Failed | None:
        times = [t for _, t, kind in self._evidence.timed if predicate.kind in {"", kind}]
        bounded = predicate.min_ms is not None or predicate.max_ms is not None
        if len(times) < (2 if bounded else 1):
            return Failed(f"there are {len(times)} events of kind {predicate.kind!r}", 0)
        for before, after in itertools.pairwise(times):
            gap = after - before
            if predicate.min_ms is not None and gap < predicate.min_ms:
                return Failed(f"a gap of {gap} ms is below {predicate.min_ms} ms", after)
            if predicate.max_ms is not None and gap > predicate.max_ms:
                return Failed(f"a gap of {gap} ms is above {predicate.max_ms} ms", after)
        return None

    # -- JSON and the end --------------------------------------------------------

    def _service(self, predicate: spec.ServiceJson) -> Failed | None:
        seen: list[Any] = []
        for record in self._evidence.services:
            values = jsonpath.findall(predicate.json_path, record.payload)
            if not values and predicate.exists is False:
                return None
            for value in values:
                if compares(predicate, value):
                    return None
                seen.append(value)
        shown = ", ".join(repr(value) for value in seen[:5]) or "nothing"
        message = f"no service event has such a value at {predicate.json_path}; there was {shown}"
        return Failed(message, self._start_ms)

    def _final(self, predicate: spec.FinalMetadata) -> Failed | None:
        final = self._evidence.final
        if final is None:
            return Failed("there is no final event", self._evidence.end_ms)
        if predicate.metadata_key:
            metadata = final.metadata or {}
            there = predicate.metadata_key in metadata
            value = metadata.get(predicate.metadata_key)
            absent_is_right = predicate.exists is False and not there
            if not absent_is_right and not (there and compares(predicate, value)):
                return Failed(f"metadata {predicate.metadata_key!r} is {value!r}", final.t_ms)
        if predicate.text and predicate.text not in (final.final_text or ""):
            return Failed(f"the final text does not contain {predicate.text!r}", final.t_ms)
        return None

    def _exit(self, predicate: spec.ExitStatusIs | spec.TimeoutCancelStatus) -> Failed | None:
        final = self._evidence.final
        if final is None or final.exit is None:
            return Failed("there is no exit status", self._evidence.end_ms)
        for name, want, got in (
            ("exit_code", predicate.exit_code, final.exit.code),
            ("signaled", predicate.signaled, final.exit.signaled),
            ("signal", predicate.signal, final.exit.signal),
        ):
            if want is not None and want != got:
                return Failed(f"{name} is {got!r}, expected {want!r}", final.t_ms)
        return None


def _is_size(frame: FrameRecord, wanted: spec.SizeIs | spec.SizeEventually) -> bool:
    return (frame.size.rows, frame.size.cols) == (wanted.rows, wanted.cols)


def _wanted(predicate: Any) -> str:
    return f"/{predicate.regex}/" if predicate.regex is not None else repr(predicate.text)


def _finder(
    query: spec.TextQuery, defined: dict[str, spec.Normaliser]
) -> Callable[[FrameRecord], bool]:
    """A function that looks for the query in one frame."""
    normalise = normaliser_of(query.normalise, defined)
    pattern = re.escape(normalise(query.text)) if query.text is not None else query.regex or ""

    def found(frame: FrameRecord) -> bool:
        text = normalise(_cut(frame, query))
        return bounded_search(pattern, text, ignore_case=query.ignore_case)

    return found


def _cut(frame: FrameRecord, query: spec.TextQuery) -> str:
    """The part of the frame that is looked at."""
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


def _in_a_row(wanted: bytes, chunks: list[bytes]) -> bool:
    """Whether some consecutive chunks are together exactly ``wanted``."""
    for first in range(len(chunks)):
        joined = b""
        for chunk in chunks[first:]:
            joined += chunk
            if joined == wanted:
                return True
            if not wanted.startswith(joined):
                break
    return False
