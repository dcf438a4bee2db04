"""How the command ends its process."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import atexit, sys, threading, time
atexit.register(print, "registered", end="", flush=False)
THREAD
from ptycassette.cli import script
sys.argv = ["ptycassette", *ARGV]
script()
"""


def _ran(argv: list[str], thread: str = "") -> tuple[int, str]:
    code = _PROGRAM.replace("THREAD", thread).replace("ARGV", repr(argv))
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    return ran.returncode, ran.stdout


def test_what_is_registered_for_the_end_runs_and_is_written() -> None:
    """The status is that of ``main``."""
    assert _ran(["no-such-command"]) == (2, "registered")


def test_it_waits_for_threads() -> None:
    """As Python does at its end."""
    late = "threading.Thread(target=lambda: (time.sleep(0.2), print('late,', end=''))).start()"

    assert _ran(["no-such-command"], late) == (2, "late,registered")
