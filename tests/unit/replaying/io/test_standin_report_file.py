"""Reports of stand-ins: written whole, found again in order."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ptycassette.errors import RecordError, StorageError
from ptycassette.model.records import ExitStatus
from ptycassette.replaying.divergence import Divergence, DivergenceSide
from ptycassette.replaying.standin.comparison import StandinReport, Unplayed, report_lines
from ptycassette.replaying.standin.io.process import read_reports, write_report


def report(pid: int = 1, **fields: object) -> StandinReport:
    """A report of one stand-in."""
    return StandinReport(result="passed", cassette="a/hello.cassette", pid=pid, **fields)  # type: ignore[arg-type]


def test_a_report_is_one_file_and_its_text(tmp_path: Path) -> None:
    """The text beside it."""
    write_report(str(tmp_path / "r.json"), report())

    assert json.loads((tmp_path / "r.json").read_text())["result"] == "passed"
    assert (tmp_path / "r.txt").read_text() == "stand-in for a/hello.cassette: passed\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "r.txt"]


def test_a_directory_keeps_them_apart_and_in_order(tmp_path: Path) -> None:
    """By the time they were written."""
    for pid in (30, 4, 100):
        write_report(f"{tmp_path}/new/", report(pid))
        os.utime(tmp_path / "new" / f"hello.cassette-{pid}.json", ns=(0, 1000 - pid))

    assert [found["pid"] for found in read_reports(tmp_path / "new")] == [100, 30, 4]


def test_without_a_place_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in that nobody asks."""
    monkeypatch.chdir(tmp_path)
    write_report("", report())

    assert list(tmp_path.iterdir()) == []
    assert list(read_reports(tmp_path / "nothing.json")) == []


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """With the variable to change."""
    with pytest.raises(StorageError, match="PTYCASSETTE_REPORT"):
        write_report(str(tmp_path / "no" / "such.json"), report())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"report": "other"}'])
def test_what_is_no_report_is_an_error(tmp_path: Path, text: str) -> None:
    """It names the file."""
    (tmp_path / "x.json").write_text(text)

    with pytest.raises(RecordError, match=r"x\.json"):
        list(read_reports(tmp_path))


def test_people_read_all_of_it() -> None:
    """Everything that can be in a report, with nothing that acts on a terminal."""
    full = report(
        argv=("claude", "\x1b[2J"), error="went\x07wrong", notes=("a note",), killed_by="term",
        early_eof=True, unplayed=Unplayed(inputs=1, outputs=2, output_bytes=3, first_seq=4),
        divergences=(
            Divergence(kind="timing", message="m", seq=1, t_ms=2, got=DivergenceSide("x")),
        ),
        exit=ExitStatus(code=1, exited=True, signaled=False),
    )  # fmt: skip
    text = "\n".join(report_lines(full))

    for part in (
        "started as: claude '\\e[2J'", "went\\x07wrong", "timing at seq 1", "note: a note",
        "never played: 1 input and 2 outputs (3 bytes), from seq 4 on", "ended by signal term",
        "closed the terminal before everything was written",
    ):  # fmt: skip
        assert part in text


def test_an_error_of_several_lines_is_told_on_as_many() -> None:
    """With its hint on a line of its own, and nothing in it that acts on a terminal."""
    report = StandinReport(result="failed", cassette="x", error="none\x1b fits\n  hint: record it")

    assert list(report_lines(report))[1:] == ["  none\\e fits", "    hint: record it"]


def test_what_drifted_is_escaped_once() -> None:
    """A carriage return in a recording is shown as one, and cannot act."""
    report = StandinReport(result="drifted", cassette="x", notes=("now: a\\r", "b\r"))

    assert list(report_lines(report))[1:] == ["  note: now: a\\r", "  note: b\\r"]
