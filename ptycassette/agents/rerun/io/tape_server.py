"""The only provider of a new run: a server that answers from a tape and asks no other server.

Needs the extra ``tape`` (aiohttp). Status, headers, bytes, the cuts between them and the end of
each exchange are as recorded. The time of a piece depends on the inputs that were sent, not on the
clock (``Gates``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
from aiohttp import WSMsgType, web

from ptycassette.agents.harness.io.fake_provider import ServerThread
from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.report import TapeDesk
from ptycassette.model.tape import Chunk, TapeEntry
from ptycassette.system.ownership import Closing
from ptycassette.tape.io.tunnels import Tunnels
from ptycassette.tape.items import kept_target
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question
from ptycassette.tape.unpacking import unpacked_body

# Make a client receive in one piece what is sent in one: TCP_CORK (tcp(7)), if supported.


_TCP_CORK: int | None = getattr(socket, "TCP_CORK", None)


class Cork(Closing):
    """Holds back the data of a connection while it is in; it is out at first.

    The kernel holds back only the last segment, for 200 ms at most, so nothing is lost.
    """

    def __init__(self, transport: asyncio.BaseTransport | None) -> None:
        self._socket = None if transport is None else transport.get_extra_info("socket")

    def put_in(self) -> None:
        """Hold back data from now on."""
        self._set(True)

    def take_out(self) -> None:
        """Send the data that was held back."""
        self._set(False)

    def close(self) -> None:
        """Send the data that was held back."""
        self.take_out()

    def _set(self, value: bool) -> None:  # noqa: FBT001 - the value of a flag
        if self._socket is not None and _TCP_CORK is not None:
            with suppress(OSError):  # it is closed
                self._socket.setsockopt(socket.IPPROTO_TCP, _TCP_CORK, value)


MISS_STATUS = 404
"""The status for a question that the tape does not have; unlike a 5xx, clients do not retry it."""
_MOST_BYTES = 256 << 20
_MASKED_TOKEN = "x" * 32
"""The masked token in the address of the recorder's proxy, as in a recording."""
_EITHER_SIDES = frozenset((None, 1000, 1001, 1005))
"""Codes with which either side closes a WebSocket (RFC 6455, 7.4.1)."""
_OF_THIS_CONNECTION = frozenset(
    ("connection", "content-encoding", "keep-alive", "sec-websocket-accept",
     "sec-websocket-extensions", "transfer-encoding", "upgrade")
)  # fmt: skip
"""Headers that are about the recorded connection or the packing of the recorded body."""


class TapeServer:
    """Serves one tape, once. A context manager.

    Args:
        gates: the inputs that a piece has to wait for.
        hold_s: how long a piece waits for an input at most.
        ca_file: also be an HTTP proxy for all hosts; the new file for the certificate that its
            clients must trust.

    Raises:
        StorageError: the certificate cannot be written.

    Attributes:
        desk: answers; set before the first question.
        bases: the path of each recorded base URL, by the name of its route: targets begin with it.
    """

    def __init__(self, gates: Gates, *, hold_s: float = 60.0, ca_file: Path | None = None) -> None:
        self._gates, self._hold_s = gates, hold_s
        self.desk: TapeDesk | None = None
        self.bases: Mapping[str, str] = {}
        self._opened: asyncio.Condition | None = None
        self._tunnels = None if ca_file is None else Tunnels(ca_file)
        self._server = ServerThread("tape server", self._application, beside=self._tunnelled)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return self._server.url

    def url_as_recorded(self, route: str) -> str:
        """``url`` in the form of the recorder's proxy, because a program may show its base URL."""
        return f"{self.url}/{_MASKED_TOKEN}/{route}"

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of ``url`` and of ``proxy``."""
        own = (self._server.port,)
        return own if self._tunnels is None else (*own, self._tunnels.port)

    @property
    def proxy(self) -> str:
        """The same as an HTTP proxy; empty if it is not one."""
        return "" if self._tunnels is None else f"http://127.0.0.1:{self._tunnels.port}"

    @contextlib.asynccontextmanager
    async def _tunnelled(self, serve: Callable[[], asyncio.Protocol]) -> AsyncIterator[None]:
        if self._tunnels is None:
            yield
            return
        await self._tunnels.start(serve)
        try:
            yield
        finally:
            await self._tunnels.close()

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()

    def sent(self, count: int) -> None:
        """Note that ``count`` inputs were sent; send the pieces that waited. Thread-safe."""
        loop = self._server.loop
        if loop is not None:
            asyncio.run_coroutine_threadsafe(self._open(count), loop).result()

    def _application(self) -> web.Application:
        self._opened = asyncio.Condition()
        app = web.Application(client_max_size=_MOST_BYTES)
        app.router.add_route("*", "/{path:.*}", self.handle)
        return app

    async def _open(self, count: int) -> None:
        assert self._opened is not None  # noqa: S101 - the loop runs
        async with self._opened:
            self._gates.sent = max(self._gates.sent, count)
            self._opened.notify_all()

    async def _passes(self, t_us: int, cork: Cork | None = None) -> None:
        """Wait until a piece may be sent; after ``hold_s`` it is sent in any case.

        Data that ``cork`` holds back is sent before a wait.
        """
        if self._gates.is_open(t_us) or self._opened is None:
            return
        if cork is not None:
            cork.take_out()
        async with self._opened:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(
                    self._opened.wait_for(lambda: self._gates.is_open(t_us)), self._hold_s
                )

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer any request."""
        socket = request.headers.get("upgrade", "").lower() == "websocket"
        body = b"" if socket else await request.read()
        upstream, target = self._where(request)
        asked = Question(
            kind="websocket" if socket else "http",
            method=request.method,
            upstream=upstream,
            target=kept_target(target)[0],
            headers=tuple((name.lower(), value) for name, value in request.headers.items()),
            body=unpacked_body(body, request.headers.get("content-encoding", "")),
            within=id(request) if socket else None,
        )
        answer = await self.ask(request, asked)
        if isinstance(answer, Miss):
            return _refused(answer)
        if socket and answer.status == 101:
            return await self._converse(request, asked, answer)
        return await self._respond(request, answer)

    def _where(self, request: web.Request) -> tuple[str, str]:
        """The provider for a request (empty if it is not named) and the target."""
        own = request.transport.get_extra_info("sockname") if request.transport else None
        if self._tunnels is None or own is None or own[1] != self._tunnels.port:
            head, mark, rest = request.raw_path.partition(f"/{_MASKED_TOKEN}/")
            if head or not mark:
                return "", request.raw_path
            route, _, path = rest.partition("/")
            return "", f"{self.bases.get(route, '')}/{path}"
        scheme, mark, rest = request.raw_path.partition("://")
        if mark and not request.raw_path.startswith("/"):  # without a tunnel
            authority, _, path = rest.partition("/")
            return f"{scheme}://{authority}", f"/{path}"
        return f"{'https' if request.secure else 'http'}://{request.host}", request.raw_path

    async def ask(self, request: web.Request, question: Question) -> Hit | Miss:
        """The answer to a question, or to a message over the WebSocket of ``request``."""
        del request
        return self._desk().ask(question)

    def response(self, request: web.Request, status: int) -> web.StreamResponse:
        """The response through which an answer is sent, piece by piece."""
        del request
        return web.StreamResponse(status=status)

    def socket(self, request: web.Request, **options: Any) -> web.WebSocketResponse:
        """The server's side of a WebSocket."""
        del request
        return web.WebSocketResponse(**options)

    def _desk(self) -> TapeDesk:
        if self.desk is None:
            raise RuntimeError("asked before there was a desk")
        return self.desk

    async def _respond(self, request: web.Request, answer: Hit) -> web.StreamResponse:
        entry = answer.entry
        if entry.answer is None or answer.status is None:
            return await self._end(request, entry)
        await self._passes(entry.answer.t_us)
        response = self.response(request, answer.status)
        for name, value in answer.headers:
            if name == "content-length":
                response.content_length = int(value)
            elif name not in _OF_THIS_CONNECTION:
                response.headers.add(name, value)
        with contextlib.suppress(ConnectionError):
            with Cork(request.transport) as cork:
                cork.put_in()
                await response.prepare(request)
                for chunk, data in answer.pieces:
                    await self._passes(chunk.t_us, cork)
                    cork.put_in()
                    await response.write(data)
            if entry.outcome != "complete":
                return await self._end(request, entry)
            await self._passes(entry.end_us or 0)
            await response.write_eof()
        return response

    async def _end(self, request: web.Request, entry: TapeEntry) -> web.StreamResponse:
        """End a connection that had no proper end, from the side that ended it in the recording.

        A client that goes away cancels this.
        """
        await self._passes(entry.end_us or 0)
        if entry.outcome == "client-gone":
            await asyncio.sleep(self._hold_s)
        return _broken_off(request)

    async def _converse(
        self, request: web.Request, opening: Question, answer: Hit
    ) -> web.StreamResponse:
        headers = dict(answer.headers)
        chosen = headers.get("sec-websocket-protocol")
        socket = self.socket(
            request,
            max_msg_size=_MOST_BYTES,
            protocols=() if chosen is None else (chosen,),
            compress="permessage-deflate" in headers.get("sec-websocket-extensions", ""),
        )
        if answer.entry.answer is not None:
            await self._passes(answer.entry.answer.t_us)
        left = self._desk().messages_within(answer.entry)
        with contextlib.suppress(ConnectionError):
            await socket.prepare(request)
            await self._say(request, socket, answer.pieces)
            while left or not await self._closed(request, socket, answer.entry):
                message = await socket.receive()
                if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                    break
                text = message.type is WSMsgType.TEXT
                spoken = await self.ask(
                    request,
                    msgspec.structs.replace(
                        opening,
                        kind="message",
                        method="",
                        upstream="",
                        target="",
                        headers=(),
                        body=message.data.encode() if text else message.data,
                        form="text" if text else "binary",
                    ),
                )
                if isinstance(spoken, Miss):
                    await socket.close(code=1008, message=spoken.text().encode()[:120])
                    break
                await self._say(request, socket, spoken.pieces)
                left -= 1
        return socket

    async def _closed(
        self, request: web.Request, socket: web.WebSocketResponse, handshake: TapeEntry
    ) -> bool:
        """End a WebSocket after its last message, as the provider did; False if it did not end it.

        A tape does not record which side closed properly: then only the client may close it again.
        """
        if handshake.outcome == "provider-gone":
            await self._end(request, handshake)
        elif handshake.close_code in _EITHER_SIDES:
            return False
        else:
            await self._passes(handshake.end_us or 0)
            await socket.close(code=handshake.close_code or 0)
        return True

    async def _say(
        self,
        request: web.Request,
        socket: web.WebSocketResponse,
        pieces: Sequence[tuple[Chunk, bytes]],
    ) -> None:
        with Cork(request.transport) as cork:
            for chunk, data in pieces:
                await self._passes(chunk.t_us, cork)
                cork.put_in()
                if chunk.form == "text":
                    await socket.send_str(data.decode())
                else:
                    await socket.send_bytes(data)


def _refused(miss: Miss) -> web.Response:
    """The error for a miss, in a form that the clients of all providers show to their users."""
    error = {"type": "not_found_error", "code": "not_on_the_tape", "message": miss.text()}
    body = json.dumps({"type": "error", "error": error})
    return web.Response(status=MISS_STATUS, text=body, content_type="application/json")


def _broken_off(request: web.Request) -> web.Response:
    """Break the connection as it was broken in the recording."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
