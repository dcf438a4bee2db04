"""A command that a signal ends leaves nothing of its own behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands import COMMAND
from tests.conftest import PATIENCE_S, ROOT

pytest.importorskip("aiohttp", reason="a rerun needs the extra `provider`")
pytestmark = pytest.mark.integration

TAPED = ROOT / "fixtures" / "tapes" / "client-tape"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_removes_its_folders(number: int, tmp_path: Path) -> None:
    """It ends by the signal, which a shell or a CI runner looks at."""
    own = tmp_path / "own"
    own.mkdir()
    with subprocess.Popen(
        [COMMAND, "rerun", TAPED, "--trust", "--", "sleep", "60"],
        env={**os.environ, "TMPDIR": str(own), "XDG_CACHE_HOME": str(own)},
        cwd=tmp_path,
    ) as ran:
        end_s = time.monotonic() + PATIENCE_S
        while not any(own.glob("ptycassette/runs/run-*/")):
            assert time.monotonic() < end_s, "it made no folder"
            time.sleep(0.005)
        ran.send_signal(number)
        status = ran.wait(PATIENCE_S)

    left = [
        path for path in own.rglob("*") if path.name not in {"ptycassette", "runs", ".gitignore"}
    ]
    assert (status, left) == (-number, [])


_SIGNALLED = """
import os, pathlib, signal, sys, tempfile, time
from ptycassette.system.ownership import unwound

name = sys.argv[1]
real = getattr(os, name)

def signalled(*args, **options):
    result = real(*args, **options)
    setattr(os, name, real)
    os.kill(os.getpid(), signal.SIGTERM)
    return result

def run():
    if name != "open":
        tempfile.gettempdir()  # its probe file comes and goes
    setattr(os, name, signalled)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "file").write_text("x")
    time.sleep(60)

unwound(run)
"""


@pytest.mark.parametrize("call", ["open", "mkdir", "unlink"])
def test_a_signal_while_something_temporary_is_made_waits_until_it_is(
    call: str, tmp_path: Path
) -> None:
    """Just after the probe file of ``tempfile``, a folder made, a file in it removed."""
    ran = subprocess.run(
        [sys.executable, "-c", _SIGNALLED, call],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=PATIENCE_S,
        check=False,
    )

    assert (ran.returncode, list(tmp_path.iterdir())) == (-signal.SIGTERM, [])


_AT_EACH_CHANGE = """
import os, pathlib, shutil, signal, sys
from ptycassette.model.records import ExitStatus
from ptycassette.model.records import Finished, Output
from ptycassette.system.ownership import unwound
from ptycassette.testing import write_cassette

number, place = int(sys.argv[1]), pathlib.Path(sys.argv[2])
names = ("open", "mkdir", "rename", "replace", "link", "unlink", "rmdir", "fsync")
real = {name: getattr(os, name) for name in names}
calls = 0

def write():
    done = Finished(t_us=2, exit=ExitStatus(code=0, exited=True, signaled=False))
    write_cassette(place / "c", Output(1, b"x"), done, overwrite=(place / "c").exists())
    return 0

def run(at):
    def counted(name):
        def call(*args, **options):
            global calls
            calls += 1
            try:
                return real[name](*args, **options)
            finally:
                if calls == at:
                    os.kill(os.getpid(), number)
        return call

    for name in names:
        setattr(os, name, counted(name))
    try:
        status = unwound(write)
    except KeyboardInterrupt:
        status = 130
    os._exit(3 if status == 0 and calls < at else status)

left, at, status = [], 0, 0
for existing in (False, True):
    for at in range(1, 500):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        if existing:
            write()
        pid = os.fork()
        if pid == 0:
            run(at)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == 3:  # there are no more calls
            break
        whole = (place / "c" / "manifest.json").exists() or not existing
        hidden = [path.name for path in place.iterdir() if path.name.startswith(".")]
        if hidden or not whole or status not in (0, -number, 130):
            left.append((at, status, hidden))
print(at, left)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_at_any_change_of_files_leaves_nothing_hidden(number: int, tmp_path: Path) -> None:
    """After each call that changes something: what is replaced may never have been scrubbed."""
    ran = subprocess.run(
        [sys.executable, "-c", _AT_EACH_CHANGE, str(int(number)), tmp_path / "w"],
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE_S,
        check=False,
    )

    tried, _, left = ran.stdout.partition(" ")
    assert int(tried or 0) > 20, ran.stderr
    assert left == "[]\n"
