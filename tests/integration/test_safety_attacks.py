"""Attacks on stand-ins and shims that run as programs: no traceback, nobody waits for ever."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

UNPINNED = Path(__file__).resolve().parents[2] / "fixtures" / "v1" / "unpinned"
MINIMAL = UNPINNED.with_name("minimal")


def ran(*argv: object, **env: str) -> subprocess.CompletedProcess[str]:
    """A program with the recorded input, to its end."""
    return subprocess.run(
        [str(arg) for arg in argv], input="ls\n", text=True, capture_output=True, timeout=120,
        env={**os.environ, **env}, check=False,
    )  # fmt: skip


def standin(cassette: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A stand-in for it."""
    return ran(sys.executable, "-m", "ptycassette", "stand-in", *options, cassette, **env)


def shims(tmp_path: Path) -> Path:
    """A directory with a shim of a library of one cassette."""
    shutil.copytree(MINIMAL, tmp_path / "library" / "a.cassette")
    done = ran(
        sys.executable, "-m", "ptycassette", "shim", "--dir", tmp_path / "bin",
        "--library", tmp_path / "library", "sh",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tmp_path / "bin"


def ended_by(signal: str, place: Path) -> Path:
    """A cassette that says so."""
    shutil.copytree(UNPINNED, place)
    final = json.loads((place / "final.json").read_text())
    final["exit"] = {
        "Code": -1, "Signal": signal, "Exited": False, "Signaled": True, "Err": None,
    }  # fmt: skip
    (place / "final.json").write_text(json.dumps(final))
    return place


@pytest.mark.parametrize("signal", ["stop", "SIGSTOP", "Stopped (signal)", "tstp", "ttin"])
def test_a_recording_cannot_stop_its_stand_in(signal: str, tmp_path: Path) -> None:
    """No program ends by such a signal; a driver would wait for ever."""
    assert standin(ended_by(signal, tmp_path / "c.cassette")).returncode > 128


def test_a_number_of_a_signal_without_end_is_none(tmp_path: Path) -> None:
    """More digits than Python reads."""
    done = standin(ended_by("9" * 5000, tmp_path / "c.cassette"))

    assert "Traceback" not in done.stderr
    assert done.returncode == 125


@pytest.mark.parametrize("report", ["{0}/no/such.json", "{0}/file/", "{0}/" + "x" * 300])
def test_a_report_that_cannot_be_written_is_told(report: str, tmp_path: Path) -> None:
    """In one line, with the status of a failure: without it nobody would see a divergence."""
    (tmp_path / "file").write_text("")
    done = standin(UNPINNED, PTYCASSETTE_REPORT=report.format(tmp_path))

    assert done.returncode == 125
    assert "report" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["scrub", "report"])
def test_a_shim_that_fails_twice_says_the_first_thing(broken: str, tmp_path: Path) -> None:
    """What it failed by is not hidden by what cannot be told of it."""
    place = shims(tmp_path)
    (tmp_path / "wrong.toml").write_text("x")
    env = {
        "scrub": {"PTYCASSETTE_SCRUB_CONFIG": str(tmp_path / "wrong.toml")},
        "report": {"PTYCASSETTE_REPORT": str(tmp_path / "no" / "such.json")},
    }[broken]
    done = ran(place / "sh", "--token", "other", PTYCASSETTE_MODE="none", **env)

    assert done.returncode == 125
    assert "none" in done.stderr
    assert "Traceback" not in done.stderr
