"""List the places at which a recording can be forked."""

from __future__ import annotations

from collections.abc import Iterator

from ptycassette.agents.faults.provider import last_call
from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.timeline.exchange_cutting import exchanges
from ptycassette.model.visible_text import visible, visible_bytes

_WIDTH = 60


def place_lines(cassette: Cassette) -> Iterator[str]:
    """One line for each place, in the order of the recording."""
    places: list[tuple[int, str]] = []
    for exchange in exchanges(cassette.events()):
        if exchange.inputs:
            what = visible_bytes(exchange.typed, limit=_WIDTH) or "no text"
            places.append((exchange.first_seq, f"exchange:{exchange.number}  types {what}"))
    for one in cassette.tape() if cassette.has_tape else ():
        entry = one.entry
        what = f"{entry.method} {entry.target}" if entry.method else "message"
        tells = ", tells a tool's result" if last_call(one.question()) else ""
        text = f"tape:{entry.entry}  asks {visible(what, limit=_WIDTH)}{tells}"
        places.append((entry.seq, text))
    for _, text in sorted(places):
        yield text
