"""Real crashes where cores are allowed: recorders leave none, and the program's limit stays."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pexpect
import psutil
import pytest

from ptycassette import Session
from ptycassette.cli import main
from ptycassette.system.pty.process import NoCoreDumps

PATTERN = Path("/proc/sys/kernel/core_pattern")
LONG_S = 120
ALLOW = ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh"]
PROGRAM = ["sh", "-c", "echo limit $(ulimit -c); exec sleep 600"]
PYTHON = """
import sys
from ptycassette import Session, record
program = sys.argv[2:]
with Session(program) if sys.argv[1] == "session" else record(program, "c") as session:
    session.wait_for_text("limit", timeout_s=100)
    print(session.screen().rows[0], flush=True)
    sys.stdin.read()
"""
REC = [sys.executable, "-m", "ptycassette", "rec", "-q", "c", "--", *PROGRAM]
SHOWN = [sys.executable, "-m", "ptycassette", "rec", "--headless", "c", "--", *PROGRAM]
COMMANDS = {
    "rec": REC,
    "rec --headless": SHOWN,
    "record": [sys.executable, "-c", PYTHON, "record", *PROGRAM],
    "session": [sys.executable, "-c", PYTHON, "session", *PROGRAM],
    "shim": ["agent", "one"],
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory in which a crash leaves a core; a shim of the program is on the PATH."""
    if sys.platform != "linux" or PATTERN.read_text().strip() != "core":
        pytest.skip("cores are not files of the working directory here")
    here = tmp_path / "here"
    here.mkdir()
    crash = [*ALLOW, sys.executable, "-c", "import os; os.abort()"]
    subprocess.run(crash, cwd=here, check=False, stderr=subprocess.DEVNULL)
    found = list(here.glob("core*"))
    if not found:
        pytest.skip("no core may be written here")
    for core in found:
        core.unlink()
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "agent"
    real.write_text(f"#!/bin/sh\n{PROGRAM[2]}\n")
    real.chmod(0o755)
    assert main(["shim", "--dir", str(tmp_path / "bin"), "--library", str(here), "agent"]) == 0
    path = f"{tmp_path / 'bin'}:{real.parent}:{os.environ['PATH']}"
    for name, value in {"PATH": path, "PTYCASSETTE_MODE": "record", "CI": ""}.items():
        monkeypatch.setenv(name, value)
    yield here
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def of_ours(child: pexpect.spawn[str]) -> list[psutil.Process]:
    """The process that was started, and what it started in Python, the supervisor aside."""
    top = psutil.Process(child.pid)
    family = [top, *top.children(recursive=True)]
    return [
        process
        for process in family
        if "python" in process.name() and "supervisor.py" not in " ".join(process.cmdline())
    ]


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("command", COMMANDS)
def test_a_crash_leaves_no_core(place: Path, command: str) -> None:
    """Of the recorder, and of the saver beside it; the program may dump as before."""
    child = pexpect.spawn(
        ALLOW[0], [*ALLOW[1:], *COMMANDS[command]], cwd=str(place), timeout=LONG_S,
        encoding="utf-8", dimensions=(24, 80),
    )  # fmt: skip
    child.expect("limit (unlimited|\\d+)")
    limit = child.match.group(1) if child.match else ""
    crashed = of_ours(child)
    for process in reversed(crashed):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGSEGV)
    psutil.wait_procs(crashed, timeout=LONG_S)
    child.ptyproc.fileobj.close()  # psutil has waited for it already
    child.closed = child.terminated = True

    assert crashed
    assert limit == "unlimited"
    cores = [path for path in place.rglob("core*") if path.is_file()]
    # A shim passes the signal on, and the program may dump; what is in Python is ours.
    assert [path.name for path in cores if b"_frozen_importlib" in path.read_bytes()] == []
    assert len(cores) <= (command == "shim")


def test_the_limit_is_what_it_was_when_the_last_one_lets_go() -> None:
    """However many sessions there are at once, in whatever order they end."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    one, other = NoCoreDumps().hold(), NoCoreDumps().hold()
    one.hold()
    one.release()
    held = resource.getrlimit(resource.RLIMIT_CORE)
    other.release()
    other.release()

    assert held == (0, before[1])
    assert resource.getrlimit(resource.RLIMIT_CORE) == before


@pytest.mark.integration
def test_a_session_that_is_over_or_never_began_changes_no_limit() -> None:
    """Closed, or not to be started."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    with Session(["true"]):
        during = resource.getrlimit(resource.RLIMIT_CORE)[0]

    assert during == 0
    assert resource.getrlimit(resource.RLIMIT_CORE) == before
