"""A shim that records, and is killed: nothing outlives it, and nothing is lost or hidden."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from ptycassette.cassette.io.pending import PREFIX
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.system.files.state_dirs import journal_dir

pytestmark = pytest.mark.integration
LONG_S = 120

ENDLESS = """#!/bin/sh
echo "$$" > "$PIDFILE"
echo ready
exec sleep 600
"""
CALLER = """
import os, subprocess, sys
child = subprocess.Popen(["agent", "one"], stdin=subprocess.PIPE, stdout=1)
sys.stdin.read()
"""


class Desk:
    """A program that never ends, a shim for it, and a library."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.library = place / "cassettes"
        self.pidfile = place / "pid"
        self.started: list[subprocess.Popen[bytes]] = []
        real = place / "real"
        real.mkdir()
        (real / "agent").write_text(ENDLESS)
        (real / "agent").chmod(0o755)
        words = ["shim", "--dir", str(place / "bin"), "--library", str(self.library), "agent"]
        assert main(words) == 0

    def start(
        self, *words: str, mode: str = "record", process_group: int | None = None
    ) -> subprocess.Popen[bytes]:
        """The shim, or what starts it, over pipes; returns when the program has shown something."""
        path = os.pathsep.join([str(self.place / "bin"), str(self.place / "real")])
        started = subprocess.Popen(
            words or ["agent", "one"],
            env={
                **os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
                "PTYCASSETTE_MODE": mode, "PIDFILE": str(self.pidfile), "CI": "",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=process_group,
        )  # fmt: skip
        self.started.append(started)
        assert started.stdout is not None
        assert started.stdout.readline().strip() == b"ready"
        return started

    def below(self, started: subprocess.Popen[bytes]) -> list[psutil.Process]:
        """Recorder, supervisor, program and whatever else there is."""
        found = psutil.Process(started.pid).children(recursive=True)
        assert int(self.pidfile.read_text()) in [process.pid for process in found]
        return found

    def close(self) -> None:
        """End what still runs."""
        for started in self.started:
            with started:  # closes its pipes
                started.kill()
        for process in psutil.process_iter():
            if process.pid == int(self.pidfile.read_text()):
                process.kill()

    def hidden(self) -> list[Path]:
        """Places of pending recordings."""
        return list(self.library.glob(f"{PREFIX}*"))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk; what outlives its test is ended."""
    desk = Desk(tmp_path)
    yield desk
    desk.close()


def shown(path: Path) -> bytes:
    """What a cassette shows."""
    with open_cassette(path) as cassette:
        return b"".join(cassette.raw())


def test_nothing_outlives_a_killed_shim_and_recover_publishes_into_the_library(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """As ``Popen.kill`` and ``subprocess.run(timeout=...)`` end it."""
    shim = desk.start()
    family = desk.below(shim)
    shim.kill()
    shim.wait()
    _, alive = psutil.wait_procs(family, timeout=LONG_S)
    listed = main(["recover"]), capsys.readouterr().out
    recovered = main(["recover", "--all"]), capsys.readouterr().out
    cassette = desk.library / "agent-one.cassette"

    assert alive == []
    assert str(cassette) in listed[1]
    assert PREFIX not in listed[1] + recovered[1]
    assert shown(cassette).strip() == b"ready"
    assert desk.hidden() == []


@pytest.mark.slow
def test_what_a_killed_shim_leaves_is_removed_by_the_next_one(desk: Desk) -> None:
    """Its place was for recordings that it alone could have put into the library."""
    first = desk.start()
    family = desk.below(first)
    first.kill()
    first.wait()
    psutil.wait_procs(family, timeout=LONG_S)
    left = desk.hidden()
    second = desk.start()
    places = desk.hidden()
    second.terminate()
    second.wait()

    assert len(left) == len(places) == 1
    assert left != places
    assert desk.hidden() == []
    assert shown(desk.library / "agent-one.cassette").strip() == b"ready"


@pytest.mark.slow
def test_nothing_outlives_the_caller_of_a_shim(desk: Desk) -> None:
    """It is ended as by a terminal that hangs up, and what was recorded is in the library."""
    caller = desk.start(sys.executable, "-c", CALLER)
    family = desk.below(caller)
    caller.kill()
    caller.wait()
    _, alive = psutil.wait_procs(family, timeout=LONG_S)

    assert alive == []
    assert shown(desk.library / "agent-one.cassette").strip() == b"ready"
    assert list(journal_dir().glob("*.journal")) == []
    assert desk.hidden() == []


@pytest.mark.slow
def test_a_recording_for_comparison_alone_leaves_nothing(desk: Desk) -> None:
    """Nobody is left who would compare."""
    first = desk.start()
    first.terminate()
    first.wait()
    shim = desk.start(mode="rerecord")
    family = desk.below(shim)
    shim.kill()
    shim.wait()
    _, alive = psutil.wait_procs(family, timeout=LONG_S)

    assert alive == []
    assert list(journal_dir().glob("*.journal")) == []
    assert [path.name for path in desk.library.iterdir()] == ["agent-one.cassette"]


def test_a_shim_that_is_not_killed_leaves_no_journal(desk: Desk) -> None:
    """It deletes it once the recording is in the library."""
    shim = desk.start()
    journals = list(journal_dir().glob("*.journal"))
    shim.terminate()
    shim.wait()

    assert len(journals) == 1
    assert list(journal_dir().glob("*.journal")) == []
    assert json.loads((desk.library / "agent-one.cassette" / "manifest.json").read_text())


SLOW_TO_SAVE = """
import os, time

def before_record(event):
    open(os.environ["SAVING"], "w").close()
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.02)
    return event
"""


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of hooks: saving begins with ``saving`` and goes on when there is ``go``."""
    monkeypatch.setenv("SAVING", str(tmp_path / "saving"))
    monkeypatch.setenv("GO", str(tmp_path / "go"))
    hooks = tmp_path / "hooks.py"
    hooks.write_text(SLOW_TO_SAVE)
    return hooks


def until(holds: Callable[[], object]) -> None:
    """Wait until it does."""
    deadline = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("killed", ["alone", "with its group"])
def test_a_shim_that_is_killed_while_it_saves_is_recorded(
    desk: Desk, slow: Path, killed: str
) -> None:
    """As by a client that closes stdin, sends SIGTERM and, seconds later, SIGKILL."""
    words = ["shim", "--dir", str(desk.place / "bin"), "--library", str(desk.library)]
    assert main([*words, "--hooks", str(slow), "agent"]) == 0
    shim = desk.start(process_group=0)
    family = desk.below(shim)
    program = psutil.Process(int(desk.pidfile.read_text()))
    program.terminate()
    until((desk.place / "saving").exists)
    shim.terminate()  # reaches the recorder, which is saving
    shim.send_signal(signal.SIGTERM)
    if killed == "alone":
        shim.kill()
    else:
        os.killpg(shim.pid, signal.SIGKILL)
    shim.wait()
    (desk.place / "go").touch()
    _, alive = psutil.wait_procs(family, timeout=LONG_S)

    assert alive == []
    assert shown(desk.library / "agent-one.cassette").strip() == b"ready"
    assert desk.hidden() == []
    assert list(journal_dir().glob("*.journal")) == []
