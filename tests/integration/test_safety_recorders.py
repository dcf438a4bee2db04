"""Recorders in competition, and programs that do not want to end: through the recorder itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.host.staging import lock_dir

pytestmark = [pytest.mark.integration]

REC = [sys.executable, "-m", "ptycassette", "rec", "-q", "--headless"]
ESCAPES = {
    "nohup": "nohup sleep 300 >/dev/null 2>&1 & echo started",
    "setsid": "setsid sleep 300 >/dev/null 2>&1 & echo started",
    "double fork": "(setsid sh -c 'sleep 300 & sleep 300' >/dev/null 2>&1 &) ; echo started",
    "ignores signals": "sh -c \"trap '' HUP INT TERM; sleep 300\" >/dev/null 2>&1 & echo started",
    "python daemon": (
        f'{sys.executable} -c "import os,time\nif os.fork()==0:\n os.setsid()\n'
        ' if os.fork()==0: time.sleep(300)" >/dev/null 2>&1; echo started'
    ),
}


def left(mark: str) -> list[int]:
    """The processes whose environment has the mark."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit():
            continue
        try:
            environment = Path("/proc", name, "environ").read_bytes()
            state = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in environment and state != "Z":
            found.append(int(name))
    return found


def gone(mark: str, within_s: float = 2.0) -> list[int]:
    """What is still there after that time; ended here, so that no test leaves anything."""
    until = time.monotonic() + within_s
    while (found := left(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return found


@pytest.mark.parametrize("what", ["target", "account"])
def test_of_recorders_at_once_exactly_one_wins(what: str, tmp_path: Path) -> None:
    """The others are told who has it, with the status of a refusal, and touch nothing."""
    running = []
    for number in range(5):
        target = tmp_path / ("c" if what == "target" else f"c{number}")
        account = ["--account", "a@b", "--harness", "x"] if what == "account" else []
        words = [*REC, *account, str(target), "--", "sh", "-c", f"echo {number}; sleep 1.5"]
        running.append(
            subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        )
    said = [process.communicate(timeout=60)[1] for process in running]
    won = [number for number, process in enumerate(running) if process.returncode == 0]

    assert len(won) == 1, said
    assert [path.name for path in tmp_path.iterdir()] == [
        "c" if what == "target" else f"c{won[0]}"
    ], said
    with open_cassette(next(tmp_path.iterdir())) as cassette:
        assert b"".join(cassette.raw()).startswith(str(won[0]).encode())


def test_a_killed_recorder_lets_go_of_its_locks(tmp_path: Path) -> None:
    """The kernel holds them, not a file that somebody must delete."""
    words = [*REC, str(tmp_path / "c"), "--", "sh", "-c", "echo ready; sleep 60"]
    first = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not list(lock_dir().glob("*.lock")) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.3)
    first.send_signal(signal.SIGKILL)
    first.wait()
    words[-1] = "echo again"

    assert subprocess.run(words, check=False, stdin=subprocess.DEVNULL).returncode == 0
    with open_cassette(tmp_path / "c") as cassette:
        assert b"again" in b"".join(cassette.raw())


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("end", ["ends", "is killed", "is terminated"])
@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_outlives_the_recorder(name: str, end: str, tmp_path: Path) -> None:
    """However the program lets go of its terminal, and however the recorder ends."""
    mark = f"PTYCASSETTE_TEST_MARK={os.urandom(8).hex()}"
    key, _, value = mark.partition("=")
    last = "" if end == "ends" else "; sleep 300"
    recorder = subprocess.Popen(
        [*REC, str(tmp_path / "c"), "--", "sh", "-c", ESCAPES[name] + last],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, key: value},
    )
    try:
        if end != "ends":
            until = time.monotonic() + 20
            while len(left(mark)) < 4 and time.monotonic() < until:
                time.sleep(0.02)
            recorder.send_signal(signal.SIGKILL if end == "is killed" else signal.SIGTERM)
        recorder.wait(timeout=30)
    finally:
        recorder.kill()
        found = gone(mark)

    assert found == []
