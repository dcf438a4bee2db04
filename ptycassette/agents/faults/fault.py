"""The base class of faults, and the parsed form of ``NAME[:NUMBER][@K]``. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import msgspec

from ptycassette.cassette.timeline.match import Entry, read_entries
from ptycassette.cassette.timeline.terminal_answers import is_terminal_answer
from ptycassette.errors import NotFoundError
from ptycassette.model.records import Event, FrameRecord, InputRecord, OutputRecord
from ptycassette.model.screen import Size

MOST_S = 600.0
"""The longest time that a fault takes."""


class Fault:
    """A fault with a mechanism of its own. A new fault is one class.

    Args:
        spec: the requested fault.

    Attributes:
        name: its name for users.
        what: its description, for lists of faults.
        number: the kind of its number, ``TIME`` or ``STATUS``; "" if it takes none.
        default: the number if none is given.
    """

    name: ClassVar[str]
    what: ClassVar[str]
    number: ClassVar[str] = ""
    default: ClassVar[float] = 0.0

    def __init__(self, spec: FaultSpec) -> None:
        self.spec = spec


class FaultSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A requested fault.

    ``value`` is its number, or the default one. ``at`` is its place: a request of the tape (a fault
    of the provider), or an input as a stand-in counts them (a fault of the terminal); None if no
    place was given. ``text`` is the fault as it was written, without its place.
    """

    name: str
    value: float = 0.0
    at: int | None = None

    text: str = ""

    def __str__(self) -> str:
        return self.text if self.at is None else f"{self.text}@{self.at}"


# The parts of a recording that a fault of the terminal needs: inputs, answers, prompt. Pure.


_GLYPH = re.compile("[ \u2500-\u257f]*([\u276f\u203a\u00bb\u279c\u258c>$%#?]{1,3})(?: |$)")
"""The glyphs of prompts, after blanks and box drawing: U+276F is Claude's, U+203A Codex's. Python
has three."""
_REPAINT_US = 300_000
"""How long after a resize output counts as its repaint; programs repaint within some 100 ms."""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a recording that faults of the terminal need.

    Attributes:
        entries: the inputs, as a stand-in compares them; empty over pipes.
        answers: bytes of output after each input, up to the next one, or to a resize or signal;
            the first is the output before all input.
        glyph: the glyph of the prompt, and its column; "" if none was found.
        repaints: ``seq`` of the outputs that repaint after a resize.
        resizes: how often the driver changed the size.
    """

    size: Size
    entries: tuple[Entry, ...]
    answers: tuple[int, ...]
    glyph: str = ""
    column: int = 0
    repaints: frozenset[int] = frozenset()
    resizes: int = 0

    def first_answered(self) -> int:
        """The first input with Enter and an answer; else the first with an answer; else 0."""
        numbers = range(1, len(self.answers))
        answered = [number for number in numbers if self.answers[number]]
        sent = [number for number in answered if self.entries[number - 1].action == "enter"]
        return next(iter([*sent, *answered]), 0)

    def first_sent(self) -> int:
        """The first input that ended with Enter; 0 if there is none."""
        return next((one.number for one in self.entries if one.action == "enter"), 0)

    def checked(self, number: int) -> int:
        """The number, if an input has it.

        Raises:
            NotFoundError: there is no such input.
        """
        if number > len(self.entries):
            raise NotFoundError(
                f"there is no input {number}: the recording has {len(self.entries)}",
                hint="ptycassette events CASSETTE lists them",
            )
        return number


def scene_of(events: Iterable[Event], *, size: Size, stdin_is_stream: bool = False) -> Scene:
    """The scene of a recording.

    Args:
        events: the events of the recording.
        size: the size of its terminal at the start.
        stdin_is_stream: its stdin was not a terminal, so it has no keys.
    """
    everything = list(events)
    inputs = [event.record for event in everything if isinstance(event.record, InputRecord)]
    entries = () if stdin_is_stream else read_entries(inputs)
    glyph, column = _prompt(everything, entries)
    return Scene(
        size=size,
        entries=entries,
        answers=tuple(_answers(everything, entries)),
        glyph=glyph,
        column=column,
        repaints=frozenset(_repaints(everything)),
        resizes=sum(record.kind == "resize" for record in inputs),
    )


def _answers(events: Sequence[Event], entries: Sequence[Entry]) -> Sequence[int]:
    ends = Counter(entry.last_seq for entry in entries)
    sizes = [0] * (len(entries) + 1)
    number, answering = 0, True
    for event in events:
        if event.kind == "output" and answering:
            sizes[number] += len(event.data)
        elif event.kind == "input" and not is_terminal_answer(event):
            number += ends[event.seq]
            answering = event.seq in ends
    return sizes


def _repaints(events: Sequence[Event]) -> Iterator[int]:
    until_us = -1
    for event in events:
        record = event.record
        if isinstance(record, InputRecord) and not is_terminal_answer(event):
            until_us = event.t_us + _REPAINT_US if record.kind == "resize" else -1
        elif isinstance(record, OutputRecord) and event.t_us <= until_us:
            yield event.seq


def _prompt(events: Sequence[Event], entries: Sequence[Entry]) -> tuple[str, int]:
    """The glyph in front of typed text, and its column, from the screens before the inputs."""
    begins = {entry.seq for entry in entries}
    frame: FrameRecord | None = None
    for event in events:
        if isinstance(event.record, FrameRecord):
            frame = event.record
        elif event.seq in begins and frame is not None:
            for row in reversed(frame.text):
                if found := _GLYPH.match(row):
                    return found[1], found.start(1)
    return "", 0
