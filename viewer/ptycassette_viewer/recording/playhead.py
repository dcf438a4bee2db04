"""The screen of one playhead, which title, terminal, timeline and status follow."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.css.query import NoMatches
from textual.message import Message
from textual.screen import Screen as TextualScreen
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Footer, Tab, Tabs

from ptycassette import Cassette, CassetteError
from ptycassette.viewing import ReportedDivergence, fork_of, printable, render_text, visible
from ptycassette_viewer.annotations import Annotations, LiveNotes, Note
from ptycassette_viewer.dialogs import (
    AskDialog,
    ErrorDialog,
    LeaveDialog,
    Playback,
    clock_text,
    harness_text,
)
from ptycassette_viewer.exports import SCREEN_ENDINGS, is_of_screen, write_recording, write_screen
from ptycassette_viewer.keys import moment
from ptycassette_viewer.masking.mask_screen import MaskScreen
from ptycassette_viewer.panels.lists import (
    BytesPanel,
    DivergencesPanel,
    DocumentPanel,
    EventsPanel,
    ExchangesPanel,
    InputsPanel,
    LineagePanel,
    Panel,
    ServicePanel,
)
from ptycassette_viewer.seeker import Seeker, Shown
from ptycassette_viewer.session.first_sight import first_sight
from ptycassette_viewer.session.index import Kind
from ptycassette_viewer.session.session import Progress, ViewerSession
from ptycassette_viewer.session.source import CassetteSource, LiveSource
from ptycassette_viewer.widgets.divider import Divider
from ptycassette_viewer.widgets.line import Line
from ptycassette_viewer.widgets.screen_view import ScreenView, Timeline

# All panels of one recording, by name.


def all_panels(
    session: ViewerSession, divergences: tuple[ReportedDivergence, ...] = (), *, suffix: str = ""
) -> dict[str, Panel]:
    """The panels, in the order of their tabs; ``suffix`` ends every name and id."""
    source = session.source

    def named(name: str) -> str:
        return name + suffix

    panels: dict[str, Panel] = {
        named("events"): EventsPanel(session, id=named("events")),
        named("exchanges"): ExchangesPanel(session, id=named("exchanges")),
        named("bytes"): BytesPanel(session, id=named("bytes")),
        named("input"): InputsPanel(session, id=named("input")),
        named("service"): ServicePanel(session, id=named("service")),
    }
    if divergences:
        panels["divergences"] = DivergencesPanel(divergences, id="divergences")
    documents: dict[str, object] = {}
    if isinstance(source, CassetteSource):
        cassette = source.cassette
        origin = fork_of(cassette.final.metadata)
        if origin is not None:
            panels[named("lineage")] = LineagePanel(cassette, origin, id=named("lineage"))
        documents = {
            "manifest": cassette.document,
            "probes": {"quota": cassette.quota, "discovery": cassette.discovery},
            "scrub": cassette.scrub_report,
            "final": cassette.final,
        }
    elif isinstance(source, LiveSource):
        documents = {"session": source.meta}
    for name, document in documents.items():
        panels[named(name)] = DocumentPanel(named(name), document, id=named(name))
    return panels


# The layout: the recorded terminal, the panels beside or below it, and the lines around them.


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


# The lines above and below the screen. Pure; text from outside is escaped.


def playing_text(playback: Playback, session: ViewerSession, *, live: bool) -> list[str]:
    """Position and speed of the playhead, then further parts."""
    state = "\u25b6" if playback.playing else "\u2016"
    at, end = clock_text(playback.t_us), clock_text(session.duration_us)
    parts = [
        f"{'LIVE' if live else state} {at} / {end}  {playback.speed:g}x",
        f"seq {playback.seq}/{session.index.count}",
    ]
    if playback.collapsed:
        parts.append("collapsed")
    if playback.idle_limit_us is not None:
        parts.append(f"idle \u2264{playback.idle_limit_us / 1e6:g}s")
    return parts


def top_text(
    session: ViewerSession,
    shown: Shown | None,
    *,
    rows: tuple[int, int] | None = None,
    cols: tuple[int, int] | None = None,
) -> str:
    """The recording, the state of its terminal, and the progress of the background work.

    ``rows`` and ``cols`` are those in view, if not all are.
    """
    parts = [printable(session.source.name, limit=60)]
    progress = session.progress
    background = _background(progress, live=session.source.live)
    if background:
        parts.append(background)
    if progress.problem is not None:
        parts.append("DAMAGED")
    source = session.source
    if isinstance(source, CassetteSource):
        harness = source.cassette.manifest.harness
        parts.append(visible(harness_text(harness.name, harness.binary_version), limit=40))
    if shown is not None:
        screen = shown.screen
        view = "" if rows is None else f" rows {rows[0]}-{rows[1]}"
        view += "" if cols is None else f" columns {cols[0]}-{cols[1]}"
        parts.append(f"{screen.size}{view}")
        if screen.alt_screen:
            parts.append("alternate screen")
        title = screen.title.strip()
        if title:
            parts.append(f"\u201c{visible(title, limit=60)}\u201d")
    return " \u2502 ".join(parts)


def _background(progress: Progress, *, live: bool) -> str:
    if live:
        return "ended" if progress.indexed >= 1 else "in progress, not scrubbed yet"
    if progress.indexed < 1:
        return f"reading {progress.indexed:.0%}"
    if progress.emulated < 1:
        return f"indexing {progress.emulated:.0%}"
    return "verified" if progress.verified else ""


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
        self.seeker = Seeker(session, self._deliver)
        self.sessions: tuple[ViewerSession, ...] = (session,)
        self.seekers: tuple[Seeker, ...] = (self.seeker,)
        self.shown: Shown | None = None
        self.divergences = divergences
        source = session.source
        self.cassette: Cassette | None = (
            source.cassette if isinstance(source, CassetteSource) else None
        )
        self.playback = Playback(
            session.index,
            idle_limit_s=None if self.cassette is None else self.cassette.manifest.idle_limit_s,
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


# Keys for markers, exports, masks and the clipboard.


class Noting(PlayheadScreen):
    """Markers with notes, exports, the clipboard. Nothing is written into a recording."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.annotations: Annotations | LiveNotes | None = None

    def on_mount(self) -> None:
        """Read the notes."""
        try:
            self.annotations = LiveNotes() if self.cassette is None else Annotations(self.cassette)
        except CassetteError as problem:
            self.app.push_screen(ErrorDialog(problem))
        self._show_markers()

    def status_parts(self) -> list[str]:
        """The note of the marker here."""
        note = self._note_here()
        if note is None:
            return super().status_parts()
        return [*super().status_parts(), f"\u25c6 {visible(note.text or 'marker', limit=60)}"]

    def _note_here(self) -> Note | None:
        if self.annotations is None:
            return None
        return next((n for n in self.annotations.notes if n.seq == self.playback.seq), None)

    def _show_markers(self) -> None:
        notes = self.annotations.notes if self.annotations is not None else ()
        self.timeline.set_extra("marker", (note.t_us for note in notes))

    def action_mark(self) -> None:
        """Put a marker here, with a note."""
        if self.annotations is None:
            self.say("the notes cannot be read")
            return
        self._follow_live = False
        self.app.push_screen(AskDialog("Note", hint=self.annotations.kept_where), self._mark)

    def _mark(self, answer: str | None) -> None:
        if answer is None:
            return
        note = Note(self.playback.t_us, self.playback.seq, answer)
        self._change(lambda notes: notes.add(note))

    def action_unmark(self) -> None:
        """Remove the marker that is here."""
        note = self._note_here()
        if note is None:
            self.say("no marker here")
            return
        self._change(lambda notes: notes.remove(note))

    def _change(self, change: Callable[[Annotations | LiveNotes], None]) -> None:
        if self.annotations is None:
            return
        try:
            change(self.annotations)
        except CassetteError as problem:
            self.app.push_screen(ErrorDialog(problem))
        self._show_markers()
        self.show_position()

    def action_marker(self, by: int) -> None:
        """The next or last marker."""
        notes = self.annotations.notes if self.annotations is not None else ()
        here = (self.playback.seq, self.playback.t_us)
        places = [(note.seq, note.t_us) for note in notes]
        beyond = [place for place in places if (place > here if by > 0 else place < here)]
        if not beyond:
            self.say("there is none")
            return
        seq, t_us = beyond[0] if by > 0 else beyond[-1]
        self.playback.playing = False
        self.go_to(t_us, min(seq, self.session.index.count))

    def action_export(self) -> None:
        """Write the screen to a file."""
        if self.shown is not None:
            hint = f"the ending says how: {' '.join(SCREEN_ENDINGS)}"
            if self.cassette is not None:
                hint += "; other endings of `ptycassette export`: the whole recording"
            name = f"screen-{self.shown.seq}.svg"
            self.app.push_screen(
                AskDialog("Write this screen to", hint=hint, value=name), self._export
            )

    def _export(self, answer: str | None) -> None:
        if not answer or self.shown is None:
            return
        cassette = self.cassette
        if cassette is not None and not is_of_screen(answer):
            self.say("exporting the recording ...")
            self.run_worker(lambda: self._export_recording(cassette, answer), thread=True)
            return
        try:
            self._exported(write_screen(self.shown.screen, answer))
        except CassetteError as problem:
            self.app.push_screen(ErrorDialog(problem))

    def _export_recording(self, cassette: Cassette, name: str) -> None:
        """In a thread."""
        try:
            path = write_recording(cassette, name)
        except CassetteError as problem:
            self.app.call_from_thread(self.app.push_screen, ErrorDialog(problem))
        else:
            self.app.call_from_thread(self._exported, path)

    def _exported(self, path: Path) -> None:
        self.say(f"written: {printable(str(path), limit=60)}")

    def action_mask(self) -> None:
        """Mask what one points at, in a new recording."""
        if self.cassette is None or self.shown is None:
            self.say("a recording in progress cannot be masked")
            return
        self.playback.playing = False
        self.app.push_screen(MaskScreen(self.cassette, self.session, self.shown), self._masked)

    def _masked(self, path: Path | None) -> None:
        if path is not None:
            self.say(f"written: {printable(str(path), limit=60)}")

    def action_copy(self) -> None:
        """Copy the text on screen to the clipboard."""
        if self.shown is not None:
            self.app.copy_to_clipboard(render_text(self.shown.screen))
            self.say("copied")


# Keys that move the playhead.


class Moving(PlayheadScreen):
    """Play, step, jump."""

    def action_toggle_play(self) -> None:
        """Play, or pause; at the end, start again."""
        playback = self.playback
        if not playback.playing and playback.t_us >= self.duration_us:
            self.go_to(0)
        self._follow_live = self.starting = False
        playback.playing = not playback.playing
        self._last_tick = self._clock()
        self.show_position()

    def action_jump(self, seconds: int) -> None:
        """Forward or back by some seconds."""
        self.go_to(self.playback.t_us + seconds * 1_000_000)

    def _step(self, by: int, *kinds: Kind) -> None:
        index, seq = self.session.index, self.playback.seq
        self.go_to_event(index.after(seq, *kinds) if by > 0 else index.before(seq, *kinds))

    def action_step(self, by: int) -> None:
        """The next or last event."""
        self.go_to_event(self.playback.seq + by)

    def action_frame(self, by: int) -> None:
        """The next or last stored frame."""
        self._step(by, "frame")

    def action_input(self, by: int) -> None:
        """The next or last input."""
        self._step(by, "input")

    def action_exchange(self, by: int) -> None:
        """The start of the next or last exchange."""
        cuts = self.session.exchanges
        place = cuts.place_of(self.playback.seq)
        if by < 0 and place >= 0 and cuts.starts[place] != self.playback.seq:
            by = 0
        target = place + by
        self.go_to_event(cuts.starts[target] if 0 <= target < len(cuts) else None)

    def action_divergence(self, by: int) -> None:
        """The next or last divergence."""
        seq = self.playback.seq
        seqs = [found.seq for found in self.divergences]
        beyond = [at for at in seqs if (at > seq if by > 0 else at < seq)]
        self.go_to_event((beyond[0] if by > 0 else beyond[-1]) if beyond else None)
        here = [found for found in self.divergences if found.seq == self.playback.seq]
        if beyond and here:
            self.say(here[0].line[:100])

    def action_edge(self, share: int) -> None:
        """The start or the end."""
        self.go_to(self.duration_us * share)
        if share and self.session.source.live:
            self._follow_live = True

    def action_percent(self, percent: int) -> None:
        """A share of the whole."""
        self.go_to(self.duration_us * percent // 100)

    def action_speed(self, by: int) -> None:
        """Faster or slower."""
        self.playback.faster() if by > 0 else self.playback.slower()
        self.show_position()

    def action_collapse(self) -> None:
        """Wait for recorded gaps, or not."""
        self.playback.collapsed = not self.playback.collapsed
        self.show_position()

    def action_idle(self) -> None:
        """The next idle limit."""
        self.playback.next_idle_limit()
        limit = self.playback.idle_limit_us
        self.say("pauses as recorded" if limit is None else "pauses shortened")

    def action_go(self) -> None:
        """Ask for a moment or an event, and go there."""
        hint = "a time (12.5, 250ms, 2m, 1:02) or an event (#120)"
        self.app.push_screen(AskDialog("Go to", hint=hint), self._go)

    def _go(self, answer: str | None) -> None:
        if not answer:
            return
        try:
            unit, value = moment(answer)
        except ValueError as error:
            self.say(printable(str(error), limit=80))
            return
        if unit == "seq":
            self.go_to_event(value)
        else:
            self.go_to(value)

    def action_wrap(self) -> None:
        """Wrap rows that are wider than the window, or scroll them."""
        wrap = not self.stage.wrap
        for view in self.views:
            view.wrap = wrap
        self.say("rows wrapped" if self.stage.wrap else "rows not wrapped")

    def action_scroll(self, cols: int, rows: int) -> None:
        """Scroll the recorded screen; of two the larger one, which takes the other along."""
        largest = max(self.views, key=lambda view: view.virtual_size.area)
        largest.scroll_by(cols, rows)


# Keys for panels.


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
