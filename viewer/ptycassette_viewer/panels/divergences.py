"""The list of divergences, and a description of the one at the playhead."""

from __future__ import annotations

from bisect import bisect_right

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from ptycassette import ReportedDivergence
from ptycassette_viewer.panels.panel import Panel
from ptycassette_viewer.playback import clock_text
from ptycassette_viewer.widgets.virtual_list import VirtualList


class DivergencesPanel(Panel):
    """The divergences of a report, by place."""

    label = "Divergences"
    DEFAULT_CSS = """
    DivergencesPanel > VirtualList { height: 1fr; }
    DivergencesPanel > VerticalScroll { height: 55%; padding: 0 1; border-top: solid $panel; }
    """

    def __init__(
        self,
        divergences: tuple[ReportedDivergence, ...],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._divergences = divergences
        self._seqs = [found.seq for found in divergences]
        self.list = VirtualList(lambda: len(divergences), self._row, id="divergences-list")

    def compose(self) -> ComposeResult:
        """A title, the list, and the words."""
        count = len(self._divergences)
        yield Static(f"{count} from what was recorded (d next, D last)", classes="panel-title")
        yield self.list
        with VerticalScroll(can_focus=False):
            yield Static(id="divergence-text", markup=False)

    def _row(self, number: int) -> Text:
        found = self._divergences[number]
        text = Text(f"{clock_text(found.t_ms * 1000):>10} {found.seq:>6} ", end="", no_wrap=True)
        text.append(found.line, style="bold red")
        return text

    def show(self, seq: int) -> None:
        """Mark and describe the last divergence at or before the playhead."""
        place = bisect_right(self._seqs, seq) - 1
        self.list.update(place)
        lines = self._divergences[place].lines() if place >= 0 else ("none so far",)
        self.query_one("#divergence-text", Static).update(Text("\n".join(lines)))

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go to its place in the recording."""
        message.stop()
        self.post_message(self.Go(self._divergences[message.number].seq))
