"""Stored frames as screens."""

from __future__ import annotations

from ptycassette.model.records import FrameRecord
from ptycassette.model.screen import Screen, Size

MAX_SIDE = 1000
"""A frame may claim any size; no emulator of ours makes a larger one."""


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
