"""A trace as a list of rows: drift, the steps of the test, the events of the recording.

Rows are in order of time; each has the screen to show beside it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.text import Text

from ptycassette import Screen, visible
from ptycassette_viewer.kinds import KIND_STYLES
from ptycassette_viewer.playback import clock_text
from ptycassette_viewer.traces.trace_file import (
    Change,
    Drifted,
    KeptScreen,
    RunTrace,
    Step,
    Trace,
    TraceEvent,
)

_DIVERGED = "bold red"


class TraceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list.

    ``first`` and ``second`` are the screens before and now, or expected and got, if there are
    two. ``seq`` is the place in the recording.
    """

    line: Text
    caption: str
    first: Screen | None = None
    second: Screen | None = None
    run: int = 0
    seq: int = 0
    matters: bool = False


def trace_rows(trace: Trace) -> list[TraceRow]:
    """All rows."""
    rows = [row for number, run in enumerate(trace.runs) for row in _run_rows(number, run)]
    return rows + [_step_row(0, RunTrace(cassette=""), step) for step in trace.steps]


def start_of(rows: list[TraceRow]) -> int:
    """The row to start at: a divergence, a failure, drift, or else the first row."""
    return next((number for number, row in enumerate(rows) if row.matters), 0)


def _run_rows(number: int, run: RunTrace) -> Iterator[TraceRow]:
    name = f"{run.cassette} ({run.action})"
    yield TraceRow(line=Text(visible(name, limit=200), style="bold"), caption="", run=number)
    for drifted in run.drift:
        yield from _drift_rows(number, drifted)
    diverged = run.recorded.diverged
    for item in _in_order(run):
        if isinstance(item, Step):
            yield _step_row(number, run, item)
            continue
        here = diverged is not None and item.exchange and item.exchange == diverged.exchange
        yield _event_row(number, run, item, diverged=bool(here))
    if diverged is not None and not diverged.exchange:
        yield _diverged_row(number, run, Text("here it diverged", style=_DIVERGED))


def _in_order(run: RunTrace) -> list[Step | TraceEvent]:
    """Steps and events, a step after the events that were there when it began."""
    events, placed = run.recorded.events, []
    last = 0
    for step in run.steps:
        if step.start_seq is not None:
            last = max(last, step.start_seq)
        elif step.t_ms:
            last = max((e.seq for e in events if e.t_ms < step.t_ms), default=last)
        placed.append((last, 1, step))
    both: list[tuple[int, int, Step | TraceEvent]] = [*placed, *((e.seq, 0, e) for e in events)]
    return [item for _, _, item in sorted(both, key=lambda one: one[:2])]


def _step_row(number: int, run: RunTrace, step: Step) -> TraceRow:
    call = step.detail if step.name == "line" else f"{step.name}({step.detail})"
    where = step.places[0] if step.places else None
    text = Text("    the test ", end="", no_wrap=True, style="dim")
    text.append(visible(call, limit=100), style=_DIVERGED if step.error else "bold")
    if where is not None:
        text.append(f"  {visible(where.file.rpartition('/')[2], limit=60)}:{where.line}")
    if step.error:
        text.append(f"  {visible(step.error.partition(chr(10))[0], limit=120)}", style="red")
    known = step.screen is not None and 0 <= step.screen < len(run.screens)
    screen = run.screens[step.screen].screen() if known and step.screen is not None else None
    diverged = run.recorded.diverged
    if step.error and diverged is not None:
        return _diverged_row(number, run, text, now=screen)
    return TraceRow(
        line=text, caption="this run, after that step", first=screen, run=number,
        seq=step.seq or 0, matters=bool(step.error),
    )  # fmt: skip


def _event_row(number: int, run: RunTrace, event: TraceEvent, *, diverged: bool) -> TraceRow:
    style = next((shown for kind, shown in KIND_STYLES.items() if kind == event.kind), "")
    text = Text(f"{clock_text(event.t_ms * 1000):>12} ", end="", no_wrap=True)
    what = f"input {event.exchange}" if event.exchange else event.kind
    text.append(f"{visible(what, limit=20)}  ", style=style)
    text.append(visible(event.text, limit=160), style=_DIVERGED if diverged else "")
    if diverged and not run.steps:
        return _diverged_row(number, run, text)
    last = max(event.last_seq, event.seq)
    frames = [frame for frame in run.recorded.frames if frame.seq <= last]
    return TraceRow(
        line=text, caption="the recording, there", run=number, seq=last,
        first=frames[-1].screen() if frames else None,
    )  # fmt: skip


def _diverged_row(number: int, run: RunTrace, text: Text, *, now: Screen | None = None) -> TraceRow:
    diverged = run.recorded.diverged
    if diverged is None:
        return TraceRow(line=text, caption="", run=number)
    after = f"after its input {diverged.exchange}" if diverged.exchange else "there"
    return TraceRow(
        line=text, caption=f"- the recording, {after}   + this run, where it stopped", run=number,
        first=diverged.recorded.screen(), second=now or diverged.now.screen(),
        seq=diverged.seq, matters=True,
    )  # fmt: skip


def _drift_rows(number: int, drifted: Drifted) -> Iterator[TraceRow]:
    which = drifted.old or drifted.new
    where = f"input {which}" if which else "before any input"
    for change in drifted.changes:
        for line in _change_lines(where, change):
            yield TraceRow(
                line=line, caption=f"- {where}, before   + now", run=number,
                first=_shown(drifted.before), second=_shown(drifted.now), matters=True,
            )  # fmt: skip


def _change_lines(where: str, change: Change) -> Iterator[Text]:
    line = Text(f"{where} {visible(change.kind, limit=20)}: ", end="", style=_DIVERGED)
    yield line.append(visible(change.what, limit=100), style="")
    for sign, said, style in (("-", change.expected, "red"), ("+", change.got, "green")):
        for row in said.rstrip("\n").split("\n")[:20] if said else ():
            yield Text(f"    {sign} {visible(row, limit=160)}", end="", style=style)


def _shown(screen: KeptScreen | None) -> Screen | None:
    return None if screen is None else screen.screen()
