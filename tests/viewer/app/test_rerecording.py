"""A cassette beside the recording that was made anew of the same program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette import Size, record
from ptycassette_viewer.comparison.differences import differences, differing_cells, matching_time

PROGRAM = """
import sys, time
answer = sys.argv[1]
for question in ("one", "two", "three"):
    input(f"{question}? ")
    time.sleep(float(sys.argv[2]))
    print("answer", answer if question == "two" else "same", flush=True)
"""


def recorded(path: Path, script: Path, answer: str, pause_s: str) -> Path:
    """A recording of the program."""
    argv = [sys.executable, str(script), answer, pause_s]
    with record(argv, path, size=Size(10, 40)) as recording:
        for question in ("one", "two", "three"):
            recording.wait_for_text(f"{question}?")
            recording.submit("x")
        recording.wait_exit()
    return path


@pytest.mark.slow
@pytest.mark.integration
def test_a_rerecording_is_compared_with_its_cassette(
    tmp_path: Path, session_of: Callable[[Path], Any]
) -> None:
    """The program has become slower, and answers one question differently: that alone is told."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    old = session_of(recorded(tmp_path / "old", script, "blue", "0"))
    new = session_of(recorded(tmp_path / "new", script, "red", "0.3"))
    found = [one for _, begun in differences(old, new, by_exchange=True) for one in begun]
    heads = old.head(), new.head()
    heads[0].move(old.index.count)
    heads[1].move(new.index.at(matching_time(old.duration_us, old, new, by_exchange=True)))

    differing = differing_cells(heads[0].screen, heads[1].screen)

    assert len(found) == 1
    assert [heads[0].screen.rows[row] for row in differing] == ["answer blue"]
