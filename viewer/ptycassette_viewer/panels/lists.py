"""Panels that are lists: events, inputs, exchanges. Choosing a row moves the playhead there."""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from ptycassette_viewer.panels.panel import Panel, event_line
from ptycassette_viewer.panels.rows import AllRows, KindRows, Rows, SignalRows
from ptycassette_viewer.playback import clock_text
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.widgets.virtual_list import VirtualList

_NOTABLE = "terminal signals"
_ROUTINE = "modes, updates and queries"


class EventsPanel(Panel):
    """All events, or those of one kind; the one at the playhead is marked."""

    label = "Events"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "next_filter", "Filter", show=False),
        Binding("w", "toggle_follow", "Follow", show=False),
    ]

    def __init__(self, session: ViewerSession, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._signals = session.signals
        self._filters: tuple[tuple[str, Rows], ...] = (
            ("all", AllRows(session)),
            ("output", KindRows(session, "output")),
            ("input", KindRows(session, "input")),
            ("frames", KindRows(session, "frame")),
            ("service events", KindRows(session, "service-event")),
            ("resizes", KindRows(session, "resize")),
            ("signals", KindRows(session, "signal")),
            ("answers", KindRows(session, "answer")),
            (_NOTABLE, SignalRows(session, session.signals.notable)),
            (_ROUTINE, SignalRows(session, session.signals.routine)),
        )
        self._filter = 0
        self.follow = True
        self._seq = 0
        self.list = VirtualList(self._count, self._row, id="events-list")

    def compose(self) -> ComposeResult:
        """The filter, and the list."""
        yield Static(classes="panel-title")
        yield self.list

    def on_mount(self) -> None:
        """Show the filter."""
        self._say()

    @property
    def rows(self) -> Rows:
        """The listed rows."""
        return self._filters[self._filter][1]

    def _say(self) -> None:
        name = self._filters[self._filter][0]
        parts = [f"{name} (a)", f"{'following' if self.follow else 'not following'} (w)"]
        if name in {_NOTABLE, _ROUTINE} and self._signals.dropped:
            parts.append("not all of them: there are too many")
        self.query_one(".panel-title", Static).update(", ".join(parts))

    def _count(self) -> int:
        return self.rows.count()

    def _row(self, number: int) -> Text:
        return self.rows.line(number)

    def show(self, seq: int) -> None:
        """Bring the event at the playhead into view, when following."""
        self._seq = seq
        rows, at = self.rows, self.list.cursor
        if not self.follow or (at < rows.count() and rows.seq(at) == seq):
            # Several rows may belong to an event; the chosen one stays.
            self.list.update(at if self.follow else None)
        else:
            self.list.update(rows.place(seq))

    def action_next_filter(self) -> None:
        """List the next kind."""
        self._filter = (self._filter + 1) % len(self._filters)
        self._say()
        self.show(self._seq)

    def action_toggle_follow(self) -> None:
        """Follow the playhead, or stay."""
        self.follow = not self.follow
        self._say()
        self.show(self._seq)

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go to the event."""
        message.stop()
        self.post_message(self.Go(self.rows.seq(message.number)))


class InputsPanel(Panel):
    """What was typed, as keys, with resizes and signals."""

    label = "Input"

    def __init__(self, session: ViewerSession, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self.list = VirtualList(
            lambda: len(session.index.of_kind("input")), self._row, id="inputs-list"
        )

    def compose(self) -> ComposeResult:
        """The list."""
        yield Static("what was typed, byte for byte and as keys", classes="panel-title")
        yield self.list

    def _row(self, number: int) -> Text:
        return event_line(self._session, self._session.index.of_kind("input")[number])

    def show(self, seq: int) -> None:
        """Mark the last input."""
        self.list.update(bisect_right(self._session.index.of_kind("input"), seq) - 1)

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go to the input."""
        message.stop()
        self.post_message(self.Go(self._session.index.of_kind("input")[message.number]))


class ExchangesPanel(Panel):
    """Stretches of input, and what came back."""

    label = "Exchanges"

    def __init__(self, session: ViewerSession, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._session = session
        self.list = VirtualList(lambda: len(session.exchanges), self._row, id="exchanges-list")

    def compose(self) -> ComposeResult:
        """The list."""
        yield Static("number, start, input, output that came back", classes="panel-title")
        yield self.list

    def _row(self, place: int) -> Text:
        session, index = self._session, self._session.index
        starts = session.exchanges.starts
        first = starts[place]
        last = starts[place + 1] - 1 if place + 1 < len(starts) else index.count
        size = index.output_end(last) - index.output_start(first)
        text = Text(f"{session.exchanges.number(place):>4} ", end="", no_wrap=True)
        text.append(f"{clock_text(index.time_of(first)):>10} ", style="dim")
        text.append(self._typed(first, last), style="bold #b87000")
        text.append(f"  {size} bytes came back", style="green")
        return text

    def _typed(self, first: int, last: int) -> str:
        """A short text of an exchange's inputs."""
        words: list[str] = []
        seq: int | None = first
        for _ in range(40):
            if seq is None or seq > last:
                break
            if self._session.index.kind_of(seq) in {"input", "resize", "signal"}:
                words.append(self._session.summaries.get(seq) or "?")
            seq = self._session.index.after(seq, "input", "resize", "signal")
        return "".join(words)[:80] if words else "(before any input)"

    def show(self, seq: int) -> None:
        """Mark the exchange at the playhead."""
        self.list.update(self._session.exchanges.place_of(seq))

    def on_virtual_list_chosen(self, message: VirtualList.Chosen) -> None:
        """Go to its start."""
        message.stop()
        self.post_message(self.Go(self._session.exchanges.starts[message.number]))
