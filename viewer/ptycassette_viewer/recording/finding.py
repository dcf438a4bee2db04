"""Keys for searching."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from functools import partial
from math import inf
from typing import Any

from textual.message import Message

from ptycassette import CassetteError
from ptycassette.viewing import printable
from ptycassette_viewer.dialogs import AskDialog
from ptycassette_viewer.recording.playhead import PlayheadScreen
from ptycassette_viewer.search import Hit, Pattern, Search, compiled, parsed
from ptycassette_viewer.seeker import Shown
from ptycassette_viewer.session.session import ViewerSession
from ptycassette_viewer.session.source import body_text
from ptycassette_viewer.widgets.screen_view import ScreenView

_REPORT_S = 0.2
_Place = tuple[int, int, int]
"""Of a hit: when, on the clock of the playhead; in which recording; behind which event."""


class Finding(PlayheadScreen):
    """One search at a time, in threads, over every state of the screen and all else."""

    class Found(Message):
        """What a search in recording ``side`` has found since the last message; how far it is."""

        def __init__(
            self, number: int, side: int, hits: list[Hit], search: Search, *, done: bool
        ) -> None:
            super().__init__()
            self.number = number
            self.side = side
            self.hits = hits
            self.t_us = search.t_us
            self.slow = search.slow
            self.given_up = search.given_up
            self.done = done

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.hits: list[Hit] = []
        """In the order of their places."""
        self._sides: list[tuple[int, Hit]] = []
        self._places: list[_Place] = []
        self._at: _Place | None = None
        self._searched: dict[int, float] = {}
        self._reached: dict[int, float] = {}
        """How far each search is: a time of the playhead's clock, or infinity at its end."""
        self._to_be_shown = False
        self._hit_seqs: dict[ScreenView, int] = {}
        self._search_number = 0

    def on_unmount(self) -> None:
        """End the search."""
        self._search_number += 1

    @property
    def _searching(self) -> bool:
        return any(share < 1 for share in self._searched.values())

    def status_parts(self) -> list[str]:
        """The number of hits, and the progress."""
        parts = super().status_parts()
        if self._searching and not self.session.source.live:
            parts.append(f"{len(self.hits)} hits, {min(self._searched.values()):.0%} searched")
        elif self.hits or self._searching:
            parts.append(f"{len(self.hits)} hits{chr(0x2026) if self._searching else ''}")
        return parts

    def action_search(self) -> None:
        """Ask for a search text."""
        hint = "text, or /regex/ for a regular expression; start it with \\C to match the case"
        self.app.push_screen(
            AskDialog("Search in screens, output, input, events and signals", hint=hint),
            self._search,
        )

    def _search(self, answer: str | None) -> None:
        if not answer:
            return
        try:
            pattern = compiled(parsed(answer))
        except ValueError as error:
            self.say(printable(str(error), limit=100))
            return
        self._forget_search()
        self._to_be_shown = True
        self._show_pattern(pattern)
        number = self._search_number
        for side, session in enumerate(self.sessions):
            self._searched[side], self._reached[side] = 0.0, -1
            self._start_looking(session, side, pattern, number)
        self.show_position()

    def _start_looking(
        self, session: ViewerSession, side: int, pattern: Pattern, number: int
    ) -> None:
        self.run_worker(
            lambda: self._look(session, side, pattern, number),
            thread=True,
            group="search",
            exit_on_error=False,
        )

    def _look(self, session: ViewerSession, side: int, pattern: Pattern, number: int) -> None:
        """In a thread: search, and report hits in portions."""

        def stop() -> bool:
            session.aside()
            return self._search_number != number

        source = session.source
        search = Search(pattern, source.size, stop, partial(body_text, source))
        portion: list[Hit] = []
        reported_s = time.monotonic()
        try:
            for hit in search.steps(source.again(stop)):
                if hit is not None:
                    portion.append(hit)
                if time.monotonic() - reported_s >= _REPORT_S or (hit and source.live):
                    self.post_message(self.Found(number, side, portion, search, done=False))
                    portion, reported_s = [], time.monotonic()
        except (CassetteError, OSError, ValueError):
            self.log("the search ended early")  # whoever indexes says why
        self.post_message(self.Found(number, side, portion, search, done=True))

    def on_finding_found(self, message: Found) -> None:
        """Mark hits; go to the first."""
        if message.number != self._search_number:
            return
        duration_us = max(1, self.sessions[message.side].duration_us)
        self._searched[message.side] = 1 if message.done else min(0.99, message.t_us / duration_us)
        self._reached[message.side] = (
            inf if message.done else self.hit_time(message.side, message.t_us)
        )
        if message.hits:
            self._sides += [(message.side, hit) for hit in message.hits]
            self.place_hits()
        # Go to the next one from here, or else to the first.
        if self._next_is_known() and self._to_be_shown and self.hits:
            self._to_be_shown = False
            self.action_hit(0)
        if message.done and message.slow:
            what = (
                "the search was given up" if message.given_up else f"{message.slow} places left out"
            )
            self.say(f"this expression takes too long: {what}")
        elif not self._searching and not self.hits:
            self.say("nothing was found")
        self.show_position()

    def _next_is_known(self) -> bool:
        """Whether no search that still runs can find a hit before the next one from here."""
        if not self._searching:
            return True
        number = bisect_left(self._places, self._here())
        if number == len(self._places):
            return False
        at, own, _ = self._places[number]
        return all(
            reached > at or (side == own and reached == at)
            for side, reached in self._reached.items()
        )

    def place_hits(self) -> None:
        """Put the hits in their order, and on the timeline."""
        placed = sorted(
            ((self.hit_time(side, hit.t_us), side, hit.seq), number)
            for number, (side, hit) in enumerate(self._sides)
        )
        self._sides = [self._sides[number] for _, number in placed]
        self.hits = [hit for _, hit in self._sides]
        self._places = [place for place, _ in placed]
        self.timeline.set_extra("search hit", (place[0] for place in self._places))

    def hit_time(self, side: int, t_us: int) -> int:  # noqa: ARG002 - for screens of more than one
        """A time of recording ``side``, on the clock of the playhead."""
        return t_us

    def go_to_hit(self, side: int, hit: Hit) -> str:  # noqa: ARG002 - for screens of more than one
        """Go to a hit; returns the beginning of the message."""
        self.go_to_event(hit.seq)
        return ""

    def take(self, shown: Shown) -> None:
        """Show a screen, and the row of the current hit."""
        super().take(shown)
        self.show_hit(self.stage, shown)

    def show_hit(self, view: ScreenView, shown: Shown) -> None:
        """Bring the current hit into view, once its screen is there."""
        if self._hit_seqs.get(view) == shown.seq and shown.exact:
            self._hit_seqs.clear()
            view.show_found()

    def _here(self) -> _Place:
        """The place of the current hit, or of the playhead once it was moved."""
        if self._at is not None and self._at[0] == self.playback.t_us:
            return self._at
        return self.playback.t_us, 0, self.playback.seq

    def action_hit(self, by: int) -> None:
        """Go to the next or previous hit, cyclically."""
        if not self.hits:
            self.say("nothing was found" if not self._searching else "still looking")
            return
        places, here = self._places, self._here()
        if by < 0:
            number = bisect_left(places, here) - 1  # -1 is the last
        else:
            number = (bisect_right if by else bisect_left)(places, here) % len(places)
        side, hit = self._sides[number]
        self._hit_seqs = {self.views[side]: hit.seq}
        which = self.go_to_hit(side, hit)
        self._at = places[number] if side else None
        self.say(f"{which}{hit.where}: {hit.shown.strip()[:60]}")

    def _show_pattern(self, pattern: Pattern | None) -> None:
        for view in self.views:
            view.pattern = pattern

    def _forget_search(self) -> None:
        self._search_number += 1
        self._searched, self._reached = {}, {}
        self.hits, self._sides, self._places, self._at = [], [], [], None
        self._show_pattern(None)
        self.timeline.set_extra("search hit", ())
        self.show_position()

    def action_up(self) -> None:
        """Forget the search; without one, go up."""
        if self.stage.pattern is not None:
            self._forget_search()
        else:
            super().action_up()
