"""The screen of one playhead, which title, terminal, timeline and status follow."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Footer, Tab, Tabs

from ptycassette import Cassette, CassetteError, ReportedDivergence
from ptycassette_viewer.dialogs import ErrorDialog, LeaveDialog
from ptycassette_viewer.panels.lineage import LineagePanel
from ptycassette_viewer.panels.panel import Panel
from ptycassette_viewer.playback import Playback
from ptycassette_viewer.recording.all_panels import all_panels
from ptycassette_viewer.recording.panes import PanesScreen
from ptycassette_viewer.recording.status import playing_text, top_text
from ptycassette_viewer.seeker import Seeker, Shown
from ptycassette_viewer.session.first_sight import first_sight
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import CassetteSource
from ptycassette_viewer.widgets.divider import Divider
from ptycassette_viewer.widgets.line import Line
from ptycassette_viewer.widgets.screen_view import ScreenView
from ptycassette_viewer.widgets.timeline import Timeline

FRAMES_PER_S = 40
"""Ticks; some come late, and thirty updates a second are what a player owes."""
_PANELS_PER_S = 4
_INDEXED_S = 60.0


class PlayheadScreen(PanesScreen):
    """One recording and its playhead; subclasses add the keys.

    Args:
        session: taken over: started when mounted, closed when removed.
        start_us: where to start; None for the first readable screen.
        start_seq: start after this event instead.
        divergences: of drivers from the recording.
        clock: monotonic seconds.
    """

    AUTO_FOCUS = ""

    class Arrived(Message):
        """The seeker has a screen."""

        def __init__(self, shown: Shown) -> None:
            super().__init__()
            self.shown = shown

    class FirstSight(Message):
        """The first readable screen; None if there is none."""

        def __init__(self, seq: int | None) -> None:
            super().__init__()
            self.seq = seq

    def __init__(
        self,
        session: ViewerSession,
        *,
        start_us: int | None = None,
        start_seq: int | None = None,
        divergences: tuple[ReportedDivergence, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.session = session
        self.playback = Playback(session.index)
        self.seeker = Seeker(session, self._deliver)
        self.sessions: tuple[ViewerSession, ...] = (session,)
        self.seekers: tuple[Seeker, ...] = (self.seeker,)
        self.shown: Shown | None = None
        self.divergences = divergences
        source = session.source
        self.cassette: Cassette | None = (
            source.cassette if isinstance(source, CassetteSource) else None
        )
        self._start_us = start_us
        self._start_seq = start_seq
        self.starting = False
        self._clock = clock
        self._last_tick = clock()
        self._panel_shown_at = 0.0
        self._follow_live = source.live
        self._said: str | None = None
        self._problem_shown = False
        self._background_shown = False
        self.panels = self.make_panels()
        self.stage = ScreenView(id="stage")
        self.timeline = Timeline(session.index, session.signals.notable, id="timeline")
        self._top, self._status = Line(id="top"), Line(id="status")

    def _deliver(self, shown: Shown) -> None:
        self.post_message(self.Arrived(shown))

    @property
    def duration_us(self) -> int:
        """The length of the timeline."""
        return self.session.duration_us

    @property
    def views(self) -> tuple[ScreenView, ...]:
        """The recorded terminals on screen."""
        return (self.stage,)

    def make_panels(self) -> dict[str, Panel]:
        """The panels by name, in the order of their tabs."""
        return all_panels(self.session, self.divergences)

    def tabs(self) -> tuple[str, ...]:
        """The tabs of the panels."""
        return tuple(self.panels)

    def stages(self) -> Widget:
        """What is beside the panels."""
        return self.stage

    def compose(self) -> ComposeResult:
        """Title, screen and panels, timeline, status, keys."""
        yield self._top
        with Container(id="body"):
            yield self.stages()
            yield Divider(id="divider")
            with Vertical(id="panels"):
                tabs = Tabs(*(Tab(name.capitalize(), id=f"tab-{name}") for name in self.tabs()))
                tabs.can_focus = False
                yield tabs
                with ContentSwitcher(initial=next(iter(self.panels))):
                    yield from self.panels.values()
        yield self.timeline
        yield self._status
        yield Footer()

    def on_mount(self) -> None:
        """Start everything."""
        self.place_panes()
        for session, seeker in zip(self.sessions, self.seekers, strict=True):
            session.start()
            seeker.start()
        self.timeline.set_extra("divergence", (found.t_ms * 1000 for found in self.divergences))
        if self._follow_live:
            self.tick()
        else:
            self.go_to(self._start_us or 0)
            self._look_for_start()
        self.set_interval(1 / FRAMES_PER_S, self.tick)
        self.set_interval(0.25, self.refresh_progress)
        self.refresh_progress()

    def _look_for_start(self) -> None:
        """In a thread: find the first readable screen, and go there unless the user has moved."""
        if self._start_us is not None:
            return
        self.starting = True
        self.run_worker(
            self._find_start, thread=True, group="start", exit_on_error=False, exclusive=True
        )

    def _find_start(self) -> None:
        try:
            seq = self._start_seq
            if seq is None:
                seq = first_sight(self.session, lambda: not self.starting)
            elif not self.session.indexed.wait(_INDEXED_S) or seq > self.session.index.count:
                seq = None
        except (CassetteError, OSError, ValueError):  # whoever indexes says why
            seq = None
        self.post_message(self.FirstSight(seq))

    def on_playhead_screen_first_sight(self, message: FirstSight) -> None:
        """Go to the first readable screen."""
        if self.starting and message.seq is not None:
            self.go_to(self.session.index.time_of(message.seq), message.seq)
        self.starting = False

    def on_unmount(self) -> None:
        """Stop everything."""
        self.starting = False
        for session, seeker in zip(self.sessions, self.seekers, strict=True):
            seeker.close()
            session.close()

    # -- moving ----------------------------------------------------------------------

    def go_to(self, t_us: int, seq: int | None = None) -> None:
        """Move the playhead to a time, or after an event."""
        self._follow_live = self.starting = False
        self._place(t_us, seq)

    def _place(self, t_us: int, seq: int | None = None) -> None:
        self.playback.place(min(max(0, t_us), self.duration_us), seq)
        self.request(self.playback.t_us, seq)
        self.show_position()

    def request(self, t_us: int, seq: int | None) -> None:
        """Ask for the screen at a time, or after event ``seq``."""
        self.seeker.request(t_us, seq)

    def go_to_event(self, seq: int | None) -> None:
        """Move the playhead right after an event; None shows a message instead."""
        if seq is None or not 0 <= seq <= self.session.index.count:
            self.say("there is none")
            return
        self.playback.playing = False
        self.go_to(self.session.index.time_of(seq), seq)

    def tick(self) -> None:
        """Let time pass."""
        now = self._clock()
        elapsed, self._last_tick = now - self._last_tick, now
        if self._follow_live:
            if self.session.index.count != self.playback.seq:
                self._place(self.session.index.duration_us, self.session.index.count)
            return
        playback = self.playback
        if not playback.playing:
            return
        before = playback.seq
        playback.tick(elapsed, end_us=self.duration_us)
        if len(self.sessions) > 1 or playback.seq != before or not playback.playing:
            self.request(playback.t_us, playback.seq)
        self.show_position()

    def on_playhead_screen_arrived(self, message: Arrived) -> None:
        """Show what the seeker found."""
        self.take(message.shown)

    def take(self, shown: Shown) -> None:
        """Show a screen."""
        self.shown = shown
        if shown.exact and shown.t_us == self.playback.t_us and not self.playback.playing:
            self.playback.seq = shown.seq  # the index did not know it when it was asked for
        self.stage.screen_shown = shown.screen
        now = self._clock()
        if not self.playback.playing or now - self._panel_shown_at >= 1 / _PANELS_PER_S:
            self._panel_shown_at = now
            self.show_panel(shown.seq)
        self.show_top()
        self.show_position()

    def on_screen_view_moved(self) -> None:
        """Show which rows are in view."""
        self.show_top()

    def on_timeline_seek(self, message: Timeline.Seek) -> None:
        """Go where the user clicked."""
        self.go_to(message.t_us)

    def on_panel_go(self, message: Panel.Go) -> None:
        """Go to the event chosen in a panel."""
        self.go_to_event(message.seq)

    def on_lineage_panel_placed(self, message: LineagePanel.Placed) -> None:
        """Mark where the recording was forked."""
        own = self.panels.get("lineage")
        if isinstance(own, LineagePanel) and message.t_us is not None:
            self.timeline.set_extra("fork", (message.t_us,))

    # -- showing ---------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Show a short message in the status line, until the next key."""
        self._said = text
        self.show_position()

    def on_key(self) -> None:
        """Clear the message in the status line."""
        self._said = None

    def status_parts(self) -> list[str]:
        """Parts of the status line besides the position."""
        return [] if self.zoomed is None else ["zoomed (z)"]

    def playing_parts(self) -> list[str]:
        """Position and speed of the playhead, then further parts."""
        parts = playing_text(self.playback, self.session, live=self._follow_live)
        if self.shown is not None and not self.shown.exact:
            parts.append("stored frame")
        return parts

    def show_position(self) -> None:
        """Show the position."""
        self.timeline.position_us = self.playback.t_us
        first, *rest = self.playing_parts()
        rest += self.status_parts()
        if self._said is not None:
            rest.insert(0, self._said)  # in a narrow window the rest gives way, never the time
        self._status.show("  ".join((first, *rest)))

    def zoom(self, pane: str | None) -> None:
        """Zoom one pane; None ends the zoom."""
        super().zoom(pane)
        self.show_position()

    def show_top(self) -> None:
        """Show the filter."""
        rows, cols = self.stage.rows_in_view, self.stage.cols_in_view
        self._top.show(top_text(self.session, self.shown, rows=rows, cols=cols))

    def refresh_progress(self) -> None:
        """Show how far the background work is."""
        self.show_top()
        self.timeline.set_duration(self.duration_us)
        if not self._background_shown or self.session.source.live:
            self._background_shown = all(session.emulated.is_set() for session in self.sessions)
            self.timeline.refresh()
            self.show_panel(self.playback.seq)
        problem = next((s.problem for s in self.sessions if s.problem is not None), None)
        if problem is not None and not self._problem_shown:
            self._problem_shown = True
            self.app.push_screen(
                ErrorDialog(problem, title="Something is wrong with this recording")
            )

    def action_up(self) -> None:
        """End the zoom; without one, go back, or ask whether to quit."""
        if self.zoomed is not None:
            self.zoom(None)
        elif self.opened_from_list:
            self.dismiss()
        else:
            self.app.push_screen(LeaveDialog())

    def action_leave(self) -> None:
        """Go back, or quit."""
        if self.opened_from_list:
            self.dismiss()
        else:
            self.app.exit()

    @property
    def opened_from_list(self) -> bool:
        """Whether another screen is below this one."""
        return len(self.app.screen_stack) > 2

    @property
    def current_panel(self) -> str:
        """The name of the panel that is shown when panels are open."""
        return self.query_one(ContentSwitcher).current or next(iter(self.panels))

    def show_panel(self, seq: int) -> None:
        """Tell the open panel where the playhead is."""
        if self.panels_open:
            self.panels[self.current_panel].show(seq)
