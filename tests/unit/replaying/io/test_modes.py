"""Modes: one meaning everywhere, and no typo is one."""

from __future__ import annotations

import pytest

from ptycassette.errors import UsageError
from ptycassette.replaying.io.modes import (
    RUN_MODES,
    action_of,
    mode_in_force,
    mode_named,
    resolve_mode,
    run_modes,
)


@pytest.mark.parametrize(
    ("choices", "env", "mode"),
    [
        ([], {}, "replay"),
        ([("option", None)], {"PTYCASSETTE_MODE": "live"}, "live"),
        ([("option", "auto"), ("marker", "live")], {"PTYCASSETTE_MODE": "record"}, "auto"),
        ([("option", None), ("marker", "live")], {}, "live"),
        ([], {"PTYCASSETTE_MODE": ""}, "replay"),
    ],
)
def test_the_strongest_choice_counts(
    choices: list[tuple[str, str | None]], env: dict[str, str], mode: str
) -> None:
    """Then the environment, then replay."""
    assert resolve_mode(*choices, env=env) == mode


def test_a_typo_is_an_error_wherever_it_is() -> None:
    """Also where something stronger counts."""
    with pytest.raises(UsageError, match="replay, auto, record, rerecord, rewrite, live") as caught:
        resolve_mode(("option", "live"), env={"PTYCASSETTE_MODE": "recrod"})

    assert "PTYCASSETTE_MODE" in str(caught.value)


@pytest.mark.parametrize("mode", RUN_MODES)
def test_every_mode_has_its_name(mode: str) -> None:
    """And no other spelling."""
    assert mode_named(mode) == mode
    with pytest.raises(UsageError):
        mode_named(mode.upper())


@pytest.mark.parametrize(
    ("exists", "env", "action"),
    [
        (True, {}, "replay"),
        (False, {}, "record"),
        (False, {"CI": "true"}, "replay"),
        (False, {"CI": "false"}, "record"),
        (False, {"CI": "0"}, "record"),
    ],
)
def test_auto_records_what_is_missing_but_not_in_ci(
    env: dict[str, str], action: str, *, exists: bool
) -> None:
    """Where nobody could commit it."""
    assert action_of("auto", exists=exists, env=env) == action


@pytest.mark.parametrize("mode", ["replay", "record", "rerecord", "rewrite", "live"])
def test_the_other_modes_mean_what_they_say(mode: str) -> None:
    """Whatever exists."""
    assert action_of(mode_named(mode), exists=False, env={"CI": "1"}) == mode


@pytest.mark.parametrize(
    ("said", "env", "run", "mode"),
    [
        ("record", {"PTYCASSETTE_MODE": "live"}, ("rewrite", "auto"), "rewrite"),
        ("record", {"PTYCASSETTE_MODE": "live"}, (None, "auto"), "record"),
        (None, {"PTYCASSETTE_MODE": "live"}, (None, "auto"), "live"),
        (None, {}, (None, "auto"), "auto"),
        (None, {}, (None, None), "replay"),
    ],
)
def test_a_test_run_has_a_say(
    said: str | None, env: dict[str, str], run: tuple[str | None, str | None], mode: str
) -> None:
    """Its option is the strongest, its ini key the weakest; afterwards it has none."""
    with run_modes(*run):
        assert mode_in_force(said, env=env) == mode
    assert mode_in_force(None, env={}) == "replay"


def test_a_typo_of_a_call_is_an_error_under_a_ruling_mode() -> None:
    """It would count tomorrow."""
    with run_modes("live", None), pytest.raises(UsageError, match="recrod"):
        mode_in_force("recrod", env={})
