"""What one check may take: counted before it is done, and refused alike on each machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptycassette.errors import UsageError
from ptycassette.model.records import FrameRecord, JournalEvent, Noted, Resized, Typed
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from ptycassette.replaying.scenario import predicate as _effort
from ptycassette.replaying.scenario.evaluation import (
    ScenarioOutcome,
    check_scenario,
    parse_scenario,
)
from ptycassette.replaying.scenario.predicate import Evidence
from ptycassette.testing import events_of, manifest_of

SIZE = Size(rows=2, cols=60)


def frame(t_ms: int, *rows: str, **fields: Any) -> FrameRecord:
    """A screen."""
    return FrameRecord(
        seq=0, t_ms=t_ms, size=SIZE, text=rows, cursor=Cursor(row=0, col=0),
        raw_start=0, raw_end=0, parser_offset=0, **fields,
    )  # fmt: skip


def check(*predicates: dict[str, Any], of: list[JournalEvent | FrameRecord]) -> ScenarioOutcome:
    """The outcome of some predicates for some events."""
    text = json.dumps({"name": "x", "groups": {"g": predicates}}).encode()
    events = events_of(*of)
    evidence = Evidence(manifest_of(), lambda: events)
    return check_scenario(parse_scenario(text, where="x", bound=False), evidence)


SCREENS: list[JournalEvent | FrameRecord] = [frame(n, "a" * 60, "b" * 60) for n in range(500)]
EVENTS: list[JournalEvent | FrameRecord] = [
    *(Typed(n, b"a") for n in range(500)),
    *(Resized(n, SIZE) for n in range(500, 1000)),
    *(Noted(n, {"a": [n, n, n]}) for n in range(1000, 1500)),
]


@pytest.mark.parametrize(
    ("predicate", "events"),
    [
        ({"type": "frame_never_contains", "text": "c"}, SCREENS),
        ({"type": "frame_never_contains", "regex": "c"}, SCREENS),
        ({"type": "frame_never_contains", "text": "c", "normalise": ["path"]}, SCREENS),
        ({"type": "size_eventually", "rows": 1, "cols": 1}, SCREENS),
        ({"type": "title", "text": "c"}, SCREENS),
        ({"type": "input_bytes", "bytes_hex": "62"}, EVENTS),
        ({"type": "resize_order", "before_kind": "input"}, EVENTS),
        ({"type": "timing_gap", "kind": "input", "min_ms": 0}, EVENTS),
        ({"type": "service_json", "json_path": "$..*", "equals": "c"}, EVENTS),
    ],
    ids=["text", "pattern", "rewritten", "size", "title", "bytes", "resizes", "gaps", "json"],
)
def test_more_than_may_be_looked_at_is_refused(
    predicate: dict[str, Any],
    events: list[JournalEvent | FrameRecord],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However it is looked at: two predicates are fine, a hundred are not."""
    monkeypatch.setattr(_effort, "MAX_EFFORT", 50_000_000)
    check(*[predicate] * 2, of=events)

    with pytest.raises(UsageError, match="looks at too much"):
        check(*[predicate] * 100, of=events)


def test_no_message_is_as_long_as_a_recording() -> None:
    """Of a value that is a megabyte the first characters are shown."""
    noted = Noted(0, {"a": ["x" * 1_000_000] * 20})
    outcome = check({"type": "service_json", "json_path": "$.a", "equals": 1}, of=[noted])

    assert len(outcome.checks[0].message) < 3000


@pytest.mark.parametrize(
    ("before", "after", "passes"),
    [("input", "service-event", True), ("service-event", "", False), ("", "input", False),
     ("", "", True)],
)  # fmt: skip
def test_every_resize_is_looked_at(before: str, after: str, *, passes: bool) -> None:
    """What comes before the first one, and what behind the last."""
    predicate = {"type": "resize_order", "before_kind": before, "after_kind": after}

    assert check(predicate, of=EVENTS).passed is passes


@pytest.mark.parametrize(
    ("sent", "passes"),
    [("6161", True), ("61" * 500, True), ("61" * 501, False), ("6162", False)],
)
def test_bytes_are_records_in_a_row(sent: str, *, passes: bool) -> None:
    """From the beginning of one to the end of another."""
    assert check({"type": "input_bytes", "bytes_hex": sent}, of=EVENTS).passed is passes


@pytest.mark.parametrize(("text", "passes"), [("aa", True), ("aaa", False), ("漢a", False)])
def test_a_text_that_stands_often_is_looked_at_everywhere(text: str, *, passes: bool) -> None:
    """The only two that are painted so are far to the right, behind a wide one."""
    run = StyleRun(42, 2, Style(fg=1))
    shown = frame(0, "漢" + "a" * 50, styles=((run,),))

    assert check({"type": "style", "text": text, "fg": 1, "at_ms": 0}, of=[shown]).passed is passes
