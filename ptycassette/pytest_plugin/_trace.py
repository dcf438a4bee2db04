"""The trace of a test: what was recorded and what went otherwise, as HTML, JSON and Markdown.

The HTML page is one file without any reference to another: it can be sent as it is.
The JSON holds what a recording says as it is (escaped as JSON is); the page and the
Markdown show it, so that nothing of it hides, acts, or is read as markup.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ptycassette.cassette.io import disk_errors, open_cassette
from ptycassette.errors import CassetteError
from ptycassette.model import printable, visible
from ptycassette.replaying import safe_cluster
from ptycassette.scrub.io import process_scrubber
from ptycassette.system.files import write_whole
from ptycassette.timeline import read_entries

__all__ = ["trace_object", "write_trace"]

MAX_FRAMES = 300
_UNSCRUBBED = frozenset({"cassette", "divergences", "notes", "errors"})
"""What of a run's evidence is of this run, not of a recording: paths, what the driver typed."""
_IGNORED = b"# What failed tests leave here is not for the repository.\n*\n"
_UNSAFE = re.compile(r"[^\w.-]+")


def trace_object(
    test: str, outcome: str, message: str, runs: list[dict[str, Any]]
) -> dict[str, Any]:
    """The content of all three forms, scrubbed, because traces are shared.

    Args:
        test: the test's id.
        outcome: ``passed`` or ``failed``.
        message: why it failed.
        runs: the evidence of each run; the recordings are added here.

    Raises:
        UsageError: the configuration of scrubbing is wrong.
    """
    scrubber = process_scrubber()

    def scrubbed(value: Any) -> Any:
        return scrubber.value(value, channel="trace")

    return {
        "report": "ptycassette-trace",
        "version": 1,
        "test": test,
        "outcome": outcome,
        "message": scrubbed(message),
        "runs": [
            {
                **{
                    name: scrubbed(value) if name in _UNSCRUBBED else value
                    for name, value in run.items()
                },
                "recordings": [
                    {**recording, "cassette": scrubbed(recording["cassette"])}
                    for recording in _recordings(run)
                ],
            }
            for run in runs
        ],
    }


def _recordings(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in run["cassette"].split(", "):
        try:
            with open_cassette(name, check="manifest") as cassette:
                frames = list(cassette.frames())
                step = max(1, -(-len(frames) // MAX_FRAMES))
                yield {
                    "cassette": name,
                    "id": cassette.manifest.id,
                    "argv": list(cassette.manifest.command.argv or ()),
                    "duration_ms": cassette.final.t_ms,
                    "inputs": [
                        {
                            "number": entry.number,
                            "t_ms": entry.t_us // 1000,
                            "text": "masked" if entry.masked else visible(entry.shown),
                        }
                        for entry in read_entries(cassette.inputs())
                    ],
                    "frames": [
                        {"seq": frame.seq, "t_ms": frame.t_ms, "rows": list(frame.text)}
                        for frame in frames[::step]
                    ],
                }
        except CassetteError as exc:
            yield {"cassette": name, "error": str(exc), "inputs": [], "frames": []}


def write_trace(place: Path, trace: dict[str, Any]) -> Path:
    """Write the three forms into a directory of the test's own; returns the HTML page.

    Raises:
        StorageError: the disk or the directory refuses.
    """
    name = _UNSAFE.sub("_", trace["test"]).encode()[-200:].decode("utf-8", "ignore")
    directory = place / name.strip("_.")
    new = not place.exists()
    with disk_errors("making the directory of the trace", directory):
        directory.mkdir(parents=True, exist_ok=True)
    if new:
        write_whole(place / ".gitignore", [_IGNORED])
    page = directory / "trace.html"
    for path, text in (
        (directory / "trace.json", json.dumps(trace, indent=1, ensure_ascii=True)),
        (directory / "trace.md", "\n".join(_markdown(trace))),
        (page, _page(trace)),
    ):
        write_whole(path, [text.encode("utf-8", "backslashreplace"), b"\n"])
    return page


def _markdown(trace: dict[str, Any]) -> Iterator[str]:
    yield f"# {_code(trace['test'])}: {trace['outcome']}"
    if trace["message"]:
        yield from _fenced(printable(line) for line in trace["message"].split("\n"))
    for run in trace["runs"]:
        yield f"\n## {_code(run['cassette'])} ({run['action']})\n"
        for recording in run["recordings"]:
            yield from _recording_lines(recording)
        for found in run["divergences"]:
            yield f"\n{_code(found['kind'])} at seq {found['seq']}, {found['t_ms']} ms\n"
            for side in ("expected", "got"):
                if found[side]:
                    yield f"- {side}: {_code(found[side]['text'])}"
            yield from _fenced(visible(row) for row in found["screen"])


def _recording_lines(recording: dict[str, Any]) -> Iterator[str]:
    yield "| time (ms) | input |"
    yield "|---:|---|"
    for entry in recording["inputs"]:
        yield f"| {entry['t_ms']} | {_code(entry['text'])} |"
    if recording["frames"]:
        yield from ("", "The last screen:")
        yield from _fenced(visible(row) for row in _used(recording["frames"][-1]["rows"]))


def _used(rows: list[str]) -> list[str]:
    """The rows down to the last one with something in it."""
    return rows[: max((number for number, row in enumerate(rows, 1) if row.strip()), default=0)]


def _code(text: str) -> str:
    """A stretch of code, also in a table: longer backticks than it holds around it."""
    shown = printable(text).replace("|", "\\|")
    ticks = "`" * (_longest_ticks(shown) + 1)
    space = " " if not shown.strip() or "`" in (shown[0], shown[-1]) else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    """Literal lines in a fence that none of them can close."""
    kept = list(lines)
    fence = "`" * max(3, 1 + max((_longest_ticks(line) for line in kept), default=0))
    yield from ("", fence, *kept, fence)


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _page(trace: dict[str, Any]) -> str:
    """The page. Data goes in as JSON in which nothing can end the script element."""
    text = json.dumps(_shown(trace), indent=1, ensure_ascii=True)
    data = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    title = html.escape(f"{visible(trace['test'])}: {trace['outcome']}")
    head, tail = _TEMPLATE.split("%DATA%")
    return head.replace("%TITLE%", title) + data + tail


def _shown(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace with every text escaped for display."""
    return {name: _shown_value(name, value) for name, value in trace.items()}


def _shown_value(name: str, value: Any) -> Any:
    """What stands under ``name``: rows keep their cells, messages their lines and backslashes."""
    match value:
        case dict():
            return _shown(value)
        case list() if name in {"rows", "screen"}:
            return [safe_cluster(row) if row else "" for row in value]
        case list() | tuple():
            return [_shown_value(name, item) for item in value]
        case str() if name in {"message", "error", "hint"}:
            return "\n".join(printable(line) for line in value.split("\n"))
        case str():
            return printable(value)
        case _:
            return value


_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>%TITLE%</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em}
pre{background:#111;color:#ddd;padding:.8em;overflow:auto;line-height:1.2}
.why{background:#fff3f0;color:#611;border-left:4px solid #c33;padding:.6em 1em}
td,th{text-align:left;padding:.15em .8em;border-bottom:1px solid #ddd}
input[type=range]{width:100%}button{font:inherit}
</style></head><body><h1>%TITLE%</h1><main></main>
<script type="application/json" id="data">%DATA%</script>
<script>
const trace = JSON.parse(document.getElementById('data').textContent);
const main = document.querySelector('main');
function add(parent, tag, text, name) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (name) node.className = name;
  parent.append(node);
  return node;
}
for (const run of trace.runs) {
  add(main, 'h2', run.cassette + ' (' + run.action + ')');
  for (const text of run.errors) add(main, 'pre', text, 'why');
  for (const found of run.divergences) {
    const box = add(main, 'div', undefined, 'why');
    add(box, 'h3', found.kind + ' at seq ' + found.seq + ', ' + found.t_ms + ' ms');
    add(box, 'p', found.message);
    const table = add(box, 'table');
    for (const side of ['expected', 'got']) if (found[side]) {
      const row = add(table, 'tr');
      add(row, 'th', side);
      add(row, 'td', found[side].text);
    }
    add(box, 'pre', found.screen.join('\\n'));
    add(box, 'p', 'What to do: ' + found.hint);
  }
  for (const recording of run.recordings) {
    if (recording.error) { add(main, 'p', recording.error, 'why'); continue; }
    add(main, 'h3', 'Timeline of ' + recording.argv.join(' '));
    const slider = add(main, 'input');
    slider.type = 'range';
    slider.min = 0;
    slider.max = Math.max(0, recording.frames.length - 1);
    const when = add(main, 'p');
    const screen = add(main, 'pre');
    const show = () => {
      const frame = recording.frames[slider.value];
      if (!frame) return;
      when.textContent = frame.t_ms + ' of ' + recording.duration_ms + ' ms, seq ' + frame.seq;
      screen.textContent = frame.rows.join('\\n');
    };
    slider.addEventListener('input', show);
    const seek = t_ms => {
      let best = 0;
      recording.frames.forEach((frame, at) => { if (frame.t_ms <= t_ms) best = at; });
      slider.value = best;
      show();
    };
    seek(run.divergences.length ? run.divergences[0].t_ms : recording.duration_ms);
    const table = add(main, 'table');
    const head = add(table, 'tr');
    for (const name of ['input', 'ms', 'sent']) add(head, 'th', name);
    for (const entry of recording.inputs) {
      const row = add(table, 'tr');
      add(row, 'td', entry.number);
      add(row, 'td', entry.t_ms);
      const sent = add(add(row, 'td'), 'button', entry.text);
      sent.addEventListener('click', () => seek(entry.t_ms));
    }
  }
  for (const text of run.notes) add(main, 'p', 'Note: ' + text);
}
if (trace.message) {
  add(main, 'h2', 'What the test said');
  add(main, 'pre', trace.message, 'why');
}
</script></body></html>
"""
