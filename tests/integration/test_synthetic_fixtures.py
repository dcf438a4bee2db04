"""The synthetic families: made by the script, checked by scenarios, played by the stand-in."""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.model.records import InputRecord
from ptycassette.replaying.standin.io import boot

pytestmark = pytest.mark.integration
FIXTURES = Path(__file__).parents[2] / "fixtures"
PLACE = FIXTURES / "synthetic"
FAMILIES = sorted(PLACE.glob("*.cassette"))


@pytest.mark.slow
def test_the_script_makes_what_is_committed(tmp_path: Path) -> None:
    """The same bytes; when the emulator changed on purpose, run it again."""
    script = runpy.run_path(str(FIXTURES / "make_synthetic.py"), run_name="fixtures")
    script["make"](tmp_path)

    def contents(place: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(place)): path.read_bytes()
            for path in place.rglob("*")
            if path.is_file()
        }

    assert contents(tmp_path) == contents(PLACE)
    assert len(FAMILIES) == 26


def test_every_family_passes_its_scenario_and_verifies() -> None:
    """Frames are what the emulator makes of the output, still."""
    assert main(["check", str(PLACE)]) == 0
    assert main(["verify", "--rederive", *map(str, FAMILIES)]) == 0


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
@pytest.mark.parametrize("strategy", ["prompt", "exact"])
def test_a_driver_that_does_what_was_recorded_sees_what_was_recorded(
    path: Path, strategy: str, tmp_path: Path
) -> None:
    """Byte for byte, with the recorded end."""
    report = tmp_path / "report.json"
    with open_cassette(path) as cassette:
        output = b"".join(cassette.raw())
        inputs = [record for record in cassette.inputs() if record.source != "terminal"]
        size = cassette.manifest.terminal
        status = cassette.final.exit
    words = ["-I", "-S", str(boot.__file__), "--match", strategy, str(path)]
    child = pexpect.spawn(
        sys.executable, words, timeout=90, dimensions=(size.initial_rows, size.initial_cols),
        env={**os.environ, "PTYCASSETTE_REPORT": str(report)},
    )  # fmt: skip
    child.delaybeforesend = None
    seen = b""
    try:
        if inputs:  # what was recorded before any input
            first = len(before(path, inputs[0].seq))
            while len(seen) < first:
                seen += child.read_nonblocking(65536, timeout=90)
        for record in inputs:
            act(child, record, report)
        child.expect(pexpect.EOF)
        seen += child.before or b""
    finally:
        child.close(force=True)

    assert seen == output
    assert json.loads(report.read_text())["result"] == "passed"
    assert status is not None
    if status.signaled:
        assert child.signalstatus == signal.SIGKILL
    else:
        assert child.exitstatus == status.code


def before(path: Path, seq: int) -> bytes:
    """The output recorded before event ``seq``."""
    with open_cassette(path) as cassette:
        return b"".join(e.data for e in cassette.events() if e.kind == "output" and e.seq < seq)


def act(child: pexpect.spawn[Any], record: InputRecord, report: Path) -> None:
    """Do what the driver of the recording did."""
    if record.kind == "resize" and record.size is not None:
        child.setwinsize(record.size.rows, record.size.cols)
    elif record.kind == "signal":
        if record.signal == "kill":
            while not report.exists() or json.loads(report.read_text())["result"] == "running":
                child.expect(pexpect.TIMEOUT, timeout=0.02)
        child.kill(getattr(signal, f"SIG{str(record.signal).upper()}"))
    else:
        child.send(record.bytes or b"")
