"""``ptycassette export``: Markdown of some exchanges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CODEX = Path(__file__).resolve().parents[3] / "fixtures" / "agents" / "codex-tui"


@pytest.mark.parametrize("wrong", ["x", "3-", "7-3", "-3", "1-2-3"])
def test_what_is_no_range_is_refused(wrong: str, run: Callable[..., Any], tmp_path: Path) -> None:
    """With an example."""
    ran = run("export", CODEX, tmp_path / "x.md", "--exchanges", wrong)

    assert ran.status == 2
    assert "3-7" in ran.err


def test_exchanges_that_are_not_there_are_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    """With the number of the last one."""
    ran = run("export", CODEX, tmp_path / "x.md", "--exchanges", "20-30")

    assert ran.status == 2
    assert "the last one is 6" in ran.err
    assert not (tmp_path / "x.md").exists()
