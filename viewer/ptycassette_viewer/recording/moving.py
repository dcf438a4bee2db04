"""Keys that move the playhead."""

from __future__ import annotations

from ptycassette import printable
from ptycassette_viewer.dialogs import AskDialog
from ptycassette_viewer.keys import moment
from ptycassette_viewer.recording.playhead import PlayheadScreen
from ptycassette_viewer.session.index import Kind


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
