"""What ``rec`` loads before the program starts: each module would be waited for every time."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "asyncio",
    "importlib.metadata",
    "logging",
    "ptycassette.cassette.io.reader",
    "ptycassette.agents.harness",
    "ptycassette.recording.io.finalising",
    "ptycassette.recording._finalise",
    "ptycassette.scrub.session",
    "ptycassette.scrub.io.setup",
    "ptycassette.scrub.search",
    "random",
    "rich",
    "subprocess",
    "tempfile",
    "tomllib",
    "yaml",
)
CODE = f"""
import sys
from ptycassette.cli.entry import cli
from ptycassette.recording.io import recording as rec_session, recorder, saver
from ptycassette.recording.io.recording import recording_with
cli.get_command(None, "rec")
print([name for name in {HEAVY!r} if name in sys.modules])
"""


def test_the_recorder_loads_nothing_that_only_its_saver_needs() -> None:
    """What scrubs and renders is loaded by another process, while the program runs."""
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"
