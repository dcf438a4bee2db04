"""A program that runs again can be told the time of its recording."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.rerun.io.driving import rerun
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.io.preparing import clock_pin
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.recording.io.recording import record

pytestmark = pytest.mark.integration

MOMENT = datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
PRINTS = "import time; print('it is', time.strftime('%Y%j', time.gmtime())); raise SystemExit(3)"
"""Its status is no success: then its tape may be empty."""


@pytest.mark.parametrize("faketime", [True, False], ids=["pinned", "as it is"])
def test_a_rerun_begins_when_the_recording_did(
    tmp_path: Path, program: Callable[[str], str], *, faketime: bool
) -> None:
    """The recording was made on another day."""
    program("faketime")
    moment = datetime(2020, 2, 2, 12, tzinfo=UTC)
    then = clock_pin(sys.executable, moment).environment
    argv = [sys.executable, "-c", PRINTS]
    with record(argv, tmp_path / "a.cassette", env=then, tape="http://127.0.0.1:9") as session:
        session.wait_exit()
    with open_cassette(tmp_path / "a.cassette") as cassette:
        provenance = cassette.manifest.provenance
        cassette.manifest = msgspec.structs.replace(
            cassette.manifest,
            provenance=msgspec.structs.replace(provenance, recorded_at=moment.isoformat()),
        )
        report = rerun(cassette, RerunOptions(trusted=True, faketime=faketime))

    assert report.passed == faketime
    assert report.clock.startswith("starts at 2020-02-02T" if faketime else "")


def test_what_cannot_be_pinned_is_said(tmp_path: Path, program: Callable[[str], str]) -> None:
    """Scripts are what their interpreter is; a static program has no loader."""
    program("faketime")
    (tmp_path / "script").write_text("#!/usr/bin/env -S bash\ndate +%s\n")
    (tmp_path / "static").write_bytes(b"\x7fELF\x02\x01" + bytes(100))
    (tmp_path / "loop").write_text(f"#!{tmp_path}/loop\n")
    for path in tmp_path.iterdir():
        path.chmod(0o755)

    pin = clock_pin(str(tmp_path / "script"), MOMENT)
    printed = subprocess.run(
        [tmp_path / "script"], env={"PATH": "/usr/bin:/bin", **pin.environment},
        capture_output=True, check=True, timeout=90,
    ).stdout  # fmt: skip

    assert 0 <= int(printed) - MOMENT.timestamp() < 20
    for name, reason in (
        ("static", "static is not linked dynamically"),
        ("loop", "it has too many interpreters"),
        ("nothing-here", "was not found"),
    ):
        said = clock_pin(str(tmp_path / name), MOMENT)
        assert reason in said.said
        assert said.environment == {}


def test_without_libfaketime_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is set."""
    monkeypatch.setattr("ptycassette.agents.rerun.io.preparing._PLACES", ("/dev/null/nowhere",))

    assert clock_pin("true", MOMENT).said == "not pinned: libfaketime is not installed"
