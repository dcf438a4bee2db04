"""Predicates on screens."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ptycassette.model.events import FrameRecord
from ptycassette.model.file_patterns import file_pattern
from ptycassette.scenario._effort import (
    PER_CHAR,
    PER_LOOK,
    PER_PATTERN_CHAR,
    PER_REWRITTEN_CHAR,
)
from ptycassette.scenario._predicate import Base, Failed, Look, PredicateContext, bad_text, wanted
from ptycassette.scenario.normalise import normaliser_of


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
    """The cursor at ``at_ms``; only what is given is compared."""

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
