"""The main screen: one recording, its timeline, and the panels."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from ptycassette_viewer.dialogs import HelpScreen
from ptycassette_viewer.keys import HELP, LEGEND
from ptycassette_viewer.recording.finding import Finding
from ptycassette_viewer.recording.moving import Moving
from ptycassette_viewer.recording.noting import Noting
from ptycassette_viewer.recording.paneling import Paneling

__all__ = ["RecordingScreen"]


class RecordingScreen(Moving, Finding, Paneling, Noting):
    """One recording. What it is made with, ``PlayheadScreen`` says."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_play", "Play"),
        Binding("left", "jump(-5)", "Back 5 seconds", show=False),
        Binding("right", "jump(5)", "Forward 5 seconds", show=False),
        Binding("shift+left", "jump(-30)", "Back 30 seconds", show=False),
        Binding("shift+right", "jump(30)", "Forward 30 seconds", show=False),
        Binding("full_stop", "step(1)", "Step", key_display=".,"),
        Binding("comma", "step(-1)", "Step back", show=False),
        Binding("f", "frame(1)", "Next frame", show=False),
        Binding("F", "frame(-1)", "Last frame", show=False),
        Binding("e", "exchange(1)", "Next exchange", show=False),
        Binding("E", "exchange(-1)", "Last exchange", show=False),
        Binding("right_square_bracket", "input(1)", "Next input", show=False),
        Binding("left_square_bracket", "input(-1)", "Last input", show=False),
        Binding("d", "divergence(1)", "Next divergence", show=False),
        Binding("D", "divergence(-1)", "Last divergence", show=False),
        Binding("home", "edge(0)", "Start", show=False),
        Binding("end", "edge(1)", "End", show=False),
        *(Binding(str(n), f"percent({n}0)", f"Go to {n}0%", show=False) for n in range(10)),
        Binding("plus,equals_sign", "speed(1)", "Faster", show=False),
        Binding("minus", "speed(-1)", "Slower", show=False),
        Binding("c", "collapse", "Collapsed", show=False),
        Binding("i", "idle", "Idle limit", show=False),
        Binding("g", "go", "Go to"),
        Binding("slash", "search", "Search"),
        Binding("n", "hit(1)", "Next hit", show=False),
        Binding("N", "hit(-1)", "Last hit", show=False),
        Binding("p", "panels", "Panels"),
        Binding("tab", "panel(1)", "Next panel", show=False),
        Binding("shift+tab", "panel(-1)", "Last panel", show=False),
        Binding("m", "mark", "Mark", show=False),
        Binding("apostrophe", "marker(1)", "Next marker", show=False),
        Binding("quotation_mark", "marker(-1)", "Last marker", show=False),
        Binding("M", "unmark", "Remove marker", show=False),
        Binding("x", "export", "Export", show=False),
        Binding("y", "copy", "Copy", show=False),
        Binding("less_than_sign", "resize(-1)", "Move the divider left or up", show=False),
        Binding("greater_than_sign", "resize(1)", "Move the divider right or down", show=False),
        Binding("z", "zoom", "Zoom", show=False),
        Binding("W", "wrap", "Wrap long rows", show=False),
        Binding("h", "scroll(-8,0)", "Scroll left", show=False),
        Binding("l", "scroll(8,0)", "Scroll right", show=False),
        Binding("k", "scroll(0,-4)", "Scroll up", show=False),
        Binding("j", "scroll(0,4)", "Scroll down", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape", "up", "Forget the search, close the panels, go back", show=False),
        Binding("q", "leave", "Quit"),
    ]

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen(HELP, LEGEND))
