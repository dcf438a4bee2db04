"""A program recorded through an HTTP proxy, with TLS, is rerun through one, without a network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.agents.rerun.io.driving import rerun
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.report import report_lines
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.recording.io.recording import record
from ptycassette.recording.io.tape_proxy import tape_starter
from ptycassette.tape.consent.terms import Terms

pytestmark = pytest.mark.integration

SCRIPT = 'version = 1\n[[replies]]\ntimes = 0\ntext = "hello from afar"\n'
NOT_DIRECT = "import os\nos.environ['NO_PROXY'] = os.environ['no_proxy'] = ''\n"
"""What is on this machine is no provider for others."""
URLLIB = """
import json, sys, urllib.request
request = urllib.request.Request(sys.argv[1] + "/v1/chat/completions", sys.argv[2].encode(),
    {"content-type": "application/json", "authorization": "Bearer k"})
print(urllib.request.urlopen(request).read().decode())
"""
REQUESTS = """
import sys, requests
print(requests.post(sys.argv[1] + "/v1/chat/completions", sys.argv[2],
    headers={"content-type": "application/json", "authorization": "Bearer k"}).text)
"""
AIOHTTP = """
import asyncio, sys, aiohttp
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.post(sys.argv[1] + "/v1/chat/completions", data=sys.argv[2],
            headers={"content-type": "application/json", "authorization": "Bearer k"}) as answer:
            print(await answer.text())
asyncio.run(main())
"""
HTTPX = """
import sys, httpx
print(httpx.post(sys.argv[1] + "/v1/chat/completions", content=sys.argv[2],
    headers={"content-type": "application/json", "authorization": "Bearer k"}).text)
"""
SOCKET = """
import asyncio, sys, aiohttp
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        url = sys.argv[1] + "/v1/responses"
        key = {"authorization": "Bearer k"}
        async with session.ws_connect(url, compress=15, headers=key) as ws:
            await ws.send_str('{"type": "response.create", "model": "m", "input": "hi"}')
            async for message in ws:
                print(message.data)
                if "response.completed" in message.data:
                    break
asyncio.run(main())
"""
CLIENTS = {
    "urllib": URLLIB,
    "requests": REQUESTS,
    "aiohttp": AIOHTTP,
    "httpx": HTTPX,
    "websocket": SOCKET,
}
BODY = '{"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}]}'


@pytest.fixture(scope="module", params=["https", "http"])
def provider(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, str]]]:
    """Its URL, and how a recorder trusts it."""
    ca = tmp_path_factory.mktemp("ca") / "ca.pem" if request.param == "https" else None
    with FakeProviderServer(Script.parse(SCRIPT, variables={}), ca_file=ca) as server:
        yield server.url, {"SSL_CERT_FILE": str(ca)} if ca else {}


@pytest.mark.parametrize(
    "client",
    [one if one == "urllib" else pytest.param(one, marks=pytest.mark.slow) for one in CLIENTS],
)
def test_a_client_finds_its_provider_through_the_tape(
    tmp_path: Path, provider: tuple[str, dict[str, str]], client: str
) -> None:
    """By the variables alone: proxy and certificate. The provider's host need not exist."""
    pytest.importorskip(client if client != "websocket" else "aiohttp")
    url, trust = provider
    options: dict[str, Any] = {
        "tape": tape_starter(proxy_env=True, terms=Terms(upstreams=("*",))),
        "cwd": tmp_path,
        "env": trust,
    }
    argv = [sys.executable, "-c", NOT_DIRECT + CLIENTS[client], url, BODY]
    with record(argv, tmp_path / "a.cassette", **options) as session:
        session.wait_exit(timeout_s=60)
    with open_cassette(tmp_path / "a.cassette") as cassette:
        upstreams = {one.entry.upstream for one in cassette.tape()}
        report = rerun(cassette, RerunOptions(trusted=True))

    assert upstreams - {""} == {url}
    assert report.passed, list(report_lines(report))
    assert report.matched == report.entries > 0
