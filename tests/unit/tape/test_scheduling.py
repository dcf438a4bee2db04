"""The proxy asks for short slices of processor time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_process_gets_short_slices_and_keeps_its_priority() -> None:
    """Where the kernel has them; it says so in /proc."""
    sched = Path("/proc/self/sched")
    if not sched.is_file() or "se.slice" not in sched.read_text():
        pytest.skip("the kernel has no slices, or does not say")
    program = (
        "import os\nfrom ptycassette.tape.io.proxy_process import ask_for_short_slices\n"
        "nice = os.nice(1)\nask_for_short_slices()\n"
        "print(os.nice(0) - nice, open('/proc/self/sched').read())"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert said.startswith("0 ")
    assert re.search(r"se\.slice\s*:\s*100000\n", said)


def test_a_real_time_process_stays_one() -> None:
    """Somebody gave it that class, so that it waits for nobody."""
    program = (
        "import os\nfrom ptycassette.tape.io.proxy_process import ask_for_short_slices\n"
        "os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))\n"
        "ask_for_short_slices()\nprint(os.sched_getscheduler(0) == os.SCHED_RR)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    if "PermissionError" in ran.stderr or sys.platform != "linux":
        pytest.skip("this user may not use real-time classes")

    assert ran.stdout == "True\n"
