"""Workers answer, and end with their owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptycassette.errors import UsageError
from ptycassette.system.workers import WorkerEndedError, Workers
from tests.conftest import PATIENCE_S

pytestmark = pytest.mark.integration


def fail() -> None:
    """Raise what a function of ours may raise."""
    raise UsageError("no", hint="other words")


def die() -> None:
    """End the worker."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_answer() -> None:
    """With results, with errors, and each with a process of its own."""
    with Workers(2, loading="os") as workers:
        assert workers.submit(pow, 2, 10).result(PATIENCE_S) == 1024
        assert workers.submit(os.getppid).result(PATIENCE_S) != os.getpid()
        with pytest.raises(UsageError, match="no") as caught:
            workers.submit(fail).result(PATIENCE_S)
        assert caught.value.hint == "other words"


def test_a_worker_that_ends_is_an_error() -> None:
    """And no wait for ever."""
    with Workers(1, loading="os") as workers, pytest.raises(WorkerEndedError):
        workers.submit(die).result(PATIENCE_S)


OWNER = """
import os, sys, time
from ptycassette.system.workers import Workers
from tests.integration.test_workers import hold
workers = Workers(2, loading="tests.integration.test_workers")
for number in range(2):
    workers.submit(hold, f"{sys.argv[1]}/{number}")
time.sleep(600)
"""


def hold(name: str) -> None:
    """Hold a temporary folder, say who does, and go on for long."""
    from ptycassette.system.files.locks import temporary_folder  # noqa: PLC0415 - in the worker

    with temporary_folder() as folder:
        Path(f"{name}.new").write_text(f"{os.getpid()} {os.getppid()} {folder}")
        Path(f"{name}.new").rename(name)
        time.sleep(600)


def is_gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_bytes().rpartition(b")")[2].split()[0] == b"Z"


@pytest.mark.skipif(sys.platform != "linux", reason="the foreman's end is noticed on Linux alone")
@pytest.mark.parametrize("killed", ["owner", "foreman"])
def test_workers_end_with_their_owner(tmp_path: Path, killed: str) -> None:
    """However it ends, and their folders with them."""

    def until(condition: object) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < end_s
            time.sleep(0.02)

    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)]) as owner:
        until(lambda: all((tmp_path / str(number)).exists() for number in range(2)))
        said = [(tmp_path / str(number)).read_text().split() for number in range(2)]
        os.kill(owner.pid if killed == "owner" else int(said[0][1]), signal.SIGKILL)
        for worker, foreman, folder in said:
            until(lambda pid=int(worker): is_gone(pid))
            until(lambda pid=int(foreman): is_gone(pid))
            assert not Path(folder).exists()
        owner.kill()
