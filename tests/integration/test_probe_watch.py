"""``probe --watch`` as a command, on a small program that a user's own profile knows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io.reader import open_cassette

pytestmark = pytest.mark.integration

COMMAND = str(Path(sys.executable).with_name("ptycassette"))
PATIENCE_S = 90.0
# Counts how often it was started; says 42 % the first time, 43 % the second time, and so on.
# A file "hold" in its home has how many starts may say something; it waits as long as it was
# started more often than that.
CLI = """#!{python}
import os, pathlib, sys, time, tty
tty.setraw(0)
starts = pathlib.Path(os.environ["HOME"], "starts")
with starts.open("a") as file:
    file.write("x")
count = len(starts.read_text())
hold = pathlib.Path(os.environ["HOME"], "hold")
while hold.exists() and count > int(hold.read_text()):
    time.sleep(0.01)
limits = "Limits\\r\\n5h: %d%% used\\r\\n" % (41 + count)
sys.stdout.write("sign in" if count == {logged_out_at} else limits)
sys.stdout.flush()
sys.stdin.read(1)
"""
PROFILE = """
version = 1
name = "small"
title = "a small CLI"
binaries = ["small"]
screens.ready = { contains = ["Limits"] }
"""
PROBE = """
version = 1
name = "small-status"
harness = "small"
source = "small /status"
timeout_s = 100.0
[[steps]]
wait = { contains = ["Limits"], stable_ms = 50 }
capture = "status"
[[markers]]
status = "unauthenticated"
when = { contains = ["sign in"] }
message = "nobody is signed in"
[quota]
[[quota.windows]]
screen = "status"
name = "5h"
regex = '5h: (?P<used_percent>\\d+)% used'
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start ``probe small --watch snapshot.json``; what still runs at the end is ended."""
    running: list[subprocess.Popen[str]] = []
    own = tmp_path / "home" / ".config" / "ptycassette"
    for folder, name, text in (("harnesses", "small", PROFILE), ("probes", "small-status", PROBE)):
        (own / folder).mkdir(parents=True)
        (own / folder / f"{name}.toml").write_text(text)
    (tmp_path / "bin").mkdir()

    def begin(*words: str, logged_out_at: int = 0) -> subprocess.Popen[str]:
        program = tmp_path / "bin" / "small"
        program.write_text(CLI.format(python=sys.executable, logged_out_at=logged_out_at))
        program.chmod(0o755)
        started = subprocess.Popen(
            [COMMAND, "probe", "small", *words],
            cwd=tmp_path,
            env={
                "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
                "HOME": str(tmp_path / "home"),
                "PTYCASSETTE_STATE_DIR": str(tmp_path / "state"),
                "PYTHONUNBUFFERED": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running.append(started)
        return started

    yield begin
    for one in running:
        if one.poll() is None:
            one.kill()
        one.communicate()


def hold(folder: Path, *, after: int = 0) -> None:
    """Let the program say nothing after so many starts, until more are allowed.

    The last snapshot then stays, however late a test looks at it.
    """
    path = folder / "home" / "hold"
    written = path.with_suffix(".new")
    written.write_text(str(after))
    written.replace(path)


def started(folder: Path) -> Path:
    """Wait until the program was started; the file that counts how often."""
    starts = folder / "home" / "starts"
    deadline = time.monotonic() + PATIENCE_S
    while not starts.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return starts


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def stop(process: subprocess.Popen[str]) -> int:
    """End it as a service manager would; its status."""
    process.send_signal(signal.SIGTERM)
    return process.wait(timeout=PATIENCE_S)


def snapshot(folder: Path) -> dict[str, Any]:
    """The file that dashboards read."""
    told: dict[str, Any] = json.loads((folder / "snapshot.json").read_text())
    return told


@pytest.mark.slow
def test_it_asks_again_and_keeps_the_file_fresh(start: Start, tmp_path: Path) -> None:
    """Each time with what is true then; SIGTERM ends it with 0."""
    hold(tmp_path, after=1)
    watching = start("--watch", "snapshot.json", "--every", "1s")
    lines = [line_of(watching)]
    first = snapshot(tmp_path)
    hold(tmp_path, after=2)
    lines.append(line_of(watching))
    second = snapshot(tmp_path)
    hold(tmp_path, after=99)

    assert lines == ["small: ok", "small: ok"]
    assert [one["last"]["quota"]["windows"][0]["used_percent"] for one in (first, second)] == [
        42,
        43,
    ]
    assert stop(watching) == 0


@pytest.mark.slow
def test_the_last_good_answer_is_kept(start: Start, tmp_path: Path) -> None:
    """A dashboard then shows it beside why there is no newer one."""
    hold(tmp_path, after=2)
    watching = start("--watch", "snapshot.json", "--every", "1s", logged_out_at=2)
    lines = [line_of(watching), line_of(watching)]
    told = snapshot(tmp_path)

    assert lines == ["small: ok", "small: unauthenticated"]
    assert told["last"]["diagnostic"]["screen"] == ["sign in"]
    assert told["last_ok"]["quota"]["windows"][0]["used_percent"] == 42


@pytest.mark.slow
def test_of_two_for_one_account_one_asks(start: Start, tmp_path: Path) -> None:
    """The second says so, starts no program, and asks when it is its turn."""
    hold(tmp_path)
    one = start("--watch", "snapshot.json", "--every", "1h")
    starts = started(tmp_path)
    two = start("--watch", "snapshot.json", "--every", "1s")
    refused = line_of(two)
    while_refused = starts.read_text()
    hold(tmp_path, after=2)
    asked = line_of(one)
    turn = line_of(two)
    while turn == refused:
        turn = line_of(two)

    assert refused == "small: another process is asking for this account"
    assert while_refused == "x"
    assert (asked, turn) == ("small: ok", "small: ok")
    assert starts.read_text() in {"xx", "xxx"}  # the third waits


@pytest.mark.slow
def test_two_accounts_are_asked_at_once(start: Start, tmp_path: Path) -> None:
    """They have nothing to do with each other."""
    one = start("--watch", "one.json", "--account", "one", "--every", "1h")
    two = start("--watch", "two.json", "--account", "two", "--every", "1h")

    assert {line_of(one), line_of(two)} == {"small: ok"}


@pytest.mark.slow
def test_what_it_asks_can_be_recorded(start: Start, tmp_path: Path) -> None:
    """The cassette is the last good run."""
    watching = start("--watch", "snapshot.json", "--every", "1s", "--record", "c")
    lines = [line_of(watching), line_of(watching)]
    stop(watching)
    with open_cassette(tmp_path / "c") as cassette:
        quota = cassette.quota

    assert lines == ["small: ok", "small: ok"]
    assert quota is not None
    assert (quota.windows or ())[0]["used_percent"] >= 43


@pytest.mark.slow
def test_two_that_record_one_account_do_not_both_run(start: Start, tmp_path: Path) -> None:
    """Also without --watch: the second is refused, and told who is at it."""
    hold(tmp_path)
    one = start("--record", "c")
    starts = started(tmp_path)
    two = start("--record", "d")
    told, _ = two.communicate(timeout=PATIENCE_S)
    hold(tmp_path, after=99)
    first, _ = one.communicate(timeout=PATIENCE_S)

    assert "account default of small is being recorded by" in told
    assert (one.returncode, "42 % used" in first) == (0, True)
    assert starts.read_text() == "x"


def test_a_second_signal_does_not_wait_for_the_answer(start: Start, tmp_path: Path) -> None:
    """The first lets the probe finish; the second ends it, and the program with it."""
    hold(tmp_path)
    watching = start("--watch", "snapshot.json")
    started(tmp_path)
    watching.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    for _ in range(3):  # two that come at once are one
        watching.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            watching.wait(timeout=PATIENCE_S / 4)
            break

    assert watching.returncode == 130
    assert not (tmp_path / "snapshot.json").exists()
