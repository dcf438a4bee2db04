"""The trace of a test: what was recorded and what went otherwise, as HTML, JSON and Markdown.

The HTML page is one file without any reference to another: it can be sent as it is.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ptycassette.errors import CassetteError
from ptycassette.host.cassette_reader import open_cassette
from ptycassette.model.visible import visible
from ptycassette.timeline.match_entries import read_entries

__all__ = ["trace_object", "write_trace"]

MAX_FRAMES = 300
_UNSAFE = re.compile(r"[^\w.-]+")


def trace_object(
    test: str, outcome: str, message: str, runs: list[dict[str, Any]]
) -> dict[str, Any]:
    """Everything that the three forms show.

    Args:
        test: the test's id.
        outcome: ``passed`` or ``failed``.
        message: why it failed.
        runs: the evidence of each run; the recordings are added here.
    """
    return {
        "report": "ptycassette-trace",
        "version": 1,
        "test": test,
        "outcome": outcome,
        "message": message,
        "runs": [{**run, "recordings": list(_recordings(run))} for run in runs],
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
    """Write the three forms into a directory of the test's own; returns the HTML page."""
    directory = place / _UNSAFE.sub("_", trace["test"])[-150:].strip("_.")
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(trace, indent=1, ensure_ascii=True)
    (directory / "trace.json").write_text(text + "\n", encoding="utf-8")
    (directory / "trace.md").write_text("\n".join(_markdown(trace)) + "\n", encoding="utf-8",
                                        errors="backslashreplace")  # fmt: skip
    page = directory / "trace.html"
    page.write_text(_page(trace, text), encoding="utf-8", errors="backslashreplace")
    return page


def _markdown(trace: dict[str, Any]) -> Iterator[str]:
    yield f"# {visible(trace['test'])}: {trace['outcome']}"
    if trace["message"]:
        yield from ("", "```", *(visible(line) for line in trace["message"].split("\n")), "```")
    for run in trace["runs"]:
        yield f"\n## {visible(run['cassette'])} ({run['action']})\n"
        for recording in run["recordings"]:
            yield from _recording_lines(recording)
        for found in run["divergences"]:
            yield f"\n**{found['kind']}** at seq {found['seq']}, {found['t_ms']} ms\n"
            for side in ("expected", "got"):
                if found[side]:
                    yield f"- {side}: `{visible(found[side]['text'])}`"
            yield from ("", "```", *(visible(row) for row in found["screen"]), "```")


def _recording_lines(recording: dict[str, Any]) -> Iterator[str]:
    yield "| time (ms) | input |"
    yield "|---:|---|"
    for entry in recording["inputs"]:
        yield f"| {entry['t_ms']} | `{entry['text']}` |"
    if recording["frames"]:
        rows = recording["frames"][-1]["rows"]
        yield from ("", "The last screen:", "", "```", *(visible(row) for row in rows), "```")


def _page(trace: dict[str, Any], text: str) -> str:
    """The page. Data goes in as JSON in which nothing can end the script element."""
    data = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    title = html.escape(f"{trace['test']}: {trace['outcome']}")
    head, tail = _TEMPLATE.split("%DATA%")
    return head.replace("%TITLE%", title) + data + tail


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
if (trace.message) add(main, 'pre', trace.message, 'why');
for (const run of trace.runs) {
  add(main, 'h2', run.cassette + ' (' + run.action + ')');
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
    slider.value = slider.max;
    show();
    const table = add(main, 'table');
    const head = add(table, 'tr');
    for (const name of ['input', 'ms', 'sent']) add(head, 'th', name);
    for (const entry of recording.inputs) {
      const row = add(table, 'tr');
      add(row, 'td', entry.number);
      add(row, 'td', entry.t_ms);
      const sent = add(add(row, 'td'), 'button', entry.text);
      sent.addEventListener('click', () => {
        let best = 0;
        recording.frames.forEach((frame, at) => { if (frame.t_ms <= entry.t_ms) best = at; });
        slider.value = best;
        show();
      });
    }
  }
}
</script></body></html>
"""
