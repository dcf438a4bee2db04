"""What a program wrote to pipes and files, where there is no screen: its text, by turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from ptycassette.export.page.beside import time_text, turn_name
from ptycassette.export.page.items import Listing
from ptycassette.export.page.shell import lines, text
from ptycassette.export.text import TextStream
from ptycassette.model import Event, OutputRecord, painted_bytes

MOST_TEXT = 1_000_000
"""So many characters are shown."""


def streams_html(events: Iterable[Event], found: Listing, anchor: str) -> Iterator[str]:
    """The text of each turn, with the names of its streams."""
    yield '<div class="streams">'
    readers: dict[str, TextStream] = {}
    left, at = MOST_TEXT, 0
    outputs = (event for event in events if isinstance(event.record, OutputRecord))
    for turn, events_of_turn in groupby(outputs, lambda event: found.turn_of(event.seq)):
        yield "".join(f'<span id="{anchor}{number}"></span>' for number in range(at, turn))
        at = turn + 1
        caption = f"{turn_name(found.turns[turn])}, {time_text(found.turns[turn].t_us)} s"
        yield f'<figure id="{anchor}{turn}"><figcaption>{caption}</figcaption>'
        for stream, written in groupby(events_of_turn, _stream):
            reader = readers.setdefault(stream, TextStream())
            shown = "".join(reader.feed(painted_bytes(event)) for event in written)
            yield _text_of(stream, shown[: max(0, left)])
            left -= len(shown)
        yield "</figure>"
    for stream, reader in readers.items():
        yield _text_of(stream, reader.finish()[: max(0, left)])
    yield "".join(f'<span id="{anchor}{number}"></span>' for number in range(at, len(found.turns)))
    if left <= 0:
        yield '<p class="dull">There is more: ptycassette cat writes all of it.</p>'
    yield "</div>"


def _text_of(stream: str, shown: str) -> str:
    return f"<p>{text(stream)}</p><pre>{lines(shown.rstrip())}</pre>" if shown.strip() else ""


def _stream(event: Event) -> str:
    record = event.record
    return (record.stream if isinstance(record, OutputRecord) else None) or "terminal"
