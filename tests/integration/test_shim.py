"""Shims on PATH: the program's name, and behind it a recording, the recorder, or the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pexpect
import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.errors import ManifestError, NotFoundError, SpawnError
from ptycassette.replaying.io.shims import find_real, read_shim_config
from tests.unreadable import unreadable

pytestmark = pytest.mark.integration
LONG_S = 120  # what hangs takes longer; finalising on a busy machine took more than thirty seconds

AGENT = """#!/bin/sh
printf 'agent %s> ' "$1"
read line
printf 'you said %s\\n' "$line"
exit 7
"""


class Desk:
    """A real program, a shim for it, and a library."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.bin = place / "bin"
        self.library = place / "cassettes"
        self.report_path = place / "report.json"
        real = place / "real"
        real.mkdir()
        self.write_agent(AGENT)
        assert main(["shim", "--dir", str(self.bin), "--library", str(self.library), "agent"]) == 0

    def write_agent(self, script: str) -> None:
        """Install the real program."""
        path = self.place / "real" / "agent"
        path.write_text(script)
        path.chmod(0o755)

    def environment(self, mode: str) -> dict[str, str]:
        """Shims first, the real program behind them."""
        path = os.pathsep.join([str(self.bin), str(self.place / "real"), os.environ["PATH"]])
        kept = {name: value for name, value in os.environ.items() if name != "CI"}
        return {
            **kept, "PATH": path, "PTYCASSETTE_MODE": mode,
            "PTYCASSETTE_REPORT": str(self.report_path),
        }  # fmt: skip

    def talk(
        self, mode: str, *, word: str = "one", line: str = "hello", pause_s: float = 0
    ) -> tuple[str, int | None]:
        """What an orchestrator does, in a terminal."""
        child = pexpect.spawn(
            "agent", [word], env=self.environment(mode), timeout=LONG_S, encoding="utf-8",
            dimensions=(24, 80),
        )  # fmt: skip
        try:
            child.expect("> ")
            if pause_s:
                child.send(line)
                time.sleep(pause_s)
                line = ""
            child.send(f"{line}\r")
            child.expect(pexpect.EOF)
            child.wait()  # the terminal is let go before the report is written
            output = child.before or ""
        finally:
            child.close(force=True)
        return output.replace("\r\n", "\n"), child.exitstatus

    def run(self, mode: str, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """The program over pipes."""
        return subprocess.run(
            ["agent", *args],  # noqa: S607 - found on PATH, as drivers do
            env=self.environment(mode),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG_S,
            input=stdin,
        )

    def report(self) -> dict[str, Any]:
        """The last report."""
        found: dict[str, Any] = json.loads(self.report_path.read_text())
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk."""
    return Desk(tmp_path)


def test_the_same_session_recorded_replayed_and_live(desk: Desk) -> None:
    """The driver sees no difference; in replay the real program is not needed."""
    live = desk.talk("live")
    recorded = desk.talk("auto")
    (desk.place / "real" / "agent").unlink()
    replayed = desk.talk("auto")

    assert live == recorded == replayed == ("hello\nyou said hello\n", 7)
    assert desk.report()["result"] == "passed"
    assert desk.report()["argv"] == ["agent", "one"]


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("pause_s", [0.05, 2.5, 30])
def test_a_slow_driver_passes(desk: Desk, pause_s: float) -> None:
    """The pause is what is tested, in the recording and in the replay."""
    recorded = desk.talk("auto", pause_s=pause_s)
    replayed = desk.talk("replay", pause_s=pause_s)

    assert recorded == replayed == ("hello\nyou said hello\n", 7)
    assert desk.report()["result"] == "passed"


@pytest.mark.parametrize("before", ["work", "app", "own"])
def test_the_work_folder_may_be_another_one(desk: Desk, before: str) -> None:
    """A driver names it in an argument, and it may have a name that everybody uses."""
    places = [desk.place / "home" / name for name in (before, "tmp")]
    said = []
    for mode, place in zip(("record", "replay"), places, strict=True):
        place.mkdir(parents=True)
        environment = {**desk.environment(mode), "HOME": str(desk.place / "home")}
        ran = subprocess.run(
            ["agent", "--cd", str(place)],  # noqa: S607 - found on PATH, as drivers do
            env=environment,
            cwd=place,
            input=b"hello\n",
            capture_output=True,
            check=False,
            timeout=LONG_S,
        )
        said.append(ran.stdout)

    assert said[0] == said[1] == b"agent --cd> you said hello\n"


def test_sessions_are_told_apart_by_their_arguments(desk: Desk) -> None:
    """Each was recorded on its own."""
    desk.talk("auto", word="one")
    desk.talk("auto", word="two", line="other")

    assert desk.talk("replay", word="two", line="other") == ("other\nyou said other\n", 7)
    assert desk.talk("replay", word="one") == ("hello\nyou said hello\n", 7)


@pytest.mark.slow
def test_other_input_is_a_divergence(desk: Desk) -> None:
    """And the exit status says so."""
    desk.talk("auto")

    assert desk.talk("replay", line="bye")[1] == 125
    assert desk.report()["divergences"][0]["got"]["text"] == "bye<enter>"


@pytest.mark.slow
def test_record_replaces_what_was_recorded(desk: Desk) -> None:
    """In its place."""
    desk.talk("auto")
    desk.write_agent(AGENT.replace("you said", "I heard"))
    desk.talk("record")

    assert desk.talk("replay") == ("hello\nI heard hello\n", 7)
    assert len(list(desk.library.iterdir())) == 1


def test_rerecord_reports_drift_and_keeps_the_cassette(desk: Desk) -> None:
    """The driver talks to the real program meanwhile."""
    desk.talk("auto")
    desk.write_agent(AGENT.replace("you said", "I heard").replace("exit 7", "exit 8"))

    assert desk.talk("rerecord") == ("hello\nI heard hello\n", 8)
    report = desk.report()
    assert report["result"] == "drifted"
    assert report["divergences"][0]["kind"] == "exit-changed"
    assert any("I heard" in note for note in report["notes"])
    assert desk.talk("replay") == ("hello\nyou said hello\n", 7)


def test_rewrite_replaces_and_reports_drift(desk: Desk) -> None:
    """What was played until now is gone, and the report says what differs."""
    desk.talk("auto")
    desk.write_agent(AGENT.replace("you said", "I heard"))
    desk.talk("rewrite")

    report = desk.report()
    assert report["result"] == "recorded"
    assert any("I heard" in note for note in report["notes"])
    assert desk.talk("replay") == ("hello\nI heard hello\n", 7)


@pytest.mark.slow
def test_what_is_missing_in_replay_is_said_on_stderr(desk: Desk) -> None:
    """With the candidates, and in the report."""
    desk.talk("auto")
    ran = desk.run("replay", "three")

    assert ran.returncode == 125
    assert "no cassette was recorded as agent three" in ran.stderr
    assert "agent-one.cassette: recorded as" in ran.stderr
    assert desk.report()["result"] == "failed"


def test_a_typo_in_the_mode_runs_nothing(desk: Desk) -> None:
    """Least of all the real program."""
    ran = desk.run("recrod", "one")

    assert ran.returncode == 125
    assert "recrod" in ran.stderr
    assert ran.stdout == ""


def test_a_real_program_that_is_missing_is_exit_status_127(desk: Desk) -> None:
    """As a shell says it."""
    (desk.place / "real" / "agent").unlink()
    ran = desk.run("live", "one")

    assert ran.returncode == 127
    assert "not on PATH behind the shim" in ran.stderr


@pytest.mark.slow
def test_recording_over_pipes_gives_what_the_program_wrote(desk: Desk) -> None:
    """An orchestrator that reads a pipe."""
    ran = desk.run("auto", "one", stdin="hello\n")
    again = desk.run("replay", "one", stdin="hello\n")

    assert ran.returncode == 7
    assert again.returncode == 7
    assert "you said hello" in again.stdout
    assert desk.report()["result"] == "passed"


@pytest.mark.slow
def test_the_recording_names_the_program_and_not_the_shim(desk: Desk) -> None:
    """So that it is found again on another machine."""
    desk.talk("auto")
    with open_cassette(desk.library / "agent-one.cassette") as cassette:
        argv = cassette.manifest.command.argv or ()

    assert argv[1:] == ("one",)
    assert argv[0].endswith("real/agent")
    assert cassette.manifest.harness.name == "agent"


@pytest.mark.slow
def test_making_the_shims_again_begins_the_sessions_anew(desk: Desk) -> None:
    """Else the second run of a test suite would ask for a session too many."""
    desk.talk("auto")
    (desk.library / "library.yaml").write_text("rules: [{cassettes: [agent-one]}]\n")
    first, second = desk.talk("replay"), desk.run("replay", "one")
    assert main(["shim", "--dir", str(desk.bin), "--library", str(desk.library), "agent"]) == 0

    assert desk.talk("replay") == first
    assert "this is start 2" in second.stderr


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", ""])
def test_a_shim_has_the_plain_name_of_a_program(desk: Desk, name: str) -> None:
    """Nothing is written elsewhere."""
    words = ["shim", "--dir", str(desk.bin), "--library", str(desk.library), name]

    assert main(words) == 2


def test_a_file_that_is_no_shim_is_not_replaced(desk: Desk) -> None:
    """A shim is made again at will."""
    words = ["shim", "--dir", str(desk.bin), "--library", str(desk.library)]
    (desk.bin / "mine").write_text("#!/bin/sh\n")

    assert main([*words, "mine"]) == 2
    assert main([*words, "agent"]) == 0


@pytest.mark.parametrize("words", [["--mode", "recrod"], ["--option", "--metch"]])
def test_a_typo_is_found_when_the_shim_is_made(desk: Desk, words: list[str]) -> None:
    """Not in the middle of a test."""
    head = ["shim", "--dir", str(desk.bin), "--library", str(desk.library)]

    assert main([*head, *words, "agent"]) == 2


def test_without_its_configuration_a_shim_says_so(tmp_path: Path) -> None:
    """As does one whose configuration was written by somebody else."""
    with pytest.raises(NotFoundError, match="no shims were made"):
        read_shim_config(tmp_path)
    (tmp_path / ".ptycassette-shim.json").write_text("{")
    with pytest.raises(ManifestError):
        read_shim_config(tmp_path)


def test_a_folder_on_the_path_that_is_closed_is_passed_over(desk: Desk) -> None:
    """As a shell does."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)  # pytest's own are closed to others
        folder.chmod(0o755)
        (folder / "real").mkdir()
        (folder / "closed").mkdir()
        shutil.copy(desk.place / "real" / "agent", folder / "real")
        with unreadable(folder / "closed"):
            found = find_real("agent", f"{folder}/closed:{folder}/real")

        assert found == f"{folder}/real/agent"


def test_the_real_program_is_looked_for_behind_every_shim(desk: Desk) -> None:
    """Of several directories."""
    path = desk.environment("live")["PATH"]

    assert find_real("agent", path) == str(desk.place / "real" / "agent")
    with pytest.raises(SpawnError):
        find_real("agent", str(desk.bin))


WAITING = """#!/bin/sh
trap 'printf "term\\n"; exit 9' TERM
printf 'ready> '
while :; do sleep 0.05; done
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["record", "rerecord"])
def test_a_signal_of_the_driver_reaches_the_program_that_is_recorded(desk: Desk, mode: str) -> None:
    """It is sent to the shim, which is all that the driver knows."""
    desk.write_agent(WAITING)
    for each in dict.fromkeys(["record", mode]):
        child = pexpect.spawn(
            "agent", ["one"], env=desk.environment(each), timeout=LONG_S, encoding="utf-8",
            dimensions=(24, 80),
        )  # fmt: skip
        child.expect("ready> ")
        child.kill(15)
        child.expect(pexpect.EOF)
        output = child.before or ""
        child.close()
        assert (output.strip(), child.exitstatus) == ("term", 9)

    assert desk.report()["result"] == {"record": "recorded", "rerecord": "passed"}[mode]


@pytest.mark.slow
def test_a_recording_is_reported(desk: Desk) -> None:
    """By the name that it has in the library."""
    desk.talk("auto")

    assert desk.report()["result"] == "recorded"
    assert desk.report()["cassette"] == str(desk.library / "agent-one.cassette")


@pytest.mark.slow
def test_a_recording_of_nothing_is_refused(desk: Desk) -> None:
    """A driver that hung up before anything was shown keeps what was recorded before."""
    desk.talk("auto")
    desk.write_agent("#!/bin/sh\nexec sleep 60\n")
    child = pexpect.spawn(
        "agent", ["one"], env=desk.environment("record"), timeout=LONG_S, dimensions=(24, 80)
    )
    while not list(desk.library.glob(".ptycassette-pending-*")):
        time.sleep(0.001)
    child.ptyproc.fileobj.close()  # as a driver that goes away; it kills nobody
    child.closed = True
    os.waitpid(child.pid, 0)

    assert desk.report()["result"] == "failed"
    assert [path.name for path in desk.library.glob("*.cassette")] == ["agent-one.cassette"]
    assert list(desk.library.glob(".ptycassette-pending-*")) == []
    assert desk.talk("replay") == ("hello\nyou said hello\n", 7)


@pytest.mark.slow
def test_a_program_that_fails_without_a_word_keeps_the_recording_that_is_there(desk: Desk) -> None:
    """The driver sees the program alone; the report says why nothing was replaced."""
    desk.talk("auto")
    desk.write_agent("#!/bin/sh\nexit 3\n")
    ran = desk.run("record", "one")

    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", "")
    assert desk.report()["result"] == "failed"
    assert "the cassette that is there was kept" in desk.report()["error"]
    assert desk.talk("replay") == ("hello\nyou said hello\n", 7)


@pytest.mark.slow
def test_a_run_that_failed_leaves_its_diagnostic_beside_the_library(desk: Desk) -> None:
    """And no cassette."""
    (desk.place / "real" / "agent").write_text("#!/no/such/interpreter\n")
    ran = desk.run("record", "one")

    assert ran.returncode in {126, 127}
    assert [path.name for path in desk.library.iterdir()] == ["agent-one.cassette.diagnostic"]
    assert "agent-one.cassette.diagnostic" in desk.report()["error"]
