"""Probes: checked files, a walk over screens, facts or the exact reason why there are none."""

from __future__ import annotations

from typing import Any

import pytest

from ptycassette.agents.harness.probe import Drive, Probe, ProbeRun
from ptycassette.errors import UsageError
from ptycassette.model.screen import Cursor, Screen, Size
from ptycassette.profiles.session_log import ScreenPredicate

HEAD = "version = 1\nname = 'p'\nharness = 'x'\nsource = 'x /status'\n"
PROBE = (
    HEAD
    + r"""
[[steps]]
wait = { contains = ["ready>"] }
[[steps]]
submit = "/status"
[[steps]]
wait = { contains = ["Limits"] }
capture = "status"
[[steps]]
strokes = [{ key = "escape" }]
[[markers]]
status = "unauthenticated"
when = { contains = ["sign in"] }
message = "nobody is signed in"
[quota]
account_class = { screen = "status", regex = 'Plan: (?P<value>\w+)', map = { Plus = "plus" } }
accounted = { screen = "status", regex = 'limit' }
[[quota.windows]]
screen = "status"
regex = '(?P<name>\w+) limit: (?P<left_percent>\d+)% left(?: until (?P<resets>\S+))?'
[quota.metadata]
tokens = { screen = "status", regex = 'Tokens: (?P<value>\S+)', kind = "number", required = false }
[discovery]
models = { screen = "status", regex = '- (?P<value>\S+)' }
"""
)
STATUS = "Limits\nPlan: Plus\nTokens: 2.6k\n5h limit: 58% left until 12:00\n- a\n- b\n- a"


def screen(text: str) -> Screen:
    """A screen with these rows."""
    rows = tuple(text.split("\n"))
    return Screen(size=Size(24, 80), rows=rows, cursor=Cursor(0, 0))


def walk(status: str, *, probe: str = PROBE) -> Any:
    """Walk through the probe, with this status screen."""
    run = ProbeRun(Probe.parse(probe))
    assert run.look(screen("ready>"))
    run.acted()
    assert run.look(screen(status))
    run.acted()
    assert run.step is None
    return run.result("2026-01-01T00:00:00Z")


def test_a_walk_ends_with_records() -> None:
    """Windows with both percentages, account class, numbers, models without repetition."""
    result = walk(STATUS)

    assert result.status == "ok"
    assert result.quota.windows == (
        {"name": "5h", "left_percent": 58, "used_percent": 42, "resets": "12:00"},
    )
    assert result.quota.account_class == "plus"
    assert result.quota.metadata == {"tokens": 2600}
    assert result.discovery.models == ("a", "b")
    assert result.quota.captured_at == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (STATUS.replace("Plan", "Tier"), "Plan"),
        (STATUS.replace("58% left", "58% remaining"), "nothing matches"),
        (STATUS.replace("58%", "580%"), "not a percentage"),
        (STATUS + "\nMonthly limit (soft) 3% left", "no window's regex reads it"),
        (STATUS.replace("2.6k", "many"), "no number"),
        (STATUS.replace("- ", "* "), "nothing matches"),
    ],
)
def test_an_unknown_layout_is_an_error_and_never_a_number(status: str, told: str) -> None:
    """The error shows the screen and which expression failed."""
    result = walk(status)

    assert (result.status, result.quota, result.discovery) == ("error", None, None)
    assert "unknown layout" in result.diagnostic.message
    assert told in result.diagnostic.failed[0]
    assert result.diagnostic.screen == tuple(status.split("\n"))


def test_a_marker_ends_the_walk() -> None:
    """Its status, its message, the screen, and what was waited for."""
    run = ProbeRun(Probe.parse(PROBE))

    assert run.look(screen("please sign in"))
    result = run.result("t")
    assert (result.status, result.diagnostic.step) == ("unauthenticated", 0)
    assert result.diagnostic.failed == ("contains 'ready>'",)


def test_other_screens_change_nothing() -> None:
    """A waiting step waits; a step that acts does not look."""
    run = ProbeRun(Probe.parse(PROBE))

    assert not run.look(screen("loading"))
    assert run.look(screen("ready>"))
    assert not run.look(screen("Limits"))


def test_a_failure_says_what_was_missing() -> None:
    """Out of time: the message, the step, the predicate, the screen."""
    run = ProbeRun(Probe.parse(PROBE))
    run.fail("waited 30 s", screen("loading"))
    result = run.result("t")

    assert (result.status, result.diagnostic.message) == ("error", "waited 30 s")
    assert result.diagnostic.failed == ("contains 'ready>'",)


def test_a_marker_explains_a_failure_better() -> None:
    """When the last screen shows why."""
    run = ProbeRun(Probe.parse(PROBE))
    run.fail("the program ended", screen("sign in first"))

    assert run.result("t").status == "unauthenticated"


def test_a_walk_that_was_left_is_an_error() -> None:
    """Half a walk is no evidence."""
    assert ProbeRun(Probe.parse(PROBE)).result("t").status == "error"


def test_facts_may_come_from_several_screens() -> None:
    """A list that is longer than its window is read in two."""
    probe = PROBE.replace('models = { screen = "status"', 'models = { screen = ["first", "status"]')
    probe = probe.replace('"ready>"] }', '"ready>"] }\ncapture = "first"')
    run = ProbeRun(Probe.parse(probe))
    run.look(screen("ready>\n- z"))
    run.acted()
    run.look(screen(STATUS))
    run.acted()
    discovery = run.result("t").discovery

    assert discovery is not None
    assert discovery.models == ("z", "a", "b")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('capture = "status"', ""), "no step captures the screen 'status'"),
        (('submit = "/status"', ""), "exactly one of"),
        (('submit = "/status"', "submit = 'x'\ncapture = 'y'"), "capture belongs to wait"),
        (('submit = "/status"', "submit = 'x'\ntimeout_s = 1"), "timeout_s belongs"),
        (("(?P<value>\\w+)", "\\w+"), "no group named value"),
        (("(?P<resets>", "(?P<when>"), "no field 'when'"),
        (("(?P<left_percent>", "(?P<used>"), "either used_percent or left_percent"),
        (("(?P<name>\\w+) limit", "limit"), "needs a name"),
        (("source = 'x /status'", "source = 'x'\nfreshness_window = 'soon'"), "is not a time"),
    ],
)
def test_what_is_wrong_is_named(change: tuple[str, str], told: str) -> None:
    """Each mistake has an error."""
    with pytest.raises(UsageError) as caught:
        Probe.parse(PROBE.replace(*change))

    assert told in caught.value.message


def test_a_probe_asks_for_something() -> None:
    """Neither quota nor discovery: nothing to do."""
    with pytest.raises(UsageError, match="quota, discovery or both"):
        Probe.parse(HEAD + "[[steps]]\nwait = { contains = ['x'] }")


def test_optional_facts_may_be_missing() -> None:
    """What is not required leaves no trace; a window without a reset has none."""
    result = walk(STATUS.replace("Tokens: 2.6k\n", "").replace(" until 12:00", ""))

    assert result.quota.metadata is None
    assert "resets" not in result.quota.windows[0]


def test_a_probe_may_ask_for_one_thing_alone() -> None:
    """Quota without discovery, and the other way round; a window's length is told."""
    quota, discovery = PROBE.split("[quota]")[1].split("[discovery]")
    steps = PROBE.split("[quota]")[0]
    plain = quota.replace("accounted", "# accounted").replace(
        "[[quota.windows]]", "[[quota.windows]]\nwindow_minutes = 300"
    )
    one = walk(STATUS, probe=f"{steps}[quota]{plain}")
    other = walk(STATUS, probe=f"{steps}[discovery]{discovery}")

    assert one.quota.windows[0]["window_minutes"] == 300
    assert one.discovery is None
    assert other.discovery.models == ("a", "b")
    assert other.quota is None


def test_predicates_tell_what_does_not_hold() -> None:
    """Every part is told; rows are what ^ and $ match at."""
    wanted = ScreenPredicate(contains=("a", "b"), absent=("c",), regex="^x$")

    assert wanted.misses(screen("a c")) == ("contains 'b'", "absent 'c'", "regex '^x$'")
    assert wanted.holds(screen("a b\nx\n"))


def test_a_drive_is_read() -> None:
    """Resizes, signals and the end are steps, too."""
    drive = Drive.parse(
        "version = 1\nname = 'd'\nharness = 'x'\nscript = 's.toml'\n"
        "steps = [{ resize = [24, 80] }, { signal = 'int' }, { exit = true, timeout_s = 3 }]"
    )

    assert drive.steps[0].resize == (24, 80)
    assert drive.steps[2].exit


def test_a_drive_has_a_prompt_or_a_command() -> None:
    """Not both: they are two ways to start it."""
    with pytest.raises(UsageError, match="a prompt or a command"):
        Drive.parse(
            "version = 1\nname = 'd'\nharness = 'h'\nscript = 's'\nprompt = 'p'\ncommand = []"
        )
