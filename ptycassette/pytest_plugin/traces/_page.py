"""A trace as one HTML page, which loads nothing and is complete without scripts.

All of it is rendered here; the script only switches between screens. Text from recordings, tests
and drivers goes through ``_text`` or the renderer of screens, which escape it. The page's policy
allows only our script, by its hash.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

import msgspec

from ptycassette.export import screen_css, screen_fragment
from ptycassette.model import (
    Cursor,
    Screen,
    Size,
    StyleRun,
    printable,
    resolved,
    visible,
    visible_bytes,
)
from ptycassette.pytest_plugin.traces._assets import PAGE_STYLE, SCRIPT
from ptycassette.pytest_plugin.traces._rows import Row, aligned_rows
from ptycassette.replaying import changes_of


def trace_page(trace: dict[str, Any]) -> str:
    """The page."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    title = _text(f"{trace['test']}: {trace['outcome']}")
    diverged = any(run["divergences"] for run in trace["runs"])
    body = "".join(
        (
            f"<h1>{_text(trace['test'])} {_outcome(trace['outcome'])}</h1>",
            *(_run(run) for run in trace["runs"]),
            _message(trace["message"], opened=not diverged),
            _other_steps(trace["steps"]),
        )
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{screen_css()}{PAGE_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{SCRIPT}</script>\n</body>\n</html>"
    )


def _outcome(outcome: str) -> str:
    failed = "" if outcome == "passed" else " failed-outcome"
    return f'<span class="outcome{failed}">{_text(outcome)}</span>'


def _text(text: object) -> str:
    """Text in one line: escaped, without characters that hide or act."""
    return escape(visible(str(text)))


def _lines(text: str) -> str:
    """Text in lines, each as ``printable`` shows it."""
    return "\n".join(escape(printable(line)) for line in text.split("\n"))


def _message(message: str, *, opened: bool) -> str:
    if not message:
        return ""
    state = " open" if opened else ""
    return (
        f"<details{state}><summary>What the test said</summary>"
        f'<pre class="why">{_lines(message)}</pre></details>'
    )


def _other_steps(steps: list[dict[str, Any]]) -> str:
    """The steps of sessions without a recording."""
    if not steps:
        return ""
    rows = "".join(f"<tr>{_step_cell(step, 1)}</tr>" for step in steps)
    return f'<h2>Steps of the test</h2><table class="steps">{rows}</table>'


# -- one run -------------------------------------------------------------------------------


def _run(run: dict[str, Any]) -> str:
    return "".join(
        (
            '<section class="run">',
            f"<h2>{_text(run['cassette'])} <small>{_text(run['action'])}</small></h2>",
            *(f'<pre class="why">{_lines(text)}</pre>' for text in run["errors"]),
            *(_divergence(found) for found in run["divergences"]),
            *(_drift(found) for found in run["drift"]),
            *(_recording(run, recording) for recording in run["recordings"]),
            *(f"<p>Note: {_text(note)}</p>" for note in run["notes"]),
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
        f'<div class="why"><h3>{_text(found["kind"])} at seq {_text(found["seq"])}, '
        f"{_text(found['t_ms'])} ms</h3><p>{_text(found['message'])}</p>"
        f'<table class="diff">{rows}</table><p>What to do: {_text(found["hint"])}</p></div>'
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
        rows += f"<tr><th>{_text(name)}</th><td><code>{shown}</code></td></tr>"
    return rows


def _drift(found: dict[str, Any]) -> str:
    """An exchange that differs between the cassette and the new recording."""
    number = found["old"] or found["new"]
    where = f"Input {number}" if number else "Before any input"
    changes = "".join(
        f"<p>{_text(change['kind'])}: {_text(change['what'])}</p>"
        f'<table class="diff">'
        f"{_diff('before', _shown(change['expected']), 'now', _shown(change['got']))}</table>"
        for change in found["changes"]
    )
    figures = _figures((("Before", found["before"]), ("Now", found["now"])))
    return f'<div class="why"><h3>{where} drifted</h3>{changes}</div>{figures}'


def _shown(text: str) -> str:
    """Text in lines, with invisible characters escaped."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _bytes(said: dict[str, Any]) -> str:
    try:
        return escape(visible_bytes(base64.b64decode(said["bytes"], validate=True)))
    except (binascii.Error, ValueError):
        return ""


def _recording(run: dict[str, Any], recording: dict[str, Any]) -> str:
    if recording.get("error"):
        return f'<p class="why">{_text(recording["error"])}</p>{_timeline(run, recording)}'
    return f"{_pictures(run, recording)}{_timeline(run, recording)}"


def _pictures(run: dict[str, Any], recording: dict[str, Any]) -> str:
    """Both sides of a divergence: what the driver saw, and how the recording continued."""
    diverged = recording["diverged"]
    failed = [step for step in run["steps"] if step["error"] and step["screen"] is not None]
    now = run["screens"][failed[-1]["screen"]] if failed else diverged and diverged["now"]
    pictures = [("This run, where it stopped", now)] if now else []
    if diverged:
        number = diverged["exchange"]
        caption = f"The recording, after its input {number}" if number else "The recording, there"
        pictures.insert(0, (caption, diverged["recorded"]))
    return _figures(pictures)


def _figures(pictures: Iterable[tuple[str, dict[str, Any] | None]]) -> str:
    """Screens side by side; missing ones are left out."""
    figures = "".join(
        f"<figure><figcaption>{_text(caption)}</figcaption>{_screen(screen)}</figure>"
        for caption, screen in pictures
        if screen
    )
    return f'<div class="pair">{figures}</div>' if figures else ""


def _timeline(run: dict[str, Any], recording: dict[str, Any]) -> str:
    """The slider with its frames, and the steps of the test beside the events."""
    frames = _frames(recording)
    rows = aligned_rows(run, recording)
    at = _frame_at(frames, _stopped_at(run, recording))
    pictures = "".join(
        _frame(f"{frame['t_ms']} of {recording['duration_ms']} ms, seq {frame['seq']}"
               + (": here it diverged" if frame.get("diverged") else ""), frame, shown=number == at)
        for number, frame in enumerate(frames)
    )  # fmt: skip
    shots = "".join(
        _frame("this run, after that step", screen, shown=not frames and number == 0, kind="shot")
        for number, screen in enumerate(run["screens"])
    )
    table = "".join(_row(row, frames) for row in rows)
    argv = " ".join(recording.get("argv", ()))
    return (
        f'<h3>Timeline {_text(argv)}</h3><div class="timeline"><div class="stage">'
        f'<input type="range" min="0" max="{max(0, len(frames) - 1)}" value="{at}" hidden '
        f'aria-label="moment of the recording">{pictures}{shots}</div>'
        '<table class="steps"><tr><th>the test</th><th class="t">ms</th><th>the recording</th></tr>'
        f"{table}</table></div>"
    )


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


def _frame(label: str, screen: dict[str, Any], *, shown: bool, kind: str = "frame") -> str:
    hidden = "" if shown else " hidden"
    caption = f"<figcaption>{_text(label)}</figcaption>"
    return f'<figure class="{kind}"{hidden}>{caption}{_screen(screen)}</figure>'


def _screen(screen: dict[str, Any]) -> str:
    """The picture, by the one renderer of screens."""
    rows = tuple(screen["rows"])
    value = Screen(
        size=Size(rows=len(rows), cols=screen["cols"]),
        rows=rows,
        styles=msgspec.convert(screen["styles"], resolved(tuple[tuple[StyleRun, ...], ...])),
        cursor=Cursor(0, 0, visible=False),
    )
    return f'<pre class="screen">{screen_fragment(value)}</pre>'


# -- the table -----------------------------------------------------------------------------


def _row(row: Row, frames: list[dict[str, Any]]) -> str:
    cells = ""
    if row.step is not None:
        cells += _step_cell(row.step, row.span)
    elif row.span:
        cells += f'<td rowspan="{row.span}"></td>'
    event = row.event
    if event is None:
        return f'<tr>{cells}<td class="t"></td><td></td></tr>'
    at = _frame_at(frames, event["last_seq"])
    mark = " diverged" if row.diverged else "" if row.played else " unplayed"
    return (
        f'<tr>{cells}<td class="t">{_text(event["t_ms"])}</td>'
        f'<td class="event {_text(event["kind"])}{mark}"><button data-frame="{at}">'
        f"{''.join(_event(event))}</button></td></tr>"
    )


def _event(event: dict[str, Any]) -> Iterator[str]:
    match event["kind"]:
        case "output":
            yield f"<small>{_text(event['bytes'])} bytes</small> {_text(event['text'])}"
        case "input" if event["exchange"]:
            yield f"<b>input {_text(event['exchange'])}</b> <code>{_text(event['text'])}</code>"
        case _:
            yield _text(event["text"])


def _step_cell(step: dict[str, Any], span: int) -> str:
    """A step: the call, and the test's lines that made it."""
    places = [f"{place['file'].rpartition('/')[2]}:{place['line']}" for place in step["places"]]
    whole = "\n".join(f"{place['file']}:{place['line']}" for place in step["places"])
    call = f"{step['name']}({step['detail']})" if step["name"] != "line" else step["detail"]
    error = f'<div class="error">{_text(step["error"].partition(chr(10))[0])}</div>'
    shot = "" if step["screen"] is None else f' data-shot="{int(step["screen"])}"'
    name = "step failed" if step["error"] else "step"
    return (
        f'<td class="{name}" rowspan="{span}"><button{shot}><code>{_text(call)}</code></button> '
        f'<small title="{_lines(whole)}">{_text(" < ".join(places[:3]))}</small>'
        f"{error if step['error'] else ''}</td>"
    )
