"""``ptycassette events CASSETTE``: the events in order, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from ptycassette.cli._options import (
    TIME,
    allow_unscrubbed_option,
    cassette_argument,
    opened,
)
from ptycassette.cli._present import json_text, write_lines
from ptycassette.cli.info import exit_text
from ptycassette.formats.export.event_lines import event_kind, event_line
from ptycassette.keys.quantities import bytes_text
from ptycassette.model.visible_text import visible, visible_bytes

if TYPE_CHECKING:
    from ptycassette.cassette.timeline.exchange_cutting import TerminalSignal
    from ptycassette.formats.export.event_lines import EventLine
    from ptycassette.model.records import Event, InputRecord
    from ptycassette.model.screen import Screen

    Listed = Event | TerminalSignal

TERMINAL_SIGNAL = "terminal-signal"
KINDS = ("input", "resize", "signal", "output", "frame", "service-event", "final", TERMINAL_SIGNAL)
DETAIL_LIMIT = 100
MOST_SIGNALS, BYTES_FOR_A_SIGNAL = 100_000, 20
"""Signals that are listed: so many, and one more for each 20 bytes of output. Recorded agents send
one for 23 bytes or more; five megabytes of bells would be five million lines."""


@click.command("events")
@cassette_argument
@click.option(
    "-k",
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    help="List only events of this kind. Repeatable.",
)
@click.option(
    "--from",
    "start",
    type=TIME,
    metavar="TIME",
    help="List events from TIME on (12.5, 250ms, 1:02).",
)
@click.option("--to", "end", type=TIME, metavar="TIME", help="List events up to TIME.")
@click.option("--source", metavar="NAME", help="List only input from user, driver or terminal.")
@click.option(
    "--signals",
    is_flag=True,
    help="Also list signals to the terminal: titles, notifications, turns, modes, ...",
)
@click.option(
    "-n", "--limit", metavar="N", type=click.IntRange(min=1), help="List at most this many events."
)
@click.option("--full", is_flag=True, help="Do not shorten long data.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per event (docs/json.md)."
)
@allow_unscrubbed_option
def command(
    cassette: str,
    kinds: tuple[str, ...],
    start: float | None,
    end: float | None,
    source: str | None,
    signals: bool,
    limit: int | None,
    full: bool,
    as_json: bool,
    allow_unscrubbed: bool,
) -> None:
    """List the events of CASSETTE in order: seq, time, kind and contents.

    Control and invisible characters are shown as escapes. With --json, each line is
    one JSON object. Signals to the terminal are read from the output and have the
    seq and time of the output that completed them.

    Example: ptycassette events hello.cassette --kind input --to 30
    """
    from ptycassette.replaying.io.replayer import seconds_to_us

    if start is not None and end is not None and end < start:
        raise click.UsageError("--to is before --from")
    with opened(cassette, allow_unscrubbed=allow_unscrubbed) as opened_cassette:
        with_signals = signals or TERMINAL_SIGNAL in kinds
        events = (
            _with_signals(opened_cassette.events()) if with_signals else opened_cassette.events()
        )
        inside = _between(events, seconds_to_us(start), seconds_to_us(end))
        chosen = (event for event in inside if _wanted(event, kinds, source, signals=signals))
        write_lines(_lines(islice(chosen, limit), as_json=as_json, full=full))


def _with_signals(events: Iterator[Event]) -> Iterator[Listed]:
    """The events, and after each output the signals that it completed."""
    from ptycassette.cassette.timeline.exchange_cutting import SignalFinder
    from ptycassette.errors import LimitError

    finder = SignalFinder()
    found = read = 0
    for event in events:
        yield event
        read += len(event.data) if event.kind == "output" else 0
        for signal in finder.feed(event):
            found += 1
            if found > MOST_SIGNALS + read // BYTES_FOR_A_SIGNAL:
                raise LimitError(
                    f"more than {found - 1} terminal signals in {read} bytes of output, the last"
                    f" at seq {event.seq}: list fewer with --to or --limit"
                )
            yield signal


def _between(
    events: Iterator[Listed], start_us: int | None, end_us: int | None
) -> Iterator[Listed]:
    """The events between two times, both included."""
    for event in events:
        if end_us is not None and event.t_us > end_us:
            return
        if start_us is None or event.t_us >= start_us:
            yield event


def _lines(events: Iterator[Listed], *, as_json: bool, full: bool) -> Iterator[str]:
    from ptycassette.model.records import Event

    limit = 10**9 if full else DETAIL_LIMIT
    for event in events:
        if isinstance(event, Event):
            yield json_text(event_line(event)) if as_json else _human(event, limit)
        else:
            yield json_text(_signal_line(event)) if as_json else _human_signal(event, limit)


def _wanted(event: Listed, kinds: tuple[str, ...], source: str | None, *, signals: bool) -> bool:
    from ptycassette.model.records import Event

    if not isinstance(event, Event):
        return source is None and (signals or TERMINAL_SIGNAL in kinds)
    if kinds and event_kind(event) not in kinds:
        return False
    return source is None or getattr(event.record, "source", None) == source


def _signal_line(signal: TerminalSignal) -> EventLine:
    """A terminal signal as ``--json`` prints it."""
    from ptycassette.formats.export.event_lines import EventLine

    return EventLine(
        seq=signal.seq,
        t_us=signal.t_us,
        t_ms=signal.t_ms,
        kind=TERMINAL_SIGNAL,
        name=signal.name,
        signal_data=signal.data,
    )


def _human(event: Event, limit: int) -> str:
    return _line(event.seq, event.t_us, event_kind(event), _detail(event, limit))


def _human_signal(signal: TerminalSignal, limit: int) -> str:
    said = "".join(f"  {key}={visible(value)}" for key, value in signal.data.items())
    return _line(signal.seq, signal.t_us, TERMINAL_SIGNAL, visible(signal.name + said, limit=limit))


def _line(seq: int, t_us: int, kind: str, detail: str) -> str:
    seconds, micros = divmod(t_us, 1_000_000)
    return f"{seq:>7} {seconds:>6}.{micros:06} {kind:<13} {detail}"


def _detail(event: Event, limit: int) -> str:  # noqa: PLR0911 - one per kind
    """The content of the event, shortened and escaped."""
    from ptycassette.model.records import (
        FinalRecord,
        FrameRecord,
        InputRecord,
        OutputRecord,
        ServiceEventRecord,
    )
    from ptycassette.model.stored_screen import screen_of

    match event.record:
        case InputRecord(kind="resize", size=size) if size is not None:
            return f"to {size}"
        case InputRecord(kind="signal", signal=signal):
            return visible(signal or "", limit=limit)
        case InputRecord() as record:
            return _input_detail(record, event.data, limit)
        case FrameRecord() as record:
            return _frame_detail(screen_of(record), limit)
        case ServiceEventRecord(payload=payload):
            return visible(service_text(payload), limit=limit)
        case FinalRecord(exit=status):
            return exit_text(status)
        case OutputRecord(stream=stream, eof=True):
            return f"{stream} closed"
        case OutputRecord(stream=str() as stream):
            said = visible_bytes(event.data, limit=limit)
            return f"{bytes_text(len(event.data)):>8}  {said}  ({stream})"
    return f"{bytes_text(len(event.data)):>8}  {visible_bytes(event.data, limit=limit)}"


def service_text(payload: object) -> str:
    """A service event: its type, and fields that are short; any other payload as JSON."""
    kind = payload.get("type") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(kind, str) or "entry" not in payload:
        return json_text(payload)
    others = (f"{name}={_plain(value)}" for name, value in payload.items() if name != "type")
    return f"{kind}  {'  '.join(others)}"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _input_detail(record: InputRecord, data: bytes, limit: int) -> str:
    notes = [visible(note, limit=limit) for note in (record.source, record.key) if note]
    notes.extend(name for name in ("paste", "masked", "eof") if getattr(record, name))
    said = f"  ({', '.join(notes)})" if notes else ""
    return f"{bytes_text(len(data)):>8}  {visible_bytes(data, limit=limit)}{said}"


def _frame_detail(screen: Screen, limit: int) -> str:
    first = next((row for row in screen.rows if row.strip()), "")
    where = f"{screen.cursor.row},{screen.cursor.col}"
    return f"{screen.size} cursor {where}  {visible(first, limit=limit)}"
