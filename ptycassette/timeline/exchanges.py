"""Exchanges: one stretch of input up to the next stretch of input, with the output it caused.

Exchange 0 is what the program says before anybody speaks to it; it has no
input. Answers of the terminal to queries (``source: "terminal"``) are no
input of a user or driver: they stay inside the exchange in which they were
given. Frames, service events and the final event belong to the exchange
during which they happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ptycassette.model import Event, InputRecord

__all__ = ["Exchange", "exchanges", "is_terminal_answer"]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange. ``inputs`` holds input, resize and signal events; ``answers`` all others."""

    number: int
    inputs: tuple[Event, ...]
    answers: tuple[Event, ...]

    @property
    def typed(self) -> bytes:
        """The bytes of the stretch of input, joined."""
        return b"".join(event.data for event in self.inputs)

    @property
    def output(self) -> bytes:
        """The output that followed, joined."""
        return b"".join(event.data for event in self.answers if event.kind == "output")

    @property
    def first_seq(self) -> int:
        """Where the exchange starts."""
        return (self.inputs or self.answers)[0].seq

    @property
    def last_seq(self) -> int:
        """Where it ends; the same as ``first_seq`` when it has one event."""
        return max(stretch[-1].seq for stretch in (self.inputs, self.answers) if stretch)

    @property
    def t_us(self) -> int:
        """When it starts."""
        return (self.inputs or self.answers)[0].t_us


def is_terminal_answer(event: Event) -> bool:
    """Whether ``event`` is the terminal's own answer to a query, typed by nobody."""
    return isinstance(event.record, InputRecord) and event.record.source == "terminal"


def exchanges(events: Iterable[Event]) -> Iterator[Exchange]:
    """Cut ``events`` into exchanges; each event is in exactly one of them.

    A stretch of input ends with the first output or the final event behind
    it; frames and service events in the middle of typing do not end it.
    Holds one exchange in memory at a time.
    """
    number = 0
    inputs: list[Event] = []
    answers: list[Event] = []
    answered = True  # before any input, output simply comes
    for event in events:
        if event.kind == "input" and not is_terminal_answer(event):
            if answered and (inputs or answers):
                yield Exchange(number=number, inputs=tuple(inputs), answers=tuple(answers))
                inputs, answers = [], []
            if not inputs:
                number += 1
            answered = False
            inputs.append(event)
            continue
        answered = answered or event.kind in {"output", "final"}
        answers.append(event)
    if inputs or answers:
        yield Exchange(number=number, inputs=tuple(inputs), answers=tuple(answers))
