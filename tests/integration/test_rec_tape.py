"""``rec --tape`` with real processes: what was served is in the cassette, whatever was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptycassette import open_cassette, record
from ptycassette.agents.harness.fake.script import Script
from ptycassette.cli import main
from ptycassette.recording.io.finalising import recover
from ptycassette.system.files.state_dirs import journal_dir

pytest.importorskip("aiohttp")
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer

pytestmark = pytest.mark.integration

HELLO = 'version = 1\n[[replies]]\nname = "any"\ntimes = 0\ntext = "Hello from the script."\n'
CLIENT = """
import os, sys, json, time, urllib.request
def ask(said):
    body = {"model": "m-1", "messages": [{"role": "user", "content": said}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["MY_KEY"]},
    )
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
print(ask("my key is " + os.environ["MY_KEY"]), os.environ["OPENAI_BASE_URL"], flush=True)
print("served", flush=True)
if sys.argv[1:]:
    sys.stdin.read()
"""
KEY = "sk-proj-" + "Qw3Er5Ty7Ui9Op1As2Df4Gh6"


@pytest.fixture
def provider() -> Iterator[str]:
    """The base URL of a scripted provider."""
    with FakeProviderServer(Script.parse(HELLO, variables={})) as server:
        yield server.url


@pytest.fixture
def state(tmp_path: Path) -> dict[str, str]:
    """An environment with a state directory of its own."""
    names = ("PATH", "LANG", "HOME", "VIRTUAL_ENV")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "PTYCASSETTE_STATE_DIR": str(tmp_path / "state"), "MY_KEY": KEY}


def recording(
    target: Path, provider: str, state: dict[str, str], *words: str
) -> subprocess.Popen[bytes]:
    """``rec --tape`` of the client."""
    command = [sys.executable, "-m", "ptycassette", "rec", "--headless", "--tape"]
    command += ["--provider", provider, str(target), "--", sys.executable, "-c", CLIENT, *words]
    return subprocess.Popen(
        command, env=state, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def until_served(process: subprocess.Popen[bytes]) -> None:
    """Read its output until the client was answered."""
    assert process.stdout is not None
    for line in process.stdout:
        if b"served" in line:
            return
    raise AssertionError(process.stderr.read() if process.stderr else "")


def proxy_of(recorder: int) -> int:
    """The process of the proxy that a recorder started."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
            parent = int(path.with_name("stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == recorder and b"proxy_process" in words:
            return int(path.parent.name)
    raise AssertionError("no proxy")


def everything(folder: Path) -> bytes:
    """All bytes of a cassette, bodies unpacked."""
    files = b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
    with open_cassette(folder) as cassette:
        return files + b"".join(one.question() + one.answer() for one in cassette.tape())


@pytest.mark.slow
def test_what_a_program_asks_is_in_the_cassette(
    tmp_path: Path, provider: str, state: dict[str, str]
) -> None:
    """With the answer, and without the key and the token of the proxy's address."""
    process = recording(tmp_path / "c", provider, state)
    shown, said = process.communicate(timeout=120)
    token = shown.partition(b"http://127.0.0.1:")[2].split(b"/")[1]

    assert process.returncode == 0, said
    with open_cassette(tmp_path / "c") as cassette:
        [exchange] = cassette.tape()
        assert b"Hello from the script." in exchange.answer()
        assert cassette.final.usage is not None
        assert cassette.final.usage["output_tokens"] > 0
    assert len(token) > 20
    assert token not in everything(tmp_path / "c")
    assert KEY.encode() not in everything(tmp_path / "c")


@pytest.mark.slow
def test_a_killed_recorder_loses_nothing_that_was_served(
    tmp_path: Path, provider: str, state: dict[str, str]
) -> None:
    """Both journals stay, and become a cassette."""
    process = recording(tmp_path / "c", provider, state, "wait")
    until_served(process)
    process.kill()
    process.communicate(timeout=120)
    [journal] = journal_dir({"PTYCASSETTE_STATE_DIR": state["PTYCASSETTE_STATE_DIR"]}).glob(
        "*.journal"
    )
    recovered = recover(journal)

    assert recovered.outcome == "published"
    with open_cassette(tmp_path / "c") as cassette:
        assert [b"Hello" in one.answer() for one in cassette.tape()] == [True]
    assert KEY.encode() not in everything(tmp_path / "c")
    assert list(journal.parent.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_killed_proxy_loses_nothing_that_was_served(
    tmp_path: Path, provider: str, state: dict[str, str]
) -> None:
    """The run is a failed one, and its diagnostic has the tape up to there."""
    process = recording(tmp_path / "c", provider, state, "wait")
    until_served(process)
    os.kill(proxy_of(process.pid), signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    diagnostic = tmp_path / "c.diagnostic"

    assert process.returncode == 125
    assert b"model traffic was not recorded to its end" in said
    assert not (tmp_path / "c").exists()
    assert (diagnostic / "tape.jsonl").read_bytes().count(b"\n") == 1
    assert KEY.encode() not in b"".join(path.read_bytes() for path in diagnostic.iterdir())


@pytest.mark.slow
def test_the_library_records_a_tape(tmp_path: Path, provider: str) -> None:
    """As the command does."""
    options: dict[str, Any] = {"tape": provider, "env": {"MY_KEY": KEY}}
    with record([sys.executable, "-c", CLIENT], tmp_path / "c", **options) as session:
        session.wait_exit(timeout_s=60)

    with open_cassette(tmp_path / "c") as cassette:
        assert len(cassette.tape()) == 1
    assert KEY.encode() not in everything(tmp_path / "c")


def test_evidence_is_written_beside_a_recording(
    tmp_path: Path, provider: str, state: dict[str, str]
) -> None:
    """For a reviewer: PASS, one call, what was removed, and nothing that is secret."""
    folder = tmp_path / "evidence"
    command = [sys.executable, "-m", "ptycassette", "rec", "-q", "--headless", "--tape"]
    command += ["--provider", provider, "--evidence", str(folder), str(tmp_path / "c"), "--"]
    subprocess.run([*command, sys.executable, "-c", CLIENT], env=state, check=True, timeout=120)
    names = sorted(path.name for path in folder.iterdir())

    assert names == ["calls.jsonl", "guard.json", "redaction.json", "session.json"]
    assert b'"verdict": "PASS"' in (folder / "guard.json").read_bytes()
    assert (folder / "calls.jsonl").read_bytes().count(b"\n") == 1
    assert KEY.encode() not in b"".join(path.read_bytes() for path in folder.iterdir())

    promote = ["promote", str(tmp_path / "c"), "-o", str(tmp_path / "fixtures")]
    assert main([*promote, "--evidence", str(folder), "--reviewed-by", "A. Reader"]) == 0
    assert main(["check", str(tmp_path / "fixtures")]) == 0
