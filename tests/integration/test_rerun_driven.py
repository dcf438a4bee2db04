"""The real program, answered from its tape, while a test or another driver types."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("aiohttp")

from ptycassette import Session, open_cassette, rerun_cassette, use
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.errors import (
    DivergenceError,
    MissingFileError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from ptycassette.viewing import RerunReport
from tests.commands import COMMAND, ptycassette

pytestmark = pytest.mark.integration

CLIENT = Path(__file__).parent.parent / "programs" / "tape_client.py"
AGENT = ("agent",)
SCRIPT = CLIENT.with_suffix(".toml").read_text()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the agent, which is on PATH."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "agent").write_text(f'#!/bin/sh\nexec {sys.executable} -I {CLIENT} "$@"\n')
    (folder / "agent").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield folder


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a note."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.txt").write_text("buy milk\n")
    return tmp_path


def drive(session: Session, *, prompt: str = "the note?") -> None:
    """Type as a test would."""
    session.wait_for_text("> ")
    session.submit(prompt)
    session.wait_for_regex(r"something\.\n>")
    session.submit("/quit")
    session.wait_exit()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Path:
    """Recorded by ``use`` in mode ``auto``, as a test would."""
    folder = tmp_path_factory.mktemp("driven")
    (folder / "note.txt").write_text("buy milk\n")
    with FakeProviderServer(Script.parse(SCRIPT, where="script", variables={})) as provider:
        using = use(
            folder / "agent.cassette", AGENT, mode="auto", tape=provider.url, cwd=folder,
            probe_version=False,
        )  # fmt: skip
        with using as session:
            drive(session)
    assert using.result.action == "record"
    return folder / "agent.cassette"


def test_a_test_drives_the_real_program_offline(recorded: Path, work: Path) -> None:
    """The provider is gone; what was asked and served is proved at the end."""
    using = use(recorded, AGENT, mode="rerun")
    with using as session:
        drive(session)
        shown = session.screen().text
    report = using.result.rerun

    assert "[read note.txt: buy milk]" in shown
    assert report is not None
    assert (report.passed, report.matched, report.entries) == (True, 2, 2)
    assert report.guard


def test_an_async_test_drives_it_too(recorded: Path, work: Path) -> None:
    """By the same rules."""
    using = use(recorded, mode="rerun")

    async def main() -> RerunReport | None:
        async with using as session:
            await session.wait_for_text("> ")
            await session.submit("the note?")
            await session.wait_for_regex(r"something\.\n>")
            await session.submit("/quit")
            await session.wait_exit()
        return using.result.rerun

    report = asyncio.run(main())
    assert report is not None
    assert report.passed


def test_what_the_program_swallows_fails_the_block(recorded: Path, work: Path) -> None:
    """The test itself sees nothing wrong: the program goes on after the refusal."""
    (work / "note.txt").write_text("buy silk\n")
    using = use(recorded, AGENT, mode="rerun")

    @using
    def goes_on(session: Session) -> None:
        session.wait_for_text("> ")
        session.submit("the note?")
        session.wait_for_text("error 404")
        session.submit("/quit")
        session.wait_exit()

    with pytest.raises(DivergenceError, match="buy silk") as failed:
        goes_on()

    assert "buy milk" in str(failed.value)
    assert "never asked for" in str(failed.value)


def test_a_wait_that_fails_names_the_request(recorded: Path, work: Path) -> None:
    """Not only the screen that did not come."""

    @use(recorded, AGENT, mode="rerun")
    def waits(session: Session) -> None:
        session.wait_for_text("> ")
        session.submit("another prompt")
        session.wait_for_regex(r"something\.\n>", timeout_s=1)

    with pytest.raises(DivergenceError, match="another prompt"):
        waits()


def test_what_was_not_asked_for_fails_the_block(recorded: Path, work: Path) -> None:
    """A test that does less than what was recorded."""

    @use(recorded, AGENT, mode="rerun")
    def asks_nothing(session: Session) -> None:
        session.wait_for_text("> ")
        session.submit("/quit")
        session.wait_exit()

    with pytest.raises(DivergenceError, match="entry 1 of the tape was never asked for"):
        asks_nothing()


def test_a_rerun_needs_a_recording_with_a_tape(work: Path) -> None:
    """It never records; a typo names the modes that there are."""
    with pytest.raises(NotFoundError), use("missing", AGENT, mode="rerun"):
        pass
    with use(work / "plain", ["echo", "hello"], mode="record", probe_version=False) as session:
        session.wait_exit()

    with pytest.raises(MissingFileError, match="no tape"), use(work / "plain", mode="rerun"):
        pass
    with pytest.raises(UsageError, match="live, rerun"):
        use(work / "plain", mode="re-run")


@pytest.mark.slow
def test_a_function_runs_it_again_as_recorded(recorded: Path, work: Path) -> None:
    """The recorded keys are typed; the report is an object."""
    report = rerun_cassette(recorded, trusted=True, cwd=work)

    assert report.passed
    assert (report.inputs, report.recorded_inputs) == (4, 4)


def driven(argv: list[str], env: dict[str, str] | None = None) -> tuple[str, Any]:
    """Drive a command that has a terminal of its own; the last screen, and its end."""
    with Session(argv, clean_env=True, env=env) as session:
        drive(session)
        return session.screen().text, session.exit_status


@pytest.mark.slow
def test_tape_only_leaves_the_terminal_to_the_driver(recorded: Path, work: Path) -> None:
    """The command shows and types nothing of its own; it ends as the program does."""
    command = [COMMAND, "rerun", "--trust", "--tape-only", "--report", "now.json", str(recorded)]
    shown, ended = driven(command)
    report = json.loads((work / "now.json").read_text())

    assert shown.startswith("small agent, ready\n> the note?\nI will look.")
    assert ended.code == 0
    assert (report["passed"], report["matched"], report["screens"]) == (True, 2, 0)


@pytest.mark.slow
def test_tape_only_over_pipes_tells_of_a_request_by_its_status(recorded: Path, work: Path) -> None:
    """Its own status is no status of the program; the report goes to stderr, which is a pipe."""
    words = ("rerun", "--trust", "--tape-only", str(recorded))
    ran = ptycassette(*words, input="something else\n/quit\n", status=125)

    assert ran.stdout.endswith("> bye\n")
    assert "messages[1].content: recorded the note?, now something else" in ran.stderr


@pytest.mark.slow
def test_a_shim_runs_the_real_program_from_the_tape(recorded: Path, work: Path) -> None:
    """A driver that starts it from PATH; its report says what kept it offline."""
    shutil.copytree(recorded, work / "library" / "agent.cassette")
    words = ("--library", "library", "--report", "report.json", "--mode", "rerun", "agent")
    ptycassette("shim", "--dir", "bin", *words, status=0)
    path = os.pathsep.join([str(work / "bin"), os.environ["PATH"]])
    shown, ended = driven(["agent"], {"PATH": path})
    report = json.loads((work / "report.json").read_text())

    assert "[read note.txt: buy milk]" in shown
    assert ended.code == 0
    assert report["result"] == "passed"
    assert report["notes"][0].startswith("network: ")


@pytest.mark.parametrize("mode", ["record", "live", "rewrite"])
def test_a_disabled_network_wins_over_every_mode(
    work: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """A CLI of a provider beyond this machine is not started; one on it is."""
    (work / "codex").write_text("#!/bin/sh\ntouch started\necho hello\n")
    (work / "codex").chmod(0o755)
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    with (
        pytest.raises(RefusedError, match=r"its model is at https://api\.openai\.com"),
        use(work / "c.cassette", [str(work / "codex")], mode=mode, probe_version=False),
    ):
        pass
    assert not (work / "started").exists()

    here = {"PTYCASSETTE_PROVIDER": "http://127.0.0.1:9"}
    with use(
        work / "c.cassette", [str(work / "codex")], mode=mode, env=here, probe_version=False
    ) as one:
        one.wait_exit()
    assert (work / "started").exists()


def test_a_disabled_network_wins_over_an_approval(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 6, and nothing is started."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    words = ("rec", "--headless", "--tape", "--yes", "--provider", "openai", "c.cassette")
    ran = ptycassette(*words, "--", "touch", "started", status=6)

    assert "PTYCASSETTE_DISABLE_NETWORK" in ran.stderr
    assert "https://api.openai.com" in ran.stderr
    assert not (work / "started").exists()


def test_what_had_a_tape_is_recorded_with_one_again(recorded: Path, work: Path) -> None:
    """A block that fails overwrites nothing; one that does not replaces cassette and tape."""
    again = work / "agent.cassette"
    shutil.copytree(recorded, again)
    before = (again / "manifest.json").read_bytes()
    with open_cassette(again) as cassette:
        port = urlsplit(next(iter(cassette.tape())).entry.upstream).port

    @use(again, AGENT, mode="rewrite", probe_version=False)
    def asks(session: Session, *, fails: bool) -> None:
        drive(session)
        assert not fails

    script = Script.parse(SCRIPT, where="script", variables={})
    with FakeProviderServer(script, port=port or 0):
        with pytest.raises(AssertionError):
            asks(fails=True)
        assert (again / "manifest.json").read_bytes() == before
        asks(fails=False)

    assert (again / "manifest.json").read_bytes() != before
    assert rerun_cassette(again, trusted=True, cwd=work).passed


@pytest.mark.slow
@pytest.mark.parametrize("deaf_to", ["", "HUP", "HUP TERM"])
def test_a_run_ends_with_its_terminal(recorded: Path, work: Path, deaf_to: str) -> None:
    """Also with a program that does not read it, and that ignores the signals of its end."""
    (work / "deaf").write_text(f"#!/bin/sh\ntrap '' {deaf_to or 'USR1'}\necho up\nsleep 3600\n")
    (work / "deaf").chmod(0o755)
    pid, terminal = pty.fork()
    if pid == 0:  # the child
        words = ["rerun", "--trust", "--tape-only", str(recorded), "--", "./deaf"]
        os.execv(COMMAND, [COMMAND, *words])  # noqa: S606 - ours
    try:
        shown = b""
        while b"up" not in shown:
            shown += os.read(terminal, 1000)
    finally:
        os.close(terminal)
    try:
        _, status = os.waitpid(pid, 0)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise

    assert os.waitstatus_to_exitcode(status) in {125, -signal.SIGHUP}
