"""Stored frames as screens, and the differences between two screens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from ptycassette.model import FrameRecord, Screen, Size

MAX_SIDE = 1000
"""A frame may claim any size; no emulator of ours makes a larger one."""


class RowDifference(msgspec.Struct, frozen=True):
    """Row ``row`` (from 0) was ``before`` and is ``after``; None if there is no such row."""

    row: int
    before: str | None
    after: str | None


def screen_of(frame: FrameRecord) -> Screen:
    """The screen that a frame holds; the upper left of it when it is larger than any screen.

    Modes are not stored.
    """
    rows, cols = min(frame.size.rows, MAX_SIDE), min(frame.size.cols, MAX_SIDE)
    return Screen(
        size=Size(rows=rows, cols=cols),
        rows=frame.text[:rows],
        styles=(frame.styles or ())[:rows],
        cursor=frame.cursor,
        title=frame.title,
        alt_screen=frame.alt_screen,
    )


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
