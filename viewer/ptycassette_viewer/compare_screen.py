"""Two recordings, side by side or overlaid; what differs is marked."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from ptycassette_viewer.comparison.differing import Differing
from ptycassette_viewer.dialogs import HelpScreen
from ptycassette_viewer.keys import COMPARING_HELP, COMPARING_KEYS, COMPARING_LEGEND


class CompareScreen(Differing):
    """Two recordings. See ``PairScreen`` for the arguments."""

    BINDINGS: ClassVar[list[BindingType]] = [*COMPARING_KEYS]

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen(COMPARING_HELP, COMPARING_LEGEND))
