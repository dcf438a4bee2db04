"""Two recordings side by side, at the same time or in the same exchange; differences are marked.

Where they begin to differ is found in a thread that plays both, and is marked on the timeline.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.css.query import NoMatches
from textual.message import Message
from textual.screen import Screen as TextualScreen
from textual.widgets import Footer, Static

from ptycassette import CassetteError, printable
from ptycassette_viewer.comparing import differing_cells, matching_time
from ptycassette_viewer.dialogs import ErrorDialog, HelpScreen, LeaveDialog
from ptycassette_viewer.differences import differences
from ptycassette_viewer.playback import Playback, clock_text
from ptycassette_viewer.seeker import Seeker, Shown
from ptycassette_viewer.session import ViewerSession
from ptycassette_viewer.widgets.line import Line
from ptycassette_viewer.widgets.screen_view import ScreenView
from ptycassette_viewer.widgets.timeline import Timeline

__all__ = ["CompareScreen"]

_NARROW_COLS = 120
_FRAMES_PER_S = 30
_REPORT_S = 0.2
_WAIT_S = 0.05
_HELP = (
    ("space", "play, pause"),
    ("left right", "5 seconds back, forward"),
    (", .", "one event of the first recording back, forward"),
    ("E e", "last, next exchange"),
    ("D d", "last, next place where a row begins to differ"),
    ("home end", "start, end"),
    ("+ -", "faster, slower"),
    ("s", "same time, or same exchange"),
    ("h j k l", "scroll both screens"),
    ("escape", "ask whether to leave"),
    ("q", "quit"),
)

_LEGEND = (
    "Cells that differ are marked on both sides; \u2260 on the timeline: a row begins to differ."
)


class CompareScreen(TextualScreen[None]):
    """Two recordings. The playhead is that of the first; the second follows.

    Args:
        first: taken over.
        second: taken over.
        clock: seconds that never go back.
    """

    AUTO_FOCUS = ""
    CSS = """
    CompareScreen { layout: vertical; }
    #pair { height: 1fr; layout: horizontal; }
    #pair.narrow { layout: vertical; }
    #pair > Vertical { width: 1fr; height: 1fr; }
    #pair .name { height: 1; background: $panel; color: $text; padding: 0 1; }
    #status { height: 1; background: $surface; color: $text; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_play", "Play"),
        Binding("left", "jump(-5)", "Back 5 seconds", show=False),
        Binding("right", "jump(5)", "Forward 5 seconds", show=False),
        Binding("full_stop", "step(1)", "Step", show=False),
        Binding("comma", "step(-1)", "Step back", show=False),
        Binding("e", "exchange(1)", "Exchange", key_display="eE"),
        Binding("E", "exchange(-1)", "Last exchange", show=False),
        Binding("d", "difference(1)", "Difference", key_display="dD"),
        Binding("D", "difference(-1)", "Last difference", show=False),
        Binding("plus,equals_sign", "speed(1)", "Faster", show=False),
        Binding("minus", "speed(-1)", "Slower", show=False),
        Binding("home", "edge(0)", "Start", show=False),
        Binding("end", "edge(1)", "End", show=False),
        Binding("s", "sync", "Sync"),
        Binding("h", "scroll(-8,0)", "Scroll left", show=False),
        Binding("l", "scroll(8,0)", "Scroll right", show=False),
        Binding("k", "scroll(0,-4)", "Scroll up", show=False),
        Binding("j", "scroll(0,4)", "Scroll down", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape", "ask_to_leave", "Leave", show=False),
        Binding("q", "leave", "Quit"),
    ]

    class Arrived(Message):
        """A seeker has a screen: that of recording 0 or 1."""

        def __init__(self, which: int, shown: Shown) -> None:
            super().__init__()
            self.which = which
            self.shown = shown

    class Compared(Message):
        """Where differences begin, as far as both were played."""

        def __init__(self, number: int, begun: dict[int, int], share: float) -> None:
            super().__init__()
            self.number = number
            self.begun = begun
            self.share = share

    def __init__(
        self,
        first: ViewerSession,
        second: ViewerSession,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.sessions = (first, second)
        self.playback = Playback(first.index)
        self.by_exchange = True
        self.shown: list[Shown | None] = [None, None]
        self.differing: dict[int, frozenset[int]] = {}
        self.seekers = (Seeker(first, self._sender(0)), Seeker(second, self._sender(1)))
        self._clock = clock
        self._last_tick = clock()
        self._problem_shown = False
        self.differences_us: list[int] = []
        self._rows: list[int] = []
        self.compared = 0.0
        self._number = 0
        self._said: str | None = None
        self._status = Line(id="status")

    @property
    def duration_us(self) -> int:
        """How long the comparison is, on the clock of the first."""
        first, second = (session.duration_us for session in self.sessions)
        return first if self.by_exchange else max(first, second)

    def _sender(self, which: int) -> Callable[[Shown], None]:
        def send(shown: Shown) -> None:
            self.post_message(self.Arrived(which, shown))

        return send

    def compose(self) -> ComposeResult:
        """Two screens, the timeline of the first, a status, the keys."""
        with Container(id="pair"):
            for which, session in enumerate(self.sessions):
                with Vertical():
                    yield Static(
                        printable(session.source.name, limit=60), classes="name", markup=False
                    )
                    yield ScreenView(id=f"stage-{which}", follows=False)
        first = self.sessions[0]
        yield Timeline(first.index, first.signals.notable, id="timeline")
        yield self._status
        yield Footer()

    def on_mount(self) -> None:
        """Start everything."""
        self._arrange()
        for session, seeker in zip(self.sessions, self.seekers, strict=True):
            session.start()
            seeker.start()
        self.go_to(0)
        self._compare()
        self.set_interval(1 / _FRAMES_PER_S, self.tick)
        self.set_interval(0.25, self.refresh_progress)
        self.refresh_progress()

    def on_unmount(self) -> None:
        """Stop everything."""
        self._number += 1
        for session, seeker in zip(self.sessions, self.seekers, strict=True):
            seeker.close()
            session.close()

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002 - the protocol
        """Side by side, or one below the other."""
        self._arrange()

    def _arrange(self) -> None:
        try:
            self.query_one("#pair").set_class(self.app.size.width < _NARROW_COLS, "narrow")
        except NoMatches:  # not composed yet
            return

    def go_to(self, t_us: int, seq: int | None = None) -> None:
        """Put the first playhead somewhere; the second follows."""
        self.playback.place(min(max(0, t_us), self.duration_us), seq)
        self._request(seq)

    def _request(self, seq: int | None) -> None:
        first, second = self.sessions
        t_us = self.playback.t_us
        self.seekers[0].request(t_us, seq)
        self.seekers[1].request(matching_time(t_us, first, second, by_exchange=self.by_exchange))
        self._show_status()

    def tick(self) -> None:
        """Let time go by."""
        now = self._clock()
        elapsed, self._last_tick = now - self._last_tick, now
        if self.playback.playing:
            self.playback.tick(elapsed, end_us=self.duration_us)
            self._request(None)

    def refresh_progress(self) -> None:
        """Show how far the background work is, and what went wrong."""
        self.query_one(Timeline).set_duration(self.duration_us)
        self._show_status()
        problem = next((s.problem for s in self.sessions if s.problem is not None), None)
        if problem is not None and not self._problem_shown:
            self._problem_shown = True
            self.app.push_screen(ErrorDialog(problem))

    def on_compare_screen_arrived(self, message: Arrived) -> None:
        """Show a screen, and where it differs from the other."""
        self.shown[message.which] = message.shown
        self.query_one(f"#stage-{message.which}", ScreenView).screen_shown = message.shown.screen
        a, b = self.shown
        if a is not None and b is not None:
            self.differing = differing_cells(a.screen, b.screen)
            for which in (0, 1):
                self.query_one(f"#stage-{which}", ScreenView).different = self.differing
        self._show_status()

    def on_timeline_seek(self, message: Timeline.Seek) -> None:
        """Go where the user clicked."""
        self.go_to(message.t_us)

    # -- differences -----------------------------------------------------------------

    def _compare(self) -> None:
        """Look for differences in a thread; a search that is going on ends."""
        self._number += 1
        self.differences_us, self._rows, self.compared = [], [], 0.0
        self.query_one(Timeline).set_extra("difference", ())
        number, by_exchange = self._number, self.by_exchange
        self.run_worker(
            lambda: self._look(number, by_exchange=by_exchange),
            thread=True,
            group="compare",
            exit_on_error=False,
        )

    def _look(self, number: int, *, by_exchange: bool) -> None:
        """In a thread: play both, and report in portions where differences begin."""
        first, second = self.sessions

        def stop() -> bool:
            first.aside()
            second.aside()
            return self._number != number

        while not all(session.indexed.wait(_WAIT_S) for session in self.sessions):
            if stop():
                return
        portion: dict[int, int] = {}
        reported_s = time.monotonic()
        try:
            for t_us, begun in differences(first, second, by_exchange=by_exchange, stop=stop):
                portion.update(begun)
                if time.monotonic() - reported_s >= _REPORT_S:
                    share = t_us / max(1, self.duration_us)
                    self.post_message(self.Compared(number, portion, share))
                    portion, reported_s = {}, time.monotonic()
        except (CassetteError, OSError, ValueError):
            self.log("the comparison ended early")  # whoever indexes says why
        self.post_message(self.Compared(number, portion, 1.0))

    def on_compare_screen_compared(self, message: Compared) -> None:
        """Mark where differences begin."""
        if message.number != self._number:
            return
        self.differences_us.extend(message.begun)
        self._rows.extend(message.begun.values())
        self.compared = message.share
        self.query_one(Timeline).set_extra("difference", self.differences_us)
        self._show_status()

    def action_difference(self, by: int) -> None:
        """The next or last moment at which they begin to differ."""
        times, t_us = self.differences_us, self.playback.t_us
        place = bisect_right(times, t_us) if by > 0 else bisect_left(times, t_us) - 1
        if 0 <= place < len(times):
            self.playback.playing = False
            self.go_to(times[place])
            for view in self.query(ScreenView):
                view.show_row(self._rows[place])
        else:
            self._said = "there is none" if self.compared >= 1 else "none is known yet"
            self._show_status()

    # -- showing ---------------------------------------------------------------------

    def on_key(self) -> None:
        """Clear the message in the status line."""
        self._said = None

    def _show_status(self) -> None:
        self.query_one(Timeline).position_us = self.playback.t_us
        cells = sum(map(len, self.differing.values()))
        other = self.shown[1]
        beside = clock_text(other.t_us if other else 0)
        state = "\u25b6" if self.playback.playing else "\u2016"
        found = len(self.differences_us)
        known = "" if self.compared >= 1 else f", {self.compared:.0%} compared"
        parts = [
            f"{state} {clock_text(self.playback.t_us)} beside {beside}",
            f"{self.playback.speed:g}x",
            "by exchange" if self.by_exchange else "by time",
            f"{cells} cells differ" if cells else "the same screen",
            self._said or f"{found} difference{'' if found == 1 else 's'}{known}",
        ]
        if any(shown is not None and not shown.exact for shown in self.shown):
            parts.append("stored frame")
        self._status.show("  ".join(parts))

    # -- keys ------------------------------------------------------------------------

    def action_toggle_play(self) -> None:
        """Play, or pause."""
        self.playback.playing = not self.playback.playing
        self._last_tick = self._clock()
        self._show_status()

    def action_jump(self, seconds: int) -> None:
        """Forward or back by some seconds."""
        self.go_to(self.playback.t_us + seconds * 1_000_000)

    def action_step(self, by: int) -> None:
        """The next or last event of the first recording."""
        index = self.sessions[0].index
        seq = min(max(0, self.playback.seq + by), index.count)
        self.go_to(index.time_of(seq), seq)

    def action_exchange(self, by: int) -> None:
        """The start of the next or last exchange."""
        session = self.sessions[0]
        cuts = session.exchanges
        target = min(max(0, cuts.place_of(self.playback.seq) + by), len(cuts) - 1)
        if target >= 0:
            self.go_to(session.index.time_of(cuts.starts[target]), cuts.starts[target])

    def action_edge(self, share: int) -> None:
        """The start or the end."""
        self.go_to(self.duration_us * share)

    def action_speed(self, by: int) -> None:
        """Faster or slower."""
        self.playback.faster() if by > 0 else self.playback.slower()
        self._show_status()

    def action_sync(self) -> None:
        """Same time, or same exchange."""
        self.by_exchange = not self.by_exchange
        self.go_to(self.playback.t_us)
        self.refresh_progress()
        self._compare()

    def action_scroll(self, cols: int, rows: int) -> None:
        """Scroll both screens."""
        for view in self.query(ScreenView):
            view.scroll_by(cols, rows)

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen(_HELP, _LEGEND))

    def action_ask_to_leave(self) -> None:
        """Nothing is above the comparison: ask."""
        self.app.push_screen(LeaveDialog())

    def action_leave(self) -> None:
        """Quit."""
        self.app.exit()
