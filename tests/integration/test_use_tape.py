"""``use`` with a tape: what each mode asks and keeps, from a test and from an event loop."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette import UseResult, arecord, drift, open_cassette, record, rerun_cassette, use
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.errors import PreflightError, UsageError

pytestmark = pytest.mark.integration

SCRIPT = 'version = 1\n[[replies]]\nname = "any"\ntimes = 0\ntext = "Hello."\n'
# It shows where it asks, which is another address in each recording.
CLIENT = """
import http.client, json, os, sys
from urllib.parse import urlsplit
base = urlsplit(os.environ["OPENAI_BASE_URL"])
connection = http.client.HTTPConnection(base.hostname, base.port, timeout=120)
body = {"model": "m-1", "messages": [{"role": "user", "content": "hi"}]}
connection.request("POST", base.path + "/chat/completions", json.dumps(body),
                   {"content-type": "application/json"})
print(json.load(connection.getresponse())["choices"][0]["message"]["content"])
print("asked", base.geturl(), *sys.argv[1:])
"""


@pytest.fixture
def provider() -> Iterator[FakeProviderServer]:
    """One that always says the same."""
    with FakeProviderServer(Script.parse(SCRIPT, variables={})) as server:
        yield server


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A program that asks once; the current folder is its."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.py").write_text(CLIENT)
    return [sys.executable, "-I", "client.py"]


def used(agent: list[str], mode: str, *, awaited: bool, **options: Any) -> tuple[UseResult, str]:
    """The result, and what was shown, of a use of ``a.cassette``."""
    using = use(Path("a.cassette").absolute(), agent, mode=mode, probe_version=False, **options)

    async def from_a_loop() -> tuple[UseResult, str]:
        async with using as session:
            await session.wait_exit(timeout_s=60)
            return using.result, (await session.screen()).text

    if awaited:
        return asyncio.run(from_a_loop())
    with using as session:
        session.wait_exit(timeout_s=60)
        return using.result, session.screen().text


@pytest.mark.slow
@pytest.mark.parametrize("awaited", [False, True])
def test_an_equal_session_does_not_drift(
    agent: list[str], provider: FakeProviderServer, *, awaited: bool
) -> None:
    """The address of the proxy is shown, and is not the same twice. A rerun shows it alike."""
    used(agent, "record", tape=provider.url, awaited=awaited)
    before = Path("a.cassette/manifest.json").read_bytes()
    again, _ = used(agent, "rerecord", tape=provider.url, awaited=awaited)
    rewritten, _ = used(agent, "rewrite", tape=provider.url, awaited=awaited)
    report = rerun_cassette("a.cassette", trusted=True, cwd=Path.cwd())

    assert (again.drift, rewritten.drift) == (drift("a.cassette", "a.cassette"),) * 2
    assert Path("a.cassette/manifest.json").read_bytes() != before
    assert report.passed, (report.misses, report.changes)


def test_an_async_test_records_like_a_sync_one(
    agent: list[str], provider: FakeProviderServer
) -> None:
    """The same question and answer on the tape, the same on the screen; it is rerun like one."""

    async def recorded() -> None:
        options: Any = {"tape": provider.url, "probe_version": False}
        async with arecord(agent, "b.cassette", **options) as session:
            await session.wait_exit(timeout_s=60)

    result, _ = used(agent, "auto", tape=provider.url, awaited=False)
    asyncio.run(recorded())
    rerun, _ = used(agent, "rerun", awaited=True)
    tapes = []
    for name in ("a.cassette", "b.cassette"):
        with open_cassette(name) as cassette:
            tapes.append([(one.question(), b"Hello." in one.answer()) for one in cassette.tape()])

    assert tapes[0] == tapes[1]
    assert [answered for _, answered in tapes[0]] == [True]
    assert not drift("a.cassette", "b.cassette")
    assert (result.action, rerun.rerun and rerun.rerun.passed) == ("record", True)


def test_a_failed_async_block_keeps_the_cassette(
    agent: list[str], provider: FakeProviderServer
) -> None:
    """What it recorded, tape included, is a diagnostic beside it."""
    used(agent, "record", tape=provider.url, awaited=False)
    before = Path("a.cassette/manifest.json").read_bytes()

    @use(Path.cwd() / "a.cassette", agent, mode="rewrite", tape=provider.url, probe_version=False)
    async def fails(session: Any) -> None:
        await session.wait_exit(timeout_s=60)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        asyncio.run(fails())
    assert Path("a.cassette/manifest.json").read_bytes() == before
    assert Path("a.cassette.diagnostic/tape.jsonl").read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("awaited", [False, True])
def test_live_asks_the_named_provider_itself(
    agent: list[str], provider: FakeProviderServer, *, awaited: bool
) -> None:
    """Without a proxy; nothing is kept."""
    _, shown = used(agent, "live", tape=provider.url, awaited=awaited)

    assert shown.split() == ["Hello.", "asked", f"{provider.url}/v1"]
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["client.py"]


def test_live_names_the_provider_as_the_profile_does(agent: list[str]) -> None:
    """As arguments, where the CLI knows no variable; they come before those of the user."""
    shows = Path("codex")
    shows.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    shows.chmod(0o755)
    options: Any = {"tape": "http://127.0.0.1:9/v1", "harness": "codex"}
    with use("a", ["./codex", "exec"], mode="live", **options) as session:
        session.wait_exit(timeout_s=60)
        shown = session.screen().text.strip()

    assert shown == '-c|openai_base_url="http://127.0.0.1:9/v1"|exec|'


@pytest.mark.parametrize(
    ("tape", "error", "says"),
    [
        ("https://api.example.com", PreflightError, "the network is disabled"),
        ("nobody", UsageError, "no provider 'nobody'"),
        ("http://", UsageError, "not a base URL"),
    ],
)
def test_live_asks_no_other_provider(
    agent: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tape: str,
    error: type[Exception],
    says: str,
) -> None:
    """A disabled network, or a name that nobody knows: nothing is started."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    with pytest.raises(error, match=says), use("a", agent, mode="live", tape=tape):
        pass


@pytest.mark.parametrize("named", ["openai", True])
def test_the_base_url_of_the_environment_says_whom_to_ask(
    agent: list[str],
    provider: FakeProviderServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    named: str | bool,
) -> None:
    """As for ``rec``, although the program starts in a clean environment."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    with record(agent, tmp_path / "b.cassette", tape=named, probe_version=False) as session:
        session.wait_exit(timeout_s=60)
    with open_cassette(tmp_path / "b.cassette") as cassette:
        [exchange] = cassette.tape()

    assert len(provider.requests) == 1
    assert exchange.entry.upstream == provider.url


class Gateway(BaseHTTPRequestHandler):
    """Answers below any path."""

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"choices": [{"message": {"content": "Hello."}}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.mark.parametrize("named", ["openai", "url"])
def test_a_key_in_the_path_of_a_base_url_stays_nowhere(
    agent: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Neither in the manifest, nor in the tape, nor in events; a rerun asks the same path."""
    key = "3f9a" + "0c7d81e5b264" * 2
    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        Thread(target=server.serve_forever).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/team/{key}/v1"
            monkeypatch.setenv("OPENAI_BASE_URL", url)
            tape = url if named == "url" else named
            with record(agent, tmp_path / "b.cassette", tape=tape, probe_version=False) as session:
                session.wait_exit(timeout_s=60)
        finally:
            server.shutdown()
    monkeypatch.delenv("OPENAI_BASE_URL")

    held = [one for one in (tmp_path / "b.cassette").iterdir() if key.encode() in one.read_bytes()]
    assert held == []
    assert b"/team/" in (tmp_path / "b.cassette" / "tape.jsonl").read_bytes()
    report = rerun_cassette(tmp_path / "b.cassette", trusted=True, cwd=tmp_path)
    assert report.matched == 1
    assert report.passed


def test_a_result_is_a_line_when_it_is_shown(
    agent: list[str], provider: FakeProviderServer
) -> None:
    """Not two recordings: a failing assert prints it."""
    for mode in ("record", "rerecord"):
        result, _ = used(agent, mode, tape=provider.url, awaited=False)

    assert result.sides is not None
    assert len(repr(result)) < 300
    assert len(repr(result.sides)) < 300
