"""``rec --harness``: a known CLI is started by its name, and its own log is read at the end."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.logs import log_reader, without_folder
from ptycassette.agents.harness.io.offline import offline_run
from ptycassette.agents.harness.io.probe import walk
from ptycassette.agents.harness.probe import Drive
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.recording import record
from tests.commands import ptycassette

pytestmark = pytest.mark.integration

PROFILE = """
version = 1
name = "mycli"
title = "my CLI"
binaries = ["mycli"]
environment = { MYCLI_QUIET = "1" }
interactive = ["--tui"]
[modes.key]
api = "chat"
environment = { MYCLI_URL = "${openai_url}", MYCLI_KEY = "${key}" }
[[modes.key.files]]
path = ".mycli/config"
text = "url = ${openai_url}"
[screens]
ready = { contains = ["ready>"] }
[[logs]]
glob = ".mycli/log.jsonl"
[[logs.events]]
type = "message"
fields = { role = "=assistant", text = "said" }
[[logs.events]]
type = "usage"
fields = { input_tokens = "in" }
"""
# Asks the provider for an answer, if it has one, and writes what it said to its log.
PROGRAM = """#!{python}
import json, os, pathlib, sys, urllib.request
home = pathlib.Path(os.environ["HOME"]) / ".mycli"
home.mkdir(exist_ok=True)
said = " ".join(sys.argv[1:]) + os.environ["MYCLI_QUIET"]
if "MYCLI_URL" in os.environ:
    print("ready>", flush=True)
    prompt = sys.stdin.readline()
    body = {{"model": "m", "messages": [{{"role": "user", "content": prompt}}]}}
    headers = {{"authorization": "Bearer " + os.environ["MYCLI_KEY"]}}
    ask = urllib.request.Request(os.environ["MYCLI_URL"] + "/chat/completions",
                                 json.dumps(body).encode(), headers)
    said = json.load(urllib.request.urlopen(ask))["choices"][0]["message"]["content"]
print(said)
(home / "log.jsonl").write_text({log})
"""


def program(folder: Path, log: str = "json.dumps({'said': said, 'in': 7})") -> Path:
    """Put the CLI into a folder of programs."""
    folder.mkdir()
    path = folder / "mycli"
    path.write_text(PROGRAM.format(python=sys.executable, log=log))
    path.chmod(0o755)
    return path


def run(tmp_path: Path, log: str) -> Path:
    """Record it from the command line, with a profile in the user's configuration."""
    binary = program(tmp_path / "bin", log)
    config = tmp_path / "home" / ".config" / "ptycassette" / "harnesses"
    config.mkdir(parents=True)
    (config / "mycli.toml").write_text(PROFILE)
    target = tmp_path / "c"
    environment = {
        "PATH": f"{binary.parent}:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "PTYCASSETTE_STATE_DIR": str(tmp_path / "state"),
    }
    words = ("rec", "--headless", "--harness", "mycli", str(target))
    ptycassette(*words, env=environment, status=0)
    return target


@pytest.mark.slow
def test_a_known_cli_is_recorded_with_its_log(tmp_path: Path) -> None:
    """Started with the profile's arguments and variables; the log's facts are kept."""
    with open_cassette(run(tmp_path, "json.dumps({'said': said, 'in': 7})")) as cassette:
        notes = [one.payload for one in cassette.service_events()]
        final, name = cassette.final, cassette.manifest.harness.name

    assert name == "mycli"
    assert final.final_text == "--tui1"
    assert final.usage == {"input_tokens": 7}
    assert [note["type"] for note in notes] == ["message", "usage"]


@pytest.mark.slow
def test_a_log_that_cannot_be_read_costs_no_recording(tmp_path: Path) -> None:
    """It is told in the record."""
    with open_cassette(run(tmp_path, r"'{\n'")) as cassette:
        notes = [one.payload for one in cassette.service_events()]

    assert notes[0]["type"] == "session-log-unreadable"


def test_a_cli_runs_offline_against_a_script(tmp_path: Path) -> None:
    """A home of its own, a fake provider, a drive; the key is scrubbed."""
    binary = program(tmp_path / "bin")
    profile = Profile.parse(PROFILE)
    script = Script.parse("version = 1\nauth.require = 'key'\n[[replies]]\ntext = 'hi there'")
    drive = Drive.parse(
        "version = 1\nname = 'd'\nharness = 'mycli'\nscript = 's'\n"
        "steps = [{ wait = { contains = ['ready>'] }, capture = 'ready' },"
        " { submit = 'hello' }, { wait = { contains = ['hi there'] } }, { exit = true }]"
    )
    with offline_run(
        profile, script, binary=str(binary), root=tmp_path, files={"a.txt": "a"}
    ) as live:
        home, cwd = live.home, live.cwd
        assert (home / ".mycli" / "config").read_text() == f"url = {live.provider.openai_url}"
        assert (cwd / "a.txt").read_text() == "a"
        reader = log_reader(profile, home=home, cwd=cwd, since_s=0.0)
        with record(live.argv, tmp_path / "c", at_end=reader, **live.options) as session:
            captures = walk(session, drive.steps, profile)
        facts, path = live.facts()
        assert live.provider.problems == ()
        assert live.provider.unused == ()
    with open_cassette(tmp_path / "c") as cassette:
        final = cassette.final

    assert "ready>" in captures["ready"].text
    assert (facts.final_text, path) == ("hi there", ".mycli/log.jsonl")
    assert final.final_text == "hi there"
    assert not home.exists()


@pytest.mark.parametrize("folder", ["my_notes", "my.notes", "my-notes"])
@pytest.mark.parametrize(
    "log", [".cli/projects/-{}/a.jsonl", ".cli/sessions/--{}--/a.jsonl", ".cli/-{}-/b/-{}.jsonl"]
)
@pytest.mark.parametrize("others", [r"[^A-Za-z0-9]", "/"])
def test_the_path_of_a_log_does_not_name_the_work_folder(
    log: str, folder: str, others: str
) -> None:
    """CLIs make file names of it, with dashes."""
    cwd = Path("/home/ada") / folder
    name = re.sub(others, "-", str(cwd)[1:])

    assert without_folder(log.replace("{}", name), cwd) == log.replace("{}", "$PWD")


@pytest.mark.parametrize("cwd", ["/", "/app"])
def test_a_short_work_folder_is_no_name(cwd: str) -> None:
    """``app`` is a word like any other."""
    assert without_folder(".app/projects/-app/a.jsonl", Path(cwd)) == ".app/projects/-app/a.jsonl"


SLOW_READER = """#!{python}
import os, select, sys, tty
tty.setraw(0)
print("ready>", end="\\r\\n", flush=True)
text = b""
while True:
    more = os.read(0, 1000)
    os.write(1, more.replace(b"\\r", b"<enter>"))
    if more == b"\\r" and text:
        break
    text += more
    while select.select([0], [], [], 0.3)[0]:  # what comes so soon belongs to the text
        more = os.read(0, 1000)
        text += more
        os.write(1, more.replace(b"\\r", b"<newline>"))
print("\\r\\nsubmitted", text.decode(), end="\\r\\n", flush=True)
"""
STEPS = (
    "timeout 30s\nwait-text ready>\nsubmit say hello\nwait-text submitted say hello\nwait-exit\n"
)


@pytest.mark.parametrize("options", [("--harness", "mycli"), ()])
def test_an_input_script_submits_as_the_profile_says(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """With its pause before Enter, whether the harness is named or known by its program."""
    for path, text in (
        ("config/ptycassette/harnesses/mycli.toml", f"{PROFILE}\n[submit]\npause_ms = 1500\n"),
        ("bin/mycli", SLOW_READER.format(python=sys.executable)),
        ("steps", STEPS),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "bin" / "mycli").chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    words = ("rec", "-q", *options, "--no-probe-version", "--input", "steps", "c", "--", "mycli")

    ptycassette(*words, cwd=tmp_path, env=env, status=0)
