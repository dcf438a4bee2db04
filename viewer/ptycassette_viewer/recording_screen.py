"""The main screen: one recording, its timeline, and the panels."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from ptycassette_viewer.dialogs import HelpScreen
from ptycassette_viewer.keys import HELP, KEYS, LEGEND
from ptycassette_viewer.recording.finding import Finding
from ptycassette_viewer.recording.moving import Moving
from ptycassette_viewer.recording.noting import Noting
from ptycassette_viewer.recording.paneling import Paneling


class RecordingScreen(Moving, Finding, Paneling, Noting):
    """One recording. See ``PlayheadScreen`` for the arguments."""

    BINDINGS: ClassVar[list[BindingType]] = [*KEYS]

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen(HELP, LEGEND))
