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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_removes_its_folders(number: int, tmp_path: Path) -> None:
    """It ends by the signal, which a shell or a CI runner looks at."""
    own = tmp_path / "own"
    own.mkdir()
    tape = ROOT / "fixtures" / "tapes" / "client-tape"
    with subprocess.Popen(
        [COMMAND, "rerun", str(tape), "--trust", "--", "sleep", "60"],
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
from ptycassette.system import unwound

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
