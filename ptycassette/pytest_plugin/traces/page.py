"""Write a trace as one HTML page, which loads nothing and is complete without scripts.

All content is rendered here; the script only switches between screens. Text from recordings, tests
and drivers goes through ``_text`` or the renderer of screens, which escape it. The page's policy
allows only our script, by its hash.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from ptycassette.cassette.io.staging import disk_errors
from ptycassette.errors import CassetteError
from ptycassette.formats.export.markdown import fenced, inline_code, screen_text_lines
from ptycassette.formats.export.page.recording import document, lines, part, text
from ptycassette.formats.export.page.runs import RunPart, index_html
from ptycassette.formats.export.page.styles import (
    SCREEN_CSS,
    StyleClasses,
    readers_theme_css,
    screen_fragment,
)
from ptycassette.model.records import NOT_JSON
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Cursor, Screen, Size, StyleRun
from ptycassette.model.visible_text import printable, visible, visible_bytes
from ptycassette.replaying.divergence import changes_of
from ptycassette.system.files.whole_file import read_plain, write_whole

# The script of the page of a trace.


SCRIPT = """
for (const run of document.querySelectorAll('.timeline')) {
  const frames = [...run.querySelectorAll('.frame')];
  const shots = [...run.querySelectorAll('.shot')];
  const slider = run.querySelector('input');
  const only = one => { for (const each of [...frames, ...shots]) each.hidden = each !== one; };
  const mark = cell => {
    for (const each of run.querySelectorAll('.here')) each.classList.remove('here');
    if (cell) cell.classList.add('here');
  };
  slider.hidden = frames.length < 2;
  slider.addEventListener('input', () => { only(frames[slider.value]); mark(null); });
  run.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!button) return;
    const shot = shots[button.dataset.shot];
    const frame = frames[button.dataset.frame];
    if (frame) slider.value = button.dataset.frame;
    if (shot || frame) { only(shot || frame); mark(button.closest('td')); }
  });
}
"""


# Align the steps of a test with the events that were played meanwhile. Pure.


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


# The table of a trace: the steps of the test beside the events of the recording.


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
    """Both sides of a divergence: the driver's screen, and how the recording continued."""
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
    """The picture, drawn by the common renderer of screens."""
    rows = tuple(screen["rows"])
    value = Screen(
        size=Size(rows=len(rows), cols=screen["cols"]),
        rows=rows,
        styles=msgspec.convert(screen["styles"], resolved(tuple[tuple[StyleRun, ...], ...])),
        cursor=Cursor(0, 0, visible=False),
    )
    return f'<pre class="screen">{screen_fragment(value, classes)}</pre>'


# The directories of traces: one for each run of pytest, and one in it for each test.


PLACE = ".ptycassette-traces"
"""The default directory of all traces, in the root directory of pytest."""
FILES = ("trace.html", "trace.json", "trace.md")
INDEX = "index.html"
MARK = ".ptycassette-traces-of-a-run"
_RUN = re.compile(r"\d{8}T\d{6}Z-\d+\Z")


def runs_of(place: Path) -> list[Path]:
    """The directories of runs in ``place``, the newest first."""
    try:
        found = [Path(entry) for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    ours = [path for path in found if _RUN.match(path.name) and _is_file(path / MARK)]
    return sorted(ours, key=lambda path: path.name, reverse=True)


def find_traces(start: Path) -> list[Path]:
    """The JSON of the traces nearest to ``start``, in it or in a directory above; newest first."""
    for directory in (start, *start.parents):
        found = traces_at(directory / PLACE)
        if found:
            return found
    return []


def traces_at(path: Path) -> list[Path]:
    """The JSON of the traces at ``path``, the newest first.

    Args:
        path: a file of a trace, or a directory: of a test, of a run, or of all runs.
    """
    if path.name in FILES and _is_file(path.with_name("trace.json")):
        return [path.with_name("trace.json")]
    if _is_file(path / "trace.json") and not (path / "manifest.json").exists():
        return [path / "trace.json"]
    runs = [path] if _is_file(path / MARK) else runs_of(path)
    return [trace for run in runs for trace in _tests_of(run)]


def _tests_of(run: Path) -> list[Path]:
    """The traces of one run, the newest first."""
    try:
        places = [Path(entry) for entry in os.scandir(run) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    found = [place / "trace.json" for place in places if _is_file(place / "trace.json")]
    return sorted(found, key=lambda path: (-path.stat().st_mtime_ns, path.parent.name))


def prune_runs(place: Path, keep: int) -> None:
    """Delete the traces of all but the newest ``keep`` runs, as far as possible."""
    for run in runs_of(place)[max(0, keep) :]:
        with suppress(OSError):
            _delete(run)


def _delete(run: Path) -> None:
    for test in [Path(entry) for entry in os.scandir(run) if entry.is_dir(follow_symlinks=False)]:
        for name in FILES:
            if _is_file(test / name):
                (test / name).unlink()
        with suppress(OSError):
            test.rmdir()
    if {entry.name for entry in os.scandir(run)} <= {MARK, INDEX}:
        if _is_file(run / INDEX):
            (run / INDEX).unlink()
        (run / MARK).unlink()
        run.rmdir()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


# The index of a run of pytest: its traces, with a link to each.


_MOST_BYTES = 100_000_000


class _Run(msgspec.Struct, frozen=True):
    cassette: str = ""
    divergences: tuple[msgspec.Raw, ...] = ()


class _Trace(msgspec.Struct, frozen=True):
    """The fields of a trace that the index needs; the rest of the file is skipped."""

    test: str
    outcome: str
    runs: tuple[_Run, ...] = ()


def write_index(run: Path) -> Path | None:
    """Write the index of a run into its directory; None if there are fewer than two traces.

    Raises:
        StorageError: the disk refuses.
    """
    found = sorted(_read(traces_at(run)), key=lambda pair: (pair[1].outcome == "passed", pair[0]))
    if len(found) < 2:
        return None
    failed = sum(trace.outcome != "passed" for _, trace in found)
    title = f"{len(found)} tests left traces, {failed} failed"
    parts = (
        (quote(f"{path.parent.name}/trace.html"), RunPart(name=_name(trace), passed=_well(trace),
                                                          found=()))
        for path, trace in found
    )  # fmt: skip
    body = (f"<h1>{text(title)}</h1>", *index_html(parts))
    style = (part("page.css"), part("player.css"))
    pieces = document(body, title=title, style=style)
    write_whole(run / INDEX, (piece.encode("utf-8", "replace") for piece in pieces))
    return run / INDEX


def _read(paths: Sequence[Path]) -> Iterator[tuple[Path, _Trace]]:
    for path in paths:
        try:
            data = read_plain(path, max_bytes=_MOST_BYTES)
            yield path, msgspec.json.decode(data, type=resolved(_Trace))
        except (*NOT_JSON, CassetteError):
            continue  # another run deletes it, or it is not ours


def _name(trace: _Trace) -> str:
    count = sum(len(run.divergences) for run in trace.runs)
    cassettes = ", ".join(sorted({run.cassette.rpartition("/")[2] for run in trace.runs}))
    found = f"{count} divergences" if count > 1 else "1 divergence" if count else ""
    about = ", ".join(filter(None, (cassettes, found)))
    return f"{trace.test} ({about})" if about else trace.test


def _well(trace: _Trace) -> bool:
    return trace.outcome == "passed"


# A trace as Markdown, for a pull request or a log; only our own markup is active.


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
    """The changes in an exchange, and both screens."""
    yield f"\nInput {drifted['old'] or drifted['new']} drifted"
    for change in drifted["changes"]:
        yield f"\n- {change['kind']}: {inline_code(change['what'])}"
    for name in ("before", "now"):
        if drifted[name]:
            yield f"\n{name.capitalize()}:"
            yield from fenced(screen_text_lines(drifted[name]["rows"]))


def _step_lines(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The steps of the test, each with its source line."""
    for step in steps:
        place = f"{step['places'][0]['file']}:{step['places'][0]['line']}" if step["places"] else ""
        call = step["detail"] if step["name"] == "line" else f"{step['name']}({step['detail']})"
        yield f"- {'failed: ' if step['error'] else ''}{inline_code(call)} {inline_code(place)}"
    if steps:
        yield ""


# Writes a trace as three files: HTML, JSON, Markdown.


_IGNORED = b"# What failed tests leave here is not for the repository.\n*\n"
_MARKED = b"ptycassette deletes the traces in here when newer runs have left theirs.\n"
_UNSAFE = re.compile(r"[^\w.-]+")


def write_trace(place: Path, trace: dict[str, Any], *, run: str = "") -> Path:
    """Write the three files into a directory of the test's own; return the HTML page.

    Args:
        place: the directory of all traces.
        trace: the result of ``trace_object``.
        run: the name of the run of pytest, from ``run_name``; its directory is below ``place``.

    Raises:
        StorageError: the disk or the directory refuses.
    """
    name = _UNSAFE.sub("_", trace["test"]).encode()[-200:].decode("utf-8", "ignore")
    directory = place / run / name.strip("_.")
    new = not place.exists()
    with disk_errors("making the directory of the trace", directory):
        directory.mkdir(parents=True, exist_ok=True)
    if new:
        write_whole(place / ".gitignore", [_IGNORED])
    if run and not (place / run / MARK).exists():
        write_whole(place / run / MARK, [_MARKED])
    page = directory / "trace.html"
    for path, content in (
        (directory / "trace.json", json.dumps(trace, indent=1, ensure_ascii=True)),
        (directory / "trace.md", "\n".join(trace_markdown(trace))),
        (page, trace_page(trace)),
    ):
        write_whole(path, [content.encode("utf-8", "backslashreplace"), b"\n"])
    return page
