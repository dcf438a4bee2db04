"""How large a recording is beside its output."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
from record_doubles import META, WordScrubber

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    FrameRecord,
    InputRecord,
    JournalEvent,
    Output,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.recording.sink_writer import finalise
from ptycassette.terminal.emulator import default_emulator

ROWS, COLS = 30, 120


def painted(number: int) -> bytes:
    """A whole screen in many styles, as interfaces in the alternate screen paint it."""
    rows = [
        "".join(f"\033[38;5;{(row + at) % 9};48;5;{232 + at % 3}m{'word':<8}" for at in range(14))
        for row in range(ROWS - 2)
    ]
    return ("\033[H" + "\r\n".join(rows) + f"\033[0m\r\nscreen {number}").encode()


def session(minutes: int) -> Iterator[JournalEvent]:
    """A spinner that turns ten times a second; each minute a prompt and another screen."""
    at_us = 0
    for minute in range(minutes):
        yield Output(at_us, painted(minute))
        for turn in range(600):
            at_us += 100_000
            row = " ".join(f"\033[38;5;{(turn + at) % 8}m{'|/-+'[turn % 4]}" for at in range(12))
            yield Output(at_us, f"\033[{ROWS};1H{row}\033[0m working".encode())
        yield Typed(at_us + 10_000, b"go on\r")
        at_us += 20_000
    yield Output(at_us, b"bye")
    yield Finished(t_us=at_us, exit=ExitStatus(code=0, exited=True, signaled=False))


def test_a_spinner_does_not_make_a_recording_large(tmp_path: Path) -> None:
    """At most three times the output, and every frame that others rely on is there."""
    target = tmp_path / "spinner.cassette"
    finalise(
        msgspec.structs.replace(META, size=Size(ROWS, COLS)),
        lambda: session(3),
        lambda: CassetteWriter(target),
        emulator=default_emulator,
        scrubber=WordScrubber(),
    )

    assert verify_cassette(str(target), emulator=default_emulator).ok
    with open_cassette(target) as cassette:
        records = [event.record for event in cassette.events()]
        output = cassette.output_size
    size = sum(file.stat().st_size for file in target.iterdir())
    before = [type(one) for one, after in pairwise(records) if isinstance(after, InputRecord)]
    shown = {row for one in records if isinstance(one, FrameRecord) for row in one.text}

    assert size < 3 * output
    assert before == [FrameRecord] * 3
    assert {"screen 0", "screen 1", "screen 2"} <= shown
    assert isinstance(records[-2], FrameRecord)
