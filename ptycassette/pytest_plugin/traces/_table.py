"""The table of a trace: the steps of the test beside the events of the recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ptycassette.export.page.shell import lines, text
from ptycassette.pytest_plugin.traces._rows import Row


def row_html(row: Row, frame_at: Callable[[int], int]) -> str:
    """A row: the step, if one begins there, and the event. ``frame_at`` gives a frame's index."""
    cells = ""
    if row.step is not None:
        cells += step_cell(row.step, row.span)
    elif row.span:
        cells += f'<td rowspan="{row.span}"></td>'
    event = row.event
    if event is None:
        return f'<tr>{cells}<td class="t"></td><td></td></tr>'
    at = frame_at(event["last_seq"])
    mark = " diverged" if row.diverged else "" if row.played else " unplayed"
    return (
        f'<tr>{cells}<td class="t">{text(event["t_ms"])}</td>'
        f'<td class="event {text(event["kind"])}{mark}"><button data-frame="{at}">'
        f"{''.join(_event(event))}</button></td></tr>"
    )


def _event(event: dict[str, Any]) -> Iterator[str]:
    match event["kind"]:
        case "output":
            yield f"<small>{text(event['bytes'])} bytes</small> {text(event['text'])}"
        case "input" if event["exchange"]:
            yield f"<b>input {text(event['exchange'])}</b> <code>{text(event['text'])}</code>"
        case _:
            yield text(event["text"])


def step_cell(step: dict[str, Any], span: int) -> str:
    """A step: the call, and the test's lines that made it."""
    places = [f"{place['file'].rpartition('/')[2]}:{place['line']}" for place in step["places"]]
    whole = "\n".join(f"{place['file']}:{place['line']}" for place in step["places"])
    call = f"{step['name']}({step['detail']})" if step["name"] != "line" else step["detail"]
    error = f'<div class="error">{text(step["error"].partition(chr(10))[0])}</div>'
    shot = "" if step["screen"] is None else f' data-shot="{int(step["screen"])}"'
    name = "step failed" if step["error"] else "step"
    return (
        f'<td class="{name}" rowspan="{span}"><button{shot}><code>{text(call)}</code></button> '
        f'<small title="{lines(whole)}">{text(" < ".join(places[:3]))}</small>'
        f"{error if step['error'] else ''}</td>"
    )
