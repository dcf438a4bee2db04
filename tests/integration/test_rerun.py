"""A program recorded with its tape runs again offline; what differs is named, with its place."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.rerun.io import preparing as places
from ptycassette.agents.rerun.io import tape_server
from ptycassette.agents.rerun.io.driving import rerun
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.io.tape_server import Cork
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import MissingFileError, RefusedError
from ptycassette.system.network import may_isolate
from tests.commands import ptycassette, taped
from tests.tampering import TamperedTape

pytestmark = pytest.mark.integration

CLIENT = Path(__file__).parent.parent / "programs" / "tape_client.py"
AGENT = (sys.executable, "-I", str(CLIENT))
SCRIPT = """
version = 1
[[replies]]
when = { prompt_contains = "note", after = "prompt", tools = true }
parts = [{ text = "I will look. " }, { tool = "read_note", arguments = {} }]
[[replies]]
when = { after = "tool" }
text = "The note says something."
[[replies]]
times = 0
text = "Hello from the script."
"""
TYPED = """\
wait-text >
type What does the note say?
wait-text say?
key enter
wait-regex something\\.\\n>
type hello
wait-text hello
key enter
wait-regex script\\.\\n>
type /quit
wait-text /quit
key enter
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with a tool call, and its tape. The provider is gone when it is used."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "note.txt").write_text("buy milk\n")
    (folder / "typed.txt").write_text(TYPED)
    return taped(folder, SCRIPT, "agent.cassette", *AGENT, options=("--input", "typed.txt"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Another work folder, with the same note."""
    folder = tmp_path / "another-work-folder"
    folder.mkdir()
    (folder / "note.txt").write_text("buy milk\n")
    return folder


def again(
    cassette: Path, cwd: Path, argv: Sequence[str] = (), *options: str
) -> tuple[int, dict[str, Any]]:
    """The status of the command, and its report."""
    words = ("rerun", "--trust", "--json", "--cwd", str(cwd), *options, str(cassette))
    ran = ptycassette(*words, *(("--", *argv) if argv else ()))
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


def test_a_session_runs_again_without_a_difference(recorded: Path, elsewhere: Path) -> None:
    """In another folder, with another session id, without network or provider."""
    status, report = again(recorded, elsewhere)

    assert status == 0
    assert report["passed"] is True
    assert (report["matched"], report["entries"]) == (3, 3)
    assert report["fingerprint"] == report["expected_fingerprint"] != ""
    assert report["screens"] >= 4
    assert report["changes"] == report["misses"] == []
    assert report["exit"]["Code"] == 0


def test_one_byte_of_a_tool_result_is_named(recorded: Path, elsewhere: Path) -> None:
    """With its entry and its place in the request; the tape answers nothing that is near."""
    (elsewhere / "note.txt").write_text("buy silk\n")
    status, report = again(recorded, elsewhere, (), "--patience", "1")

    assert status == 1
    assert report["matched"] == 1
    first = report["misses"][0]
    assert first["nearest"] == 2
    assert first["differences"] == ["messages[3].content: recorded buy milk, now buy silk"]
    assert report["unasked"] == [2, 3]
    assert any(change["number"] == 0 for change in report["changes"])


@pytest.mark.slow
def test_one_word_of_a_prompt_is_named(recorded: Path, elsewhere: Path) -> None:
    """Another configuration of the program, as an upgrade would have it."""
    status, report = again(
        recorded, elsewhere, [*AGENT, "--system", "You are a tiny agent."], "--patience", "1"
    )

    assert status == 1
    assert report["matched"] == 0
    assert any(
        line.startswith("messages[0].content: recorded You are a small agent.")
        and ", now You are a tiny agent." in line
        for line in report["misses"][0]["differences"]
    )


@pytest.mark.slow
def test_a_question_that_is_not_asked_is_named(recorded: Path, elsewhere: Path) -> None:
    """A program that ends early cannot pass."""
    early = [sys.executable, "-c", "print('small agent, ready')"]
    status, report = again(recorded, elsewhere, early, "--patience", "1")

    assert status == 1
    assert report["unasked"] == [1, 2, 3]
    assert report["inputs"] < report["recorded_inputs"]


@pytest.mark.slow
def test_the_program_has_no_network(recorded: Path, elsewhere: Path) -> None:
    """Not even to the machine that it runs on: its loopback is another one."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        program = (
            "import socket\n"
            f"try: socket.create_connection(('127.0.0.1', {port}), 5)\n"
            "except OSError as no: print('no', no)\n"
            "else: print('CONNECTED')\n"
        )
        _, report = again(recorded, elsewhere, [sys.executable, "-c", program], "--patience", "1")
    if "namespace" not in report["guard"]:
        pytest.skip("the kernel does not let this user make network namespaces")
    shown = "\n".join(report["changes"][-1]["got"])

    assert "no [Errno 111]" in shown
    assert "CONNECTED" not in shown


@pytest.mark.slow
def test_the_pieces_of_an_answer_are_sent_at_once(
    recorded: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as they wait for no input: held back until the last one, and sent then."""
    log: list[str] = []

    class Noted(Cork):
        def put_in(self) -> None:
            log.append("in")
            super().put_in()

        def take_out(self) -> None:
            log.append("out")
            super().take_out()

    monkeypatch.setattr(tape_server, "Cork", Noted)
    with open_cassette(recorded) as cassette:
        report = rerun(cassette, RerunOptions(trusted=True, cwd=elsewhere))

    assert report.passed
    assert log.count("out") == report.entries
    assert log.count("in") > 2 * report.entries


@pytest.mark.slow
def test_a_program_without_a_profile_has_a_home_of_its_own(
    recorded: Path, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that the variables of the user's folders say."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "users-config"))
    program = (
        "import os; home = os.environ['HOME']\n"
        "print([n for n, v in os.environ.items() if n[:4] == 'XDG_' and not v.startswith(home)])"
    )
    _, report = again(recorded, elsewhere, [sys.executable, "-c", program], "--patience", "1")

    assert "[]" in report["changes"][-1]["got"]


@pytest.mark.parametrize(("namespaces", "guard"), [(True, "namespace"), (False, "proxy")])
def test_a_process_with_threads_says_what_kept_the_program_offline(
    recorded: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    namespaces: bool,
    guard: str,
) -> None:
    """A launcher enters the namespace for it; proxy variables where the kernel has none."""
    if namespaces and not may_isolate():
        pytest.skip("the kernel does not let this user make network namespaces")
    monkeypatch.setattr(places, "may_isolate", lambda: namespaces)
    beside = threading.Thread(target=threading.Event().wait, daemon=True)
    beside.start()
    with open_cassette(recorded) as cassette:
        report = rerun(cassette, RerunOptions(trusted=True, cwd=elsewhere))

    assert report.passed
    assert guard in report.guard


def test_a_disabled_network_wants_a_namespace(
    recorded: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxy variables are a request, and the variable wins over the option."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    options = RerunOptions(trusted=True, cwd=elsewhere, shared_network=True)
    with open_cassette(recorded) as cassette, pytest.raises(RefusedError, match="off the network"):
        rerun(cassette, options)


@pytest.mark.slow
def test_a_cassette_in_the_work_folder_disturbs_neither_run(recorded: Path) -> None:
    """While recording, nothing is made beside it; a copy of the folder leaves it out."""
    folder = recorded.parent
    asks = "urllib.request.urlopen(os.environ['OPENAI_BASE_URL'] + '/models')"
    program = (
        "import os, time, urllib.request; print('x' * 300_000); time.sleep(1);"
        f" print(sorted(os.listdir())); {asks}"
    )
    taped(folder, SCRIPT, "listed.cassette", sys.executable, "-c", program)
    with open_cassette(folder / "listed.cassette") as cassette:
        shown = "".join(list(cassette.frames())[-1].text)
    lists = [sys.executable, "-c", "import os; print(sorted(os.listdir()))"]
    words = ("rerun", "--trust", "--json", "--patience", "1", "--copy", ".")
    ran = ptycassette(*words, "agent.cassette", "--", *lists, cwd=folder)
    now = "".join(json.loads(ran.stdout)["changes"][-1]["got"])

    assert "['agent.cassette', 'note.txt', 'typed.txt']" in shown
    assert "['listed.cassette', 'note.txt', 'typed.txt']" in now


def test_a_copy_of_the_work_folder_leaves_out_what_cannot_be_copied(
    recorded: Path, elsewhere: Path
) -> None:
    """Sockets and pipes, as editors and git leave them there; links stay links."""
    os.mkfifo(elsewhere / "pipe")
    (elsewhere / "link").symlink_to("nowhere")
    lists = [sys.executable, "-c", "import os; print(sorted(os.listdir()))"]
    options = RerunOptions(trusted=True, argv=tuple(lists), copied=elsewhere, patience_s=0.1)
    with open_cassette(recorded) as cassette:
        report = rerun(cassette, options)

    assert "['link', 'note.txt']" in "".join(report.changes[-1].got)


def test_settings_of_ones_own_are_laid_over_the_home(recorded: Path, elsewhere: Path) -> None:
    """The program is pointed at the tape as when it was recorded, and asks the same model."""
    program = elsewhere / "codex"
    program.write_text('#!/bin/sh\ncat ~/own.txt; head -1 ~/.codex/config.toml; echo "$@"\n')
    program.chmod(0o755)
    (elsewhere / "settings").mkdir()
    (elsewhere / "settings" / "own.txt").write_text("mine\n")
    options = RerunOptions(
        trusted=True,
        argv=(str(program), "exec"),
        harness="codex",
        home=elsewhere / "settings",
        cwd=elsewhere,
        patience_s=0.1,
    )
    with open_cassette(recorded) as cassette:
        shown = rerun(cassette, options).changes[-1].got

    assert shown[:2] == ("mine", 'model = "m-1"')
    assert shown[2].startswith('-c openai_base_url="http://')
    assert shown[2].endswith('/v1" exec')


def test_nothing_of_a_cassette_is_run_without_trust(recorded: Path, tmp_path: Path) -> None:
    """It says what it would run, and what the tape would make it do."""
    touched = tmp_path / "touched"
    with open_cassette(recorded) as cassette, pytest.raises(RefusedError) as refused:
        rerun(cassette, RerunOptions(argv=("touch", str(touched))))

    assert not touched.exists()
    assert "would run: touch" in refused.value.message
    assert "read_note (1)" in refused.value.message
    assert "--trust" in (refused.value.hint or "")


def test_the_tools_of_a_tape_are_those_of_its_answers(recorded: Path, tmp_path: Path) -> None:
    """Its author may leave out the service events, which nothing checks against the answers."""
    tape = TamperedTape(recorded, tmp_path / "c")
    for event in tape.events:
        if event["payload"]["type"] == "tool-call":
            event["payload"] = {"type": "note"}
    with open_cassette(tape.publish()) as cassette, pytest.raises(RefusedError) as refused:
        rerun(cassette, RerunOptions(argv=("true",)))

    assert "read_note (1)" in refused.value.message


def test_a_cassette_without_a_tape_says_how_to_record_one(tmp_path: Path) -> None:
    """And nothing is run."""
    ptycassette("rec", "-q", "--headless", str(tmp_path / "c"), "--", "true", status=0)

    with (
        open_cassette(tmp_path / "c") as cassette,
        pytest.raises(MissingFileError, match="no tape"),
    ):
        rerun(cassette, RerunOptions())


def test_a_program_given_by_a_path_is_that_of_the_current_folder(
    recorded: Path, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it works in another one."""
    agent = tmp_path / "agent-next"
    agent.write_text(f'#!/bin/sh\nexec {sys.executable} -I {CLIENT} "$@"\n')
    agent.chmod(0o755)
    monkeypatch.chdir(tmp_path)

    with open_cassette(recorded) as cassette:
        report = rerun(cassette, RerunOptions(trusted=True, argv=("./agent-next",), cwd=elsewhere))

    assert report.passed
