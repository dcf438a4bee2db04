"""A server on 127.0.0.1 in a thread of its own, so that synchronous code can use it.

Other users of the machine get status 403: they could read recorded answers, and use them up.

Needs the extra ``provider`` (aiohttp).
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from aiohttp import web
from aiohttp.typedefs import Handler

from ptycassette.errors import StorageError, UsageError
from ptycassette.keys.quantities import time_text
from ptycassette.tape.io._peer import belongs_to_another_user

HOST = "127.0.0.1"
_START_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 5.0


class ServerThread:
    """Serves an aiohttp application until it is stopped.

    Args:
        name: of the thread, and of the server in messages.
        make: makes the application, in the thread.
        port: 0 for any free port.
        tls: speak TLS with this.
        beside: what runs as long as the server, in its loop; it is given what speaks HTTP.

    Attributes:
        port: the port that it listens on; 0 before the start.
        loop: the event loop of the thread, once started.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], web.Application],
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        beside: Callable[[Callable[[], asyncio.Protocol]], AbstractAsyncContextManager[None]]
        | None = None,
    ) -> None:
        self._name, self._make, self._wanted_port, self._tls = name, make, port, tls
        self._beside = beside
        self.port = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name.replace(" ", "-"), daemon=True)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, or https."""
        return f"{'https' if self._tls else 'http'}://{HOST}:{self.port}"

    def start(self) -> None:
        """Listen. Returns when connections are accepted.

        Raises:
            UsageError: the port is taken.
            StorageError: the thread did not start.
        """
        self._thread.start()
        if not self._ready.wait(_START_TIMEOUT_S):
            raise StorageError(f"the {self._name} did not start in {time_text(_START_TIMEOUT_S)}")
        if self._failed is not None:
            raise UsageError(
                f"cannot listen on {HOST}:{self._wanted_port}: {self._failed}",
                hint="choose another port, or 0 for a free one",
            ) from self._failed

    def stop(self) -> None:
        """Stop listening and end every answer that is under way. Does nothing the second time."""
        if self.loop is not None and self._stop is not None and self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(2 * _STOP_TIMEOUT_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as failed:
            self._failed = failed
            self._ready.set()

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        application = self._make()
        application.middlewares.insert(0, _not_for_others)
        runner = web.AppRunner(
            application,
            handler_cancellation=True,
            shutdown_timeout=0.1,
            access_log=None,
            auto_decompress=False,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, self._wanted_port, ssl_context=self._tls)
            await site.start()
            self.port = runner.addresses[0][1]
            assert runner.server is not None  # noqa: S101 - it was set up
            async with self._beside(runner.server) if self._beside else nullcontext():
                self._ready.set()
                await self._stop.wait()
        finally:
            await asyncio.wait_for(runner.cleanup(), _STOP_TIMEOUT_S)


@web.middleware
async def _not_for_others(request: web.Request, handler: Handler) -> web.StreamResponse:
    transport = request.transport
    own, peer = (
        transport.get_extra_info(name) if transport is not None else None
        for name in ("sockname", "peername")
    )
    if own is not None and peer is not None and belongs_to_another_user(peer, own):
        raise web.HTTPForbidden(text="this server is for the user who started it")
    return await handler(request)
