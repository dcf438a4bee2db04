"""Merge a recorder's journal and the proxy's by time into the events of one session.

Both may still grow. All passes over the events must agree, so the first pass that reaches a
position decides which event comes there, and later passes follow. An item of the proxy comes
before the first event of the recorder that is not earlier, if it can be read by then. Items that
are left come before the end.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ptycassette.model.ports import EventSource
from ptycassette.model.records import Begun, Finished, JournalEvent
from ptycassette.tape.items import Assembler, TapeItem
from ptycassette.tape.journal_codec import TapeHead

if TYPE_CHECKING:  # reading a recording without a tape does without it
    from ptycassette.tape.consent.terms import Prices

_COMPARED = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_output_tokens")


class ItemReader(Protocol):
    """Reads the proxy's journal from its start. ``head`` is None before it was read."""

    @property
    def head(self) -> TapeHead | None:
        """The proxy's description of itself; None before it was read."""
        ...

    def poll(self) -> Iterator[TapeItem]:
        """The items that are there by now, and were not given yet."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class TapeSource:
    """The events of a session with those of its tape. An ``EventSource``.

    Args:
        journal: the recorder's events.
        tape: opens the proxy's journal.
        prices: what models cost at most.
    """

    def __init__(
        self, journal: EventSource, tape: Callable[[], ItemReader], prices: Prices
    ) -> None:
        self._journal, self._tape, self._prices = journal, tape, prices
        self._places = array("Q")  # for each item, the number of the event after it
        self._decided = 0

    def __call__(self) -> Iterator[JournalEvent]:
        """All events, from the first."""
        reader = self._tape()
        try:
            yield from self._merged(_Items(reader))
        finally:
            reader.close()

    def _merged(self, items: _Items) -> Iterator[JournalEvent]:
        assembler = Assembler()
        taken = 0
        for number, event in enumerate(self._journal()):
            if isinstance(event, Begun):
                items.begin(event.clock_us)
            ends = isinstance(event, Finished)
            while self._stands_before(items, taken, number, event, ends=ends):
                taken += 1
                yield from assembler.take(items.take())
            self._decided = max(self._decided, number + 1)
            if isinstance(event, Finished):
                yield from assembler.end(event.t_us)
                yield with_totals(event, assembler, self._prices)
            else:
                yield event

    def _stands_before(
        self, items: _Items, taken: int, number: int, event: JournalEvent, *, ends: bool
    ) -> bool:
        """Whether the next item comes before the recorder's event of that number."""
        if taken < len(self._places):
            return self._places[taken] <= number and items.there
        if number < self._decided or not items.there:
            return False
        if items.t_us > event.t_us and not ends:
            return False
        self._places.append(number)
        return True


class _Items:
    """The items of a reader, with a look at the next one."""

    def __init__(self, reader: ItemReader) -> None:
        self._reader = reader
        self._polled: Iterator[TapeItem] = iter(())
        self._next: TapeItem | None = None
        self._began_us: int | None = None

    def begin(self, clock_us: int) -> None:
        """Set the start of the program, from which times count."""
        self._began_us = clock_us

    @property
    def there(self) -> bool:
        """Whether a next item can be read by now."""
        if self._next is None:
            self._next = next(self._polled, None)
        if self._next is None:
            self._polled = self._reader.poll()
            self._next = next(self._polled, None)
        return self._next is not None

    @property
    def t_us(self) -> int:
        """The time of the next item, which must exist."""
        assert self._next is not None  # noqa: S101 - the caller asked
        head = self._reader.head
        if self._began_us is None or head is None:
            return self._next.t_us
        return max(0, self._next.t_us + head.origin_us - self._began_us)

    def take(self) -> TapeItem:
        """Take the next item, which must exist, with its time in the recording."""
        assert self._next is not None  # noqa: S101 - the caller asked
        item = msgspec.structs.replace(self._next, t_us=self.t_us)
        self._next = None
        return item


def with_totals(event: Finished, assembler: Assembler, prices: Prices) -> Finished:
    """The end of a session with the tape's token counts, compared with the CLI's own log.

    If no source gives the cost, it gets an upper limit.
    """
    said: dict[str, Any] = {"requests": assembler.entries}
    if assembler.totals.outcomes:
        said["outcomes"] = dict(sorted(assembler.totals.outcomes.items()))
    if assembler.totals.models:
        said["models"] = dict(sorted(assembler.totals.models.items()))
    usage = {name: count for name, count in assembler.totals.usage.items() if name != "cost_usd"}
    if usage and event.usage is not None:
        said |= compared_with_log(usage, event.usage)
    cost = assembler.totals.usage.get("cost_usd")
    if cost is not None and event.cost_usd is not None:
        said["log_cost_usd"] = event.cost_usd
    by_model = dict(sorted(assembler.totals.usage_by_model.items()))
    if by_model:
        said["usage_by_model"] = by_model
        counted = sum(int(one["requests"]) for one in by_model.values())
        said["requests_without_usage"] = assembler.entries - counted
        if cost is None and event.cost_usd is None:
            said |= _at_most(by_model, prices)
    return msgspec.structs.replace(
        event,
        usage=usage or event.usage,
        cost_usd=event.cost_usd if cost is None else cost,
        metadata={**(event.metadata or {}), "tape": said},
    )


def compared_with_log(usage: Mapping[str, Any], log_usage: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison with the CLI's own log for ``metadata.tape``: its sums, and if they match.

    Args:
        usage: tokens by the tape.
        log_usage: tokens by the log. A kind of token that only one of them counts is ignored.
    """
    said: dict[str, Any] = {"log_usage": log_usage}
    shared = [name for name in _COMPARED if name in usage and name in log_usage]
    if shared:
        said["log_agrees"] = all(usage[name] == log_usage[name] for name in shared)
    return said


def _at_most(by_model: Mapping[str, Mapping[str, int | float]], prices: Prices) -> dict[str, Any]:
    """An upper limit for the cost of these tokens; no figure if a model has no known price."""
    unknown = [name for name in by_model if prices.model(name) is None]
    if unknown:
        return {"models_without_price": unknown, "prices_of": str(prices.date)}
    usd = sum(
        model.usd(int(used.get("input_tokens", 0)), int(used.get("output_tokens", 0)))
        for name, used in by_model.items()
        if (model := prices.model(name)) is not None
    )
    return {"cost_usd_at_most": round(usd, 6), "prices_of": str(prices.date)}
