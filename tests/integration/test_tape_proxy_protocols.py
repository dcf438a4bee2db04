"""The tape's proxy before other people's clients and servers: WebSockets, tunnels, TLS."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.tape.consent.terms import Limit, Terms
from ptycassette.tape.io.journal_file import TapeJournalReader
from ptycassette.tape.io.running_proxy import RunningProxy, start_proxy
from ptycassette.tape.items import ExchangeEnded, RequestBegun, SocketMessage, TapeItem

pytestmark = pytest.mark.integration

CURL = shutil.which("curl") or ""
needs_curl = pytest.mark.skipif(not CURL, reason="curl is not installed")
SCRIPT = Script.parse("version = 1\n[[replies]]\ntimes = 0\ntext = 'hello from afar'")


@asynccontextmanager
async def served(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncIterator[str]:
    """A server of aiohttp."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def echo(request: web.Request) -> web.StreamResponse:
    """Send each message back, and close with 4321 at ``end``."""
    socket = web.WebSocketResponse(autoping=True)
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.TEXT and message.data == "end":
            await socket.close(code=4321)
        elif message.type is WSMsgType.TEXT:
            await socket.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await socket.send_bytes(message.data)
    return socket


def begun(folder: Path, url: str | None, terms: Terms | None = None) -> RunningProxy:
    """A proxy before one provider, or an HTTP proxy."""
    return start_proxy(
        journal=folder / "a.tape",
        provider=url,
        proxy_env=url is None,
        environment={},
        terms=terms or Terms(upstreams=("*",)),
    )


def noted(folder: Path) -> list[TapeItem]:
    """What was noted."""
    with TapeJournalReader(folder / "a.tape") as reader:
        return list(reader.poll())


@pytest.mark.parametrize("compress", [0, 15, 9])
@pytest.mark.parametrize("judged", [False, True])
def test_messages_pass_both_ways_and_are_noted_unpacked(
    tmp_path: Path, compress: int, *, judged: bool
) -> None:
    """With and without permessage-deflate, short, empty and of many frames' length."""
    words: list[str | bytes] = ["a", "", "é" * 5000, b"\0\1", "x" * 300_000, b"y" * 70_000]

    async def talk() -> tuple[list[str | bytes], int | None]:
        async with served(echo) as url:
            terms = Terms(limit=Limit(requests=99)) if judged else None
            with begun(tmp_path, url, terms) as proxy:
                base = proxy.environment["OPENAI_BASE_URL"]
                async with aiohttp.ClientSession() as session:
                    socket = await session.ws_connect(base, compress=compress)
                    got: list[str | bytes] = []
                    for word in words:
                        send = socket.send_str if isinstance(word, str) else socket.send_bytes
                        await send(word)  # type: ignore[arg-type]  # the one that takes it
                        got.append((await socket.receive()).data)
                    await socket.ping()
                    await socket.send_str("end")
                    assert (await socket.receive()).type is WSMsgType.CLOSE
                    return got, socket.close_code

    got, code = asyncio.run(talk())
    items = noted(tmp_path)
    messages = [item for item in items if isinstance(item, SocketMessage)]
    raw = [word.encode() if isinstance(word, str) else word for word in words]

    assert (got, code) == (words, 4321)
    assert [m.data for m in messages if m.sender == "client"] == [*raw, b"end"]
    assert [m.data for m in messages if m.sender == "provider"] == raw
    assert [m.binary for m in messages if m.sender == "provider"] == [
        isinstance(word, bytes) for word in words
    ]
    assert [(i.outcome, i.close_code) for i in items if isinstance(i, ExchangeEnded)] == [
        ("complete", 4321)
    ]


def test_a_message_beyond_the_budget_ends_the_websocket(tmp_path: Path) -> None:
    """It reaches nobody."""
    heard: list[str] = []

    async def listen(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        heard.extend([message.data async for message in socket])
        return socket

    async def talk() -> WSMsgType:
        async with served(listen) as url:
            with begun(tmp_path, url, Terms(limit=Limit(requests=0))) as proxy:
                async with aiohttp.ClientSession() as session:
                    socket = await session.ws_connect(proxy.environment["OPENAI_BASE_URL"])
                    await socket.send_str('{"type": "response.create", "model": "gpt-4o"}')
                    return (await socket.receive()).type

    assert asyncio.run(talk()) in {WSMsgType.CLOSED, WSMsgType.CLOSE, WSMsgType.ERROR}
    assert heard == []
    assert [i.outcome for i in noted(tmp_path) if isinstance(i, ExchangeEnded)] == ["refused"]


def test_a_handshake_that_is_refused_is_an_answer(tmp_path: Path) -> None:
    """Codex tries HTTP then."""

    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=426, text="no")

    async def talk() -> int:
        async with served(refuse) as url:
            with begun(tmp_path, url) as proxy:
                async with aiohttp.ClientSession() as session:
                    try:
                        await session.ws_connect(proxy.environment["OPENAI_BASE_URL"])
                    except aiohttp.WSServerHandshakeError as refused:
                        return refused.status
                    return 0

    assert asyncio.run(talk()) == 426
    assert [i.kind for i in noted(tmp_path) if isinstance(i, RequestBegun)] == ["websocket"]


@needs_curl
@pytest.mark.parametrize("tls", [True, False])
def test_a_program_that_knows_only_proxies(tmp_path: Path, *, tls: bool) -> None:
    """curl, by its variables: CONNECT and TLS to our authority, or plain."""
    ca = tmp_path / "ca.pem" if tls else None
    with FakeProviderServer(SCRIPT, ca_file=ca) as fake:
        with start_proxy(
            journal=tmp_path / "a.tape",
            proxy_env=True,
            environment={"SSL_CERT_FILE": str(ca)} if tls else {},
            terms=Terms(upstreams=("*",)),
        ) as proxy:
            asked = subprocess.run(
                [CURL, "-sS", "-m", "30", "-H", "Authorization: Bearer k", "--json",
                 '{"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}',
                 f"{fake.openai_url}/chat/completions"],
                env={**proxy.environment, "NO_PROXY": "", "no_proxy": ""},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            mode = (tmp_path / "a.tape.pem").stat().st_mode & 0o777
        origin = fake.url

    assert "hello from afar" in asked.stdout, asked.stderr
    assert [(i.upstream, i.target) for i in noted(tmp_path) if isinstance(i, RequestBegun)] == [
        (origin, "/v1/chat/completions")
    ]
    assert mode == 0o600
    assert not (tmp_path / "a.tape.pem").exists()


@needs_curl
def test_a_tunnel_needs_the_password(tmp_path: Path) -> None:
    """Another program of this machine has not got it."""
    with begun(tmp_path, None) as proxy:
        asked = subprocess.run(
            [CURL, "-sS", "-m", "30", "-p", "-x", f"http://127.0.0.1:{proxy.port}", "-w",
             "%{http_connect}", "http://127.0.0.1:9/"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert asked.stdout == "407"
    assert noted(tmp_path) == []


def test_a_hundred_streams_at_once_are_not_changed(tmp_path: Path) -> None:
    """Each gets its own bytes."""
    chunks = 40

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(chunks):
            await response.write(f"{request.path} {number}\n".encode())
        return response

    async def ask(session: aiohttp.ClientSession, url: str) -> bytes:
        async with session.get(url) as response:
            return await response.read()

    async def talk() -> list[bytes]:
        async with served(stream) as url:
            with begun(tmp_path, url) as proxy:
                base = proxy.environment["ANTHROPIC_BASE_URL"]
                connector = aiohttp.TCPConnector(limit=0)
                async with aiohttp.ClientSession(connector=connector) as session:
                    return await asyncio.gather(*(ask(session, f"{base}/{n}") for n in range(100)))

    got = asyncio.run(talk())

    assert got == [b"".join(b"/%d %d\n" % (n, k) for k in range(chunks)) for n in range(100)]


@needs_curl
def test_a_certificate_that_nobody_trusts_is_no_way_to_the_provider(tmp_path: Path) -> None:
    """The proxy checks certificates as the CLI would."""
    with (
        FakeProviderServer(SCRIPT, ca_file=tmp_path / "ca.pem") as fake,
        begun(tmp_path, fake.url) as proxy,
    ):
        asked = subprocess.run(
            [CURL, "-sS", "-m", "30", proxy.environment["OPENAI_BASE_URL"] + "/models"],
            capture_output=True,
            text=True,
            check=False,
        )
        proxy.close()

    assert asked.returncode != 0
    assert "CERTIFICATE_VERIFY_FAILED" in proxy.reports[0]


@pytest.mark.slow
def test_streams_over_tls_do_not_stop(tmp_path: Path) -> None:
    """Requests and answers of all sizes, side by side, to their end."""
    ca = tmp_path / "ca.pem"
    text = " ".join(["word"] * 400)
    script = Script.parse(
        f"version = 1\n[pace]\nchunk_chars = 3\n[[replies]]\ntimes = 0\ntext = '{text}'"
    )

    async def ask(session: aiohttp.ClientSession, url: str, proxy: str, size: int) -> bool:
        message = {"role": "user", "content": "x" * size}
        body = {"model": "gpt-4o", "stream": True, "messages": [message]}
        headers = {"authorization": "Bearer k"}
        async with session.post(url, json=body, proxy=proxy, headers=headers) as answer:
            return (await answer.read()).endswith(b"data: [DONE]\n\n")

    async def talk(url: str, proxy: str) -> list[bool]:
        trusted = ssl.create_default_context(cafile=f"{tmp_path / 'a.tape'}.pem")
        connector = aiohttp.TCPConnector(ssl=trusted)
        timeout = aiohttp.ClientTimeout(total=120)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            asked = [ask(session, url, proxy, size) for size in (1, 5_000, 31_000, 300_000) * 5]
            return await asyncio.gather(*asked)

    with (
        FakeProviderServer(script, ca_file=ca) as fake,
        start_proxy(
            journal=tmp_path / "a.tape",
            proxy_env=True,
            environment={"SSL_CERT_FILE": str(ca)},
            terms=Terms(upstreams=("*",)),
        ) as proxy,
    ):
        whole = asyncio.run(
            talk(f"{fake.openai_url}/chat/completions", proxy.environment["HTTPS_PROXY"])
        )

    assert whole == [True] * 20
