"""``ptycassette offline`` as it is typed: what the program gets, how it ends, what is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.recording.session.session import Session

pytestmark = pytest.mark.integration

COMMAND = str(Path(sys.executable).parent / "ptycassette")
PROFILE = """
version = 1
name = "mycli"
title = "My CLI"
binaries = ["mycli"]
oneshot = ["say", "${prompt}"]
screens.ready.contains = ["ready>"]
offline = { model = "m-1", environment = { MYCLI_QUIET = "1" } }
[modes.key]
api = "chat"
arguments = ["--from-mode"]
environment = { MYCLI_URL = "${openai_url}", MYCLI_KEY = "${key}", MYCLI_MODEL = "${model}" }
[[modes.key.files]]
path = ".mycli/config"
text = "url = ${url}"
[tools.run]
name = "run"
arguments = { command = "cat note.txt" }
[[logs]]
glob = ".mycli/log.jsonl"
[[logs.events]]
type = "message"
fields = { role = "=assistant", text = "said" }
"""
PROGRAM = """#!{python}
import json, os, pathlib, sys, urllib.request
home = pathlib.Path.home()
prompt = sys.argv[-1]
body = {{"model": os.environ["MYCLI_MODEL"], "messages": [{{"role": "user", "content": prompt}}]}}
asked = urllib.request.Request(
    os.environ["MYCLI_URL"] + "/chat/completions", json.dumps(body).encode(),
    {{"Authorization": "Bearer " + os.environ["MYCLI_KEY"], "Content-Type": "application/json"}})
with urllib.request.urlopen(asked) as answer:
    said = json.load(answer)["choices"][0]["message"]["content"]
(home / ".mycli" / "log.jsonl").write_text(json.dumps({{"said": said}}))
print(sys.argv[1:], said, flush=True)
"""


class Place:
    """A machine with that CLI, a profile of it, and a note in the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            "PATH": f"{folder / 'bin'}:{Path(COMMAND).parent}:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "OPENAI_API_KEY": "of the user",
        }
        for path, text in (
            ("home/.config/ptycassette/harnesses/mycli.toml", PROFILE),
            ("bin/mycli", PROGRAM.format(python=sys.executable)),
            ("work/note.txt", "buy walnuts\n"),
        ):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        (folder / "bin" / "mycli").chmod(0o755)
        self.work = folder / "work"
        self.left = folder / "home" / ".cache" / "ptycassette" / "runs"

    def offline(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``ptycassette offline mycli WORDS``."""
        return subprocess.run(
            [COMMAND, "offline", "mycli", *words],
            env=self.env,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def started(self, *words: str) -> subprocess.Popen[str]:
        """Start it with a program that prints a line when it runs."""
        live = subprocess.Popen(
            [COMMAND, "offline", "-q", "mycli", *words],
            env=self.env,
            cwd=self.work,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert live.stdout is not None
        assert live.stdout.readline() == "up\n"
        return live


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Of its own for each test."""
    return Place(tmp_path)


@pytest.mark.slow
def test_a_prompt_is_answered_and_nothing_is_left(place: Place) -> None:
    """The CLI is started with the arguments of the mode; stderr says what was set."""
    done = place.offline("-p", "hello")

    assert (done.returncode, done.stdout) == (
        0,
        "['--from-mode', 'say', 'hello'] Hello from the script.\n",
    )
    assert "wrote: .mycli/config" in done.stderr
    assert "MYCLI_QUIET MYCLI_URL" in done.stderr
    assert list(place.left.glob("*-*")) == []


def test_any_command_runs_in_that_home_with_a_clean_environment(place: Place) -> None:
    """In the caller's folder; of the caller's variables those that are named."""
    place.env["WANTED"] = "yes"
    text = (
        "import json, os, pathlib;"
        "print(json.dumps([dict(os.environ), os.getcwd(),"
        " (pathlib.Path.home() / '.mycli/config').read_text()]))"
    )
    done = place.offline("-e", "WANTED", "-e", "MORE=1", "--", sys.executable, "-c", text)
    env, cwd, config = json.loads(done.stdout)

    assert cwd == str(place.work)
    assert config.startswith("url = http://127.0.0.1:")
    assert (env["WANTED"], env["MORE"], env["MYCLI_MODEL"]) == ("yes", "1", "m-1")
    assert env["HOME"].startswith(str(place.left))
    assert "OPENAI_API_KEY" not in env
    assert "start mycli with: --from-mode" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
        (["./not-there"], 127),
        (["./note.txt"], 126),
    ],
)
def test_it_ends_as_the_program_does(place: Place, words: list[str], status: int) -> None:
    """Or says that it could not be started; the home is gone either way."""
    done = place.offline("--", *words)

    assert done.returncode == status
    assert list(place.left.glob("*-*")) == []


@pytest.mark.slow
def test_a_request_that_nobody_expects_is_reported(place: Place) -> None:
    """And counts where somebody asks for that."""
    fetch = (
        "import os, urllib.request as r, contextlib\n"
        "with contextlib.suppress(OSError): r.urlopen(os.environ['MYCLI_URL'] + '/nope')"
    )
    words = ("--", sys.executable, "-c", fetch)
    plain, strict = place.offline(*words), place.offline("--strict", *words)

    assert "problem: request 1 GET /v1/nope" in plain.stderr
    assert (plain.returncode, strict.returncode) == (0, 1)


@pytest.mark.slow
def test_rec_inside_of_it_finds_profile_and_session_log(place: Place) -> None:
    """The user's own profile is known there; the cassette is in the caller's folder."""
    rec = ("--", COMMAND, "rec", "-q", "--harness", "mycli", "c", "--")
    done = place.offline(*rec, "mycli", "say", "hello")
    assert done.returncode == 0, done.stderr
    with open_cassette(place.work / "c") as cassette:
        notes = [one.payload for one in cassette.service_events()]

    assert notes == [{"type": "message", "role": "assistant", "text": "Hello from the script."}]
    assert (place.folder / "home" / ".local" / "state").exists()


@pytest.mark.slow
def test_the_home_can_be_kept(place: Place) -> None:
    """Also through the next run."""
    place.offline("--keep", "-p", "hello")
    place.offline("-p", "hello")
    (kept,) = place.left.glob("*-*")

    assert (kept / "run-home" / ".mycli" / "log.jsonl").exists()


@pytest.mark.slow
def test_what_a_killed_run_leaves_is_removed_by_a_later_one(place: Place) -> None:
    """Not while the program that it started lives on."""
    live = place.started("--", "sh", "-c", "echo up; exec sleep 60")
    (folder,) = place.left.glob("*-*")
    (child,) = children_of(live.pid)
    live.send_signal(signal.SIGKILL)
    live.wait(timeout=90)
    place.offline("-p", "hello")
    in_use = folder.exists()
    os.kill(child, signal.SIGKILL)
    live.communicate(timeout=90)  # until the program has closed its end
    place.offline("-p", "hello")

    assert in_use
    assert not folder.exists()


def children_of(pid: int) -> list[int]:
    """The programs that a process has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(one) for task in tasks for one in (task / "children").read_text().split()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_program(place: Place, number: signal.Signals) -> None:
    """Who ends it hears so, and the home is gone."""
    text = f"trap 'exit 9' {number.name.removeprefix('SIG')}; echo up; while :; do sleep 0.1; done"
    live = place.started("--", "sh", "-c", text)
    live.send_signal(number)
    live.communicate(timeout=90)

    assert live.returncode == 9
    assert list(place.left.glob("*-*")) == []


def test_ctrl_c_is_for_the_program(place: Place) -> None:
    """In a terminal: it goes on if it wants to."""
    text = "trap 'echo caught' INT; echo up; read line; echo got $line"
    argv = [COMMAND, "offline", "-q", "mycli", "--", "bash", "-c", text]
    options: dict[str, Any] = {"env": place.env, "cwd": place.work}
    with Session(argv, **options) as session:
        session.wait_for_text("up")
        session.send_key("ctrl-c")
        session.wait_for_text("caught")
        session.submit("on")
        session.wait_for_text("got on")
        status = session.wait_exit()

    assert status.code == 0


@pytest.mark.parametrize("kind", ["harnesses", "probes", "tape-rules"])
def test_files_of_the_user_are_there_for_a_recorder(place: Place, kind: str) -> None:
    """A recorder in this home matches by the user's own rules, and knows the user's own CLIs."""
    own = place.folder / "home" / ".config" / "ptycassette" / kind
    own.mkdir(parents=True, exist_ok=True)
    (own / "mine.toml").write_text("# mine")
    done = place.offline("--", "sh", "-c", f"cat $XDG_CONFIG_HOME/ptycassette/{kind}/mine.toml")

    assert (done.returncode, done.stdout) == (0, "# mine")
