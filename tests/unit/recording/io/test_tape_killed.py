"""A process of a tape recording is killed: what was served by then is kept.

``python -m benchmarks.tape_kills`` kills real ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tape_doubles import META, event, http

from ptycassette import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.errors import RunFailedError
from ptycassette.model.records import Begun
from ptycassette.recording.io.finalising import recover
from ptycassette.recording.io.journal_file import JournalFile, tape_journal_of
from ptycassette.recording.io.options import run_spec
from ptycassette.recording.io.recorder import Recorder
from ptycassette.recording.io.recording import recording_with
from ptycassette.recording.io.saver import Saver
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.items import AnswerData
from ptycassette.testing import ManualClock, ScriptedPty

PIECES = [event(piece=f"<{number}>", noise="n" * 50) for number in range(6)]
ITEMS = http(1, {"model": "m-1"}, *PIECES[:4]) + http(2, {"model": "m-2"}, *PIECES[4:], t_us=5000)


def kept(path: Path) -> bytes:
    """All answers of a cassette that verifies."""
    assert verify_cassette(str(path)).ok
    with open_cassette(path) as cassette:
        return b"".join(one.answer() for one in cassette.tape())


@pytest.mark.parametrize("items", range(0, len(ITEMS) + 1, 3))
def test_what_a_killed_recorder_leaves_becomes_a_cassette(tmp_path: Path, items: int) -> None:
    """Both journals end anywhere, the proxy's within its next item: all that was served is kept."""
    journal = JournalFile(META, directory=tmp_path)
    journal.on_event(Begun(0, 0))
    journal.on_output(1000, b"asked\r\n")
    journal.close()
    tape = tape_journal_of(journal.path)
    with TapeJournalFile(tape, origin_us=0) as file:
        for item in ITEMS[:items]:
            file.note(item)
        length = tape.stat().st_size
        file.note(ITEMS[0])
    os.truncate(tape, length + 5)
    served = [item.data for item in ITEMS[:items] if isinstance(item, AnswerData)]
    recovered = recover(journal.path, output=tmp_path / "c")

    assert recovered.outcome == "published"
    assert [piece for piece in served if piece not in kept(tmp_path / "c")] == []


class WrittenTape:
    """A ``RunningTape`` whose proxy noted everything, and ended with a problem or without."""

    environment: Mapping[str, str] = {}
    arguments: Sequence[str] = ()
    secrets: Sequence[str] = ()
    address: str = ""
    described: Mapping[str, Any] = {}
    reports: Sequence[str] = ()
    needed: bool = True

    def __init__(self, journal: Path, problem: str | None) -> None:
        self.problem = problem
        with TapeJournalFile(journal, origin_us=0) as file:
            for item in ITEMS:
                file.note(item)

    def close(self) -> None:
        """It is over already."""


def recorded(folder: Path, problem: str | None = None) -> None:
    """A recording with a killed saver; perhaps the proxy was killed, too."""
    clock = ManualClock()
    killed_saver = Mock(spec=Saver)
    killed_saver.finish.return_value = None
    plan = run_spec(
        pty=ScriptedPty(clock).say("hi").exits(0),
        clock=clock,
        sleeper=clock,
        state_dir=folder / "state",
        tape=lambda journal, _: WrittenTape(journal, problem),
    )
    with recording_with(Recorder(["x"], folder / "c", plan, saver=killed_saver)) as session:
        session.wait_exit()


def test_without_its_saver_the_recorder_keeps_the_tape(tmp_path: Path) -> None:
    """It saves by itself, both entries."""
    recorded(tmp_path)

    assert [piece for piece in PIECES if piece not in kept(tmp_path / "c")] == []


def test_the_diagnostic_of_a_killed_proxy_has_what_was_served(tmp_path: Path) -> None:
    """The run is a failed one."""
    with pytest.raises(RunFailedError, match="not recorded to its end: killed"):
        recorded(tmp_path, problem="killed")

    assert not (tmp_path / "c").exists()
    assert len((tmp_path / "c.diagnostic" / "tape.jsonl").read_bytes().splitlines()) == 2
