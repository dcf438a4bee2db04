"""The viewer in a browser: what the server lets through, and a real browser."""

from __future__ import annotations

import asyncio
import base64
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from ptycassette_viewer.serve import ViewerServer, app_command
from tests.chromium import Browser


def served(check: Callable[[ViewerServer, aiohttp.ClientSession], Awaitable[None]]) -> None:
    """Run a server on a free port, and ``check`` against it."""

    async def run() -> None:
        server = ViewerServer(app_command(["nothing"]))
        runner = await server.run(lambda _: None)
        try:
            async with aiohttp.ClientSession() as client:
                await check(server, client)
        finally:
            await runner.cleanup()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1:1"}, 403),
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_host_and_origin_are_checked(headers: dict[str, str], status: int) -> None:
    """Only the address that is served, asked for by its own page."""

    async def check(server: ViewerServer, client: aiohttp.ClientSession) -> None:
        filled = {name: value.format(port=server.port) for name, value in headers.items()}
        async with client.get(server.url, headers=filled) as answer:
            assert answer.status == status

    served(check)


@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/textual.js", "/wrong/", "/wrong/ws"])
def test_without_the_token_there_is_nothing(path: str) -> None:
    """Neither the page nor its files nor the websocket."""

    async def check(server: ViewerServer, client: aiohttp.ClientSession) -> None:
        async with client.get(server.public_url + path) as answer:
            assert answer.status == 404

    served(check)


def test_a_websocket_without_an_origin_is_refused() -> None:
    """Browsers always send one."""

    async def check(server: ViewerServer, client: aiohttp.ClientSession) -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(f"{server.url}ws")
        assert refused.value.status == 403

    served(check)


def test_the_page_loads_nothing_from_elsewhere() -> None:
    """No other host in the page, and a policy that would forbid it."""

    async def check(server: ViewerServer, client: aiohttp.ClientSession) -> None:
        async with client.get(server.url) as answer:
            page = await answer.text()
            policy = answer.headers["Content-Security-Policy"]
        assert "https://" not in page
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        async with client.get(f"{server.url}static/js/textual.js") as answer:
            assert answer.status == 200

    served(check)


def test_the_page_gives_the_terminal_the_keyboard() -> None:
    """By a script of its own: no click is needed first."""

    async def check(server: ViewerServer, client: aiohttp.ClientSession) -> None:
        async with client.get(server.url) as answer:
            assert f"/{server.token}/keys.js" in await answer.text()
        async with client.get(f"{server.url}keys.js") as answer:
            assert answer.content_type == "text/javascript"
            assert "focus()" in await answer.text()

    served(check)


def test_tokens_differ() -> None:
    """256 bits each time."""
    tokens = {ViewerServer("x").token for _ in range(10)}

    assert len(tokens) == 10
    assert min(map(len, tokens)) >= 43


PAINTED_BYTES = 20_000  # a picture of an empty page is much smaller


async def look(
    browser: Browser, url: str, wanted: str, *, key: str, then: str
) -> tuple[str, list[str], bytes]:
    """What the page's socket received, complaints, and a picture.

    Until ``wanted`` was in it; then ``key`` is pressed, with no click before; until ``then`` was.
    """
    received, complaints = "", []
    async with aiohttp.ClientSession() as client:
        page = await browser.page(client)
        for number, method in enumerate(("Network.enable", "Log.enable", "Page.enable"), 1):
            await page.send_json({"id": number, "method": method})
        await page.send_json({"id": 4, "method": "Page.navigate", "params": {"url": url}})
        async with asyncio.timeout(90):
            pressed = False
            while not pressed or then not in received:
                message = await page.receive_json()
                if message.get("method") == "Network.webSocketFrameReceived":
                    frame = message["params"]["response"]
                    data = frame["payloadData"]
                    received += (
                        base64.b64decode(data).decode("utf-8", "replace")
                        if frame["opcode"] == 2
                        else data
                    )
                    if not pressed and wanted in received:
                        pressed = True
                        for number, kind in ((5, "keyDown"), (6, "keyUp")):
                            event = {"type": kind, "key": key, "text": key}
                            await page.send_json(
                                {"id": number, "method": "Input.dispatchKeyEvent", "params": event}
                            )
                elif message.get("method") == "Log.entryAdded":
                    complaints.append(message["params"]["entry"]["text"])
            picture = b""
            while len(picture) <= PAINTED_BYTES:
                await page.send_json({"id": 9, "method": "Page.captureScreenshot"})
                while (message := await page.receive_json()).get("id") != 9:
                    continue
                picture = base64.b64decode(message["result"]["data"])
    return received, complaints, picture


@pytest.mark.slow
@pytest.mark.integration
def test_a_browser_shows_the_recording(
    agents: Path, tmp_path: Path, program: Callable[[str], str]
) -> None:
    """Headless Chromium opens the printed address, gets the recording, and takes keys at once."""
    browser = Browser(program("chromium"), tmp_path / "profile")
    command = [sys.executable, "-m", "ptycassette", "view", "--serve", "--start", "3.3"]
    server = subprocess.Popen(
        [*command, str(agents / "codex-tui")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[1]
        received, complaints, picture = asyncio.run(
            look(browser, url, "walnuts", key="?", then="all commands, themes")
        )
    finally:
        browser.close()
        server.send_signal(signal.SIGINT)
        try:
            status = server.wait(timeout=90)
        finally:
            server.kill()
            if server.stdout is not None:
                server.stdout.close()

    (tmp_path / "page.png").write_bytes(picture)

    assert "OpenAI Codex" in received
    assert [text for text in complaints if "Content Security Policy" in text] == []
    assert status == 0
    assert len(picture) > PAINTED_BYTES
