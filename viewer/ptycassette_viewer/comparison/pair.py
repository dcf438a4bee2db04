"""Two recordings on one screen: the playhead is that of the first, the second follows it."""

from __future__ import annotations

from typing import Any

from textual.containers import Container, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Tabs

from ptycassette.viewing import ForkBetween
from ptycassette_viewer.dialogs import clock_text
from ptycassette_viewer.panels.lists import Panel
from ptycassette_viewer.recording.finding import Finding
from ptycassette_viewer.recording.playhead import (
    Moving,
    Paneling,
    PanesScreen,
    all_panels,
    is_narrow,
    top_text,
)
from ptycassette_viewer.search import Hit
from ptycassette_viewer.seeker import Seeker, Shown
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.widgets.line import Line
from ptycassette_viewer.widgets.screen_view import ScreenView

from .differences import differing_cells, is_matched, matching_time

_OTHER = "-of-the-second"
SIDES = ("first", "second")


class PairScreen(Moving, Finding, Paneling):
    """Two recordings, side by side or overlaid.

    Args:
        first: taken over.
        second: taken over.
        forked: where one was forked of the other; what comes before is the same, as was verified,
            and is not compared.
        options: of ``PlayheadScreen``.
    """

    CSS = (
        PanesScreen.CSS
        + """
    #stage.narrow { layout: vertical; }
    #stage { layout: horizontal; }
    #stage > Vertical { width: 1fr; height: 1fr; }
    #pane-1 { border-left: vkey $panel-lighten-2; }
    #stage.narrow #pane-1 { border-left: none; }
    #stage > .hidden { display: none; }
    #stage .name { height: 1; background: $panel; color: $text; padding: 0 1; }
    #stage .name.chosen { text-style: reverse; }
    """
    )

    class OtherArrived(Message):
        """The seeker of the second has a screen."""

        def __init__(self, shown: Shown) -> None:
            super().__init__()
            self.shown = shown

    def __init__(
        self,
        first: ViewerSession,
        second: ViewerSession,
        *,
        forked: ForkBetween | None = None,
        **options: Any,
    ) -> None:
        self.other = second
        self.forked = forked
        self.by_exchange = True
        super().__init__(first, **options)
        self.sessions = (first, second)
        self.seekers = (self.seeker, Seeker(second, self._deliver_other))
        self.other_shown: Shown | None = None
        self.differing: dict[int, frozenset[int]] = {}
        self.marks_differences = True
        self.overlaid = False
        self.side = 0
        self._other_place: tuple[int, int, int] | None = None
        self.stage = ScreenView(id="screen-0")
        self.other_stage = ScreenView(id="screen-1", follows=False)
        self.stage.partner, self.other_stage.partner = self.other_stage, self.stage
        self._names = Line(classes="name"), Line(classes="name")

    def _deliver_other(self, shown: Shown) -> None:
        self.post_message(self.OtherArrived(shown))

    @property
    def duration_us(self) -> int:
        """The duration of the comparison, on the clock of the first."""
        first, second = (session.duration_us for session in self.sessions)
        return first if self.by_exchange else max(first, second)

    @property
    def views(self) -> tuple[ScreenView, ...]:
        """Both terminals."""
        return self.stage, self.other_stage

    def make_panels(self) -> dict[str, Panel]:
        """Those of the first, then those of the second."""
        return {**all_panels(self.session), **all_panels(self.other, suffix=_OTHER)}

    def tabs(self) -> tuple[str, ...]:
        """One tab for the same panel of both."""
        return tuple(name for name in self.panels if not name.endswith(_OTHER))

    def stages(self) -> Widget:
        """Both terminals, each with a line that names it."""
        panes = (
            Vertical(name, view, id=f"pane-{which}")
            for which, (name, view) in enumerate(zip(self._names, self.views, strict=True))
        )
        return Container(*panes, id="stage")

    # -- the second follows ------------------------------------------------------------

    def request(self, t_us: int, seq: int | None) -> None:
        """Ask for both screens."""
        super().request(t_us, seq)
        kept = self._other_place
        if kept is not None and kept[0] == t_us:
            self.seekers[1].request(*kept[1:])
            return
        self._other_place = None
        self.seekers[1].request(self.matched(t_us))

    def matched(self, t_us: int) -> int:
        """The time in the second that corresponds to one in the first."""
        return matching_time(t_us, self.session, self.other, by_exchange=self.by_exchange)

    def _matched_back(self, t_us: int) -> int:
        """The time in the first that corresponds to one in the second."""
        return matching_time(t_us, self.other, self.session, by_exchange=self.by_exchange)

    def go_to_other(self, seq: int) -> None:
        """Show the second right after its event ``seq``, and the first at the matching time."""
        other_us = self.other.index.time_of(seq)
        t_us = min(self._matched_back(other_us), self.duration_us)
        self.playback.playing = False
        self._other_place = t_us, other_us, seq
        self.go_to(t_us)

    def on_pair_screen_other_arrived(self, message: OtherArrived) -> None:
        """Show the second."""
        self.other_shown = message.shown
        self.other_stage.screen_shown = message.shown.screen
        self.show_hit(self.other_stage, message.shown)
        self.compare_screens()
        if not self.playback.playing:
            self.show_panel(self.playback.seq)

    def take(self, shown: Shown) -> None:
        """Show the first."""
        super().take(shown)
        self.compare_screens()

    @property
    def is_before_fork(self) -> bool:
        """Whether the playhead is in what both have in common."""
        return self.forked is not None and self.playback.t_us < self.forked.t_us

    def compare_screens(self) -> None:
        """Mark differing cells; show the second over the first if overlaid."""
        ours, theirs = self.stage.screen_shown, self.other_stage.screen_shown
        if ours is not None and theirs is not None:
            self.differing = {} if self.is_before_fork else differing_cells(ours, theirs)
            # If overlaid, the differing rows are needed to know which are shown twice.
            marked = self.differing if self.marks_differences or self.overlaid else {}
            for view in self.views:
                view.different = marked
            self.stage.over = theirs if self.overlaid else None
        self.show_top()
        self.show_position()

    # -- what is shown -----------------------------------------------------------------

    def playing_parts(self) -> list[str]:
        """Both positions, how they are matched, and the number of differing cells."""
        first, *rest = super().playing_parts()
        at, _, speed = first.partition(" / ")
        beside = clock_text(self.other_shown.t_us if self.other_shown else 0)
        cells = sum(map(len, self.differing.values()))
        parts = [
            f"{at} beside {beside}  {speed.rpartition(' ')[2]}",
            f"{cells} cells differ" if cells else "the same screen",
            "by exchange" if self.by_exchange else "by time",
        ]
        if self.by_exchange and not is_matched(self.playback.t_us, self.session, self.other):
            parts.append("this exchange is in the first only")
        if (
            self.other_shown is not None
            and not self.other_shown.exact
            and "stored frame" not in rest
        ):
            parts.append("stored frame")
        return [*parts, *rest[1:]]

    def show_top(self) -> None:
        """Show the names of both recordings."""
        shown = self.shown, self.other_shown
        texts = [
            top_text(session, screen, rows=view.rows_in_view, cols=view.cols_in_view)
            for session, screen, view in zip(self.sessions, shown, self.views, strict=True)
        ]
        if self.overlaid and self.zoomed not in SIDES:
            texts[0] = f"- {texts[0]}   + {texts[1]}"
        for side, (line, text) in enumerate(zip(self._names, texts, strict=True)):
            line.show(text)
            line.set_class(self.panels_open and side == self.side, "chosen")

    # -- panes -------------------------------------------------------------------------

    @property
    def zooms(self) -> tuple[str, ...]:
        """Each recording, and the panels if they are open."""
        return (*SIDES, "panels") if self.panels_open else SIDES

    def lay_out_panes(self) -> None:
        """Also lay out the second: beside the first, below it, or hidden."""
        super().lay_out_panes()
        self.query_one("#top").add_class("hidden")  # each has a line of its own
        self.query_one("#stage").set_class(is_narrow(self.app.size.width), "narrow")
        alone = SIDES.index(self.zoomed) if self.zoomed in SIDES else 0 if self.overlaid else None
        for side in (0, 1):
            self.query_one(f"#pane-{side}").set_class(alone not in {None, side}, "hidden")
        self.stage.over = (
            self.other_stage.screen_shown if self.overlaid and self.zoomed not in SIDES else None
        )
        self.show_top()

    def action_overlay(self) -> None:
        """Switch between both in one pane and side by side."""
        self.overlaid = not self.overlaid
        self.zoom(None)
        self.compare_screens()
        self.say("overlaid: - first, + second" if self.overlaid else "side by side")

    def action_sync(self) -> None:
        """Switch between same exchange and same time."""
        self.by_exchange = not self.by_exchange
        self.go_to(self.playback.t_us)
        self.place_hits()
        self.refresh_progress()

    # -- panels and hits of either -------------------------------------------------------

    def choose_panel(self, name: str) -> None:
        """Show the panel of that name, of the recording whose panels are shown."""
        other = name + _OTHER
        super().choose_panel(other if self.side and other in self.panels else name)

    def action_other_panels(self) -> None:
        """The same panel of the other recording."""
        if not self.panels_open:
            self.action_panels()
        self.side = 1 - self.side
        name = (self.query_one(Tabs).active or "").removeprefix("tab-")
        self.choose_panel(name)
        self.show_top()
        self.say(f"panels of the {SIDES[self.side]}")

    def _shows_other(self) -> bool:
        return self.current_panel.endswith(_OTHER)

    def show_panel(self, seq: int) -> None:
        """Tell the open panel where its recording is."""
        if self._shows_other():
            seq = self.other_shown.seq if self.other_shown is not None else 0
        super().show_panel(seq)

    def on_panel_go(self, message: Panel.Go) -> None:
        """Go to the chosen event, in the recording of the panel."""
        if self._shows_other():
            message.prevent_default()
            self.go_to_other(message.seq)

    def hit_time(self, side: int, t_us: int) -> int:
        """A time of either recording, on the clock of the first."""
        return self._matched_back(t_us) if side else t_us

    def go_to_hit(self, side: int, hit: Hit) -> str:
        """Go to a hit, and show which recording it is in."""
        if side:
            self.go_to_other(hit.seq)
        else:
            super().go_to_hit(side, hit)
        return f"{SIDES[side]}, "
