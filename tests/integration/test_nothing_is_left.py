"""However a command ends, none of its processes lives on, and none of its files stays outside.

After SIGKILL files may stay in the private folder for temporary ones; the next command removes
them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PATIENCE_S, ROOT

pytest.importorskip("aiohttp", reason="a rerun needs the extra `provider`")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"),
]

MARK = "PTYCASSETTE_TEST_MARK"
TAPED = ROOT / "fixtures" / "tapes" / "client-tape"
AGAIN = ("--trust", "--copy", "work", "a.cassette")
COMMANDS = {
    "blame": ("blame", *AGAIN, "--oracle", "exit", "--budget", "40", "-j", "3"),
    "rerun": ("rerun", *AGAIN),
    "tape-only": ("rerun", "--tape-only", *AGAIN, "--", "sleep", "6000"),
    "fork": ("fork", *AGAIN, "--at", "tape:1", "--change", "none", "-o", "made/c.cassette"),
    "check": ("check", "-j", "2", "many"),
    "film": ("export", "a.cassette", "made/a.mp4"),
    "picture": ("export", "a.cassette", "made/a.gif"),
    "page": ("export", "a.cassette", "made/a.html"),
    "import": ("import", "many/long", "--format", "typescript", "-o", "made/d"),
    "trim": ("edit", "trim", "a.cassette", "-o", "made/t", "--to", "0.5"),
    "demo": ("demo",),
    "rec": ("rec", "--headless", "made/r.cassette", "--", "sleep", "6000"),
    "pipes": ("rec", "--pipes", "made/r.cassette", "--", "sleep", "6000"),
    "tape": ("rec", "--tape", "--provider", "http://127.0.0.1:9", "--headless", "made/r.cassette",
             "--", "sleep", "6000"),
    "offline": ("offline", "--", "sleep", "6000"),
    "stand-in": ("stand-in", "a.cassette"),
    "fake-provider": ("fake-provider",),
    "serve": ("view", "--serve", "a.cassette"),
}  # fmt: skip
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)
MOMENTS_S = (0.05, 0.4, 1.2, 3.0)
OUTSIDE = ("tmp", "work", "made", "home")
"""Folders in which nothing of ours may stay, cassettes and exports that are whole apart."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a command works, with folders of its own for everything."""
    for name in (*OUTSIDE, "many"):
        (tmp_path / name).mkdir()
    shutil.copytree(TAPED, tmp_path / "a.cassette")
    shutil.copy(ROOT / "tests" / "programs" / "tape_client.py", tmp_path / "work")
    (tmp_path / "work" / "note.txt").write_text("buy walnuts\n")
    (tmp_path / "many" / "long").write_bytes(b"".join(b"line %d\r\n" % n for n in range(200_000)))
    for number in range(12):
        (tmp_path / "many" / f"{number}.scenario.yaml").write_text(
            "version: 1\nname: one\ncassette_path: ../a.cassette\nassertions: []\n"
        )
    return tmp_path


def start(place: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a command, with its folders and the mark in its environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "ptycassette", *words],
        cwd=place,
        env={
            **os.environ,
            MARK: str(place),
            "HOME": str(place / "home"),
            "TMPDIR": str(place / "tmp"),
            "XDG_CACHE_HOME": str(place / "cache"),
            "PTYCASSETTE_STATE_DIR": str(place / "state"),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def alive(place: Path) -> list[str]:
    """The processes that have the mark, or that work below, as a program in a clean environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            marked = f"{MARK}={place}".encode() in (process / "environ").read_bytes().split(b"\0")
            if not marked and not (process / "cwd").readlink().is_relative_to(place):
                continue
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words != [b""]:  # else it has ended, and its parent has not looked yet
            found.append(f"{process.name} {b' '.join(words).decode()}")
    return found


def left(place: Path) -> list[str]:
    """Everything of ours in the folders outside; a cassette or an export that is whole is none."""
    return [
        str(path.relative_to(place))
        for name in OUTSIDE
        for path in (place / name).rglob("*")
        if (path.name.startswith(".") and path.name != ".gitattributes") or name == "tmp"
    ]


def until_none(place: Path) -> list[str]:
    """What lives on after the grace."""
    end_s = time.monotonic() + PATIENCE_S
    while (living := alive(place)) and time.monotonic() < end_s:
        time.sleep(0.05)
    return living


def cases() -> Iterator[tuple[str, signal.Signals, float]]:
    """Every command with every signal; the moments take turns."""
    for at, name in enumerate(COMMANDS):
        for number, sent in enumerate(SIGNALS):
            yield name, sent, MOMENTS_S[(at + number) % len(MOMENTS_S)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "sent", "moment_s"), cases())
def test_nothing_of_a_command_that_is_ended_is_left(
    place: Path, name: str, sent: signal.Signals, moment_s: float
) -> None:
    """By whatever signal, at whatever moment."""
    with start(place, *COMMANDS[name]) as ran:
        try:
            ran.wait(moment_s)
        except subprocess.TimeoutExpired:
            ran.send_signal(sent)
        ran.wait(PATIENCE_S)

    living = until_none(place)
    for line in living:
        os.kill(int(line.split()[0]), signal.SIGKILL)
    after_it = ("edit", "trim", "a.cassette", "-o", "made/after.cassette", "--to", "0.5")
    with start(place, *after_it) as after:
        assert after.wait(PATIENCE_S) == 0
    with start(place, "demo") as after:
        assert after.wait(PATIENCE_S) == 0
    runs = place / "cache" / "ptycassette" / "runs"
    assert living == []
    assert left(place) == []
    assert [path.name for path in runs.glob("run-*")] == []
