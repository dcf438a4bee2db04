"""kill -9 while a tape is recorded; ``python -m benchmarks.tape_kills`` does the same at length."""

from __future__ import annotations

import pytest

pytest.importorskip("h11")
pytest.importorskip("aiohttp")

from benchmarks import tape_kills

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.mark.parametrize("what", tape_kills.VICTIMS)
def test_a_kill_loses_nothing_that_was_served(what: str) -> None:
    """What the client had is on the tape, and what becomes of it runs again."""
    outcome = tape_kills.kill(what, 2, questions=4)

    assert outcome.killed > 0
    assert outcome.pieces > 0
    assert outcome.clean, outcome.failures
