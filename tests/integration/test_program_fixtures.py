"""The recorded programs: their scenarios hold, the reference's too, and they can be played."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from ptycassette.cli import main
from ptycassette.replaying.standin.io import boot

pytestmark = pytest.mark.integration
PLACE = Path(__file__).parents[2] / "fixtures" / "programs"
NAMES = ("dialog", "less", "nano", "top", "vim")


def test_every_program_passes_its_scenario() -> None:
    """As committed."""
    assert main(["check", str(PLACE)]) == 0
    assert {path.name for path in PLACE.glob("*.cassette")} == {f"{n}.cassette" for n in NAMES}


@pytest.mark.parametrize("name", ["less", "top", "vim"])
def test_the_scenarios_of_the_reference_hold_on_our_recordings(reference: Path, name: str) -> None:
    """Written by others, for recordings of others, of the same programs."""
    scenario = reference / "scenarios" / f"{name}.yaml"

    assert main(["check", str(scenario), "--cassette", str(PLACE / f"{name}.cassette")]) == 0


def pager(words: list[str], cwd: Path, report: Path) -> list[bytes]:
    """What a driver of ``less`` sees, step by step, by whatever it is started."""
    child = pexpect.spawn(
        words[0], words[1:], cwd=str(cwd), timeout=90, dimensions=(20, 72),
        env={**os.environ, "TERM": "xterm-256color", "LESS": "", "HOME": str(cwd),
             "PTYCASSETTE_REPORT": str(report)},
    )  # fmt: skip
    child.delaybeforesend = None
    seen = []
    for wanted, key in (
        (b"less-line-019", b" "), (b"less-line-037", b"/line-075\r"), (b"less-line-093", b"G"),
        (b"END", b"q"),
    ):  # fmt: skip
        child.expect(wanted)
        seen.append(wanted)
        time.sleep(0.05)
        child.send(key)
    child.expect(pexpect.EOF)
    child.close()
    seen.append(str((child.exitstatus, child.signalstatus)).encode())
    return seen


@pytest.mark.slow
def test_a_driver_cannot_tell_less_from_its_recording(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    """The same driver, side by side with the real program."""
    (tmp_path / "less.txt").write_text("".join(f"less-line-{n:03}\n" for n in range(1, 101)))
    stand_in = [sys.executable, "-I", "-S", str(boot.__file__), str(PLACE / "less.cassette")]
    report = tmp_path / "report.json"

    real = pager([program("less"), "less.txt"], tmp_path, report)
    recorded = pager(stand_in, tmp_path, report)

    assert recorded == real
    assert json.loads(report.read_text())["result"] == "passed"
