"""The base of all predicates: common fields, access to the evidence, failures.

A predicate is one class: its name in files (``tag``), its fields, ``problem`` (checks that types
cannot express) and ``judge`` (None when it holds, else why not and at what time). The table of all
is in ``_predicates.py``.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from ptycassette.model.events import FrameRecord
from ptycassette.model.file_patterns import FilePatterns, file_pattern
from ptycassette.model.re2_engine import PatternError
from ptycassette.scenario._effort import PER_CHAR, PER_LOOK, PER_PATTERN_CHAR, Effort
from ptycassette.scenario.evidence import Evidence
from ptycassette.scenario.normalise import Normaliser

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 300
_KINDS = {"input", "output", "frame", "service-event", "final", ""}


class Failed(msgspec.Struct, frozen=True):
    """Why a predicate does not hold, and at what time."""

    message: str
    t_ms: int


class PredicateContext(msgspec.Struct, frozen=True):
    """The file around a predicate: its normalisers, and its patterns so far."""

    normalisers: Collection[str]
    patterns: FilePatterns


class Worded(Protocol):
    """A predicate that looks for a text or a pattern."""

    @property
    def text(self) -> str | None:
        """The text."""
        ...

    @property
    def regex(self) -> str | None:
        """The pattern."""
        ...


class Look:
    """The evidence for a predicate, from a start time.

    Args:
        evidence: the recording.
        defined: the normalisers of the scenario.
        start_ms: the time that the predicate names, or 0.
        effort: counts what is searched.
        fixed: whether the predicate names a time.
    """

    def __init__(
        self,
        evidence: Evidence,
        defined: Mapping[str, Normaliser],
        start_ms: int,
        effort: Effort,
        *,
        fixed: bool,
    ) -> None:
        self.evidence = evidence
        self.defined = defined
        self.start_ms = start_ms
        self.effort = effort
        self.fixed = fixed

    def end_ms(self, within_ms: int | None) -> int:
        """The end of a window that begins at the time asked for."""
        return self.start_ms + within_ms if within_ms else self.evidence.end_ms

    def shown(self) -> list[FrameRecord]:
        """The frame at the given time, or all frames."""
        if not self.fixed:
            return self.evidence.frames
        frame = self.evidence.frame_at(self.start_ms)
        return [frame] if frame else []

    def frame_is(
        self,
        right: Callable[[FrameRecord], bool],
        expected: str,
        got: Callable[[FrameRecord], str],
    ) -> Failed | None:
        """Whether the frame at the given time is right."""
        frame = self.evidence.frame_at(self.start_ms)
        if frame is None:
            return Failed(f"there is no frame at {self.start_ms} ms", self.start_ms)
        if right(frame):
            return None
        return Failed(f"expected {expected}, got {got(frame)}", frame.t_ms)

    def eventually(
        self, within_ms: int | None, found: Callable[[FrameRecord], bool], expected: str
    ) -> Failed | None:
        """Whether some frame of the window is right."""
        end_ms = self.end_ms(within_ms)
        for frame in self.evidence.frames_between(self.start_ms, end_ms):
            self.effort.spend(PER_LOOK)
            if found(frame):
                return None
        return Failed(f"{expected} did not come from {self.start_ms} to {end_ms} ms", end_ms)

    def any_text(self, query: Worded, texts: Iterable[str], what: str) -> Failed | None:
        """Whether the text is in one of several."""
        pattern = None if query.regex is None else file_pattern(query.regex)
        per_char = PER_CHAR if pattern is None else PER_PATTERN_CHAR
        seen: dict[str, None] = {}
        for text in texts:
            self.effort.spend(PER_LOOK + per_char * len(text))
            if text in seen:
                continue
            if (query.text or "") in text if pattern is None else pattern.found(text):
                return None
            seen[text] = None
        shown = in_short(seen)
        return Failed(f"no {what} with {wanted(query)}; there was {shown}", self.start_ms)


class Base(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """The fields that every predicate may have.

    ``name`` is shown in reports. ``negate`` (written ``not``, extension) turns the
    outcome around. ``at_ms`` is a time of the recording, or, with ``exchange``
    (extension), the time since that input was sent.
    """

    name: str = ""
    negate: bool = msgspec.field(name="not", default=False)
    at_ms: int | None = None
    exchange: int | None = None

    def problem(self, known: PredicateContext) -> str | None:  # noqa: ARG002
        """What is wrong with its fields beyond their types; None when all is well."""
        return None


def in_short(values: Iterable[Any]) -> str:
    """The first of some values, each shortened, for messages."""
    return ", ".join(map(_SHORT.repr, itertools.islice(values, 5))) or "nothing"


def wanted(query: Worded) -> str:
    """The wanted text or pattern, for messages."""
    return f"/{query.regex}/" if query.regex is not None else repr(query.text)


def bad_text(query: Worded, known: PredicateContext, *, optional: bool = False) -> str | None:
    """What is wrong with ``text`` and ``regex``, of which one is given."""
    given = (query.text is not None) + (query.regex is not None)
    if given > 1 or (not given and not optional):
        return "give text or regex, one of them"
    if query.text == "":
        return "an empty text is in every screen: it cannot fail"
    return None if query.regex is None else bad_pattern(query.regex, known.patterns)


def bad_kind(**fields: str) -> str | None:
    """What is wrong with fields that name a kind of event, or none."""
    for field, kind in fields.items():
        if kind not in _KINDS:
            return f"{field} {kind!r} is not one of {', '.join(sorted(_KINDS - {''}))}"
    return None


def bad_pattern(pattern: str, patterns: FilePatterns) -> str | None:
    """Why a pattern of the file is refused."""
    try:
        patterns.check(pattern)
    except PatternError as exc:
        return f"regex '{pattern}': {exc}"
    return None
