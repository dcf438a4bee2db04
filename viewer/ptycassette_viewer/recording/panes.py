"""The layout: the recorded terminal, the panels beside or below it, and the lines around them.

In a low window the terminal has priority: timeline, tabs and divider have one row less each, and
the panels get the rest, unless the user moves the divider.
"""

from __future__ import annotations

from textual import events
from textual.css.query import NoMatches
from textual.screen import Screen as TextualScreen

from ptycassette_viewer.widgets.divider import Divider

LEAST_SCREEN_ROWS = 14
"""What the terminal gets, if there is room at all, before panels get more than they need."""
_NARROW_COLS = 120
_LOW_ROWS = 30
_LEAST_COLS = 20
_LEAST_ROWS = 3
_PANEL_COLS, _PANEL_ROWS = 40, 5
_SHARE_BESIDE, _SHARE_BELOW = 0.45, 0.55
_STEP_COLS, _STEP_ROWS = 4, 2


def is_narrow(width: int) -> bool:
    """Whether panes are one below the other."""
    return width < _NARROW_COLS


class PanesScreen(TextualScreen[None]):
    """Expects ``#top``, ``#body`` with ``#stage``, ``#divider`` and ``#panels``, ``#timeline``."""

    CSS = """
    PanesScreen { layout: vertical; }
    #top { height: 1; background: $panel; color: $text; }
    #body { height: 1fr; layout: horizontal; }
    #body.narrow { layout: vertical; }
    #stage { width: 1fr; height: 1fr; }
    #panels { width: 45%; height: 1fr; }
    #body.narrow #panels { width: 1fr; height: 55%; }
    #status { height: 1; background: $surface; color: $text; }
    Tabs { height: 2; }
    ContentSwitcher { height: 1fr; }
    .hidden { display: none; }
    Timeline.low { height: 2; }
    Tabs.low { height: 1; background: $panel; }
    #panels.low VirtualList { scrollbar-size: 0 1; }
    #panels.low DocumentPanel > .panel-title { display: none; }
    Tabs.low Underline { display: none; }
    Tabs.low Tab.-active { text-style: reverse; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.panels_open = False
        self.zoomed: str | None = None
        self._panel_cells: dict[bool, int] = {}

    @property
    def zooms(self) -> tuple[str, ...]:
        """The panes that can be zoomed, in order."""
        return ("stage", "panels") if self.panels_open else ("stage",)

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002 - the protocol
        """Put the panels beside the screen or below it."""
        self.place_panes()

    def place_panes(self) -> None:
        """Lay out all panes."""
        try:
            self.lay_out_panes()
        except NoMatches:  # not composed yet
            return

    def lay_out_panes(self) -> None:
        """Lay out all panes.

        Raises:
            NoMatches: they are not there yet.
        """
        width, height = self.app.size
        narrow, low = is_narrow(width), height < _LOW_ROWS
        for name in ("#timeline", "#panels", "Tabs"):
            self.query_one(name).set_class(low, "low")
        self.query_one("#body").set_class(narrow, "narrow")
        divider, panels = self.query_one("#divider"), self.query_one("#panels")
        divider.set_class(narrow, "below")
        cramped = low and narrow and self.panels_open
        zoomed = self.zoomed is not None
        hidden = {
            "#top": zoomed,
            "#timeline": zoomed,
            "Footer": zoomed,
            "#stage": self.zoomed == "panels",
            "#divider": zoomed or cramped or not self.panels_open,
            "#panels": not self.panels_open or self.zoomed not in {None, "panels"},
        }
        for name, is_hidden in hidden.items():
            self.query_one(name).set_class(is_hidden, "hidden")
        panels.set_class(self.panels_open, "open")
        if zoomed:
            panels.styles.width = panels.styles.height = "1fr"
            return
        around = 6 - low
        cells = self._panel_size(height - around if narrow else width, narrow=narrow)
        panels.styles.width, panels.styles.height = ("1fr", cells) if narrow else (cells, "1fr")

    def _panel_size(self, whole: int, *, narrow: bool) -> int:
        """Rows or columns of the panels, out of ``whole``."""
        least, screen = (_LEAST_ROWS, _LEAST_ROWS) if narrow else (_LEAST_COLS, _LEAST_COLS)
        wanted = self._panel_cells.get(narrow)
        if wanted is None and narrow:
            wanted = min(round(whole * _SHARE_BELOW), whole - LEAST_SCREEN_ROWS)
            wanted = max(_PANEL_ROWS, wanted)
        elif wanted is None:
            wanted = max(_PANEL_COLS, round(whole * _SHARE_BESIDE))
        return max(least, min(wanted, whole - screen))

    def action_resize(self, by: int) -> None:
        """Move the divider right or down, or back."""
        narrow = is_narrow(self.app.size.width)
        self.move_divider(by * (_STEP_ROWS if narrow else _STEP_COLS))

    def move_divider(self, by: int) -> None:
        """Move the divider by so many cells."""
        if not self.panels_open or self.zoomed:
            return
        narrow = is_narrow(self.app.size.width)
        size = self.query_one("#panels").outer_size
        whole = self.query_one("#body").size
        cells, most = (size.height, whole.height) if narrow else (size.width, whole.width)
        least = _LEAST_ROWS if narrow else _LEAST_COLS
        self._panel_cells[narrow] = max(least, min(cells - by, most - least))
        self.place_panes()

    def on_divider_dragged(self, message: Divider.Dragged) -> None:
        """Follow the mouse."""
        self.move_divider(message.by)

    def action_zoom(self) -> None:
        """Zoom one pane, then the next, then none."""
        order = (None, *self.zooms)
        at = order.index(self.zoomed) if self.zoomed in order else 0
        self.zoom(order[(at + 1) % len(order)])

    def zoom(self, pane: str | None) -> None:
        """Zoom one pane; None ends the zoom."""
        self.zoomed = pane
        self.place_panes()
