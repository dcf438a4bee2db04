"""Recorders in competition, and programs that do not want to end: through the recorder itself.

``python -m benchmarks.safety_processes`` does the same at length.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import safety_processes
from ptycassette import open_cassette
from ptycassette.system.files.state_dirs import lock_dir

pytestmark = [pytest.mark.integration]

REC = [sys.executable, "-m", "ptycassette", "rec", "-q", "--headless"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("what", safety_processes.RIVALS)
def test_of_recorders_at_once_exactly_one_wins(what: str, count: int) -> None:
    """The others are told who has it, with the status of a refusal, and touch nothing."""
    outcome = safety_processes.rivals(what, 2, count=count)

    assert outcome.wrong == []
    assert outcome.runs == 2


@pytest.mark.slow
def test_a_killed_recorder_lets_go_of_its_locks(tmp_path: Path) -> None:
    """The kernel holds them, not a file that somebody must delete."""
    words = [*REC, str(tmp_path / "c"), "--", "sh", "-c", "echo ready; sleep 60"]
    first = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    until = time.monotonic() + 90
    while not list(lock_dir().glob("*.lock")) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.3)
    first.send_signal(signal.SIGKILL)
    first.wait()
    words[-1] = "echo again"

    assert subprocess.run(words, check=False, stdin=subprocess.DEVNULL).returncode == 0
    with open_cassette(tmp_path / "c") as cassette:
        assert b"again" in b"".join(cassette.raw())


@pytest.mark.sampled(3)
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("end", safety_processes.ENDS)
@pytest.mark.parametrize("name", safety_processes.ESCAPES)
def test_nothing_outlives_the_recorder(name: str, end: str, tmp_path: Path) -> None:
    """However the program lets go of its terminal, and however the recorder ends."""
    wrong, _ = safety_processes.escape(tmp_path, name, end, after_s=0.2)

    assert wrong == []
