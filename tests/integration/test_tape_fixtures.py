"""The committed recordings with tapes run again: the small client everywhere, CLIs where they are.

The programs of real CLIs are looked for in ``PTYCASSETTE_AGENTS``, which is a list of folders as
``PATH`` is; without it they are skipped. Other versions of them are looked for in
``PTYCASSETTE_OTHER_AGENTS``. ``PTYCASSETTE_CLAUDE=1`` has Claude Code, of which nothing
may be committed, recorded first, into a temporary folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.harness.io.files import find_binary, load_profile
from ptycassette.agents.harness.probe import Drive
from ptycassette.agents.rerun.io.driving import rerun
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.report import RerunReport
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.recording.io.options import ask_version

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent.parent
TAPES = ROOT / "fixtures" / "tapes"
CLIENT = ROOT / "tests" / "programs" / "tape_client.py"
NAMES = sorted(path.parent.name for path in TAPES.glob("*/manifest.json"))
CLIS = [name for name in NAMES if name != "client-tape"]
HOMES = Path("/var/tmp/ptycassette")


def client_again(note: str, *, patience_s: float = 20.0) -> RerunReport:
    """The small client, in a new work folder with this note."""
    with open_cassette(TAPES / "client-tape") as cassette:
        options = RerunOptions(
            trusted=True,
            files={"note.txt": note, CLIENT.name: CLIENT.read_text()},
            patience_s=patience_s,
        )
        return rerun(cassette, options)


def cli_again(
    cassette_path: Path,
    drive: Drive,
    change: tuple[str, str] | None = None,
    *,
    variable: str = "PTYCASSETTE_AGENTS",
) -> RerunReport:
    """A real CLI as it was recorded, with a change in its files, or a skip."""
    found = find_binary(load_profile(drive.harness, env={}), path=os.environ.get(variable, ""))
    if found is None:
        pytest.skip(f"{variable} names no folder with {drive.harness}")
    environment = {
        "PATH": f"{Path(found).parent}:{os.environ['PATH']}",
        "TZ": "UTC",
        "LANG": "C.UTF-8",
    }
    with open_cassette(cassette_path) as cassette, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", environment["PATH"])
        options = RerunOptions(
            trusted=True,
            mode=drive.mode,
            model=drive.model,
            files={
                file: text.replace(*change) if change else text
                for file, text in drive.files.items()
            },
            root=HOMES,
            environment=environment,
            # No screen with another version on it comes: each is waited for.
            patience_s=5 if variable == "PTYCASSETTE_OTHER_AGENTS" else 20 if change else 60,
        )
        return rerun(cassette, options)


def cli_as_recorded(name: str) -> str:
    """The path of a recorded CLI in the version of its recording, or a skip."""
    profile = load_profile(drive_of(name).harness, env={})
    found = find_binary(profile, path=os.environ.get("PTYCASSETTE_AGENTS", ""))
    if found is None:
        pytest.skip(f"PTYCASSETTE_AGENTS names no folder with {profile.name}")
    with open_cassette(TAPES / name) as cassette:
        recorded = cassette.manifest.harness.binary_version
    folder = f"{Path(found).parent}:{os.environ['PATH']}"
    now = ask_version(Path(found), timeout_s=60, environment={"PATH": folder})
    if now != recorded:
        pytest.skip(f"recorded with {recorded}, here is {now}")
    return found


def drive_of(name: str) -> Drive:
    """The drive that a CLI was recorded with."""
    return Drive.parse((TAPES / "drives" / f"{name}.toml").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_it_is_valid_and_nothing_of_the_machine_is_in_it(name: str) -> None:
    """Bodies of the tape, too."""
    with open_cassette(TAPES / name) as cassette:
        cassette.verify()
        bodies = [one.question() + one.answer() for one in cassette.tape()]

    files = [file.read_bytes() for file in (TAPES / name).iterdir()]
    assert not any(b"/root/" in data or b"run-home" in data for data in (*bodies, *files))


@pytest.mark.slow
def test_the_client_runs_again_as_it_was_recorded() -> None:
    """From the committed tape, on any machine."""
    report = client_again("buy walnuts\n")

    assert report.passed, report
    assert (report.matched, report.entries) == (2, 2)


def test_a_byte_of_a_committed_tool_result_is_named() -> None:
    """With its place in the request."""
    report = client_again("buy walnutz\n", patience_s=1.0)

    assert not report.passed
    assert any("messages[3].content" in str(line) for line in report.misses[0].differences)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIS)
def test_a_real_cli_runs_again_as_it_was_recorded(name: str) -> None:
    """Where it is installed in the recorded version."""
    report = cli_again(TAPES / name, drive_of(name))

    if report.version is not None:
        pytest.skip(f"recorded with {report.version.recorded}, here is {report.version.now}")
    assert report.passed, report


@pytest.mark.slow
@pytest.mark.parametrize("change", [("plain words", "plump words"), ("walnuts", "walnutz")])
@pytest.mark.parametrize("name", CLIS)
def test_a_word_of_a_prompt_and_a_byte_of_a_result_are_named(
    name: str, change: tuple[str, str]
) -> None:
    """With their place, by a real CLI that reads them from its work folder."""
    report = cli_again(TAPES / name, drive_of(name), change)

    named = [line for miss in report.misses for line in miss.differences]
    assert any(change[0] in line and change[1] in line for line in named), report.misses


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIS)
def test_another_version_of_a_real_cli_is_named(name: str) -> None:
    """Whatever else differs."""
    report = cli_again(TAPES / name, drive_of(name), variable="PTYCASSETTE_OTHER_AGENTS")

    assert report.version is not None
    assert report.version.recorded != report.version.now


@pytest.mark.slow
@pytest.mark.skipif(
    os.environ.get("PTYCASSETTE_CLAUDE") != "1", reason="PTYCASSETTE_CLAUDE=1 records Claude Code"
)
def test_claude_code_runs_again_as_it_was_recorded(tmp_path: Path) -> None:
    """Recorded here: its licence does not allow showing its screens to others."""
    subprocess.run(
        [
            *(sys.executable, str(ROOT / "fixtures" / "make_agents.py"), "claude-tape"),
            *("--also", "claude", "--out", str(tmp_path)),
        ],
        check=True,
        timeout=600,
    )
    report = cli_again(tmp_path / "claude-tape", drive_of("claude-tape"))

    assert report.passed, report
