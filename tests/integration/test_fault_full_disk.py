"""Disks that are really full, and files that really may not grow: the kernel's own short writes.

A small tmpfs is mounted where that is allowed; a limit on the size of files (``ulimit -f``)
works everywhere. ``tests/unit/safety/test_failing_disk.py`` lets each call fail by itself.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.errors import StorageError
from ptycassette.model.records import Output
from ptycassette.pytest_plugin.traces.page import write_trace
from ptycassette.pytest_plugin.traces.trace import trace_object
from ptycassette.replaying.standin.comparison import StandinReport
from ptycassette.replaying.standin.io.process import write_report
from ptycassette.system.files.whole_file import write_whole
from ptycassette.testing import write_cassette

pytestmark = [pytest.mark.integration]

LINES = 6000
PRINT = f"i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo line $i of what fills the disk; done"
PRINTED = b"".join(b"line %d of what fills the disk\r\n" % n for n in range(1, LINES + 1))
LIMIT = ["sh", "-c", 'ulimit -f 100; exec "$@"', "sh"]  # blocks of 512 bytes


class Disk:
    """A file system of its own, of a size that can be changed."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def mount(self, size: str) -> bool:
        """Whether that is allowed here."""
        words = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(self.place)]
        try:
            return subprocess.run(words, check=False, capture_output=True).returncode == 0
        except FileNotFoundError:
            return False

    def grow(self) -> None:
        """Make room."""
        words = ["mount", "-o", "remount,size=64m", str(self.place)]
        subprocess.run(words, check=True, capture_output=True)

    def fill(self) -> None:
        """Leave no room."""
        with (self.place / "filling").open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                return


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small one."""
    made = Disk(tmp_path / "small")
    made.place.mkdir()
    if sys.platform != "linux" or not made.mount("160k"):
        pytest.skip("mounting a tmpfs is not allowed here")
    yield made
    words = ["umount", str(made.place)]
    subprocess.run(words, check=True, capture_output=True)


def ptycassette(
    *words: str, state: Path, before: list[str] | None = None, **env: str
) -> tuple[int, str]:
    """Status and stderr of a command."""
    done = subprocess.run(
        [*(before or []), sys.executable, "-m", "ptycassette", *words],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        env={**os.environ, "PTYCASSETTE_STATE_DIR": str(state), **env},
    )
    return done.returncode, done.stderr


def rec(
    target: Path,
    *,
    state: Path,
    before: list[str] | None = None,
    end: str = "",
    options: tuple[str, ...] = (),
) -> tuple[int, str]:
    """Record more than fits; ``end`` is what the program does in the end."""
    words = ["rec", "-q", "--headless", *options, str(target), "--", "sh", "-c", PRINT + end]
    return ptycassette(*words, state=state, before=before)


def recorded(target: Path) -> bytes:
    """All output."""
    with open_cassette(target) as cassette:
        return b"".join(cassette.raw())


@pytest.mark.slow
def test_a_full_disk_under_the_target_costs_nothing(disk: Disk, tmp_path: Path) -> None:
    """It is said, nothing half is left there, and the journal has it all once there is room."""
    status, said = rec(disk.place / "c", state=tmp_path / "state")
    left = list(disk.place.iterdir())
    disk.grow()

    assert (status, left) == (125, [])
    assert "the disk is full" in said
    assert ptycassette("recover", "--all", state=tmp_path / "state")[0] == 0
    assert recorded(disk.place / "c") == PRINTED


@pytest.mark.slow
def test_a_place_that_becomes_read_only_costs_nothing(disk: Disk, tmp_path: Path) -> None:
    """It is said, and the journal has it all once the place can be written to."""
    disk.grow()
    remount = f"mount -o remount,{{}} {disk.place}"
    end = f"; {remount.format('ro')}"
    status, said = rec(disk.place / "c", state=tmp_path / "state", end=end)
    subprocess.run(remount.format("rw").split(), check=True, capture_output=True)

    assert status == 125
    assert "read-only" in said
    assert ptycassette("recover", "--all", state=tmp_path / "state")[0] == 0
    assert recorded(disk.place / "c") == PRINTED


def test_a_full_disk_under_the_journal_ends_the_recording(disk: Disk, tmp_path: Path) -> None:
    """The program is not left to run unrecorded; what had been written is recovered."""
    status, said = rec(tmp_path / "c", state=disk.place / "state")
    there = (tmp_path / "c").exists()
    disk.grow()

    assert (status, there) == (125, False)
    assert "make room" in said
    assert ptycassette("recover", "--all", state=disk.place / "state")[0] == 0
    assert PRINTED.startswith(recorded(tmp_path / "c"))
    assert len(recorded(tmp_path / "c")) > 50_000


@pytest.mark.slow
def test_a_journal_that_may_not_grow_ends_the_recording(tmp_path: Path) -> None:
    """As a full disk does, for everybody: the kernel writes a part, then refuses."""
    status, said = rec(tmp_path / "c", state=tmp_path / "state", before=LIMIT)
    there = (tmp_path / "c").exists()

    assert (status, there) == (125, False)
    assert "cannot write the journal" in said
    assert ptycassette("recover", "--all", state=tmp_path / "state")[0] == 0
    assert PRINTED.startswith(recorded(tmp_path / "c"))
    assert len(recorded(tmp_path / "c")) > 20_000


@pytest.mark.slow
def test_an_overwrite_on_a_full_disk_leaves_the_old_cassette(disk: Disk, tmp_path: Path) -> None:
    """Whole, with nothing beside it; the journal has the new one once there is room."""
    write_cassette(disk.place / "c", Output(0, b"old"))
    status, said = rec(disk.place / "c", state=tmp_path / "state", options=("--overwrite",))
    kept, left = recorded(disk.place / "c"), [path.name for path in disk.place.iterdir()]
    disk.grow()
    again, _ = ptycassette("recover", "--all", "--overwrite", state=tmp_path / "state")

    assert (status, kept, left) == (125, b"old", ["c"])
    assert "the disk is full" in said
    assert again == 0
    assert recorded(disk.place / "c") == PRINTED


@pytest.mark.slow
def test_a_scrub_on_a_full_disk_leaves_the_cassette_as_it_was(disk: Disk, tmp_path: Path) -> None:
    """And works once there is room."""
    secret = secrets.token_hex(16)
    data = f"token {secret}\r\n".encode() * 2000
    write_cassette(disk.place / "c", Output(0, data))
    disk.fill()
    status, said = ptycassette("scrub", str(disk.place / "c"), state=tmp_path, API_TOKEN=secret)
    kept, left = recorded(disk.place / "c"), sorted(path.name for path in disk.place.iterdir())
    disk.grow()
    again, _ = ptycassette("scrub", str(disk.place / "c"), state=tmp_path, API_TOKEN=secret)

    assert (status, kept, left) == (125, data, ["c", "filling"])
    assert "the disk is full" in said
    assert again == 0
    assert secret.encode() not in recorded(disk.place / "c")


@pytest.mark.parametrize("what", ["whole", "report", "trace"])
def test_a_file_that_finds_no_room_is_an_error_and_leaves_nothing(what: str, disk: Disk) -> None:
    """Exports, reports of a stand-in, traces of tests."""
    disk.fill()
    write: dict[str, Callable[[], object]] = {
        "whole": lambda: write_whole(disk.place / "x.svg", [bytes(9000)]),
        "report": lambda: write_report(
            str(disk.place / "x.json"), StandinReport(result="passed", cassette="c" * 9000)
        ),
        "trace": lambda: write_trace(disk.place, trace_object("t", "failed", "x" * 9000, [])),
    }
    with pytest.raises(StorageError):
        write[what]()

    files = [path.name for path in disk.place.rglob("*") if path.is_file()]
    assert files == ["filling"]
