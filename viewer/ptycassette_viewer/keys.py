"""What the keys do, for the help screen, and what users may write as a moment."""

from __future__ import annotations

import re
from typing import Literal

from ptycassette_viewer.widgets.timeline import EXTRA_MARKS, MARKS

__all__ = ["HELP", "LEGEND", "moment"]

HELP = (
    ("space", "play, pause"),
    ("left right", "5 seconds back, forward; 30 with shift"),
    (", .", "one event back, forward"),
    ("F f", "last, next stored frame"),
    ("E e", "last, next exchange"),
    ("[ ]", "last, next input"),
    ("D d", "last, next divergence (view --report)"),
    ("home end", "start, end (of a live recording: follow it)"),
    ("0 .. 9", "to 0 .. 90 percent"),
    ("g", "go to a time or an event"),
    ("+ -", "faster, slower"),
    ("c", "collapsed: wait for nothing"),
    ("i", "shorten pauses"),
    ("/", "search; n and N for the next and the last hit"),
    ("p", "open or close the panels; tab: the next one"),
    ("a w", "in the list of events: filter, follow"),
    ("m M", "set a marker with a note, remove it"),
    ("' \"", "next, last marker"),
    ("x y", "export this screen to a file, copy its text"),
    ("h j k l", "scroll a screen larger than the window"),
    ("W", "wrap rows wider than the window, or scroll them"),
    ("< >", "move the line between screen and panels (or drag it)"),
    ("z", "zoom: the screen alone, the panels alone, all"),
    ("ctrl+p", "all commands, themes"),
    ("escape", "up: forget the search, end the zoom, close the panels, go back; asks to quit"),
    ("q", "back, quit"),
)
LEGEND = "On the timeline: " + ", ".join(
    f"{shape} {word}"
    for shape, word in (*(mark[1:] for mark in MARKS), *EXTRA_MARKS)
    if word != "difference"
)
_MOMENT = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,12}(?:\.\d{0,6})?|\.\d{1,6})(ms|s)?")


def moment(text: str) -> tuple[Literal["seq", "us"], int]:
    """What the user means: an event (``#12``), or a time in microseconds.

    Raises:
        ValueError: neither.
    """
    text = text.strip()
    if re.fullmatch(r"#\d{1,15}", text):
        return "seq", int(text[1:])
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"no time (12.5, 250ms, 1:02) and no event (#120): {text}")
    hours, minutes, seconds, unit = match.groups()
    if unit == "ms":
        return "us", round(float(seconds) * 1000)
    total_s = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds)
    return "us", round(total_s * 1_000_000)
