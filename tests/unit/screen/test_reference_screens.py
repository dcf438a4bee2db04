"""The reference screens, when they are here: the default emulator agrees with xterm.js."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("width", ["either", "cluster"])
def test_every_reference_screen_is_equal(reference: Path, width: str) -> None:
    """Final screens, frames in between and styles, by the reference's own check."""
    check = reference / "check_screens.py"
    done = subprocess.run(
        [
            sys.executable,
            str(check),
            str(reference / "screens"),
            "ptycassette.testing:screen_check",
            "--frames",
            "--styles",
            "--width",
            width,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
