"""Keys that search, and lead from hit to hit."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from typing import Any

from textual.message import Message

from ptycassette import CassetteError, printable
from ptycassette_viewer.dialogs import AskDialog
from ptycassette_viewer.patterns import Pattern, compiled, parsed
from ptycassette_viewer.recording.playhead import PlayheadScreen
from ptycassette_viewer.search import Hit, Search

__all__ = ["Finding"]

_REPORT_S = 0.2


class Finding(PlayheadScreen):
    """One search at a time, in a thread, over every state of the screen and all else."""

    class Found(Message):
        """What a search has found since the last message, and how far it is."""

        def __init__(self, number: int, hits: list[Hit], search: Search, *, done: bool) -> None:
            super().__init__()
            self.number = number
            self.hits = hits
            self.t_us = search.t_us
            self.slow = search.slow
            self.given_up = search.given_up
            self.done = done

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.hits: list[Hit] = []
        self._hit_seqs: list[int] = []
        self._searching = False
        self._to_be_shown = False
        self._searched_us = 0
        self._search_number = 0

    def on_unmount(self) -> None:
        """End the search."""
        self._search_number += 1

    def status_parts(self) -> list[str]:
        """How many hits, and how far the search is."""
        parts = super().status_parts()
        if self._searching and not self.session.source.live:
            share = self._searched_us / max(1, self.session.duration_us)
            parts.append(f"{len(self.hits)} hits, {share:.0%} searched")
        elif self.hits or self._searching:
            parts.append(f"{len(self.hits)} hits{chr(0x2026) if self._searching else ''}")
        return parts

    def action_search(self) -> None:
        """Ask what to look for."""
        hint = "text; /regex/ for a regular expression; \\C in front for the case as written"
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
        self._searching = self._to_be_shown = True
        self.stage.pattern = pattern
        number = self._search_number
        self.run_worker(
            lambda: self._look(pattern, number), thread=True, group="search", exit_on_error=False
        )
        self.show_position()

    def _look(self, pattern: Pattern, number: int) -> None:
        """In a thread: look, and tell what is found in portions."""

        def stop() -> bool:
            self.session.aside()
            return self._search_number != number

        source = self.session.source
        search = Search(pattern, source.size, stop)
        portion: list[Hit] = []
        reported_s = time.monotonic()
        try:
            for hit in search.steps(source.again(stop)):
                if hit is not None:
                    portion.append(hit)
                if time.monotonic() - reported_s >= _REPORT_S or (hit and source.live):
                    self.post_message(self.Found(number, portion, search, done=False))
                    portion, reported_s = [], time.monotonic()
        except (CassetteError, OSError, ValueError):
            self.log("the search ended early")  # whoever indexes says why
        self.post_message(self.Found(number, portion, search, done=True))

    def on_finding_found(self, message: Found) -> None:
        """Mark hits; go to the first."""
        if message.number != self._search_number:
            return
        self.hits.extend(message.hits)
        self._hit_seqs.extend(hit.seq for hit in message.hits)
        self._searching = not message.done
        self._searched_us = message.t_us
        if message.hits:
            self.timeline.set_extra("search hit", (hit.t_us for hit in self.hits))
        # Go to the first from here on, if there is one, else to the first of all.
        known = message.done or bool(self.hits and self.hits[-1].seq >= self.playback.seq)
        if known and self._to_be_shown and self.hits:
            self._to_be_shown = False
            self.action_hit(0)
        if message.done and message.slow:
            what = (
                "the search was given up" if message.given_up else f"{message.slow} places left out"
            )
            self.say(f"this expression takes too long: {what}")
        elif message.done and not self.hits:
            self.say("nothing was found")
        self.show_position()

    def action_hit(self, by: int) -> None:
        """The next or last hit behind the playhead, round and round."""
        if not self.hits:
            self.say("nothing was found" if not self._searching else "still looking")
            return
        seqs, seq = self._hit_seqs, self.playback.seq
        if by < 0:
            place = bisect_left(seqs, seq) - 1  # -1 is the last
        else:
            place = (bisect_right if by else bisect_left)(seqs, seq) % len(seqs)
        hit = self.hits[place]
        self.go_to_event(hit.seq)
        self.say(f"{hit.where}: {hit.shown.strip()[:60]}")

    def _forget_search(self) -> None:
        self._search_number += 1
        self._searching = False
        self._searched_us = 0
        self.hits, self._hit_seqs = [], []
        self.stage.pattern = None
        self.timeline.set_extra("search hit", ())
        self.show_position()

    def action_up(self) -> None:
        """Forget the search; without one, go up."""
        if self.stage.pattern is not None:
            self._forget_search()
        else:
            super().action_up()
