"""Arbitrary bytes raise only the declared error, and cost no second."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

FUZZ: dict[str, Any] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "benchmarks" / "safety_fuzz.py")
)
INPUTS = {
    "manifest": 3000,
    "records": 2000,
    "journal": 2000,
    "emulator": 500,
    "text": 2000,
    "scrubber": 60,
}


@pytest.mark.parametrize("name", FUZZ["TARGETS"])
def test_only_declared_errors_and_nothing_slow(name: str) -> None:
    """``python -m benchmarks safety`` runs many more."""
    result = FUZZ["fuzz"](name, inputs=INPUTS[name], seconds=20, seed=7)

    assert result.surprises == []
    assert result.slow == []
    assert result.inputs == INPUTS[name]
