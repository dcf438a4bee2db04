"""The differences between two stored frames, and screens as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from ptycassette.model.records import FrameRecord
from ptycassette.model.screen import Screen
from ptycassette.replaying.divergence import DriftChange


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
