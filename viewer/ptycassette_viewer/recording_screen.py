"""The main screen: one recording, its timeline, and the panels."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.css.query import NoMatches
from textual.message import Message
from textual.screen import Screen as TextualScreen
from textual.widgets import ContentSwitcher, Footer, Static, Tab, Tabs

from ptycassette import Cassette, CassetteError, render_text, visible
from ptycassette_viewer.annotations import Annotations, Note
from ptycassette_viewer.browse import harness_text
from ptycassette_viewer.dialogs import AskDialog, ErrorDialog, HelpScreen
from ptycassette_viewer.exports import write_export
from ptycassette_viewer.keys import HELP, LEGEND, moment
from ptycassette_viewer.panels import (
    BytesPanel,
    DocumentPanel,
    EventsPanel,
    ExchangesPanel,
    InputsPanel,
    Panel,
    ServicePanel,
)
from ptycassette_viewer.playback import Playback, clock_text
from ptycassette_viewer.search import Hit, Query, compiled, search
from ptycassette_viewer.seeker import Seeker, Shown
from ptycassette_viewer.session import Kind, Session
from ptycassette_viewer.widgets.screen_view import ScreenView
from ptycassette_viewer.widgets.timeline import Timeline

__all__ = ["RecordingScreen"]

FRAMES_PER_S = 30
_NARROW_COLS = 120
_STEP_US = 5_000_000


class RecordingScreen(TextualScreen[None]):
    """One recording.

    Args:
        session: taken over: started when mounted, closed when removed.
        start_us: where to start.
        clock: seconds that never go back; tests give their own.
    """

    AUTO_FOCUS = ""
    CSS = """
    RecordingScreen { layout: vertical; }
    #top { height: 1; background: $panel; color: $text; }
    #body { height: 1fr; layout: horizontal; }
    #body.narrow { layout: vertical; }
    #stage { width: 1fr; height: 1fr; }
    #panels { width: 45%; min-width: 40; height: 1fr; display: none; border-left: solid $panel; }
    #body.narrow #panels {
        width: 1fr; height: 50%; min-height: 8; border-left: none; border-top: solid $panel;
    }
    #panels.open { display: block; }
    #status { height: 1; background: $surface; color: $text; }
    Tabs { height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_play", "Play"),
        Binding("left", "jump(-5)", "-5s", show=False),
        Binding("right", "jump(5)", "+5s", show=False),
        Binding("shift+left", "jump(-30)", "-30s", show=False),
        Binding("shift+right", "jump(30)", "+30s", show=False),
        Binding("full_stop", "step(1)", "Step", key_display=".,"),
        Binding("comma", "step(-1)", "Step back", show=False),
        Binding("f", "frame(1)", "Next frame", show=False),
        Binding("F", "frame(-1)", "Last frame", show=False),
        Binding("e", "exchange(1)", "Next exchange", show=False),
        Binding("E", "exchange(-1)", "Last exchange", show=False),
        Binding("right_square_bracket", "input(1)", "Next input", show=False),
        Binding("left_square_bracket", "input(-1)", "Last input", show=False),
        Binding("home", "edge(0)", "Start", show=False),
        Binding("end", "edge(1)", "End", show=False),
        *(Binding(str(n), f"percent({n}0)", f"{n}0%", show=False) for n in range(10)),
        Binding("plus,equals_sign", "speed(1)", "Faster", show=False),
        Binding("minus", "speed(-1)", "Slower", show=False),
        Binding("c", "collapse", "Collapsed", show=False),
        Binding("i", "idle", "Idle limit", show=False),
        Binding("g", "go", "Go to"),
        Binding("slash", "search", "Search"),
        Binding("n", "hit(1)", "Next hit", show=False),
        Binding("N", "hit(-1)", "Last hit", show=False),
        Binding("p", "panels", "Panels"),
        Binding("tab", "panel(1)", "Next panel", show=False),
        Binding("shift+tab", "panel(-1)", "Last panel", show=False),
        Binding("m", "mark", "Mark", show=False),
        Binding("apostrophe", "marker(1)", "Next marker", show=False),
        Binding("quotation_mark", "marker(-1)", "Last marker", show=False),
        Binding("M", "unmark", "Remove marker", show=False),
        Binding("x", "export", "Export", show=False),
        Binding("y", "copy", "Copy", show=False),
        Binding("h", "scroll(-8,0)", "Scroll left", show=False),
        Binding("l", "scroll(8,0)", "Scroll right", show=False),
        Binding("k", "scroll(0,-4)", "Scroll up", show=False),
        Binding("j", "scroll(0,4)", "Scroll down", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q,escape", "leave", "Quit"),
    ]

    class Arrived(Message):
        """The seeker has a screen."""

        def __init__(self, shown: Shown) -> None:
            super().__init__()
            self.shown = shown

    class Found(Message):
        """The search is over, or has found more."""

        def __init__(self, hits: list[Hit], *, done: bool) -> None:
            super().__init__()
            self.hits = hits
            self.done = done

    def __init__(
        self,
        session: Session,
        *,
        start_us: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.session = session
        self.playback = Playback(session.index)
        self.seeker = Seeker(session, lambda shown: void(self.post_message(self.Arrived(shown))))
        self._start_us = start_us
        self._clock = clock
        self._last_tick = clock()
        self.shown: Shown | None = None
        self.query_text = Query("")
        self.hits: list[Hit] = []
        self._searching = False
        self._search_number = 0
        self._follow_live = session.source.live
        self._said: str | None = None
        self._problem_told = False
        cassette = getattr(session.source, "cassette", None)
        self.cassette: Cassette | None = cassette if isinstance(cassette, Cassette) else None
        self.annotations: Annotations | None = None
        self._panels = self._make_panels()

    def _make_panels(self) -> dict[str, Panel]:
        session = self.session
        panels: dict[str, Panel] = {
            "events": EventsPanel(session, id="events"),
            "exchanges": ExchangesPanel(session, id="exchanges"),
            "bytes": BytesPanel(session, id="bytes"),
            "input": InputsPanel(session, id="input"),
        }
        if self.cassette is not None:
            cassette = self.cassette
            documents = {
                "manifest": cassette.document,
                "probes": {"quota": cassette.quota, "discovery": cassette.discovery},
                "scrub": cassette.scrub_report,
                "final": cassette.final,
            }
            panels["service"] = ServicePanel(session, id="service")
            for name, document in documents.items():
                panels[name] = DocumentPanel(name, document, id=name)
        return panels

    def compose(self) -> ComposeResult:
        """Title, screen and panels, timeline, status, keys."""
        yield Static(id="top", markup=False)
        with Container(id="body"):
            yield ScreenView(id="stage")
            with Vertical(id="panels"):
                tabs = Tabs(*(Tab(name.capitalize(), id=f"tab-{name}") for name in self._panels))
                tabs.can_focus = False
                yield tabs
                with ContentSwitcher(initial="events"):
                    yield from self._panels.values()
        yield Timeline(self.session.index, id="timeline")
        yield Static(id="status", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Start everything."""
        self._arrange()
        self.session.start()
        self.seeker.start()
        if self.cassette is not None:
            try:
                self.annotations = Annotations(self.cassette)
            except CassetteError as problem:
                self.app.push_screen(ErrorDialog(problem))
        self._show_markers()
        if self._follow_live:
            self.tick()
        else:
            self.go_to(self._start_us)
        self.set_interval(1 / FRAMES_PER_S, self.tick)
        self.set_interval(0.25, self.refresh_progress)
        self.refresh_progress()

    def on_unmount(self) -> None:
        """Stop everything."""
        self.seeker.close()
        self.session.close()

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002 - the protocol
        """Put the panels beside the screen or below it."""
        self._arrange()

    def _arrange(self) -> None:
        try:
            self.query_one("#body").set_class(self.app.size.width < _NARROW_COLS, "narrow")
        except NoMatches:  # not composed yet
            return

    # -- moving ----------------------------------------------------------------------

    def go_to(self, t_us: int, seq: int | None = None) -> None:
        """Put the playhead at a moment, or behind an event."""
        self._follow_live = False
        self._place(t_us, seq)

    def _place(self, t_us: int, seq: int | None = None) -> None:
        self.playback.place(min(max(0, t_us), self.session.duration_us), seq)
        self.seeker.request(self.playback.t_us, seq)
        self._show_position()

    def go_to_event(self, seq: int | None) -> None:
        """Put the playhead behind an event; None is nowhere, and says so."""
        if seq is None or not 0 <= seq <= self.session.index.count:
            self.say("there is none")
            return
        self.playback.playing = False
        self.go_to(self.session.index.time_of(seq), seq)

    def tick(self) -> None:
        """Let time go by."""
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
        playback.tick(elapsed, end_us=self.session.duration_us)
        if playback.seq != before or not playback.playing:
            self.seeker.request(playback.t_us, playback.seq)
        self._show_position()

    def on_recording_screen_arrived(self, message: Arrived) -> None:
        """Show what the seeker found."""
        shown = self.shown = message.shown
        if shown.exact and shown.t_us == self.playback.t_us and not self.playback.playing:
            self.playback.seq = shown.seq  # the index did not know it when it was asked for
        self.query_one(ScreenView).screen_shown = shown.screen
        self._show_panel(shown.seq)
        self._show_top()
        self._show_position()

    def on_timeline_seek(self, message: Timeline.Seek) -> None:
        """Go where the user clicked."""
        self.go_to(message.t_us)

    def on_panel_go(self, message: Panel.Go) -> None:
        """Go to what was chosen in a panel."""
        self.go_to_event(message.seq)

    # -- showing ---------------------------------------------------------------------

    def say(self, text: str) -> None:
        """A short word in the status line, until the next key."""
        self._said = text
        self._show_position()

    def _show_position(self) -> None:
        playback, session = self.playback, self.session
        self.query_one(Timeline).position_us = playback.t_us
        state = "\u25b6" if playback.playing else "\u2016"
        if self._follow_live:
            state = "LIVE"
        mode = "collapsed" if playback.collapsed else "realtime"
        parts = [
            f"{state} {clock_text(playback.t_us)} / {clock_text(session.duration_us)}",
            f"{playback.speed:g}x {mode}",
            f"seq {playback.seq}/{session.index.count}",
        ]
        if playback.idle_limit_us is not None:
            parts.append(f"idle \u2264{playback.idle_limit_us / 1e6:g}s")
        if self.shown is not None and not self.shown.exact:
            parts.append("stored frame")
        if self.hits or self._searching:
            more = "\u2026" if self._searching else ""
            parts.append(f"{len(self.hits)}{more} hits")
        note = self._note_here()
        if self._said is not None:
            parts.append(self._said)
        elif note is not None:
            parts.append(f"\u25c6 {visible(note.text or 'marker', limit=60)}")
        self.query_one("#status", Static).update(Text("  ".join(parts), no_wrap=True))

    def _show_top(self) -> None:
        parts = [visible(self.session.source.name, limit=60)]
        if self.cassette is not None:
            harness = self.cassette.manifest.harness
            parts.append(visible(harness_text(harness.name, harness.binary_version), limit=40))
        if self.shown is not None:
            screen = self.shown.screen
            parts.append(f"{screen.size.cols}x{screen.size.rows}")
            if screen.alt_screen:
                parts.append("alternate screen")
            if screen.title:
                parts.append(f"\u201c{visible(screen.title, limit=60)}\u201d")
        progress = self.session.progress
        if self.session.source.live:
            parts.append("ended" if progress.indexed >= 1 else "in progress, not scrubbed yet")
        elif progress.indexed < 1:
            parts.append(f"reading {progress.indexed:.0%}")
        elif progress.emulated < 1:
            parts.append(f"indexing {progress.emulated:.0%}")
        elif progress.verified:
            parts.append("verified")
        if progress.problem is not None:
            parts.append("DAMAGED")
        self.query_one("#top", Static).update(Text(" \u2502 ".join(parts), no_wrap=True))

    def refresh_progress(self) -> None:
        """Show how far the background work is."""
        self._show_top()
        timeline = self.query_one(Timeline)
        timeline.set_duration(self.session.duration_us)
        if not self.session.indexed.is_set() or self.session.source.live:
            timeline.refresh()
            self._show_panel(self.playback.seq)
        problem = self.session.problem
        if problem is not None and not self._problem_told:
            self._problem_told = True
            self.app.push_screen(
                ErrorDialog(problem, title="Something is wrong with this recording")
            )

    def _show_panel(self, seq: int) -> None:
        if not self.query_one("#panels").has_class("open"):
            return
        current = self.query_one(ContentSwitcher).current
        panel = self._panels.get(current or "")
        if panel is not None:
            panel.show(seq)

    # -- keys ------------------------------------------------------------------------

    def on_key(self) -> None:
        """What was said is old now."""
        self._said = None

    def action_toggle_play(self) -> None:
        """Play, or pause; at the end, start again."""
        playback = self.playback
        if not playback.playing and playback.t_us >= self.session.duration_us:
            self.go_to(0)
        self._follow_live = False
        playback.playing = not playback.playing
        self._last_tick = self._clock()
        self._show_position()

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

    def action_edge(self, share: int) -> None:
        """The start or the end."""
        self.go_to(self.session.duration_us * share)
        if share and self.session.source.live:
            self._follow_live = True

    def action_percent(self, percent: int) -> None:
        """A share of the whole."""
        self.go_to(self.session.duration_us * percent // 100)

    def action_speed(self, by: int) -> None:
        """Faster or slower."""
        self.playback.faster() if by > 0 else self.playback.slower()
        self._show_position()

    def action_collapse(self) -> None:
        """Wait for recorded gaps, or not."""
        self.playback.collapsed = not self.playback.collapsed
        self._show_position()

    def action_idle(self) -> None:
        """The next idle limit."""
        self.playback.next_idle_limit()
        limit = self.playback.idle_limit_us
        self.say("pauses as recorded" if limit is None else "pauses shortened")

    def action_go(self) -> None:
        """Ask for a moment or an event, and go there."""
        hint = "a time (12.5, 250ms, 1:02) or an event (#120)"
        self.app.push_screen(AskDialog("Go to", hint=hint), self._go)

    def _go(self, answer: str | None) -> None:
        if not answer:
            return
        try:
            unit, value = moment(answer)
        except ValueError as error:
            self.say(visible(str(error), limit=80))
            return
        if unit == "seq":
            self.go_to_event(value)
        else:
            self.go_to(value)

    def action_scroll(self, cols: int, rows: int) -> None:
        """Scroll the recorded screen."""
        view = self.query_one(ScreenView)
        view.scroll_relative(x=cols, y=rows, animate=False)

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen(HELP, LEGEND))

    def action_leave(self) -> None:
        """Go back to where this was opened from, or quit."""
        if self.query_one(ScreenView).pattern is not None:
            self._forget_search()
            return
        if len(self.app.screen_stack) > 2:
            self.dismiss()
        else:
            self.app.exit()

    # -- panels ----------------------------------------------------------------------

    def action_panels(self) -> None:
        """Open or close the panels."""
        panels = self.query_one("#panels")
        panels.toggle_class("open")
        if panels.has_class("open"):
            self._focus_panel()
            self.call_after_refresh(self._show_panel, self.playback.seq)
        else:
            self.set_focus(None)

    def action_panel(self, by: int) -> None:
        """The next or last panel; opens them."""
        if not self.query_one("#panels").has_class("open"):
            self.action_panels()
            return
        tabs = self.query_one(Tabs)
        tabs.action_next_tab() if by > 0 else tabs.action_previous_tab()

    def on_tabs_tab_activated(self, message: Tabs.TabActivated) -> None:
        """Show a panel."""
        name = (message.tab.id or "").removeprefix("tab-")
        self.query_one(ContentSwitcher).current = name
        self._focus_panel()
        self.call_after_refresh(self._show_panel, self.playback.seq)

    def _focus_panel(self) -> None:
        if not self.query_one("#panels").has_class("open"):
            return
        panel = self._panels[self.query_one(ContentSwitcher).current or "events"]
        for widget in panel.query("*"):
            if widget.focusable:
                widget.focus()
                return
        self.set_focus(None)

    # -- search ----------------------------------------------------------------------

    def action_search(self) -> None:
        """Ask what to look for."""
        hint = "text; /regex/ for a regular expression; \\C in front for the case as written"
        self.app.push_screen(
            AskDialog("Search in screens, output, input and service events", hint=hint),
            self._search,
        )

    def _search(self, answer: str | None) -> None:
        if not answer:
            return
        if self.cassette is None:
            self.say("finished cassettes alone can be searched")
            return
        case = answer.startswith("\\C")
        text = answer[2:] if case else answer
        regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
        try:
            pattern = compiled(Query(text[1:-1] if regex else text, regex, case))
        except ValueError as error:
            self.say(visible(str(error), limit=100))
            return
        self.hits = []
        self._searching = True
        self._search_number += 1
        self.query_one(ScreenView).pattern = pattern
        number, cassette = self._search_number, self.cassette
        self.run_worker(
            lambda: self._look(cassette, pattern, number),
            thread=True,
            exclusive=True,
            group="search",
            exit_on_error=False,
        )
        self._show_position()

    def _look(self, cassette: Cassette, pattern: re.Pattern[str], number: int) -> None:
        """In a thread: look, and tell what is found in portions."""

        def stop() -> bool:
            return self._search_number != number

        portion: list[Hit] = []
        try:
            for hit in search(cassette, pattern, stop):
                portion.append(hit)
                if len(portion) >= 100:
                    self.post_message(self.Found(portion, done=False))
                    portion = []
        except (CassetteError, OSError, ValueError):
            self.log("the search ended early")
        if not stop():
            self.post_message(self.Found(portion, done=True))

    def on_recording_screen_found(self, message: Found) -> None:
        """Mark hits; go to the first."""
        first = not self.hits and bool(message.hits)
        self.hits.extend(message.hits)
        self._searching = not message.done
        self.query_one(Timeline).set_found(hit.t_us for hit in self.hits)
        if first:
            self.action_hit(0)
        elif message.done and not self.hits:
            self.say("nothing was found")
        self._show_position()

    def action_hit(self, by: int) -> None:
        """The next or last hit behind the playhead, round and round."""
        if not self.hits:
            self.say("nothing was found" if not self._searching else "still looking")
            return
        seq = self.playback.seq
        if by < 0:
            before = [hit for hit in self.hits if hit.seq < seq]
            hit = before[-1] if before else self.hits[-1]
        else:
            behind = [hit for hit in self.hits if hit.seq > seq or (by == 0 and hit.seq == seq)]
            hit = behind[0] if behind else self.hits[0]
        self.go_to_event(hit.seq)
        self.say(f"{hit.where}: {hit.shown.strip()[:60]}")

    def _forget_search(self) -> None:
        self._search_number += 1
        self._searching = False
        self.hits = []
        self.query_one(ScreenView).pattern = None
        self.query_one(Timeline).set_found(())
        self._show_position()

    # -- notes and exports -----------------------------------------------------------

    def _note_here(self) -> Note | None:
        if self.annotations is None:
            return None
        return next((n for n in self.annotations.notes if n.seq == self.playback.seq), None)

    def _show_markers(self) -> None:
        notes = self.annotations.notes if self.annotations is not None else ()
        self.query_one(Timeline).set_markers(note.t_us for note in notes)

    def action_mark(self) -> None:
        """Put a marker here, with a note."""
        if self.annotations is None:
            self.say("notes are kept for finished cassettes alone")
            return
        hint = f"kept in {visible(self.annotations.path.name, limit=80)}, not in the cassette"
        self.app.push_screen(AskDialog("Note", hint=hint), self._mark)

    def _mark(self, answer: str | None) -> None:
        if answer is None or self.annotations is None:
            return
        note = Note(self.playback.t_us, self.playback.seq, answer)
        self._kept(lambda notes: notes.add(note))

    def action_unmark(self) -> None:
        """Remove the marker that is here."""
        note = self._note_here()
        if note is None:
            self.say("no marker here")
            return
        self._kept(lambda notes: notes.remove(note))

    def _kept(self, change: Callable[[Annotations], None]) -> None:
        if self.annotations is None:
            return
        try:
            change(self.annotations)
        except CassetteError as problem:
            self.app.push_screen(ErrorDialog(problem))
        self._show_markers()
        self._show_position()

    def action_marker(self, by: int) -> None:
        """The next or last marker."""
        notes = self.annotations.notes if self.annotations is not None else ()
        seq = self.playback.seq
        found = [note.seq for note in notes if (note.seq > seq if by > 0 else note.seq < seq)]
        self.go_to_event((found[0] if by > 0 else found[-1]) if found else None)

    def action_export(self) -> None:
        """Write what is on screen to a file."""
        if self.shown is not None:
            hint = "the suffix says how: .txt .ansi .svg .html"
            name = f"screen-{self.shown.seq}.svg"
            self.app.push_screen(
                AskDialog("Write this screen to", hint=hint, value=name), self._export
            )

    def _export(self, answer: str | None) -> None:
        if not answer or self.shown is None:
            return
        try:
            path = write_export(self.shown.screen, answer)
        except CassetteError as problem:
            self.app.push_screen(ErrorDialog(problem))
            return
        self.say(f"written: {visible(str(path), limit=60)}")

    def action_copy(self) -> None:
        """Copy the text on screen to the clipboard."""
        if self.shown is not None:
            self.app.copy_to_clipboard(render_text(self.shown.screen))
            self.say("copied")


def void(value: Any) -> None:
    """Nothing, whatever came."""
    del value
