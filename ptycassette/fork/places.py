"""Where a run is forked: ``exchange:3`` of the terminal, ``tape:2``, a tool call. Pure.

``Cut`` says what stands before that place, and is therefore verified, and what comes after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, cast

import msgspec

from ptycassette.errors import NotFoundError, UsageError
from ptycassette.model.events import Event
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import visible
from ptycassette.rerun.script import RerunStep, script_of
from ptycassette.timeline.exchange_cutting import exchanges

PlaceKind = Literal["exchange", "tape", "tool"]
_PLACE = re.compile(r"(?:(exchange|tape|tool):)?([0-9]{1,9})")


class ForkPlace(msgspec.Struct, frozen=True):
    """An exchange of the terminal, numbered as ``ptycassette events`` does, or a tape's entry.

    In a recording of ``use_tape`` it is a request (``tape:2``), a tool call (``tool:1``), or, as an
    ``exchange``, the call with this number among both.
    """

    kind: PlaceKind
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"

    @classmethod
    def parse(cls, text: str) -> ForkPlace:
        """Read ``exchange:3``, ``tape:2``, ``tool:1``, or ``3``, an exchange.

        Raises:
            UsageError: it is no place.
        """
        match = _PLACE.fullmatch(text)
        if match is None or int(match[2]) < 1:
            raise UsageError(
                f"{visible(text, limit=40)} is no place to fork at",
                hint="write exchange:3 (what is typed), tape:2 (a request), or tool:1 (a tool call"
                " of use_tape)",
            )
        return cls(cast("PlaceKind", match[1] or "exchange"), int(match[2]))


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A recording, cut at a place.

    Attributes:
        prefix: the steps that are typed before it.
        here: the steps of the exchange that is forked; none for a place on the tape.
        rest: the recorded steps after it.
        before: entries of the tape that are asked for before it.
        entry: the entry that is forked; None for an exchange of the terminal.
        last_us: when the last thing before it happened in the recording.
        end_us: when the recording ended.
    """

    prefix: tuple[RerunStep, ...]
    here: tuple[RerunStep, ...]
    rest: tuple[RerunStep, ...]
    before: frozenset[int]
    entry: int | None
    last_us: int
    end_us: int

    @property
    def screens(self) -> int:
        """How many screens are compared before the change."""
        steps = (*self.prefix, *self.here[:1])
        return sum(step.screen is not None and not step.follows for step in steps)


def cut_at(place: ForkPlace, events: Iterable[Event], entries: Sequence[TapeEntry]) -> Cut:
    """Cut a recording.

    Args:
        place: where.
        events: of the recording.
        entries: of its tape; none if it has none.

    Raises:
        NotFoundError: there is no such place.
        UsageError: it is a tool call, which only a recording of ``use_tape`` has.
    """
    if place.kind == "tool":
        raise UsageError(
            f"{place}: a program's own tool calls are not recorded, so they cannot be changed",
            hint="change what the model is told: --at tape:N --change tool-result=TEXT",
        )
    kept = list(events)
    steps = script_of(kept).steps
    end_us = kept[-1].t_us if kept else 0
    if place.kind == "tape":
        entry = next((one for one in entries if one.entry == place.number), None)
        if entry is None:
            raise _missing(place, len(entries), "requests on its tape")
        prefix = tuple(step for step in steps if step.t_us <= entry.t_us)
        return Cut(
            prefix=prefix,
            here=(),
            rest=steps[len(prefix) :],
            before=frozenset(one.entry for one in entries if one.entry < entry.entry),
            entry=entry.entry,
            last_us=entry.t_us,
            end_us=end_us,
        )
    last = 0
    for exchange in exchanges(kept):
        last = exchange.number
        if exchange.number == place.number:
            seqs = {event.seq for event in exchange.inputs}
            break
    else:
        raise _missing(place, last, "exchanges of the terminal")
    here = tuple(step for step in steps if step.record.seq in seqs)
    first, count = here[0], len(here)
    return Cut(
        prefix=steps[: first.number - 1],
        here=here,
        rest=steps[first.number - 1 + count :],
        before=frozenset(one.entry for one in entries if one.t_us < first.t_us),
        entry=None,
        last_us=first.t_us,
        end_us=end_us,
    )


def _missing(place: ForkPlace, count: int, what: str) -> NotFoundError:
    return NotFoundError(f"there is no {place}: the recording has {count} {what}")
