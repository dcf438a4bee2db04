"""Keys for panels."""

from __future__ import annotations

from textual.widgets import ContentSwitcher, Tabs

from ptycassette_viewer.recording.playhead import PlayheadScreen


class Paneling(PlayheadScreen):
    """One panel at a time, beside the screen or below it."""

    def action_panels(self) -> None:
        """Open or close the panels."""
        self.panels_open = not self.panels_open
        self.zoom(None)
        if self.panels_open:
            self._focus_panel()
            self.call_after_refresh(self.show_panel, self.playback.seq)
        else:
            self.set_focus(None)

    def action_up(self) -> None:
        """Close the panels; without them, go up."""
        if self.panels_open and self.zoomed is None:
            self.action_panels()
        else:
            super().action_up()

    def action_panel(self, by: int) -> None:
        """The next or last panel; opens them."""
        if not self.panels_open:
            self.action_panels()
            return
        tabs = self.query_one(Tabs)
        tabs.action_next_tab() if by > 0 else tabs.action_previous_tab()

    def on_tabs_tab_activated(self, message: Tabs.TabActivated) -> None:
        """Show a panel."""
        name = (message.tab.id or "").removeprefix("tab-")
        self.choose_panel(name)

    def choose_panel(self, name: str) -> None:
        """Show the panel of that name."""
        self.query_one(ContentSwitcher).current = name
        self._focus_panel()
        self.call_after_refresh(self.show_panel, self.playback.seq)

    def _focus_panel(self) -> None:
        if not self.panels_open:
            return
        panel = self.panels[self.current_panel]
        for widget in panel.query("*"):
            if widget.focusable:
                widget.focus()
                return
        self.set_focus(None)
