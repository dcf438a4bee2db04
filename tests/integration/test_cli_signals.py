"""A command that a signal ends leaves nothing of its own behind."""

from __future__ import annotations

import os
import signal
import subprocess
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
        env={**os.environ, "TMPDIR": str(own)},
        cwd=tmp_path,
    ) as ran:
        end_s = time.monotonic() + PATIENCE_S
        while not any(own.iterdir()):
            assert time.monotonic() < end_s, "it made no folder"
            time.sleep(0.005)
        ran.send_signal(number)
        status = ran.wait(PATIENCE_S)

    assert (status, list(own.iterdir())) == (-number, [])
