"""What a program wrote to pipes and files, where there is no screen: its text, by turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from ptycassette.export.page.beside import turn_name
from ptycassette.export.page.items import Listing
from ptycassette.export.page.shell import lines, text
from ptycassette.export.text import TextStream
from ptycassette.keys.quantities import clock_text
from ptycassette.model.events import Event, OutputRecord
from ptycassette.model.streams import painted_bytes

MOST_TEXT = 1_000_000
"""So many characters are shown."""


def stream_texts(events: Iterable[Event], found: Listing) -> Iterator[tuple[int, str, str]]:
    """Index of the turn, name of the stream and text, in order."""
    readers: dict[str, TextStream] = {}
    left, turn = MOST_TEXT, 0
    outputs = (event for event in events if isinstance(event.record, OutputRecord))
    for (turn, stream), written in groupby(
        outputs, lambda event: (found.turn_of(event.seq), _stream(event))
    ):
        reader = readers.setdefault(stream, TextStream())
        shown = "".join(reader.feed(painted_bytes(event)) for event in written)
        yield turn, stream, shown[: max(0, left)]
        left -= len(shown)
    for stream, reader in readers.items():
        yield turn, stream, reader.finish()[: max(0, left)]
    if left <= 0:
        yield turn, "more", "there is more: ptycassette cat writes all of it"


def streams_html(events: Iterable[Event], found: Listing, anchor: str) -> Iterator[str]:
    """The text of each turn, with the names of its streams."""
    texts: dict[int, list[str]] = {}
    for index, stream, shown in stream_texts(events, found):
        if shown.strip():
            texts.setdefault(index, []).append(_text_of(stream, shown))
    yield '<div class="streams">'
    for number, turn in enumerate(found.turns):
        caption = f"{turn_name(turn)}, {clock_text(turn.t_us, decimals=2)} s"
        yield f'<figure id="{anchor}{number}">'
        if number in texts:
            yield "".join((f"<figcaption>{caption}</figcaption>", *texts[number]))
        yield "</figure>"
    yield "</div>"


def _text_of(stream: str, shown: str) -> str:
    return f"<p>{text(stream)}</p><pre>{lines(shown.rstrip())}</pre>"


def _stream(event: Event) -> str:
    record = event.record
    return (record.stream if isinstance(record, OutputRecord) else None) or "terminal"
