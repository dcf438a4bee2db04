"""The fake provider on 127.0.0.1: HTTP and WebSocket around the pure state machine.

Needs the extra ``provider`` (aiohttp). ``FakeProviderServer`` runs the server
in a thread of its own, so that synchronous tests and recorders can use it;
``ProviderApp`` is the same inside a running event loop.

The state machine plans what a client gets. This module adds waiting, breaking
connections off, and the log: one JSON object per finished request. If the log
cannot be written, clients are served nevertheless.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from aiohttp import WSMsgType, web

from ptycassette.errors import NotFoundError, StorageError, UnreadableError, UsageError
from ptycassette.harness.io._fake_provider_log import RequestLog
from ptycassette.harness.io._fake_provider_tls import server_context
from ptycassette.harness.io.server_thread import HOST, ServerThread
from ptycassette.harness.provider.fake.body import MAX_BODY_BYTES, too_large, unpacked
from ptycassette.harness.provider.fake.engine import FakeProvider
from ptycassette.harness.provider.fake.exchange import HttpRequest, PlannedAnswer, withheld_values
from ptycassette.harness.provider.fake.script import Script
from ptycassette.harness.provider.wire.neutral import WireError
from ptycassette.model.ports import Clock
from ptycassette.model.toml_text import MAX_TOML_BYTES
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.plain_file import read_plain


def read_script(path: Path, variables: Mapping[str, str] | None = None) -> Script:
    """The script in a file.

    Raises:
        NotFoundError, UnreadableError: no such file, or it may not be read.
        UsageError: not a valid script.
        UnsafeFileError, LimitError: not a regular file, or far too large.
    """
    try:
        text = read_plain(path, max_bytes=MAX_TOML_BYTES).decode("utf-8")
    except (NotFoundError, UnreadableError) as failed:
        raise type(failed)(
            f"the script cannot be read: {failed.message}", where=str(path)
        ) from failed
    except UnicodeDecodeError as wrong:
        raise UsageError("the script is not UTF-8 text", where=str(path)) from wrong
    return Script.parse(text, where=str(path), variables=dict(variables or {}))


class ProviderApp:
    """The aiohttp application around one ``FakeProvider``."""

    def __init__(self, provider: FakeProvider, log: RequestLog) -> None:
        self._provider = provider
        self._log = log
        self.app = web.Application(client_max_size=MAX_BODY_BYTES)
        self.app.router.add_route("*", "/{path:.*}", self._handle)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        """Handle any request."""
        asked = HttpRequest(
            method=request.method,
            path=request.path,
            query=tuple(request.query.items()),
            headers={name.lower(): value for name, value in request.headers.items()},
        )
        self._log.learn(withheld_values(asked))
        if _wants_websocket(request):
            return await self._converse(request, asked)
        try:
            body = await _body(request)
        except WireError as wrong:
            return await self._carry_out(request, self._provider.refuse(asked, wrong))
        asked = msgspec.structs.replace(asked, body=body)
        return await self._carry_out(request, self._provider.http(asked))

    async def _carry_out(self, request: web.Request, exchange: PlannedAnswer) -> web.StreamResponse:
        """Carry out the plan over HTTP."""
        response = web.StreamResponse(status=exchange.status or 200, headers=exchange.headers)
        began_us = self._log.now_us()
        sent, outcome = await self._send(request, response, exchange)
        # Before the last byte, so that a client with the answer finds it in the log.
        await self._note(exchange, began_us=began_us, sent=sent, outcome=outcome)
        if outcome == "complete":
            with contextlib.suppress(ConnectionError):
                await response.write_eof()
        return response

    async def _send(
        self, request: web.Request, response: web.StreamResponse, exchange: PlannedAnswer
    ) -> tuple[int, str]:
        """Send the steps; returns the number of bytes sent, and the outcome."""
        sent = 0
        try:
            for step in exchange.steps:
                await asyncio.sleep(step.delay_ms / 1000)
                if step.data:
                    if not response.prepared:
                        await response.prepare(request)
                    await response.write(step.data)
                    sent += len(step.data)
            if exchange.ending == "disconnect":
                _break_off(request)
            elif not response.prepared:
                await response.prepare(request)
        except (ConnectionError, asyncio.CancelledError):
            return sent, "client-gone"
        return sent, exchange.ending

    async def _note(
        self, exchange: PlannedAnswer, *, began_us: int, sent: int, outcome: str
    ) -> None:
        """Log a finished request; returns when it is in the log."""
        line = self._log.add(exchange, began_us=began_us, sent=sent, outcome=outcome)
        if line is not None:
            # If the client leaves, only the waiting ends; the line is still written.
            await asyncio.shield(asyncio.wrap_future(line))

    async def _converse(self, request: web.Request, asked: HttpRequest) -> web.StreamResponse:
        """Serve a WebSocket: a handshake, then messages until one side closes."""
        handshake = self._provider.connect(asked)
        if handshake.status != HTTPStatus.SWITCHING_PROTOCOLS:
            return await self._carry_out(request, handshake)
        socket = web.WebSocketResponse(max_msg_size=MAX_BODY_BYTES, autoping=True)
        await socket.prepare(request)
        await self._note(handshake, began_us=self._log.now_us(), sent=0, outcome="complete")
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                exchange = self._provider.message(message.data, asked)
                if not await self._speak(request, socket, exchange):
                    break
        return socket

    async def _speak(
        self, request: web.Request, socket: web.WebSocketResponse, exchange: PlannedAnswer
    ) -> bool:
        """Send the planned messages; False when the connection is over."""
        sent = 0
        outcome = "client-gone"
        began_us = self._log.now_us()
        try:
            for step in exchange.steps:
                await asyncio.sleep(step.delay_ms / 1000)
                if step.data:
                    await socket.send_str(step.data.decode())
                    sent += len(step.data)
            outcome = exchange.ending
            if outcome == "disconnect":
                _break_off(request)
        except ConnectionError:
            pass  # the client went away; the log says so
        finally:
            await self._note(exchange, began_us=began_us, sent=sent, outcome=outcome)
        return outcome == "complete"


async def _body(request: web.Request) -> bytes:
    """The decompressed body. aiohttp would decompress all of it before it checks the limit.

    Raises:
        WireError: too large, or in an encoding that is not accepted.
    """
    try:
        packed = await request.read()
    except web.HTTPRequestEntityTooLarge as large:
        raise too_large() from large
    return unpacked(packed, request.headers.get("content-encoding", ""))


def _wants_websocket(request: web.Request) -> bool:
    """Whether this is a WebSocket handshake."""
    return request.headers.get("upgrade", "").lower() == "websocket"


def _break_off(request: web.Request) -> None:
    """Close the connection as a crash would: no last chunk, no close frame."""
    if request.transport is not None:
        request.transport.abort()


class FakeProviderServer:
    """A fake provider that listens, in a thread of its own. A context manager.

    Args:
        script: a checked script, or the path of one.
        port: 0 for any free port.
        log: a file to which each request is appended as one line of JSON, scrubbed; see
            ``close`` for what happens when it cannot be written.
        variables: values of ``${name}`` in a script given by its path.
        accepted_keys: if given, only these API keys are accepted.
        clock: time, for tests.
        ca_file: if given, use TLS, and write the certificate of the authority that
            clients must trust (``SSL_CERT_FILE``, ``NODE_EXTRA_CA_CERTS``) to this file.
        tell: called once, from another thread, as soon as the log cannot be written.

    Raises:
        UsageError: the script is wrong, or the port is taken.
        StorageError: the log or ``ca_file`` cannot be written.
    """

    def __init__(
        self,
        script: Script | Path | str,
        *,
        port: int = 0,
        log: Path | None = None,
        variables: Mapping[str, str] | None = None,
        accepted_keys: frozenset[str] | None = None,
        clock: Clock | None = None,
        ca_file: Path | None = None,
        tell: Callable[[StorageError], None] | None = None,
    ) -> None:
        checked = script if isinstance(script, Script) else read_script(Path(script), variables)
        self._clock = clock or MonotonicClock()
        self._provider = FakeProvider(checked, self._clock, accepted_keys=accepted_keys)
        self._tls = None if ca_file is None else server_context(HOST, ca_file)
        self._log = RequestLog(self._clock, log, known=accepted_keys or (), tell=tell)
        self._server = ServerThread(
            "fake provider",
            lambda: ProviderApp(self._provider, self._log).app,
            port=port,
            tls=self._tls,
        )

    def start(self) -> Self:
        """Listen. Returns when connections are accepted."""
        try:
            self._server.start()
        except UsageError:
            self._log.close()
            raise
        return self

    def close(self) -> None:
        """Stop listening and abort answers in progress. Does nothing the second time.

        Raises:
            StorageError: the log is incomplete, because the disk refused. All requests were
                answered nevertheless, and ``requests`` has them all.
        """
        self._server.stop()
        self._log.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except StorageError as unlogged:
            if error is None:
                raise
            error.add_note(str(unlogged))  # the first thing that went wrong is what is raised

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._server.port

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``: the base URL for Anthropic and Gemini clients."""
        return self._server.url

    @property
    def openai_url(self) -> str:
        """``http://127.0.0.1:PORT/v1``: the base URL for OpenAI clients."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> tuple[dict[str, Any], ...]:
        """The finished requests in order; unlike the log, not scrubbed.

        Keys and cookies are withheld here, too.
        """
        return tuple(self._log.entries)

    @property
    def problems(self) -> tuple[str, ...]:
        """Requests that neither the script nor the APIs expect, one line each."""
        return tuple(self._provider.problems)

    @property
    def unused(self) -> tuple[str, ...]:
        """Replies of the script that were not requested, or not often enough."""
        return self._provider.unused
