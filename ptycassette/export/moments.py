"""When to look at a screen that is painted from a recording.

A moment is the end of a stretch of time in which something was printed, or the time before
something was typed or the size changed. No screen is looked at in a synchronised update.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from ptycassette.model.events import Event, InputRecord
from ptycassette.model.streams import painted_bytes
from ptycassette.terminal.emulator import PyteEmulator

STRETCH_US = 40_000
"""At most 25 moments a second."""
MOST_FED = 1 << 16
"""With ``erased``, so many bytes are painted between two moments: no more rows scroll off."""

_ERASES = re.compile(rb"\x1b(?:\[[23]J|\[\?(?:\d+;)*(?:47|1047|1049)(?:;\d+)*[hl]|c)")
"""ED 2 and 3, the alternate screen, RIS."""


def moments(
    events: Iterable[Event],
    emulator: PyteEmulator,
    stretch_us: Callable[[], int],
    *,
    erased: bool = False,
) -> Iterator[int]:
    """Paint events, and say when to look at the emulator.

    Args:
        events: in order.
        emulator: paints them.
        stretch_us: gives the length of a stretch, in microseconds; it may change.
        erased: also moments before the whole screen is erased or exchanged.

    Yields:
        The time in microseconds of what the emulator shows now.
    """
    unseen: int | None = None  # when what is on the screen and was not looked at came
    for event in events:
        record = event.record
        if unseen is not None and not emulator.synchronized:
            stretch_ends = event.t_us // stretch_us() != unseen // stretch_us()
            if stretch_ends or isinstance(record, InputRecord):
                yield unseen
                unseen = None
        if event.kind == "output":
            data = painted_bytes(event)
            for piece in _pieces(data) if erased else (data,):
                if (
                    erased
                    and unseen is not None
                    and (len(data) > MOST_FED or (piece is not data and not emulator.synchronized))
                ):
                    yield unseen
                emulator.feed(piece)
                unseen = event.t_us
        elif isinstance(record, InputRecord) and record.size is not None:
            emulator.resize(record.size)
            unseen = event.t_us
    if unseen is not None:
        yield unseen


def _pieces(data: bytes) -> Iterator[bytes]:
    """What to paint without a look in between."""
    cuts = [0, *(found.start() for found in _ERASES.finditer(data) if found.start()), len(data)]
    if len(cuts) == 2 and len(data) <= MOST_FED:
        yield data
        return
    for begin, end in pairwise(cuts):
        for at in range(begin, end, MOST_FED):
            yield data[at : min(end, at + MOST_FED)]
