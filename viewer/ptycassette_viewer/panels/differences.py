"""The list of differences between two recordings, each with both rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.message import Message
from textual.widgets import Static

from ptycassette_viewer.comparison.differences import Difference
from ptycassette_viewer.panels.panel import Panel
from ptycassette_viewer.playback import clock_text
from ptycassette_viewer.widgets.virtual_list import VirtualList


class DifferencesPanel(Panel):
    """Two lines for each difference: the row of the first recording, and that of the second.

    Args:
        differences: in order of time; more come at its end.
        title: the line above the list.
    """

    label = "Differences"
    DEFAULT_CSS = """
    DifferencesPanel > .panel-title { height: auto; max-height: 4; }
    DifferencesPanel > VirtualList { height: 1fr; }
    """

    class Choose(Message):
        """The user chose difference ``number``."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(
        self,
        differences: Callable[[], Sequence[Difference]],
        title: Callable[[], str],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._differences = differences
        self._title = title
        self.list = VirtualList(
            lambda: 2 * len(differences()), self._row, width=240, id="differences-list"
        )

    def compose(self) -> ComposeResult:
        """The number of differences, and the list."""
        yield Static(classes="panel-title", markup=False)
        yield self.list

    def _row(self, number: int) -> Text:
        found = self._differences()[number // 2]
        if number % 2:
            return Text(f"{'+':>21} ", end="", no_wrap=True).append(found.second, style="green")
        text = Text(f"{clock_text(found.t_us):>10} ", end="", no_wrap=True)
        text.append(f"row {found.row + 1:<5}- ", style="dim")
        return text.append(found.first, style="red")

    def show_time(self, t_us: int) -> None:
        """Mark the last difference at or before a moment."""
        self.query_one(".panel-title", Static).update(self._title())
        found = self._differences()
        at = self.list.cursor // 2
        if at < len(found) and found[at].t_us == t_us:
            self.list.update()  # the row that was chosen stays
            return
        self.list.update(2 * (bisect_right(found, t_us, key=lambda one: one.t_us) - 1))

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go there."""
        message.stop()
        self.post_message(self.Choose(message.number // 2))
