"""kill -9 with a planted secret; ``python -m benchmarks.safety_kills`` does the same at length.

``PTYCASSETTE_KILLS`` sets how many points there are of each kind.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks import safety_kills
from ptycassette.cli import main
from ptycassette.recording.io.finalising import left_journals, recover
from ptycassette.system.files.state_dirs import journal_dir

pytestmark = [pytest.mark.integration, pytest.mark.slow]

POINTS = int(os.environ.get("PTYCASSETTE_KILLS", "25"))
KILOHERTZ = """
import time
start = time.monotonic()
for number in range(100000):
    print("line", number, flush=True)
    time.sleep(max(0, start + number / 1000 - time.monotonic()))
"""


@pytest.mark.parametrize("what", safety_kills.KILLS)
def test_a_kill_loses_nothing_and_leaks_nothing(what: str) -> None:
    """No half cassette, no acknowledged byte lost, no piece of the secret beside the target."""
    outcome = safety_kills.kill(what, POINTS, seconds=200)

    assert outcome.points > 0
    assert outcome.clean, outcome.failures
    assert outcome.journals + outcome.published > 0


def test_a_kilohertz_stream_loses_no_line_that_was_on_the_screen(tmp_path: Path) -> None:
    """Every line that a user could have seen is in the recovered cassette."""
    script = tmp_path / "stream.py"
    script.write_text(KILOHERTZ, encoding="ascii")
    words = ["rec", "-q", str(tmp_path / "c"), "--", sys.executable, str(script)]
    shown = safety_kills.killed(lambda: main(words), 0.2, after=b"line 600")
    (left,) = left_journals(journal_dir())
    recover(Path(left.path))
    kept = safety_kills.recorded(tmp_path / "c") or b""

    assert shown.count(b"\n") > 500
    assert kept.startswith(shown)


def test_a_leak_would_be_seen(tmp_path: Path) -> None:
    """The search finds the secret and each half of it, in hidden directories too."""
    secret = safety_kills.make_secret()
    hidden = tmp_path / ".c.0123456789ab.staging"
    hidden.mkdir()
    for number, piece in enumerate(safety_kills.pieces(secret)):
        (hidden / f"{number}").write_bytes(b"x" + piece + b"y")

    assert len(safety_kills.leaks(tmp_path, secret)) == 3
    assert safety_kills.seen_by_git(tmp_path, None, secret)
    hidden.chmod(0o700)
    (hidden / ".gitignore").write_bytes(b"*\n")
    assert safety_kills.seen_by_git(tmp_path, None, secret) == []
