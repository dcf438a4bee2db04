"""The keys, for bindings and help, and the syntax of moments."""

from __future__ import annotations

import re
from typing import Literal

from textual.binding import Binding, BindingType

from ptycassette.viewing import parse_time

from .widgets.screen_view import EXTRA_MARKS, MARKS


def _key(key: str, action: str, description: str) -> Binding:
    """A key that the footer does not show."""
    return Binding(key, action, description, show=False)


_PLAYING: tuple[Binding, ...] = (
    Binding("space", "toggle_play", "Play"),
    _key("left", "jump(-5)", "Back 5 seconds"),
    _key("right", "jump(5)", "Forward 5 seconds"),
    _key("shift+left", "jump(-30)", "Back 30 seconds"),
    _key("shift+right", "jump(30)", "Forward 30 seconds"),
    Binding("full_stop", "step(1)", "Step", key_display=".,"),
    _key("comma", "step(-1)", "Step back"),
    _key("f", "frame(1)", "Next frame"),
    _key("F", "frame(-1)", "Last frame"),
    _key("e", "exchange(1)", "Next exchange"),
    _key("E", "exchange(-1)", "Last exchange"),
    _key("right_square_bracket", "input(1)", "Next input"),
    _key("left_square_bracket", "input(-1)", "Last input"),
    _key("home", "edge(0)", "Start"),
    _key("end", "edge(1)", "End"),
    *(_key(str(n), f"percent({n}0)", f"Go to {n}0%") for n in range(10)),
    _key("plus,equals_sign", "speed(1)", "Faster"),
    _key("minus", "speed(-1)", "Slower"),
    _key("c", "collapse", "Collapsed"),
    _key("i", "idle", "Idle limit"),
    Binding("g", "go", "Go to"),
    Binding("slash", "search", "Search"),
    _key("n", "hit(1)", "Next hit"),
    _key("N", "hit(-1)", "Last hit"),
)
_PANES: tuple[BindingType, ...] = (
    Binding("p", "panels", "Panels"),
    _key("tab", "panel(1)", "Next panel"),
    _key("shift+tab", "panel(-1)", "Last panel"),
    _key("less_than_sign", "resize(-1)", "Move the divider left or up"),
    _key("greater_than_sign", "resize(1)", "Move the divider right or down"),
    _key("z", "zoom", "Zoom"),
    _key("W", "wrap", "Wrap long rows"),
    _key("h", "scroll(-8,0)", "Scroll left"),
    _key("l", "scroll(8,0)", "Scroll right"),
    _key("k", "scroll(0,-4)", "Scroll up"),
    _key("j", "scroll(0,4)", "Scroll down"),
)
_LEAVING: tuple[BindingType, ...] = (
    Binding("question_mark", "help", "Help", key_display="?"),
    _key("escape", "up", "Forget the search, close the panels, go back"),
    Binding("q", "leave", "Quit"),
)
KEYS: tuple[BindingType, ...] = (
    *_PLAYING,
    _key("d", "divergence(1)", "Next divergence"),
    _key("D", "divergence(-1)", "Last divergence"),
    *_PANES,
    _key("m", "mark", "Mark"),
    _key("apostrophe", "marker(1)", "Next marker"),
    _key("quotation_mark", "marker(-1)", "Last marker"),
    _key("M", "unmark", "Remove marker"),
    _key("x", "export", "Export"),
    _key("y", "copy", "Copy"),
    _key("X", "mask", "Mask in a new recording"),
    *_LEAVING,
)
"""Of one recording."""
COMPARING_KEYS: tuple[BindingType, ...] = (
    *(_key(key.key, key.action, key.description) for key in _PLAYING),
    Binding("d", "difference(1)", "Difference", key_display="dD"),
    _key("D", "difference(-1)", "Last difference"),
    Binding("o", "overlay", "Overlay"),
    Binding("s", "sync", "Sync"),
    *_PANES,
    _key("b", "other_panels", "Panels of the other recording"),
    *_LEAVING,
)
"""Of two recordings."""

_PLAYING_HELP = (
    ("space", "play, pause"),
    ("left right", "5 seconds back, forward; 30 with shift"),
    (", .", "one event back, forward"),
    ("F f", "previous, next stored frame"),
    ("E e", "previous, next exchange"),
    ("[ ]", "previous, next input"),
)
_SEEKING_HELP = (
    ("0 .. 9", "to 0 .. 90 percent"),
    ("g", "go to a time or an event"),
    ("+ -", "faster, slower"),
    ("c", "collapsed: wait for nothing"),
    ("i", "shorten pauses"),
    ("/", "search; n and N for the next and the previous hit"),
    ("p", "open or close the panels; tab: the next one"),
    ("a w", "in the list of events: filter, follow"),
)
_PANES_HELP = (
    ("h j k l", "scroll a screen larger than the window"),
    ("W", "wrap rows wider than the window, or scroll them"),
    ("< >", "move the line between screen and panels (or drag it)"),
)
_PALETTE_HELP = ("ctrl+p", "all commands, themes")
HELP = (
    *_PLAYING_HELP,
    ("D d", "previous, next divergence (view --report)"),
    ("home end", "start, end (of a live recording: follow it)"),
    *_SEEKING_HELP,
    ("m M", "set a marker with a note, remove it"),
    ("' \"", "next, previous marker"),
    ("x y", "export this screen to a file, copy its text"),
    ("X", "mask a region, a word or an exchange in a new recording"),
    *_PANES_HELP,
    ("z", "zoom: the screen alone, the panels alone, all"),
    _PALETTE_HELP,
    ("escape", "up: forget the search, end the zoom, close the panels, go back; asks to quit"),
    ("q", "back, quit"),
)
COMPARING_HELP = (
    ("D d", "previous, next place where a row begins to differ"),
    ("o", "overlaid (rows that differ twice, - and +), or side by side"),
    ("s", "same exchange, or same time"),
    *_PLAYING_HELP,
    ("home end", "start, end"),
    *_SEEKING_HELP,
    ("b", "panels of the other recording"),
    *_PANES_HELP,
    ("z", "zoom: the first, the second, the panels alone, all"),
    _PALETTE_HELP,
    ("escape", "up: forget the search, end the zoom, close the panels; asks to quit"),
    ("q", "quit"),
)
LEGEND = "On the timeline: " + ", ".join(
    f"{shape} {word}"
    for shape, word in (*(mark[1:] for mark in MARKS), *EXTRA_MARKS)
    if word != "difference"
)
COMPARING_LEGEND = (
    "Cells that differ are marked on both sides. The playhead and the timeline are those of the "
    "first recording; \u2260 is where a row begins to differ, / a search hit in either."
)


def moment(text: str) -> tuple[Literal["seq", "us"], int]:
    """The moment that a text names: an event (``#12``), or a time in microseconds.

    Raises:
        ValueError: it is neither.
    """
    text = text.strip()
    if re.fullmatch(r"#\d{1,15}", text):
        return "seq", int(text[1:])
    try:
        return "us", round(parse_time(text) * 1_000_000)
    except ValueError as exc:
        # As it was written: whatever shows this quotes it.
        raise ValueError(f"neither a time (12.5, 250ms, 1:02) nor an event (#120): {text}") from exc
