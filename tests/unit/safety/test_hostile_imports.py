"""Every hostile and broken input of an import or an edit is refused as people can use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.hostile import ROOT, cases

_REFUSALS = {2, 3, 4, 6}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of each, in one process whose time and memory the kernel bounds."""
    place = tmp_path_factory.mktemp("hostile")
    environment = {**os.environ, "PTYCASSETTE_STATE_DIR": str(place / "state")}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.hostile", str(place)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found: dict[str, dict[str, Any]] = json.loads(ended.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_it_is_refused_with_a_reason_and_nothing_is_left(
    name: str, outcomes: dict[str, dict[str, Any]]
) -> None:
    """A documented status, what, where, what to do; no raw control byte; nothing half-written."""
    case, came = cases()[name], outcomes[name]
    first, *more = came["said"].splitlines()

    assert came["status"] in _REFUSALS, came
    assert case.said in came["said"], came
    assert "hint: " in came["said"] or first.startswith("Usage: "), came
    assert all(char.isprintable() for line in (first, *more) for char in line), came
    assert came["left"] == []
