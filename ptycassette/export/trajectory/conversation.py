"""What a cassette tells of the conversation with models, for the formats that hold one.

From the tape, where there is one: a step for each message that a question holds for the first time,
and one for each answer. A question repeats what was said before it; a message counts as new if the
question holds it more often than any earlier one, so that a second "yes" is a second step.

Without a tape: from the service events that the CLI's session log gave (``message``, ``tool-call``,
``tool-result``), and, if they hold nothing that the user said, from the lines that were typed and
sent. Events that were read after the program ended have no times of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast, runtime_checkable

from ptycassette.errors import UsageError
from ptycassette.export.registry import ExportSource
from ptycassette.export.trajectory.from_log import LogReading
from ptycassette.export.trajectory.from_tape import TapeExchange, TapeReading, read_tape
from ptycassette.export.trajectory.steps import Conversation
from ptycassette.model.events import FinalRecord


@runtime_checkable
class _Recording(Protocol):
    final: FinalRecord

    @property
    def has_tape(self) -> bool: ...

    def tape(self) -> Iterable[TapeExchange]: ...


class WholeSource(ExportSource, _Recording, Protocol):
    """An open cassette."""


def whole(source: ExportSource) -> WholeSource:
    """The source as a whole cassette.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(source, _Recording):
        raise UsageError("it is made of a whole cassette", where=str(source.path))
    return cast("WholeSource", source)


def conversation_of(source: ExportSource) -> Conversation:
    """The conversation in a cassette.

    Raises:
        UsageError: there is none in it.
    """
    cassette = whole(source)
    of_tape = TapeReading()
    if cassette.has_tape:
        of_tape = read_tape(cassette.tape(), cassette.events())
    log = LogReading(with_messages=not of_tape.inferences)
    for event in cassette.events():
        log.take(event)
    steps = of_tape.steps or log.steps()
    if not any(step.source == "agent" for step in steps):
        raise UsageError(
            "there is no conversation with a model in it",
            where=str(source.path),
            hint="record the model traffic with ptycassette rec --tape",
        )
    left_out = {name: count for name, count in (of_tape.left_out + log.left_out).items() if count}
    return Conversation(steps=steps, inferences=of_tape.inferences, left_out=left_out)


def left_out_of(source: ExportSource) -> dict[str, int]:
    """What a format that holds a conversation leaves out of a cassette, with how often."""
    return conversation_of(source).left_out
