"""A headless Chromium for tests, spoken to through its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

_PATIENCE_S = 90


class Browser:
    """The process. It makes no connection of its own."""

    def __init__(self, program: str, folder: Path, *, size: tuple[int, int] = (1200, 800)) -> None:
        self._folder = folder
        self.process = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                f"--window-size={size[0]},{size[1]}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    async def page(self, client: aiohttp.ClientSession) -> aiohttp.ClientWebSocketResponse:
        """The socket of its one page."""
        active = self._folder / "DevToolsActivePort"
        for _ in range(600):
            if active.exists() and active.read_text(encoding="utf-8").strip():
                break
            await asyncio.sleep(0.05)
        port = active.read_text(encoding="utf-8").splitlines()[0]
        async with client.get(f"http://127.0.0.1:{port}/json") as answer:
            pages = [page for page in await answer.json() if page["type"] == "page"]
        return await client.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=1 << 26)

    def close(self) -> None:
        """End it; a browser that takes too long over it is not what is tested."""
        self.process.terminate()
        try:
            self.process.wait(timeout=90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Tab:
    """A page that was opened, with what it asked for and complained about."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._loaded = False

    async def call(self, method: str, **params: Any) -> Any:
        """The result of a method of the protocol."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                message = await self._socket.receive_json()
                if message.get("id") == self._number:
                    assert "error" not in message, message
                    return message["result"]
                self._note(message)

    async def open(self, url: str) -> None:
        """Go there, until the page and all it loads is there."""
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.call(f"{domain}.enable")
        self._loaded = False
        await self.call("Page.navigate", url=url)
        async with asyncio.timeout(_PATIENCE_S):
            while not self._loaded:
                self._note(await self._socket.receive_json())

    async def value(self, expression: str) -> Any:
        """What an expression of JavaScript gives, promises included."""
        result = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    async def press(self, key: str) -> None:
        """A key, down and up. Of one character, it is text."""
        text = {"text": key} if len(key) == 1 else {}
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def picture(self) -> bytes:
        """What is in the window, as PNG."""
        shot = await self.call("Page.captureScreenshot")
        return base64.b64decode(shot["data"])

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(params["args"]))
            case "Page.loadEventFired":
                self._loaded = True


@asynccontextmanager
async def opened_tab(browser: Browser) -> AsyncIterator[Tab]:
    """The one page of a browser."""
    async with aiohttp.ClientSession() as client, await browser.page(client) as socket:
        yield Tab(socket)
