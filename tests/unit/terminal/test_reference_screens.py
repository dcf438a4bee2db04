"""The reference screens, when they are here: the default emulator agrees with xterm.js."""

from __future__ import annotations

import re
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


UNLIKE_XTERM_JS = {
    "syn_decsc_wrap",
    "syn_el_pending",
    "syn_emoji_flags",
    "syn_emoji_skin",
    "syn_emoji_vs15",
    "syn_nonchar",
    "syn_nul_del",
    "syn_tab_set_clear",
    "syn_utf8_bad",
}
"""What each of them is about is in ``ptycassette.terminal._conformance.KNOWN``."""


@pytest.mark.slow
def test_the_fast_backend_differs_where_it_is_known_to(reference: Path) -> None:
    """In these screens and no others, all real programs being equal."""
    pytest.importorskip("pyghostty")
    check = reference / "check_screens.py"
    done = subprocess.run(
        [
            sys.executable,
            str(check),
            str(reference / "screens"),
            "ptycassette.testing:screen_check_ghostty",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    differing = set(re.findall(r"^ *differs: (\w+)", done.stdout, re.MULTILINE))

    assert differing == UNLIKE_XTERM_JS, done.stdout + done.stderr
