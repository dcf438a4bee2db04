"""Several sessions, one after the other, as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptycassette.editing.session import BadEditError, Take, at
from ptycassette.model.journal import Finished, JournalEvent, Output, Resized
from ptycassette.terminal.repaint import RESET


def join(takes: Sequence[Take], *, gap_us: int = 0) -> Take:
    """Each session begins ``gap_us`` after the one before it has ended, on a fresh screen.

    The head is that of the first. How it ended, and what the end says of usage and costs, is that
    of the last.

    Raises:
        BadEditError: fewer than two; or some ran at a terminal and some over pipes.
    """
    if len(takes) < 2:
        raise BadEditError("join takes two recordings or more")
    first = takes[0]
    for other in takes[1:]:
        if other.meta.streams != first.meta.streams:
            raise BadEditError(
                f"{other.name} and {first.name} did not run in the same way: one at a terminal,"
                " one over pipes, or over others"
            )
    end_us = sum(take.end_us for take in takes) + gap_us * (len(takes) - 1)

    def events() -> Iterator[JournalEvent]:
        begin_us = 0
        size = first.meta.size
        for number, take in enumerate(takes):
            if number and take.on_terminal:
                if take.meta.size != size:
                    size = take.meta.size
                    yield Resized(begin_us, size)
                yield Output(begin_us, RESET)
            for event in take.source():
                if isinstance(event, Resized):
                    size = event.size
                if not isinstance(event, Finished) or number == len(takes) - 1:
                    yield at(event, begin_us + event.t_us)
            begin_us += take.end_us + gap_us

    return first.changed(events, end_us=end_us, keeps_tape=False)
