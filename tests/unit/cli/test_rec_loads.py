"""What ``rec`` loads before the program starts: each module would be waited for every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = (
    "asyncio",
    "importlib.metadata",
    "logging",
    "ptycassette.cassette.io.reader",
    "ptycassette.agents.harness",
    "ptycassette.recording.io.finalising",
    "ptycassette.recording.sink_writer",
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

# A plain recording needs none of these: few have a tape, and few are read again at once.
FOR_TAPES_AND_READERS = (
    "ptycassette.cassette.io.reader",
    "ptycassette.cassette.io.repair",
    "ptycassette.cassette.io.tape",
    "ptycassette.profiles.session_log",
    "ptycassette.recording.tape_source",
)
SAVED = f"""
import sys
from ptycassette import record
hooked = dict(before_record=lambda event: event)  # its cassette is saved by this process
with record([sys.executable, "-c", "print('hello')"], "plain.cassette", **hooked) as session:
    session.wait_exit()
print([
    name for name in sorted(sys.modules)
    if name in {FOR_TAPES_AND_READERS!r} or name.startswith("ptycassette.tape.")
])
"""


def test_the_recorder_loads_nothing_that_only_its_saver_needs() -> None:
    """What scrubs and renders is loaded by another process, while the program runs."""
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"


def test_a_recording_without_a_tape_loads_nothing_that_reads_tapes_or_cassettes(
    tmp_path: Path,
) -> None:
    """Neither to record a program nor to scrub and save what it showed."""
    done = subprocess.run(
        [sys.executable, "-c", SAVED], check=True, capture_output=True, text=True, cwd=tmp_path
    )

    assert done.stdout.strip() == "[]"
    assert (tmp_path / "plain.cassette" / "manifest.json").is_file()
