"""A trace as Markdown, for a pull request or a log; only our own markup is active."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptycassette.export.markdown_text import fenced, inline_code, screen_text_lines
from ptycassette.model.visible_text import printable


def trace_markdown(trace: dict[str, Any]) -> Iterator[str]:
    """The lines of the Markdown."""
    yield f"# {inline_code(trace['test'])}: {trace['outcome']}"
    if trace["message"]:
        yield from fenced(printable(line) for line in trace["message"].split("\n"))
    for run in trace["runs"]:
        yield f"\n## {inline_code(run['cassette'])} ({run['action']})\n"
        yield from _step_lines(run["steps"])
        for recording in run["recordings"]:
            yield from _recording_lines(recording)
        for found in run["divergences"]:
            yield f"\n{inline_code(found['kind'])} at seq {found['seq']}, {found['t_ms']} ms\n"
            for side in ("expected", "got"):
                if found[side]:
                    yield f"- {side}: {inline_code(found[side]['text'])}"
            yield from fenced(screen_text_lines(found["screen"]))
        for drifted in run["drift"]:
            yield from _drift_lines(drifted)


def _recording_lines(recording: dict[str, Any]) -> Iterator[str]:
    yield "| time (ms) | input |"
    yield "|---:|---|"
    for entry in recording["inputs"]:
        yield f"| {entry['t_ms']} | {inline_code(entry['text'])} |"
    if recording["frames"]:
        yield from ("", "The last screen:")
        yield from fenced(screen_text_lines(recording["frames"][-1]["rows"]))


def _drift_lines(drifted: dict[str, Any]) -> Iterator[str]:
    """What changed in an exchange, and both screens."""
    yield f"\nInput {drifted['old'] or drifted['new']} drifted"
    for change in drifted["changes"]:
        yield f"\n- {change['kind']}: {inline_code(change['what'])}"
    for name in ("before", "now"):
        if drifted[name]:
            yield f"\n{name.capitalize()}:"
            yield from fenced(screen_text_lines(drifted[name]["rows"]))


def _step_lines(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The steps of the test, each with the line that it is from."""
    for step in steps:
        place = f"{step['places'][0]['file']}:{step['places'][0]['line']}" if step["places"] else ""
        call = step["detail"] if step["name"] == "line" else f"{step['name']}({step['detail']})"
        yield f"- {'failed: ' if step['error'] else ''}{inline_code(call)} {inline_code(place)}"
    if steps:
        yield ""
