"""The committed recordings of real agent CLIs: valid, scrubbed, and able to pose as the CLIs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptycassette.agents.harness.io.files import load_profile
from ptycassette.agents.harness.io.probe import walk
from ptycassette.agents.harness.probe import Drive
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.model.screen import Size
from ptycassette.recording.session.session import Session
from tests.commands import COMMAND, ptycassette

pytestmark = pytest.mark.integration

AGENTS = Path(__file__).resolve().parent.parent.parent / "fixtures" / "agents"
CASSETTES = sorted(path.parent for path in AGENTS.glob("*/manifest.json"))
NAMES = [path.name for path in CASSETTES]


def drive_of(cassette: Path) -> Drive:
    """The drive that a cassette was recorded with."""
    path = AGENTS / "drives" / f"{cassette.name}.toml"
    return Drive.parse(path.read_text(), where=str(path))


@pytest.mark.slow
def test_eight_clis_are_there_in_both_ways() -> None:
    """A terminal interface and a one-shot run of each."""
    both = {drive_of(path).harness for path in CASSETTES if path.name.endswith("-tui")}

    assert both == {"aider", "codex", "gemini", "kimi", "llm", "opencode", "pi", "qwen"}
    assert {f"{name}-oneshot" for name in both} <= set(NAMES)


@pytest.mark.slow
def test_their_scenarios_hold() -> None:
    """One beside each, pinned to it."""
    done = ptycassette("check", str(AGENTS), status=0)

    assert done.stdout.count("passed") == len(CASSETTES)


@pytest.mark.parametrize("path", CASSETTES, ids=NAMES)
def test_it_is_valid_and_scrubbed(path: Path) -> None:
    """Every digest holds; the key that it was recorded with is nowhere in it."""
    key = "sk-" + "0" * 40
    with open_cassette(path) as cassette:
        cassette.verify()
        status = cassette.scrub_report.status

    assert status in {"clean", "redacted"}
    assert all(key.encode() not in file.read_bytes() for file in path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("options", [["verify-scrub"], ["verify", "--rederive"]])
def test_the_commands_find_nothing_in_them(options: list[str], tmp_path: Path) -> None:
    """No secret is left, and every frame can be made again."""
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = ptycassette(*options, *map(str, CASSETTES), env=environment, timeout=240)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", CASSETTES, ids=NAMES)
def test_nothing_of_the_machine_is_in_it(path: Path) -> None:
    """No home, no user, no temporary folder of a run."""
    for file in path.iterdir():
        text = file.read_bytes()
        assert b"run-home" not in text, file.name
        assert b"/root" not in text.replace(b"/root>", b""), file.name


@pytest.mark.parametrize("path", CASSETTES, ids=NAMES)
def test_only_what_may_be_shown_is_committed(path: Path) -> None:
    """The licence of the CLI allows showing its screens."""
    assert load_profile(drive_of(path).harness, env={}).shareable


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", CASSETTES, ids=NAMES)
def test_the_stand_in_follows_the_drive_of_the_real_one(path: Path, tmp_path: Path) -> None:
    """The steps that drove the real CLI drive its recording, to the same end."""
    drive = drive_of(path)
    profile = load_profile(drive.harness, env={})
    report = tmp_path / "report.json"
    size = Size(drive.rows or profile.terminal.rows, drive.cols or profile.terminal.cols)
    with Session(
        [COMMAND, "stand-in", str(path)],
        size=size,
        env={"PTYCASSETTE_REPORT": str(report)},
        clean_env=True,
    ) as session:
        walk(session, drive.steps, profile)
        status = session.wait_exit(timeout_s=60)
    told = json.loads(report.read_text())

    assert told["result"] == "passed", told
    assert status.code in drive.exit_codes
