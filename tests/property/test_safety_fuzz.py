"""Arbitrary bytes raise only the declared error, and cost no second."""

from __future__ import annotations

import pytest

from benchmarks import safety_fuzz

INPUTS = {
    "manifest": 3000,
    "records": 2000,
    "journal": 2000,
    "recover": 60,
    "emulator": 500,
    "text": 2000,
    "scrubber": 60,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", safety_fuzz.TARGETS)
def test_only_declared_errors_and_nothing_slow(name: str) -> None:
    """``python -m benchmarks.safety_fuzz`` runs many more."""
    result = safety_fuzz.fuzz(name, inputs=INPUTS[name], seconds=20, seed=7)

    assert result.surprises == []
    assert result.slow == []
    assert result.inputs == INPUTS[name]
