"""Export a recording as a pytest test with the same inputs, and a wait before each input.

The test is a first version to edit. A wait names the lowest row that is new since the input before,
because that is the row that a person would look at. Everything from the recording is written as a
Python literal in ASCII, so that no text of it is code, or acts on a terminal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import msgspec

from ptycassette.cassette.edits import refuse_in_process
from ptycassette.cassette.timeline.match import Entry, read_entries
from ptycassette.errors import UsageError
from ptycassette.formats.export.registry import ExportSource
from ptycassette.keys.names import encode_key
from ptycassette.model.records import (
    FinalRecord,
    FrameRecord,
    InputRecord,
    moment_us,
    native_text,
    streams_of,
)
from ptycassette.model.visible_text import visible

SLOW_S = 5
"""A wait for something that took longer has its own timeout; others have the usual ten seconds."""
MAX_WAIT = 60
"""Characters of a row in a wait: enough to recognise it, and short enough for a line of code."""


class _Step(msgspec.Struct, frozen=True):
    """The calls for one input; the last step is the end of the recording."""

    seq: int
    t_us: int
    calls: tuple[str, ...]


def recording_test(source: ExportSource) -> Iterator[bytes]:
    """The test, ASCII, in pieces.

    Raises:
        UsageError: the program was recorded over pipes.
        LimitError: the recording has more keys than a replay compares.
    """
    refuse_in_process(source.manifest, source.path)
    if not streams_of(source.manifest).only_terminal:
        raise UsageError(
            "a test is made of what was recorded at a terminal", where=str(source.path)
        )
    records = [event.record for event in source.events() if event.kind != "output"]
    steps = _steps([record for record in records if isinstance(record, InputRecord)])
    steps += [_end(record) for record in records if isinstance(record, FinalRecord)]
    yield _head(source, sized=any("Size(" in call for step in steps for call in step.calls))
    since_us, lines = 0, list[str]()
    for step, row in zip(steps, _rows_to_wait_for(source, steps), strict=True):
        lines += [*_wait(row, step.t_us - since_us), *step.calls]
        since_us = step.t_us
    yield "".join(f"        {line}\n" for line in lines or ["session.screen()"]).encode("ascii")


def _end(final: FinalRecord) -> _Step:
    calls: tuple[str, ...] = ()
    if final.exit is not None and final.exit.exited:
        calls = ("status = session.wait_exit()", f"assert status.code == {int(final.exit.code)}")
    return _Step(final.seq, moment_us(final), calls)


def _head(source: ExportSource, *, sized: bool) -> bytes:
    path = str(source.path)
    file = path.rstrip("/").rpartition("/")[2]
    argv = source.manifest.command.argv
    program = f", {_literal(list(map(native_text, argv)))}" if argv else ""
    words = re.findall(r"[a-z0-9]+", file.removesuffix(".cassette").lower())
    return (
        f'"""Made of {ascii(visible(file))[1:-1].replace(chr(34), chr(39))}:'
        ' edit it as you like."""\n\n'
        f"from ptycassette import {'Size, ' if sized else ''}use\n\n\n"
        f"def test_{'_'.join(words) or 'recording'}():\n"
        f"    with use({_literal(path)}{program}) as session:\n"
    ).encode("ascii")


def _steps(inputs: list[InputRecord]) -> list[_Step]:
    """Everything that was sent, in order."""
    steps = [_Step(entry.seq, entry.t_us, tuple(_calls(entry))) for entry in read_entries(inputs)]
    for record in inputs:
        call = ""
        if record.kind == "resize" and record.size is not None:
            call = f"session.resize(Size({int(record.size.rows)}, {int(record.size.cols)}))"
        elif record.kind == "signal" and record.signal:
            call = f"session.signal({_literal(record.signal)})"
        if call:
            steps.append(_Step(record.seq, moment_us(record), (call,)))
    return sorted(steps, key=lambda step: step.seq)


def _calls(entry: Entry) -> Iterator[str]:
    text, key, secret = entry.text, entry.action, "_secret" if entry.masked else ""
    if text and key == "enter":
        yield f"session.submit{secret}({_literal(text)})"
        return
    if not text and not _is_key(key):
        yield f"session.send({entry.raw!r})"
        return
    if text and any(step.key.kind == "paste" for step in entry.steps):
        yield f"session.paste({_literal(text)})"
    elif text:
        yield f"session.{'send_secret' if secret else 'type'}({_literal(text)})"
    if _is_key(key):
        yield f"session.send_key({_literal(key)})"


def _is_key(name: str) -> bool:
    try:
        return bool(name) and bool(encode_key(name))
    except ValueError:
        return False


def _rows_to_wait_for(source: ExportSource, steps: list[_Step]) -> Iterator[str]:
    """For each step the row to wait for; "" if nothing is new since the step before."""
    frames = iter(source.frames())
    following = next(frames, None)
    shown: FrameRecord | None = None
    for step in steps:
        old = {row.strip() for row in shown.text} if shown else set()
        while following is not None and following.seq < step.seq:
            shown, following = following, next(frames, None)
        new = (row.strip() for row in reversed(shown.text)) if shown else iter(())
        yield next((row[:MAX_WAIT].strip() for row in new if row and row not in old), "")


def _wait(row: str, took_us: int) -> Iterator[str]:
    """The wait for a row, with twice the recorded time if that exceeds the default timeout."""
    if row:
        took_s = math.ceil(took_us / 1e6)
        patience = f", timeout_s={2 * took_s}" if took_s > SLOW_S else ""
        yield f"session.wait_for_text({_literal(row)}{patience})"


def _literal(value: str | list[str]) -> str:
    """A value as Python source in ASCII."""
    return ascii(value)
