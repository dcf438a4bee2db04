"""A trace as Markdown, for a pull request or a log; only our own markup is active."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ptycassette.model import printable, visible
from ptycassette.replaying import folded_rows


def trace_markdown(trace: dict[str, Any]) -> Iterator[str]:
    """The lines of the Markdown."""
    yield f"# {_code(trace['test'])}: {trace['outcome']}"
    if trace["message"]:
        yield from _fenced(printable(line) for line in trace["message"].split("\n"))
    for run in trace["runs"]:
        yield f"\n## {_code(run['cassette'])} ({run['action']})\n"
        yield from _step_lines(run["steps"])
        for recording in run["recordings"]:
            yield from _recording_lines(recording)
        for found in run["divergences"]:
            yield f"\n{_code(found['kind'])} at seq {found['seq']}, {found['t_ms']} ms\n"
            for side in ("expected", "got"):
                if found[side]:
                    yield f"- {side}: {_code(found[side]['text'])}"
            yield from _fenced(_screen_lines(found["screen"]))
        for drifted in run["drift"]:
            yield from _drift_lines(drifted)


def _recording_lines(recording: dict[str, Any]) -> Iterator[str]:
    yield "| time (ms) | input |"
    yield "|---:|---|"
    for entry in recording["inputs"]:
        yield f"| {entry['t_ms']} | {_code(entry['text'])} |"
    if recording["frames"]:
        yield from ("", "The last screen:")
        yield from _fenced(_screen_lines(recording["frames"][-1]["rows"]))


def _drift_lines(drifted: dict[str, Any]) -> Iterator[str]:
    """What changed in an exchange, and both screens."""
    yield f"\nInput {drifted['old'] or drifted['new']} drifted"
    for change in drifted["changes"]:
        yield f"\n- {change['kind']}: {_code(change['what'])}"
    for name in ("before", "now"):
        if drifted[name]:
            yield f"\n{name.capitalize()}:"
            yield from _fenced(_screen_lines(drifted[name]["rows"]))


def _step_lines(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The steps of the test, each with the line that it is from."""
    for step in steps:
        place = f"{step['places'][0]['file']}:{step['places'][0]['line']}" if step["places"] else ""
        call = step["detail"] if step["name"] == "line" else f"{step['name']}({step['detail']})"
        yield f"- {'failed: ' if step['error'] else ''}{_code(call)} {_code(place)}"
    if steps:
        yield ""


def _screen_lines(rows: list[str]) -> Iterator[str]:
    """The rows of a screen, blank ones folded."""
    for row in folded_rows(rows):
        yield f"... {row} blank rows ..." if isinstance(row, int) else visible(row)


def _code(text: str) -> str:
    """Inline code, also in a table, between more backticks than it contains."""
    shown = printable(text).replace("|", "\\|")
    ticks = "`" * (_longest_ticks(shown) + 1)
    space = " " if not shown.strip() or "`" in (shown[0], shown[-1]) else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    """Literal lines in a fence that no line can close."""
    kept = list(lines)
    fence = "`" * max(3, 1 + max((_longest_ticks(line) for line in kept), default=0))
    yield from ("", fence, *kept, fence)


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
