"""The recordings of agent CLIs, played by the stand-in to a driver that waits for the screen."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pexpect
import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.model.records import InputRecord
from ptycassette.replaying.standin.io import boot

pytestmark = pytest.mark.integration
PLACE = Path(__file__).parents[2] / "fixtures" / "agents"
SESSIONS = sorted(path.parent for path in PLACE.glob("*/manifest.json"))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
@pytest.mark.parametrize("strategy", ["prompt", "exact"])
def test_an_agent_cli_is_played_byte_for_byte(path: Path, strategy: str, tmp_path: Path) -> None:
    """All of its output, at its recorded places, and its end; its queries get no answer."""
    report = tmp_path / "report.json"
    with open_cassette(path) as cassette:
        events = [event for event in cassette.events() if event.kind in {"input", "output"}]
        terminal, status = cassette.manifest.terminal, cassette.final.exit
    words = ["-I", "-S", str(boot.__file__), "--match", strategy, str(path)]
    child = pexpect.spawn(
        sys.executable, words, timeout=90,
        dimensions=(terminal.initial_rows, terminal.initial_cols),
        env={**os.environ, "PTYCASSETTE_REPORT": str(report)},
    )  # fmt: skip
    child.delaybeforesend = None
    wanted, seen = b"", b""
    try:
        for event in events:
            record = event.record
            if event.kind == "output":
                wanted += event.data
            elif isinstance(record, InputRecord) and record.source != "terminal":
                while len(seen) < len(wanted):
                    seen += child.read_nonblocking(65536, timeout=90)
                if record.size is not None:
                    child.setwinsize(record.size.rows, record.size.cols)
                elif record.kind == "signal":
                    child.kill(getattr(signal, f"SIG{str(record.signal).upper()}"))
                else:
                    child.send(record.bytes or b"")
        child.expect(pexpect.EOF)
        seen += child.before or b""
    finally:
        child.close(force=True)

    assert seen == wanted
    assert json.loads(report.read_text())["result"] == "passed"
    assert status is not None
    assert status.signaled or child.exitstatus == status.code
