"""Predicates on output, input, service events and the end."""

from __future__ import annotations

import itertools
import re
from typing import Any

from ptycassette.scenario._comparing import Compare, compares
from ptycassette.scenario._effort import PER_LOOK, PER_RECORD, PER_VALUE, Effort
from ptycassette.scenario._predicate import (
    Base,
    Failed,
    Look,
    PredicateContext,
    bad_kind,
    bad_text,
    in_short,
)

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
    """These bytes, paste brackets included, were sent as records of their own."""


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
    """What a compiled path finds. The library reads a text that begins like JSON as JSON."""
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
