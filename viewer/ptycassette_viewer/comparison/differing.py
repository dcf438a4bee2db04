"""Finds differences in a thread that plays both recordings; marks and lists them."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from typing import Any

from textual.message import Message

from ptycassette import CassetteError
from ptycassette.viewing import visible
from ptycassette_viewer.comparison.differences import CommonRows, Difference, differences
from ptycassette_viewer.comparison.pair import PairScreen
from ptycassette_viewer.panels.lists import DifferencesPanel, Panel

from .differences import further_exchanges

_REPORT_S = 0.2
_WAIT_S = 0.05
_LITTLE = 0.05
"""Of rows: less in common is little; a question typed in both is about as much."""


class Differing(PairScreen):
    """One comparison at a time, from the start to the end of both."""

    class Compared(Message):
        """Where differences begin, as far as both have been played."""

        def __init__(self, number: int, begun: list[Difference], share: float) -> None:
            super().__init__()
            self.number = number
            self.begun = begun
            self.share = share

    def __init__(self, *args: Any, **options: Any) -> None:
        self.differences: list[Difference] = []
        self.compared = 0.0
        self.common: float | None = None
        self._common_rows = CommonRows()
        self._number = 0
        super().__init__(*args, **options)

    def on_mount(self) -> None:
        """Begin to compare."""
        self._compare()

    def on_unmount(self) -> None:
        """End it."""
        self._number += 1

    def make_panels(self) -> dict[str, Panel]:
        """The differences first."""
        panel = DifferencesPanel(lambda: self.differences, self._title, id="differences")
        return {"differences": panel, **super().make_panels()}

    def _title(self) -> str:
        """The line above the list: what was changed, and the summary."""
        summary = ", ".join(self._summary())
        return summary if self.forked is None else f"{summary}: {self.forked.origin.line}"

    def _summary(self) -> list[str]:
        """The number of differences, the common share, and what was not compared."""
        count = len(self.differences)
        parts = [f"{count} difference{'' if count == 1 else 's'}"]
        if self.forked is not None:
            parts[0] += f" from {visible(self.forked.origin.at, limit=20)} on"
        if self.compared < 1:
            return [*parts, f"{self.compared:.0%} compared"]
        if self.common is not None:
            parts.append(_in_common(self.common))
        further = further_exchanges(self.session, self.other) if self.by_exchange else 0
        if further:
            parts.append(f"{further} exchange{'' if further == 1 else 's'} in the second only")
        return parts

    def playing_parts(self) -> list[str]:
        """Adds the number of differences."""
        first, *rest = super().playing_parts()
        count, *more = self._summary()
        known = more if self.compared < 1 or not self.marks_differences else []
        return [first, ", ".join((count, *known)), *rest]

    def action_sync(self) -> None:
        """Switch between same exchange and same time; compare again."""
        super().action_sync()
        self._compare()

    def _compare(self) -> None:
        """Compare in a thread; ends a comparison in progress."""
        self._number += 1
        self.differences, self.compared = [], 0.0
        self.timeline.set_extra("difference", ())
        number, by_exchange = self._number, self.by_exchange
        self.run_worker(
            lambda: self._look_for_differences(number, by_exchange=by_exchange),
            thread=True,
            group="compare",
            exit_on_error=False,
        )

    def _look_for_differences(self, number: int, *, by_exchange: bool) -> None:
        """In a thread: play both, and report in portions where differences begin."""
        first, second = self.sessions

        def stop() -> bool:
            first.aside()
            second.aside()
            return self._number != number

        while not all(session.indexed.wait(_WAIT_S) for session in self.sessions):
            if stop():
                return
        portion: list[Difference] = []
        reported_s = time.monotonic()
        try:
            for t_us, begun in differences(
                first,
                second,
                by_exchange=by_exchange,
                stop=stop,
                common=self._common_rows,
                since_us=0 if self.forked is None else self.forked.t_us,
            ):
                portion += begun
                if time.monotonic() - reported_s >= _REPORT_S:
                    share = t_us / max(1, self.duration_us)
                    self.post_message(self.Compared(number, portion, min(0.99, share)))
                    portion, reported_s = [], time.monotonic()
        except (CassetteError, OSError, ValueError):
            self.log("the comparison ended early")  # whoever indexes says why
        self.post_message(self.Compared(number, portion, 1.0))

    def on_differing_compared(self, message: Compared) -> None:
        """Mark where differences begin; report if nothing is the same."""
        if message.number != self._number:
            return
        self.differences += message.begun
        self.compared = message.share
        self.timeline.set_extra("difference", (found.t_us for found in self.differences))
        if message.share >= 1:
            self.common = self._common_rows.share()
            # If everything differs, marks only make both hard to read.
            self.marks_differences = self.common is None or self.common >= _LITTLE
            self.compare_screens()
            if not self.marks_differences:
                self.say(f"{_in_common(self.common)}: cells are not marked")
        self.show_position()
        self.show_panel(self.playback.seq)

    def show_panel(self, seq: int) -> None:
        """Pass the time to the list of differences."""
        if self.panels_open and self.current_panel == "differences":
            panel = self.panels["differences"]
            if isinstance(panel, DifferencesPanel):
                panel.show_time(self.playback.t_us)
            return
        super().show_panel(seq)

    def on_differences_panel_choose(self, message: DifferencesPanel.Choose) -> None:
        """Go to a difference."""
        self._go_to_difference(message.number)

    def action_difference(self, by: int) -> None:
        """The next or last moment at which they begin to differ."""
        found, t_us = self.differences, self.playback.t_us
        number = (
            bisect_right(found, t_us, key=_time)
            if by > 0
            else bisect_left(found, t_us, key=_time) - 1
        )
        if 0 <= number < len(found):
            self._go_to_difference(number)
        else:
            self.say("no further difference" if self.compared >= 1 else "none is known yet")

    def _go_to_difference(self, number: int) -> None:
        found = self.differences[number]
        self.playback.playing = False
        self.go_to(found.t_us)
        for view in self.views:
            view.show_row(found.row)


def _in_common(share: float | None) -> str:
    if not share:
        return "nothing in common"
    shown = f"{share:.0%} of rows in common"
    return f"almost nothing in common ({shown})" if share < _LITTLE else shown


def _time(found: Difference) -> int:
    return found.t_us
