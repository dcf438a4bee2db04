"""The option ``--ptycassette-faults``, and the fault of a test, which is one of its parameters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ptycassette.errors import CassetteError
from ptycassette.pytest_plugin._settings import settings_of

if TYPE_CHECKING:
    from ptycassette.agents.faults.fault import FaultSpec

FAULT = "ptycassette_fault"
_OF_PROVIDER = (
    "rate-limit", "overloaded", "error", "disconnect", "truncated", "stalled:5", "dribble",
    "empty", "refusal", "unknown-tool", "malformed-tool-call",
)  # fmt: skip
"""All faults of the provider that recorded answers can have; a stall of the usual length would
end every test."""
_ID = re.compile(r"(?:-|(?<=\[))(?:no-fault|fault:[a-z0-9:.@-]+)\]$")


def fault_specs(config: pytest.Config) -> tuple[FaultSpec, ...]:
    """The requested faults; empty without the option.

    Raises:
        pytest.UsageError: a fault does not exist, or nothing is replayed or rerun.
    """
    given = config.getoption("ptycassette_faults")
    if given is None:
        return ()
    from ptycassette.agents.faults.registry import TERMINAL_FAULTS, answer_fault, parse_fault

    mode = settings_of(config, None, {}).mode
    if mode not in {"replay", "auto", "rerun"}:
        raise pytest.UsageError(
            "--ptycassette-faults: faults of the terminal happen where recordings are played, in "
            "mode replay, and those of the provider in mode rerun, or in replay to code in use_tape"
        )
    if not config.getoption("ptycassette_fault_timeout") > 0:
        raise pytest.UsageError(
            "--ptycassette-fault-timeout: write a time of more than 0, such as 30 or 2m"
        )
    every = _OF_PROVIDER if mode == "rerun" else (*TERMINAL_FAULTS, *_OF_PROVIDER)
    words = [*every] if given == "all" else given.split(",")
    try:
        found = tuple(parse_fault(word) for word in words)
        for spec in found:
            if mode == "rerun" or spec.name not in TERMINAL_FAULTS:
                answer_fault(spec)
    except CassetteError as wrong:
        hint = ""
        if Path(given).exists():
            hint = f"\n  hint: for the path {given}, write --ptycassette-faults=all {given}"
        raise pytest.UsageError(f"--ptycassette-faults: {wrong}{hint}") from wrong
    return found


def faults_for(
    config: pytest.Config, specs: tuple[FaultSpec, ...], *, plays: bool, is_code: bool
) -> tuple[FaultSpec, ...]:
    """The faults that can apply to a test.

    Args:
        config: the configuration of the run.
        specs: all requested faults.
        plays: whether the test plays or reruns recordings of programs.
        is_code: whether it uses the tape of its own code.
    """
    from ptycassette.agents.faults.registry import TERMINAL_FAULTS

    of_terminal = plays and settings_of(config, None, {}).mode != "rerun"
    of_provider = is_code or (plays and not of_terminal)
    return tuple(
        spec for spec in specs if (of_terminal if spec.name in TERMINAL_FAULTS else of_provider)
    )


def refuse_unfit(fit: tuple[FaultSpec, ...], specs: tuple[FaultSpec, ...], given: str) -> None:
    """Refuse a fault that applies to no test of the run.

    Raises:
        pytest.UsageError: a requested fault is not in ``fit``.
    """
    from ptycassette.agents.faults.registry import TERMINAL_FAULTS

    unfit = [spec for spec in specs if spec not in fit]
    if given == "all" or not unfit:
        return
    name = unfit[0].name
    of, where = (
        ("terminal", "tests that play recordings of programs")
        if name in TERMINAL_FAULTS
        else ("provider", "code in use_tape (ptycassette_tape), and in mode rerun programs")
    )
    raise pytest.UsageError(
        f"--ptycassette-faults: {name} is a fault of the {of}, and no test here can have it: it"
        f" happens to {where}"
    )


def without_fault(nodeid: str) -> str:
    """The id of a test without the option."""
    return _ID.sub("]", nodeid).removesuffix("[]")


def is_varied(item: pytest.Item) -> bool:
    """Whether a test is one of the variants, with or without a fault."""
    return FAULT in getattr(getattr(item, "callspec", None), "params", {})


def spec_of(item: pytest.Item) -> FaultSpec | None:
    """The fault of a test."""
    callspec: Any = getattr(item, "callspec", None)
    spec: FaultSpec | None = callspec.params.get(FAULT) if callspec is not None else None
    return spec
