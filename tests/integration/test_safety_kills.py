"""kill -9 with a planted secret; ``python -m benchmarks safety`` does the same at length."""

from __future__ import annotations

import runpy
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.slow]

KILLS: dict[str, Any] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "benchmarks" / "safety_kills.py")
)
POINTS = {"kill_recordings": 40, "kill_recoveries": 10, "kill_scrubs": 20, "kill_writers": 30}


@pytest.mark.parametrize("what", POINTS)
def test_a_kill_loses_nothing_and_leaks_nothing(what: str, tmp_path: Path) -> None:
    """No half cassette, no acknowledged byte lost, no piece of the secret beside the target."""
    outcome = KILLS[what](tmp_path, POINTS[what], until=time.monotonic() + 60)

    assert outcome.points == POINTS[what]
    assert outcome.clean, outcome.told
    assert outcome.journals + outcome.published > 0


def test_a_leak_would_be_seen(tmp_path: Path) -> None:
    """The search finds the secret and each half of it, in hidden directories too."""
    secret = KILLS["make_secret"]()
    hidden = tmp_path / ".c.0123456789ab.staging"
    hidden.mkdir()
    for number, piece in enumerate(KILLS["pieces"](secret)):
        (hidden / f"{number}").write_bytes(b"x" + piece + b"y")

    assert len(KILLS["leaks"](tmp_path, secret)) == 3
