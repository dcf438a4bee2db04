"""A trace as one HTML page, which loads nothing and is complete without scripts.

All of it is rendered here; the script only switches between screens. Text from recordings, tests
and drivers goes through ``_text`` or the renderer of screens, which escape it. The page's policy
allows only our script, by its hash.
"""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Iterable
from functools import partial
from html import escape
from typing import Any

import msgspec

from ptycassette.export.page.rows import screen_fragment
from ptycassette.export.page.shell import document, lines, part, text
from ptycassette.export.page.styles import SCREEN_CSS, StyleClasses, readers_theme_css
from ptycassette.model.geometry import Cursor, Size
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Screen, StyleRun
from ptycassette.model.visible_text import visible, visible_bytes
from ptycassette.pytest_plugin.traces._assets import SCRIPT
from ptycassette.pytest_plugin.traces._rows import aligned_rows
from ptycassette.pytest_plugin.traces._table import row_html, step_cell
from ptycassette.replaying.differences import changes_of


def trace_page(trace: dict[str, Any]) -> str:
    """The page."""
    classes = StyleClasses()
    diverged = any(run["divergences"] for run in trace["runs"])
    body = "".join(
        (
            f"<h1>{text(trace['test'])} {_outcome(trace['outcome'])}</h1>",
            *(_run(run, classes) for run in trace["runs"]),
            _message(trace["message"], opened=not diverged),
            _other_steps(trace["steps"]),
        )
    )
    style = (readers_theme_css(), part("page.css"), SCREEN_CSS, classes.css())
    title = f"{trace['test']}: {trace['outcome']}"
    return "".join(document([body], title=title, style=style, script=SCRIPT))


def _outcome(outcome: str) -> str:
    failed = "" if outcome == "passed" else " failed-outcome"
    return f'<span class="outcome{failed}">{text(outcome)}</span>'


def _message(message: str, *, opened: bool) -> str:
    if not message:
        return ""
    state = " open" if opened else ""
    return (
        f"<details{state}><summary>What the test said</summary>"
        f'<pre class="why">{lines(message)}</pre></details>'
    )


def _other_steps(steps: list[dict[str, Any]]) -> str:
    """The steps of sessions without a recording."""
    if not steps:
        return ""
    rows = "".join(f"<tr>{step_cell(step, 1)}</tr>" for step in steps)
    return f'<h2>Steps of the test</h2><table class="steps">{rows}</table>'


# -- one run -------------------------------------------------------------------------------


def _run(run: dict[str, Any], classes: StyleClasses) -> str:
    return "".join(
        (
            '<section class="run">',
            f"<h2>{text(run['cassette'])} <small>{text(run['action'])}</small></h2>",
            *(f'<pre class="why">{lines(text)}</pre>' for text in run["errors"]),
            *(_divergence(found) for found in run["divergences"]),
            *(_drift(found, classes) for found in run["drift"]),
            *(_recording(run, recording, classes) for recording in run["recordings"]),
            *(f"<p>Note: {text(note)}</p>" for note in run["notes"]),
            "</section>",
        )
    )


def _divergence(found: dict[str, Any]) -> str:
    sides = found["expected"], found["got"]
    rows = ""
    if sides[0] and sides[1]:
        rows = _diff("expected", visible(sides[0]["text"]), "got", visible(sides[1]["text"]))
        if sides[0]["text"] == sides[1]["text"]:
            rows += "".join(
                f"<tr><th>bytes</th><td><code>{_bytes(s)}</code></td></tr>" for s in sides
            )
    return (
        f'<div class="why"><h3>{text(found["kind"])} at seq {text(found["seq"])}, '
        f"{text(found['t_ms'])} ms</h3><p>{text(found['message'])}</p>"
        f'<table class="diff">{rows}</table><p>What to do: {text(found["hint"])}</p></div>'
    )


def _diff(first: str, expected: str, second: str, got: str) -> str:
    """Two rows of a table: both texts, with the differing characters marked."""
    changes = changes_of(expected, got)
    rows = ""
    for name, side, tag in ((first, "expected", "del"), (second, "got", "ins")):
        parts = [(getattr(change, side), change.equal) for change in changes]
        shown = "".join(
            escape(part) if equal or not part else f"<{tag}>{escape(part)}</{tag}>"
            for part, equal in parts
        )
        rows += f"<tr><th>{text(name)}</th><td><code>{shown}</code></td></tr>"
    return rows


def _drift(found: dict[str, Any], classes: StyleClasses) -> str:
    """An exchange that differs between the cassette and the new recording."""
    number = found["old"] or found["new"]
    where = f"Input {number}" if number else "Before any input"
    changes = "".join(
        f"<p>{text(change['kind'])}: {text(change['what'])}</p>"
        f'<table class="diff">'
        f"{_diff('before', _shown(change['expected']), 'now', _shown(change['got']))}</table>"
        for change in found["changes"]
    )
    figures = _figures((("Before", found["before"]), ("Now", found["now"])), classes)
    return f'<div class="why"><h3>{where} drifted</h3>{changes}</div>{figures}'


def _shown(text: str) -> str:
    """Text in lines, with invisible characters escaped."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _bytes(said: dict[str, Any]) -> str:
    try:
        return escape(visible_bytes(base64.b64decode(said["bytes"], validate=True)))
    except (binascii.Error, ValueError):
        return ""


def _recording(run: dict[str, Any], recording: dict[str, Any], classes: StyleClasses) -> str:
    if recording.get("error"):
        return f'<p class="why">{text(recording["error"])}</p>{_timeline(run, recording, classes)}'
    return f"{_pictures(run, recording, classes)}{_timeline(run, recording, classes)}"


def _pictures(run: dict[str, Any], recording: dict[str, Any], classes: StyleClasses) -> str:
    """Both sides of a divergence: what the driver saw, and how the recording continued."""
    diverged = recording["diverged"]
    failed = [step for step in run["steps"] if step["error"] and step["screen"] is not None]
    now = run["screens"][failed[-1]["screen"]] if failed else diverged and diverged["now"]
    pictures = [("This run, where it stopped", now)] if now else []
    if diverged:
        number = diverged["exchange"]
        caption = f"The recording, after its input {number}" if number else "The recording, there"
        pictures.insert(0, (caption, diverged["recorded"]))
    return _figures(pictures, classes)


def _figures(pictures: Iterable[tuple[str, dict[str, Any] | None]], classes: StyleClasses) -> str:
    """Screens side by side; missing ones are left out."""
    figures = "".join(
        f"<figure><figcaption>{text(caption)}</figcaption>{_screen(screen, classes)}</figure>"
        for caption, screen in pictures
        if screen
    )
    return f'<div class="pair">{figures}</div>' if figures else ""


def _timeline(run: dict[str, Any], recording: dict[str, Any], classes: StyleClasses) -> str:
    """The slider with its frames, and the steps of the test beside the events."""
    frames = _frames(recording)
    rows = aligned_rows(run, recording)
    at = _frame_at(frames, _stopped_at(run, recording))
    pictures = "".join(
        _frame(_label(frame, recording), frame, classes, shown=number == at)
        for number, frame in enumerate(frames)
    )
    shots = "".join(
        _frame(
            "this run, after that step",
            screen,
            classes,
            shown=not frames and number == 0,
            kind="shot",
        )
        for number, screen in enumerate(run["screens"])
    )
    table = "".join(row_html(row, partial(_frame_at, frames)) for row in rows)
    argv = shlex.join(recording.get("argv", ()))
    return (
        f'<h3>Timeline {text(argv)}</h3><div class="timeline"><div class="stage">'
        f'<input type="range" min="0" max="{max(0, len(frames) - 1)}" value="{at}" hidden '
        f'aria-label="moment of the recording">{pictures}{shots}</div>'
        '<table class="steps"><tr><th>the test</th><th class="t">ms</th><th>the recording</th></tr>'
        f"{table}</table></div>"
    )


def _label(frame: dict[str, Any], recording: dict[str, Any]) -> str:
    diverged = ": here it diverged" if frame.get("diverged") else ""
    return f"{frame['t_ms']} of {recording['duration_ms']} ms, seq {frame['seq']}{diverged}"


def _frames(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The stored frames, including that of the divergence."""
    frames = list(recording["frames"])
    diverged = recording.get("diverged")
    if diverged and diverged["t_ms"] is not None:
        there = {**diverged["now"], "seq": diverged["seq"], "t_ms": diverged["t_ms"],
                 "diverged": True}  # fmt: skip
        place = _frame_at(frames, diverged["seq"]) + 1 if frames else 0
        frames.insert(place, there)
    return frames


def _stopped_at(run: dict[str, Any], recording: dict[str, Any]) -> int:
    diverged = recording.get("diverged")
    if diverged:
        return int(diverged["seq"])
    played = [step["seq"] for step in run["steps"] if step["seq"] is not None]
    return int(played[-1]) if played else 1 << 60


def _frame_at(frames: list[dict[str, Any]], seq: int) -> int:
    """The index of the last frame at or before ``seq``."""
    return max((number for number, frame in enumerate(frames) if frame["seq"] <= seq), default=0)


def _frame(
    label: str, screen: dict[str, Any], classes: StyleClasses, *, shown: bool, kind: str = "frame"
) -> str:
    hidden = "" if shown else " hidden"
    caption = f"<figcaption>{text(label)}</figcaption>"
    return f'<figure class="{kind}"{hidden}>{caption}{_screen(screen, classes)}</figure>'


def _screen(screen: dict[str, Any], classes: StyleClasses) -> str:
    """The picture, by the one renderer of screens."""
    rows = tuple(screen["rows"])
    value = Screen(
        size=Size(rows=len(rows), cols=screen["cols"]),
        rows=rows,
        styles=msgspec.convert(screen["styles"], resolved(tuple[tuple[StyleRun, ...], ...])),
        cursor=Cursor(0, 0, visible=False),
    )
    return f'<pre class="screen">{screen_fragment(value, classes)}</pre>'
