"""A trace as one JSON object, the source of the page and of the Markdown.

It is scrubbed, because traces are shared. Recordings are scrubbed already; the rest is scrubbed
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ptycassette.errors import CassetteError
from ptycassette.model.screen import Screen
from ptycassette.pytest_plugin.traces._recorded import recording_object
from ptycassette.replaying.drift_picture import picture_object
from ptycassette.replaying.drifted_screens import drift_pictures
from ptycassette.replaying.drifts import Drift, Side
from ptycassette.replaying.stored import screen_object
from ptycassette.scrub.io.conceal import concealed_screen, process_scrubber
from ptycassette.session.steps import SessionStep

TRACE_VERSION = 1
MAX_SCREENS = 200
_OF_THIS_RUN = frozenset({"cassette", "divergences", "notes", "errors", "steps", "drift"})
"""What of a run's evidence is of this run, not of a recording: paths, what the driver typed."""


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
        steps: those that belong to no run, of ``steps_object``.

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
    """Steps as JSON, and the screens that they name by number.

    Args:
        steps: of one run, in their order.
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
