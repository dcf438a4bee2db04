"""What is changed at the fork: ``input=TEXT``, ``response=TEXT``, and where each can be. Pure."""

from __future__ import annotations

from typing import Literal, cast, get_args

import msgspec

from ptycassette.errors import UsageError
from ptycassette.faults.fault import FaultSpec
from ptycassette.faults.registry import provider_fault
from ptycassette.fork.places import ForkPlace
from ptycassette.keys.quantities import parse_size
from ptycassette.model.geometry import Size
from ptycassette.model.visible_text import visible

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
"""Every change, and what it changes."""

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
    """The one thing that is changed.

    ``value`` is what was given; ``size``, ``status``, ``fault`` and ``entry`` are it, parsed. A
    change of the provider's answers leaves the question as the program asked it: so the child can
    be run again.
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
        """Read ``NAME=VALUE``, or the name alone of what has no value.

        Raises:
            UsageError: there is no such change, or its value is wrong.
        """
        name, sign, value = text.partition("=")
        if name == "fault":
            raise UsageError("a fault has an option of its own", hint="write --fault NAME@N")
        if name not in get_args(ChangeKind) or bool(sign) is (name in _BARE):
            names = ", ".join(one for one in CHANGES if one != "fault")
            raise UsageError(
                f"{visible(text, limit=40)} is no change",
                hint=f"write NAME=VALUE; a name is one of {names};"
                f" without a value: {', '.join(sorted(_BARE))}",
            )
        if not value and sign:
            raise UsageError(f"{name} of what? Write {name}=VALUE")
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
            UsageError: it is one of the terminal.
        """
        provider_fault(fault)
        return cls(kind="fault", value=fault.text, fault=fault)

    def check(self, place: ForkPlace, tail: Tail, *, script: bool) -> None:
        """Refuse a change that says nothing there.

        Args:
            place: where the run is forked.
            tail: who answers afterwards.
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
        raise UsageError(f"{visible(text, limit=40)} is no exit status; write 0 to 255")
    return int(text)


def _entry(text: str) -> int:
    place = ForkPlace.parse(text if ":" in text else f"tape:{text}")
    if place.kind != "tape":
        raise UsageError(f"swap={visible(text, limit=40)}: the answer of which request? tape:N")
    return place.number
