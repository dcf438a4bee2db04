"""Make a trace as one JSON object, the source of the page and of the Markdown.

It is scrubbed, because traces are shared. Recordings are already scrubbed; the rest is scrubbed
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ptycassette.agents.inprocess.drifting import with_turns
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.timeline.match import Entry, read_entries
from ptycassette.errors import CassetteError
from ptycassette.formats.export.text import TextStream
from ptycassette.model.records import Event, InputRecord, ServiceEventRecord
from ptycassette.model.screen import Screen
from ptycassette.model.stored_screen import screen_of
from ptycassette.model.visible_text import visible
from ptycassette.recording.session.steps import SessionStep
from ptycassette.replaying.divergence import Drift, Side
from ptycassette.replaying.io.faults import screen_at
from ptycassette.replaying.stored import drift_pictures, picture_object, screen_object
from ptycassette.scrub.io.conceal import concealed_screen, process_scrubber

# A recording in a trace: inputs, events, frames, the screens at the divergence.


MAX_FRAMES = 200
MAX_EVENTS = 2000
_PREVIEW = 80
_READ_BYTES = 4096
"""How much of a stretch of output is read for the line that describes it."""


def recording_object(path: str, divergences: list[dict[str, Any]]) -> dict[str, Any]:
    """The recording at ``path`` as JSON.

    ``diverged`` has two screens of the first divergence: the driver's (``now``), and the one after
    the recorded input there (``recorded``).

    Raises:
        CassetteError: it cannot be read.
    """
    with open_cassette(path, check="manifest") as opened:
        cassette = with_turns(opened)
        entries = read_entries(cassette.inputs())
        frames = list(cassette.frames())
        step = max(1, -(-len(frames) // MAX_FRAMES))
        return {
            "cassette": path,
            "id": cassette.manifest.id,
            "argv": list(cassette.manifest.command.argv or ()),
            "duration_ms": cassette.final.t_ms,
            "inputs": [
                {"number": entry.number, "t_ms": entry.t_us // 1000, "text": _text_of(entry)}
                for entry in entries
            ],
            "events": list(_events(cassette.events(), entries))[:MAX_EVENTS],
            "frames": [
                {"seq": frame.seq, "t_ms": frame.t_ms, **screen_object(screen_of(frame))}
                for frame in frames[::step]
            ],
            "diverged": _diverged(cassette, entries, divergences),
        }


def _diverged(
    cassette: Cassette, entries: tuple[Entry, ...], divergences: list[dict[str, Any]]
) -> dict[str, Any] | None:
    if not divergences:
        return None
    found = divergences[0]
    number = int(found.get("exchange", 0))
    seq = int(found["seq"]) - bool(number)
    following = next((entry.seq - 1 for entry in entries if entry.number > number), None)
    end = cassette.final.seq if following is None or not number else following
    return {
        "now": screen_object(screen_at(cassette, seq)),
        "recorded": screen_object(screen_at(cassette, end)),
        "exchange": number,
        "seq": seq,
        "t_ms": found["t_ms"],
    }


def _text_of(entry: Entry) -> str:
    return "masked" if entry.masked else visible(entry.shown)


def _events(events: Iterable[Event], entries: tuple[Entry, ...]) -> Iterator[dict[str, Any]]:
    """Inputs by entry, output between them as one event with its first line, and the rest."""
    entry_at = {entry.seq: entry for entry in entries}
    typing_until = 0
    output: dict[str, Any] | None = None
    for event in events:
        if event.kind == "frame" or (event.kind == "output" and event.seq <= typing_until):
            continue
        if event.kind == "output":
            if output is None:
                output = {"seq": event.seq, "t_ms": event.t_us // 1000, "kind": "output",
                          "bytes": 0, "data": b""}  # fmt: skip
            output["bytes"] += len(event.data)
            output["data"] += event.data[: max(0, _READ_BYTES - len(output["data"]))]
            output["last_seq"] = event.seq
            continue
        text = _event_text(event, entry_at)
        if text is None:
            continue
        if output is not None:
            yield _finished(output)
            output = None
        entry = entry_at.get(event.seq)
        typing_until = entry.last_seq if entry is not None else typing_until
        yield {
            "seq": event.seq,
            "last_seq": entry.last_seq if entry is not None else event.seq,
            "t_ms": event.t_us // 1000,
            "kind": event.kind,
            "exchange": entry.number if entry is not None else 0,
            "text": text,
        }
    if output is not None:
        yield _finished(output)


def _finished(output: dict[str, Any]) -> dict[str, Any]:
    """Consecutive output as one event, shown by its first line."""
    stream = TextStream()
    text = stream.feed(output.pop("data")) + stream.finish()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return {**output, "exchange": 0, "text": (lines[0][:_PREVIEW] if lines else "") + more}


def _event_text(event: Event, entry_at: dict[int, Entry]) -> str | None:
    """An event in words; None for parts of another event, and for answers of the terminal."""
    record = event.record
    if isinstance(record, InputRecord):
        if record.size is not None:
            return f"resize to {record.size.rows} rows x {record.size.cols} columns"
        if record.kind == "signal":
            return f"signal {visible(record.signal or '')}"
        entry = entry_at.get(event.seq)
        return None if entry is None else _text_of(entry)
    if isinstance(record, ServiceEventRecord):
        return "service event"
    return "end" if event.kind == "final" else None


TRACE_VERSION = 1
MAX_SCREENS = 200
_OF_THIS_RUN = frozenset({"cassette", "divergences", "notes", "errors", "steps", "drift"})
"""The parts of a run's evidence that come from this run, not from a recording."""


def trace_object(
    test: str,
    outcome: str,
    message: str,
    runs: Sequence[dict[str, Any]],
    *,
    steps: Iterable[dict[str, Any]] = (),
) -> dict[str, Any]:
    """The content of all forms, scrubbed.

    Args:
        test: the test's id.
        outcome: ``passed`` or ``failed``.
        message: why it failed.
        runs: the evidence of each run; the recordings are added here.
        steps: steps of ``steps_object`` that belong to no run.

    Raises:
        UsageError: the configuration of scrubbing is wrong.
    """
    scrubber = process_scrubber()

    def scrubbed(value: Any) -> Any:
        return scrubber.value(value, channel="trace")

    return {
        "report": "ptycassette-trace",
        "version": TRACE_VERSION,
        "test": test,
        "outcome": outcome,
        "message": scrubbed(message),
        "steps": scrubbed(list(steps)),
        "runs": [
            {
                "errors": [],
                "steps": [],
                "screens": [],
                "drift": [],
                **{
                    name: scrubbed(value) if name in _OF_THIS_RUN else value
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
    name = run["cassette"]
    try:
        yield recording_object(name, run["divergences"])
    except CassetteError as exc:
        yield {"cassette": name, "error": str(exc), "inputs": [], "events": [], "frames": []}


def steps_object(
    steps: Sequence[SessionStep], *, clean: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Steps as JSON, and the screens that they refer to by number.

    Args:
        steps: the steps of one run, in order.
        clean: the screens show only a recording, which is scrubbed.
    """
    screens: list[dict[str, Any]] = []
    last: Screen | None = None
    found = []
    for number, step in enumerate(steps):
        if step.screen is not None and len(steps) - number <= MAX_SCREENS:
            if step.screen != last:
                screens.append(screen_object(step.screen if clean else _scrubbed(step.screen)))
            last = step.screen
        found.append(
            {
                "name": step.name,
                "detail": step.detail,
                "places": [{"file": file, "line": line} for file, line in step.places],
                "t_ms": step.start_us // 1000,
                "took_ms": max(0, step.end_us - step.start_us) // 1000,
                "start_seq": step.start_seq,
                "seq": step.seq,
                "error": step.error,
                "screen": len(screens) - 1 if screens else None,
            }
        )
    return found, screens


def drift_object(found: Drift | None, sides: tuple[Side, Side] | None) -> list[dict[str, Any]]:
    """The drift from a cassette to a new recording, with the screens before and now."""
    if found is None or sides is None:
        return []
    pictures = drift_pictures(found, *sides)
    return [
        picture_object(msgspec.structs.replace(picture, now=picture.now and _scrubbed(picture.now)))
        for picture in pictures
    ]


def _scrubbed(screen: Screen) -> Screen:
    _, rows = concealed_screen("", screen.rows)
    return msgspec.structs.replace(screen, rows=rows)
