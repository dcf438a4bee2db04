"""The differences between two stored frames, and screens as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from ptycassette.cassette.timeline.match import read_entries
from ptycassette.model.records import FrameRecord, InputRecord, painted_bytes
from ptycassette.model.screen import Screen, Size
from ptycassette.replaying.divergence import Drift, DriftChange, Side


class RowDifference(msgspec.Struct, frozen=True):
    """Row ``row`` (from 0) was ``before`` and is ``after``; None if there is no such row."""

    row: int
    before: str | None
    after: str | None


def changed_rows(before: FrameRecord | None, after: FrameRecord) -> Iterator[RowDifference]:
    """The rows whose text differs. ``before=None`` is a screen without text."""
    old = before.text if before is not None else ("",) * len(after.text)
    for row, (was, now) in enumerate(zip_longest(old, after.text)):
        if was != now:
            yield RowDifference(row, was, now)


def restyled_rows(before: FrameRecord | None, after: FrameRecord) -> Iterator[int]:
    """The rows whose styles differ, where both frames keep styles."""
    old = (before.styles if before is not None else None) or ()
    for row, (was, now) in enumerate(zip_longest(old, after.styles or (), fillvalue=())):
        if was != now:
            yield row


def screen_object(screen: Screen) -> dict[str, Any]:
    """A screen as JSON: rows down to the last one that is not empty, and their styles."""
    styled = [number for number, runs in enumerate(screen.styles, 1) if runs]
    texts = [number for number, row in enumerate(screen.rows, 1) if row.strip()]
    used = max((*texts, *styled), default=0)
    return {
        "rows": list(screen.rows[:used]),
        "cols": screen.size.cols,
        "styles": msgspec.to_builtins(screen.styles[:used]),
    }


# The screens of an exchange that drifted, on both sides.


class DriftPicture(msgspec.Struct, frozen=True, kw_only=True):
    """An exchange that drifted: the change, and the last screens of both sides.

    ``old`` and ``new`` are its numbers; 0 is before any input. A screen is None if that side has
    no such exchange.
    """

    old: int
    new: int
    changes: tuple[DriftChange, ...]
    before: Screen | None
    now: Screen | None


def picture_object(picture: DriftPicture) -> dict[str, Any]:
    """A picture as JSON."""
    return {
        "old": picture.old,
        "new": picture.new,
        "changes": [
            {"kind": one.kind, "what": one.what, "expected": one.expected, "got": one.got}
            for one in picture.changes
        ],
        "before": picture.before and screen_object(picture.before),
        "now": picture.now and screen_object(picture.now),
    }


MAX_PICTURES = 20


def drift_pictures(found: Drift, old: Side, new: Side) -> list[DriftPicture]:
    """The pictures in the order of the exchanges, at most ``MAX_PICTURES``."""
    exchanges: dict[tuple[int, int], list[DriftChange]] = {}
    for change in (*found.exchanges, *found.screens):
        exchanges.setdefault((change.old, change.new), []).append(change)
    screens = [_screens(side) for side in (old, new)] if exchanges else []
    return [
        DriftPicture(
            old=before,
            new=now,
            changes=tuple(changes),
            before=None if _is_of(changes, "added") else screens[0].get(before),
            now=None if _is_of(changes, "removed") else screens[1].get(now),
        )
        for (before, now), changes in sorted(exchanges.items(), key=_by_new)[:MAX_PICTURES]
    ]


def _is_of(changes: Sequence[DriftChange], kind: str) -> bool:
    return any(change.kind == kind for change in changes)


def _by_new(exchange: tuple[tuple[int, int], object]) -> tuple[int, int]:
    before, now = exchange[0]
    return now or before, before


def _screens(side: Side) -> dict[int, Screen]:
    """The screen at the end of every exchange, rendered from the output."""
    from ptycassette.terminal.emulator import default_emulator  # noqa: PLC0415 - not for the stand-in

    events = side.events
    records = [event.record for event in events if isinstance(event.record, InputRecord)]
    starts = [entry.seq for entry in read_entries(records)]
    terminal = side.manifest.terminal
    emulator = default_emulator(Size(rows=terminal.initial_rows, cols=terminal.initial_cols))
    screens: dict[int, Screen] = {}
    for event in events:
        while len(screens) < len(starts) and event.seq >= starts[len(screens)]:
            screens[len(screens)] = emulator.snapshot()
        if event.kind == "output":
            emulator.feed(painted_bytes(event))
        elif isinstance(event.record, InputRecord) and event.record.size is not None:
            emulator.resize(event.record.size)
    return {**screens, len(screens): emulator.snapshot()}
