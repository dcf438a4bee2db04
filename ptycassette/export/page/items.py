"""What stands beside the screen: what was typed, and what happened between, in order.

A *turn* of the list begins with an entry of the input, a line and the key that sent it. It says
which exchanges it covers: where the program does not mark its turns, every echoed key begins one.
Before the first input there is a turn without an entry.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Any

import msgspec

from ptycassette.export.page.item import Item, ItemKind
from ptycassette.export.page.models import ExchangeSource, model_item, with_bodies
from ptycassette.model.events import (
    Event,
    ExitStatus,
    FinalRecord,
    InputRecord,
    ServiceEventRecord,
    moment_us,
)
from ptycassette.model.visible_text import visible_bytes
from ptycassette.timeline.exchange_cutting import ExchangeCutter
from ptycassette.timeline.match_entries import Entry, iter_entries

MOST_ITEMS = 5_000
_FOLDED = frozenset({"model-request", "model-answer", "model-end", "usage"})
"""Service events about an entry of the tape that its own item tells."""


class ListedTurn(msgspec.Struct, kw_only=True):
    """An input and what came of it. ``typed`` is None before any input."""

    seq: int
    t_us: int
    first_exchange: int
    last_exchange: int
    typed: str | None = None
    masked: bool = False
    items: list[Item] = []


class Listing(msgspec.Struct, kw_only=True):
    """The turns, and how many items were left out because there are too many."""

    turns: list[ListedTurn]
    left_out: int = 0

    def turn_of(self, seq: int) -> int:
        """The index of the turn to which an event belongs."""
        return max(0, bisect_right(self.turns, seq, key=lambda turn: turn.seq) - 1)


def listing(
    events: Iterable[Event], tape: Iterable[ExchangeSource], others: Sequence[Item] = ()
) -> Listing:
    """The list of a recording.

    Args:
        events: all of them.
        tape: its model traffic.
        others: items from elsewhere, such as divergences, with the place to which they belong.
    """
    inputs: list[InputRecord] = []
    items: list[Item] = []
    begun: list[tuple[int, int]] = []  # seq and number of exchanges
    payloads: dict[int, list[dict[str, Any]]] = {}
    cutter, number = ExchangeCutter(), 0
    first_us = None
    placeless = sorted((one for one in others if one.seq is None), key=lambda one: one.t_us)
    for event in events:
        while placeless and placeless[0].t_us < event.t_us:
            placeless.pop(0).seq = event.seq - 1
        first_us = event.t_us if first_us is None else first_us
        begins = cutter.begins(event)
        record = event.record
        if isinstance(record, InputRecord):
            inputs.append(record)
            number += begins and record.source != "terminal"
        if begins:
            begun.append((event.seq, number))
        about = _entry_of(record)
        if about is not None and isinstance(record, ServiceEventRecord):
            payloads.setdefault(about, []).append(record.payload)
        items += _items_of(event)
    entries = list(iter_entries(inputs))
    items += _loose_inputs(inputs, entries)
    asked = [model_item(one, payloads.get(one.entry.entry, [])) for one in tape]
    if asked:
        items = [one for one in items if one.label not in _FOLDED]
    items += [*with_bodies(asked), *others]
    items.sort(key=lambda item: (_place(item), item.t_us))
    return Listing(
        turns=_turns(entries, items[:MOST_ITEMS], begun, first_us or 0),
        left_out=max(0, len(items) - MOST_ITEMS),
    )


def _place(item: Item) -> float:
    return inf if item.seq is None else item.seq


def _turns(
    entries: Sequence[Entry], items: Iterable[Item], begun: Sequence[tuple[int, int]], first_us: int
) -> list[ListedTurn]:
    starts = [seq for seq, _ in begun]

    def exchange_at(seq: int) -> int:
        at = bisect_right(starts, seq) - 1
        return begun[at][1] if at >= 0 else 0

    turns = [ListedTurn(seq=0, t_us=first_us, first_exchange=0, last_exchange=0, items=[])]
    turns += [
        ListedTurn(
            seq=entry.seq,
            t_us=entry.t_us,
            first_exchange=exchange_at(entry.seq),
            last_exchange=exchange_at(entry.seq),
            typed=entry.shown,
            masked=entry.masked,
            items=[],
        )
        for entry in entries
    ]
    for turn, following in pairwise(turns):
        turn.last_exchange = max(turn.first_exchange, following.first_exchange - 1)
    if begun:
        turns[-1].last_exchange = max(turns[-1].first_exchange, begun[-1][1])
    places = [turn.seq for turn in turns]
    for item in items:
        turns[bisect_right(places, _place(item)) - 1].items.append(item)
    return turns


def _items_of(event: Event) -> Iterator[Item]:
    record = event.record

    def made(kind: ItemKind, label: str, text: str = "", *bodies: tuple[str, str]) -> Item:
        return Item(
            kind=kind, seq=event.seq, t_us=event.t_us, label=label, text=text, bodies=bodies
        )

    match record:
        case InputRecord(kind="resize", size=size) if size is not None:
            yield made("resize", "resize", f"{size.cols} x {size.rows}")
        case InputRecord(kind="signal", signal=signal):
            yield made("signal", "signal", signal or "")
        case InputRecord(kind="input", source="terminal"):
            yield made("terminal", "answer of the terminal", visible_bytes(event.data, limit=200))
        case ServiceEventRecord(payload=payload):
            yield _service_item(made, payload)
        case FinalRecord(exit=ended):
            yield made("end", "end", _ended(ended))
        case _:
            pass


def _service_item(made: Any, payload: Any) -> Item:
    kind = payload.get("type") if isinstance(payload, dict) else None
    match kind:
        case "message":
            item: Item = made("message", "message", f"{payload.get('role')}: {payload.get('text')}")
        case "thinking" | "summary":
            item = made("message", kind, str(payload.get("text", "")))
        case "attachment":
            item = made("message", kind, _words(payload, "role", "kind", "media_type", "name"))
        case "tool-call":
            item = made("tool", "tool call", _words(payload, "name", "arguments"))
        case "tool-result":
            item = made("tool", "tool result", _result(payload))
        case str():
            rest = {name: value for name, value in payload.items() if name != "type"}
            label = kind if kind in _FOLDED and "entry" in payload else "service event"
            item = made("service", label, f"{kind} {_json(rest)}" if rest else kind)
        case _:
            item = made("service", "service event", _json(payload))
    return item


def _words(payload: dict[str, Any], *names: str) -> str:
    found = [payload[name] for name in names if payload.get(name) is not None]
    words = [value if isinstance(value, str) else _json(value) for value in found]
    return " ".join(words) or f"of entry {payload.get('entry')}"


def _result(payload: dict[str, Any]) -> str:
    match payload.get("error"):
        case {"type": str(name), "message": str(message)}:
            return f"{name}: {message}"
        case _:
            return _words(payload, "output")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _ended(status: ExitStatus | None) -> str:
    if status is None:
        return "how it ended was not recorded"
    if status.signaled:
        return f"ended by {status.signal or 'a signal'}"
    return f"exit status {status.code}" if status.exited else "still running"


def _entry_of(record: object) -> int | None:
    payload = record.payload if isinstance(record, ServiceEventRecord) else None
    entry = payload.get("entry") if isinstance(payload, dict) else None
    return entry if isinstance(entry, int) else None


def _loose_inputs(inputs: Iterable[InputRecord], entries: Sequence[Entry]) -> Iterator[Item]:
    """Inputs that head no turn: the key that sent one, and reports of the focus."""
    starts = [entry.seq for entry in entries]
    for record in inputs:
        if record.kind != "input" or record.source == "terminal":
            continue
        at = bisect_right(starts, record.seq) - 1
        if at >= 0 and (record.seq < entries[at].last_seq or record.seq == entries[at].seq):
            continue
        shown = "(masked)" if record.masked else record.key or visible_bytes(record.bytes or b"")
        shown = shown or ("end of input" if record.eof else "")
        yield Item(kind="input", seq=record.seq, t_us=moment_us(record), label="input", text=shown)
