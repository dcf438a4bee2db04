"""Parse and find the place of a fork: an exchange, a request on the tape, a tool call. Pure.

``Cut`` has the steps before that place, which are verified, and the steps after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, cast, get_args

import msgspec

from ptycassette.agents.faults.fault import FaultSpec
from ptycassette.agents.faults.registry import provider_fault
from ptycassette.agents.rerun.script import RerunStep, script_of
from ptycassette.cassette.timeline.exchange_cutting import exchanges
from ptycassette.errors import NotFoundError, UsageError
from ptycassette.keys.quantities import parse_size
from ptycassette.model.records import Event
from ptycassette.model.screen import Size
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import visible

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
            UsageError: it is not a place.
        """
        match = _PLACE.fullmatch(text)
        if match is None or int(match[2]) < 1:
            raise UsageError(
                f"{visible(text, limit=40)} is not a place to fork at",
                hint="write exchange:3 (what is typed), tape:2 (a request), or tool:1 (a tool call"
                " of use_tape)",
            )
        return cls(cast("PlaceKind", match[1] or "exchange"), int(match[2]))


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A recording, cut at a place.

    Attributes:
        prefix: the steps that are typed before it.
        here: the steps of the forked exchange; empty for a place on the tape.
        rest: the recorded steps after it.
        before: entries of the tape that are asked for before it.
        entry: the forked entry; None for an exchange of the terminal.
        last_us: the time of the last event before it in the recording.
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
        place: the place.
        events: the events of the recording.
        entries: the entries of its tape; empty without a tape.

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


# The change at the fork: ``input=TEXT``, ``response=TEXT``, and its possible places. Pure.


ChangeKind = Literal[
    "input", "skip", "response", "swap", "tool-result", "model", "binary", "size", "exit", "fault",
    "none", "ask",
]  # fmt: skip
Tail = Literal["scripted", "held", "fake", "live"]

CHANGES: dict[ChangeKind, str] = {
    "input": "what is typed at an exchange of the terminal",
    "skip": "an exchange of the terminal is not typed",
    "response": "what the model answers to a request of the tape; @FILE reads it from a file",
    "swap": "the answer to a request is the recorded one to another request, tape:N",
    "tool-result": "the result of the last tool call in a request of the tape; at a tool call of"
    " use_tape, what the tool returns",
    "model": "the model that answers from there on",
    "binary": "the program: another version that does the same up to there",
    "size": "the size of the terminal, COLSxROWS",
    "exit": "the program is ended there, and this is its status",
    "fault": "what goes wrong with a request of the tape or its answer; --fault NAME@N",
    "none": "nothing: to compare with",
    "ask": "nothing, but the tail answers the request: to compare with",
}
"""Every change, and the thing that it changes."""

_BARE = frozenset(("skip", "none", "ask"))

_AT_EXCHANGE, _AT_REQUEST = "an input: --at exchange:N", "a request: --at tape:N"
_ONLY_AT: dict[str, tuple[frozenset[str], str]] = {
    "input": (frozenset(("exchange",)), _AT_EXCHANGE),
    "skip": (frozenset(("exchange",)), _AT_EXCHANGE),
    "response": (frozenset(("tape",)), _AT_REQUEST),
    "swap": (frozenset(("tape",)), _AT_REQUEST),
    "ask": (frozenset(("tape",)), _AT_REQUEST),
    "tool-result": (
        frozenset(("tape", "tool")),
        f"{_AT_REQUEST}, or at a tool call of use_tape: --at tool:N",
    ),
    "fault": (frozenset(("tape",)), _AT_REQUEST),
}
_MOST_STATUS = 255


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The change of a fork.

    ``value`` is the given text; ``size``, ``status``, ``fault`` and ``entry`` are its parsed forms.
    A change of the provider's answers does not change the program's question, so the child can be
    run again.
    """

    kind: ChangeKind
    value: str = ""
    size: Size | None = None
    status: int | None = None
    fault: FaultSpec | None = None
    entry: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}={self.value}" if self.value else self.kind

    @classmethod
    def parse(cls, text: str) -> Change:
        """Read ``NAME=VALUE``, or only the name of a change without a value.

        Raises:
            UsageError: there is no such change, or its value is wrong.
        """
        name, sign, value = text.partition("=")
        if name == "fault":
            raise UsageError("a fault has an option of its own", hint="write --fault NAME@N")
        if name not in get_args(ChangeKind) or bool(sign) is (name in _BARE):
            names = ", ".join(one for one in CHANGES if one != "fault")
            raise UsageError(
                f"{visible(text, limit=40)} is not a change",
                hint=f"write NAME=VALUE; a name is one of {names};"
                f" without a value: {', '.join(sorted(_BARE))}",
            )
        if not value and sign:
            raise UsageError(f"{name} needs a value: write {name}=VALUE")
        kind = cast("ChangeKind", name)
        size = _size(value) if kind == "size" else None
        return cls(
            kind=kind,
            value=value,
            size=size,
            status=_status(value) if kind == "exit" else None,
            entry=_entry(value) if kind == "swap" else None,
        )

    @classmethod
    def of(cls, fault: FaultSpec) -> Change:
        """A fault of the provider as the change.

        Raises:
            UsageError: it is a fault of the terminal.
        """
        provider_fault(fault)
        return cls(kind="fault", value=fault.text, fault=fault)

    def check(self, place: ForkPlace, tail: Tail, *, script: bool) -> None:
        """Refuse a change that has no meaning there.

        Args:
            place: the place of the fork.
            tail: the source of later answers.
            script: whether a script of answers was given.

        Raises:
            UsageError: it cannot apply.
        """
        wanted = _ONLY_AT.get(self.kind)
        if wanted is not None and place.kind not in wanted[0]:
            raise UsageError(
                f"{self.kind} cannot be changed at {place}: it is changed at {wanted[1]}"
            )
        asks = self.fault is not None and provider_fault(self.fault).of_questions
        is_recorded = tail == "held" or (tail == "scripted" and not script)
        reads = self.kind in {"model", "ask"} or (self.kind, place.kind) == ("tool-result", "tape")
        if (asks or reads) and is_recorded:
            raise UsageError(
                f"a recorded answer does not depend on {self.value if asks else self.kind}",
                hint="--tail fake, --tail live, or --script FILE with answers",
            )


def _size(text: str) -> Size:
    try:
        return parse_size(text)
    except ValueError as wrong:
        raise UsageError(str(wrong)) from wrong


def _status(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > _MOST_STATUS:
        raise UsageError(f"{visible(text, limit=40)} is not an exit status; write 0 to 255")
    return int(text)


def _entry(text: str) -> int:
    place = ForkPlace.parse(text if ":" in text else f"tape:{text}")
    if place.kind != "tape":
        raise UsageError(
            f"swap={visible(text, limit=40)}: name the request whose answer to use, such as tape:3"
        )
    return place.number
