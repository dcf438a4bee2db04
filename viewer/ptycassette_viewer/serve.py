"""The viewer in a browser, for the user of this machine only.

textual-serve runs the app and serves its page. This module adds the checks:

- all addresses are below a random token; others do not exist (404);
- ``Host`` must be the served address, so that a foreign name that resolves to this
  machine is refused (DNS rebinding);
- ``Origin``, where a browser sends one, must be that address too, so that no
  other page can open the websocket;
- the page loads nothing from elsewhere, and may not be framed.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import shlex
import sys
from collections.abc import Awaitable, Callable
from html import escape
from typing import Any

import aiohttp_jinja2
import jinja2
from aiohttp import web
from textual_serve.server import Server

MAX_SESSIONS = 8
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self';"
    " img-src 'self' data:; connect-src 'self' {websocket}; frame-ancestors 'none'; base-uri 'none'"
)
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="stylesheet" href="{prefix}/static/css/xterm.css">
<style>
html, body {{ margin: 0; height: 100%; background: #121212; color: #d8d8d8; }}
.textual-terminal {{ width: 100vw; height: 100vh; }}
#ended {{ display: none; position: absolute; inset: 0; font: 16px monospace;
  align-items: center; justify-content: center; background: #121212; z-index: 10; }}
body.-closed #ended {{ display: flex; }}
</style>
<script src="{prefix}/static/js/textual.js"></script>
<script src="{prefix}/keys.js" defer></script>
</head>
<body>
<div id="ended">The viewer has ended. Reload the page to start it again.</div>
<div id="terminal" class="textual-terminal" data-session-websocket-url="{websocket}"
 data-font-size="14"></div>
</body>
</html>
"""
_KEYS = """"use strict";
// The terminal takes keys as soon as it is there, and whenever its window is chosen again.
(() => {
  const focus = () => document.querySelector(".xterm-helper-textarea")?.focus();
  window.addEventListener("load", focus);
  window.addEventListener("focus", focus);
  new MutationObserver(focus).observe(document.body, { attributes: true });
})();
"""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def app_command(arguments: list[str]) -> str:
    """The command line that starts the app, each word quoted.

    With ``-P``, no module of the folder that is viewed is loaded.
    """
    return shlex.join([sys.executable, "-P", "-m", "ptycassette", "view", *arguments])


class ViewerServer(Server):
    """Serves the app that ``command`` starts.

    Args:
        command: see ``app_command``.
        host: the address to listen on.
        port: the port; 0 for any free one (then call ``bound`` when it is known).
        title: of the page.
        token: part of every address; random when None.
    """

    def __init__(
        self,
        command: str,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        title: str = "ptycassette",
        token: str | None = None,
    ) -> None:
        super().__init__(command, host=host, port=port, title=title)
        self.token = token or secrets.token_urlsafe(32)
        self._sessions = 0
        self._allowed: frozenset[str] = frozenset()
        self.bound(port)

    def bound(self, port: int) -> None:
        """Take the port, once it is known."""
        self.port = port
        names = {self.host}
        if _is_loopback(self.host):
            names |= {"localhost", "127.0.0.1", "::1"}
        shown = {f"[{name}]" if ":" in name else name for name in names}
        self._allowed = frozenset(f"{name}:{port}" for name in shown)
        own = f"[{self.host}]" if ":" in self.host else self.host
        self.public_url = f"http://{own}:{port}"

    @property
    def url(self) -> str:
        """The address that the user opens."""
        return f"{self.public_url}/{self.token}/"

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        aiohttp_jinja2.setup(app, loader=jinja2.DictLoader({}))
        prefix = f"/{self.token}"
        app.add_routes(
            [
                web.get(f"{prefix}/", self.index, name="index"),
                web.get(f"{prefix}/keys.js", self.keys, name="keys"),
                web.get(f"{prefix}/ws", self.websocket, name="websocket"),
                web.static(f"{prefix}/static", self.statics_path, name="static"),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let requests of the user's own page through."""
        host = request.headers.get("Host", "").lower()
        if host not in self._allowed:
            raise web.HTTPForbidden(text="this address is not served here")
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() != f"http://{host}":
            raise web.HTTPForbidden(text="asked for by another page")
        given = request.path.split("/", 2)[1]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            raise web.HTTPNotFound(text="open the whole address that was printed")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_headers(f"ws://{host}"))
        return response

    async def index(self, request: web.Request) -> web.Response:
        """The page."""
        host = request.headers["Host"]
        page = _PAGE.format(
            title=escape(self.title),
            prefix=f"/{self.token}",
            websocket=escape(f"ws://{host}/{self.token}/ws"),
        )
        return web.Response(text=page, content_type="text/html")

    async def keys(self, request: web.Request) -> web.Response:  # noqa: ARG002 - the protocol
        """The script that gives the terminal the keyboard."""
        return web.Response(text=_KEYS, content_type="text/javascript")

    async def websocket(self, request: web.Request) -> web.StreamResponse:
        """One app for each page, up to ``MAX_SESSIONS`` at a time."""
        if request.headers.get("Origin") is None:
            raise web.HTTPForbidden(text="a browser says where it comes from")
        if self._sessions >= MAX_SESSIONS:
            raise web.HTTPServiceUnavailable(text="too many viewers at a time")
        self._sessions += 1
        try:
            return await self.handle_websocket(request)
        finally:
            self._sessions -= 1

    async def run(self, started: Callable[[ViewerServer], Any]) -> web.AppRunner:
        """Listen; ``started`` is called when the port is known. The caller cleans up."""
        runner = web.AppRunner(await self._make_app())
        await runner.setup()
        site = web.TCPSite(runner, self.host, self.port)
        await site.start()
        self.bound(runner.addresses[0][1])
        started(self)
        return runner


def _headers(websocket: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": _POLICY.format(websocket=websocket),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
