"""``record`` and ``arecord`` with real programs."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import psutil
import pytest

from ptycassette import arecord, open_cassette, record
from ptycassette.cli import main
from ptycassette.errors import PreflightError, RunFailedError
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import left_journals
from ptycassette.recording.io.options import RunSpec, VersionQuestion
from ptycassette.recording.io.recorder import Recorder
from ptycassette.system.files.state_dirs import journal_dir
from tests.savers import wait_until_journaled

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sh -c 'echo not logged in; exit 3'", "not logged in"),
        ("nosuch", "cannot be run"),
        ("'", "No closing quotation"),
        ("", "empty command"),
    ],
)
def test_a_requirement_that_fails_stops_the_recording(
    tmp_path: Path, command: str, said: str
) -> None:
    """With what it printed; nothing was started."""
    with (
        pytest.raises(PreflightError, match=said),
        Recorder(["true"], tmp_path / "c", RunSpec(require=[command])),
    ):
        pass

    assert list(left_journals(journal_dir())) == []


def test_a_session_is_recorded_from_an_event_loop(tmp_path: Path) -> None:
    """``arecord`` does what ``record`` does."""

    async def run() -> None:
        async with arecord(["sh", "-c", "echo hi; read x"], tmp_path / "c") as session:
            await session.wait_for_text("hi")
            await session.send_key("enter")
            await session.wait_exit()

    asyncio.run(run())

    with open_cassette(tmp_path / "c") as cassette:
        assert b"hi" in b"".join(cassette.raw())


def test_an_async_block_that_raises_leaves_a_diagnostic(tmp_path: Path) -> None:
    """Also when the loop is cancelled."""

    async def run() -> None:
        async with arecord(["sh", "-c", "echo hi; sleep 60"], tmp_path / "c") as session:
            await session.wait_for_text("hi")
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(run())

    assert (tmp_path / "c.diagnostic" / "diagnostic.json").exists()


@pytest.mark.slow
def test_a_shell_is_driven_and_recorded(tmp_path: Path) -> None:
    """Keys, a resize and a signal are on the record in their order."""
    with record(["bash", "--norc"], tmp_path / "c", size=Size(10, 40)) as session:
        session.wait_for_regex(r"bash.*[$#]")
        session.resize(Size(12, 50))
        session.type("stty size\n")
        session.wait_for_text("12 50")
        session.type("sh -c 'echo in front=$((6 + 1)); exec sleep 600'\n")
        session.wait_for_text("front=7")
        session.signal("int")
        session.type("exit 5\n")
        status = session.wait_exit()

    with open_cassette(tmp_path / "c") as cassette:
        kinds = [entry.kind for entry in cassette.inputs()]
    assert kinds == ["resize", "input", "input", "signal", "input"]
    assert status.code == 5


def test_the_manifest_says_how_the_terminal_was_set(tmp_path: Path) -> None:
    """As the program itself finds it; what it changes later is not the start."""
    script = "stty -a; stty -echo -icanon -icrnl"
    with record(["sh", "-c", script], tmp_path / "c", size=Size(24, 132)) as session:
        session.wait_exit()

    with open_cassette(tmp_path / "c") as cassette:
        modes = dict(cassette.manifest.terminal.pty_mode or {})
        words = b"".join(cassette.raw()).decode().replace(";", " ").split()
    assert modes.pop("kind") == "pty"
    assert set(modes) == {"icrnl", "ixon", "iutf8", "opost", "onlcr", "isig", "icanon", "echo"}
    assert modes == {name: name in words for name in modes}


def test_a_program_that_still_runs_is_ended_with_the_block(tmp_path: Path) -> None:
    """The cassette says that it was ended by a signal, and nobody is left."""
    with record(["sh", "-c", "echo up; sleep 60"], tmp_path / "c") as session:
        session.wait_for_text("up")
        pid = session.pid

    with open_cassette(tmp_path / "c") as cassette:
        status = cassette.final.exit
    assert status is not None
    assert status.signaled
    assert not psutil.pid_exists(pid)


@pytest.mark.slow
def test_a_timeout_is_a_failed_run(tmp_path: Path) -> None:
    """What was shown until then is in the diagnostic."""
    with (
        pytest.raises(RunFailedError, match="timeout"),
        record(["sh", "-c", "echo up; sleep 60"], tmp_path / "c", timeout_s=5) as session,
    ):
        session.wait_exit()

    assert b"up" in (tmp_path / "c.diagnostic" / "output.raw").read_bytes()


def test_a_hook_of_the_program_is_heard_while_it_runs(tmp_path: Path) -> None:
    """A line in the side channel becomes an event at the moment of its arrival."""
    hook = 'echo \'{"n": 1}\' >> "$PTYCASSETTE_EVENTS"'
    with record(["sh", "-c", f"{hook}; read x; echo done"], tmp_path / "c") as session:
        wait_until_journaled(lambda events: [e for e in events if e.kind == "service-event"])
        session.type("\n")
        session.wait_exit()

    with open_cassette(tmp_path / "c") as cassette:
        (event,) = cassette.service_events()
        (typed,) = cassette.inputs()
    assert event.payload == {"n": 1}
    assert event.seq < typed.seq


def test_the_environment_keeps_secrets_out_of_the_cassette(tmp_path: Path) -> None:
    """A value that was given to the program is scrubbed where the program shows it."""
    value = "Zq8vT1" + "mKp4Lx"[::-1] + "9Rw2"
    env = {"SERVICE_TOKEN": value}
    with record(["sh", "-c", "echo token $SERVICE_TOKEN"], tmp_path / "c", env=env) as session:
        session.wait_exit()

    for path in (tmp_path / "c").iterdir():
        assert value.encode() not in path.read_bytes()


ASKED = """#!/bin/sh
if [ "$1" = --version ]; then
  echo asked >> asked
  {answer}
  exit
fi
touch started
echo up
until [ -e answered ]; do sleep 0.02; done
"""


def asked_program(folder: Path, answer: str) -> str:
    """An agent CLI without a package; it notes that it was asked, and then ends its session."""
    program = folder / "claude"
    program.write_text(ASKED.format(answer=answer))
    program.chmod(0o755)
    return str(program)


def test_the_version_of_an_agent_cli_is_asked_for_beside_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--version`` of a known name, in a clean environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "leaked")
    program = asked_program(tmp_path, 'echo "2.1 (x)$SECRET"; touch answered')
    with record([program], tmp_path / "c") as session:
        session.wait_exit()

    assert session.manifest is not None
    assert session.manifest.harness.binary_version == "2.1 (x)"
    assert (tmp_path / "asked").read_text() == "asked\n"


@pytest.mark.parametrize(
    "answer",
    [
        "touch answered; exec sleep 600",
        "trap '' TERM HUP; touch answered; sleep 600",
        "touch answered; sleep 600 & wait",
        "printf 2.; touch answered; exec sleep 600",
    ],
)
def test_neither_start_nor_end_wait_for_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """What the program does instead of answering ends with the session."""
    monkeypatch.chdir(tmp_path)
    with record([asked_program(tmp_path, answer)], tmp_path / "c") as session:
        session.wait_exit()
    below = psutil.Process().children(recursive=True)

    assert session.manifest is not None
    assert (tmp_path / "asked").read_text() == "asked\n"
    assert session.manifest.harness.binary_version is None
    missing = (session.manifest.optional or {})["binary_version_missing"]
    assert "--version gave no line in the" in missing
    assert [p for p in below if cmdline_of(p) == ["sleep", "600"]] == []


def test_an_answer_without_a_version_is_told_from_none() -> None:
    """The program ended and printed nothing."""
    question = VersionQuestion(["sh", "-c", "true"])

    assert question.close(60) == ""
    assert question.missing == "-c true printed no version"
    assert question.close() == ""


def test_a_program_that_cannot_be_asked_has_no_version(tmp_path: Path) -> None:
    """The recording of its session does not fail for it."""
    assert VersionQuestion([str(tmp_path / "nosuch")]).close() == ""


@pytest.mark.parametrize("more", [[], ["--no-probe-version"]])
def test_who_is_not_asked_misses_no_version(tmp_path: Path, more: list[str]) -> None:
    """Programs that are no agent CLIs would run a second time."""
    assert main(["rec", "--headless", "-q", *more, str(tmp_path / "c"), "--", "true"]) == 0
    with open_cassette(tmp_path / "c") as cassette:
        assert "binary_version_missing" not in (cassette.manifest.optional or {})


def test_a_program_that_hangs_on_version_does_not_keep_the_recorder(tmp_path: Path) -> None:
    """It is killed with all that it started."""
    from ptycassette.recording.io.options import ask_version  # noqa: PLC0415

    program = tmp_path / "hang"
    program.write_text("#!/bin/sh\nsleep 61.5 & sleep 61.5\n")
    program.chmod(0o755)

    assert ask_version(program, timeout_s=0.3) is None
    # Zombies have no command line; what was killed takes a moment to become one.
    left = [p for p in psutil.process_iter() if cmdline_of(p) == ["sleep", "61.5"]]
    until = time.monotonic() + 30
    while any(cmdline_of(p) for p in left) and time.monotonic() < until:
        time.sleep(0.01)
    assert [p for p in left if cmdline_of(p)] == []


def cmdline_of(process: psutil.Process) -> list[str]:
    """The words of its command; none of a process that is gone."""
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def test_killing_the_recorded_program_is_told_apart_from_an_exit(tmp_path: Path) -> None:
    """The final record names the signal."""
    with record(["sh", "-c", "echo up; kill -9 $$"], tmp_path / "c") as session:
        status = session.wait_exit()

    assert (status.signaled, status.signal) == (True, "killed")
    assert signal.SIGKILL == 9
