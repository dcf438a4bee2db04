"""Turn a recording into steps: each input, with the screen on which it was sent.

Pure: events of a cassette in, steps out. Answers of the terminal are left out, because the terminal
of the new run sends its own.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ptycassette.model.records import Event, FrameRecord, InputRecord, moment_us


class RerunStep(msgspec.Struct, frozen=True, kw_only=True):
    """One input, resize or signal.

    Attributes:
        number: from 1.
        record: the recorded event.
        t_us: its time in the recording.
        screen: the rows of the screen before it; None if no frame was recorded before it.
        follows: whether it directly followed the previous step, without a new screen in between.
    """

    number: int
    record: InputRecord
    t_us: int
    screen: tuple[str, ...] | None
    follows: bool = False


class RerunScript(msgspec.Struct, frozen=True, kw_only=True):
    """All steps, and the last screen of the recording."""

    steps: tuple[RerunStep, ...]
    last_screen: tuple[str, ...] | None


def script_of(events: Iterable[Event]) -> RerunScript:
    """The steps of a recording, in order."""
    steps: list[RerunStep] = []
    screen: tuple[str, ...] | None = None
    follows = False
    for event in events:
        record = event.record
        if isinstance(record, FrameRecord):
            screen, follows = record.text, False
        elif isinstance(record, InputRecord) and record.source != "terminal":
            steps.append(
                RerunStep(
                    number=len(steps) + 1,
                    record=record,
                    t_us=moment_us(record),
                    screen=screen,
                    follows=follows,
                )
            )
            follows = True
    return RerunScript(steps=tuple(steps), last_screen=screen)
