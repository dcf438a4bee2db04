"""Aligns the steps of a test with the events that were played meanwhile. Pure."""

from __future__ import annotations

from typing import Any

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table.

    ``step`` begins here and spans ``span`` rows. Without a step, ``span`` rows are empty; 0 means
    that the step above spans this row. ``played``: this run reached it.
    """

    step: dict[str, Any] | None = None
    span: int = 0
    event: dict[str, Any] | None = None
    played: bool = True
    diverged: bool = False


def aligned_rows(run: dict[str, Any], recording: dict[str, Any]) -> list[Row]:
    """The rows, in the order of the recording.

    Steps without a position in it (the session was live) are placed by time.
    """
    events = list(recording["events"])
    number = (recording.get("diverged") or {}).get("exchange", 0)
    rows: list[Row] = []
    last = 0
    for step in run["steps"]:
        start, end = _bounds(step, events, last)
        rows += _free(_taken(events, start), played=True, number=0)
        meanwhile = _taken(events, end)
        last = max(last, end)
        if step["error"] and number and events and events[0]["exchange"] == number:
            meanwhile.append(events.pop(0))
        rows.append(
            Row(step=step, span=max(1, len(meanwhile)), event=next(iter(meanwhile), None),
                diverged=_is(meanwhile[:1], number))
        )  # fmt: skip
        rows += [Row(event=event, diverged=_is([event], number)) for event in meanwhile[1:]]
    live = not run["steps"] and not run["divergences"]
    until = (recording.get("diverged") or {}).get("seq", 1 << 60)
    if not run["steps"] and number:
        rows += _free(_taken(events, until), played=True, number=number)
    return rows + _free(events, played=live, number=number)


def _bounds(step: dict[str, Any], events: list[dict[str, Any]], last: int) -> tuple[int, int]:
    """The last events before the step and at its end."""
    if step["start_seq"] is not None and step["seq"] is not None:
        return step["start_seq"], step["seq"]
    if not step["took_ms"] and not step["t_ms"]:
        return last, last
    begin, end = step["t_ms"], step["t_ms"] + step["took_ms"]
    before = [event["seq"] for event in events if event["t_ms"] < begin]
    until = [event["seq"] for event in events if event["t_ms"] <= end]
    return max(before, default=last), max(until, default=last)


def _taken(events: list[dict[str, Any]], seq: int) -> list[dict[str, Any]]:
    """Remove and return the remaining events up to ``seq``."""
    taken = []
    while events and events[0]["seq"] <= seq:
        taken.append(events.pop(0))
    return taken


def _free(events: list[dict[str, Any]], *, played: bool, number: int) -> list[Row]:
    """Rows for events without a step."""
    return [
        Row(event=event, span=len(events) if at == 0 else 0, played=played,
            diverged=_is([event], number))
        for at, event in enumerate(events)
    ]  # fmt: skip


def _is(events: list[dict[str, Any]], number: int) -> bool:
    return bool(number and events and events[0]["exchange"] == number)
