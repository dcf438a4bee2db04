"""One connection of a client: request after request, or a tunnel, until it ends."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import h11

from ptycassette.errors import StorageError
from ptycassette.tape._heads import MAX_HEAD_BYTES, end_of_head, own_answer, read_request
from ptycassette.tape.io._exchange import Exchange
from ptycassette.tape.io._exchange_context import ExchangeContext
from ptycassette.tape.io._websocket import relay_websocket
from ptycassette.tape.io._wire import BLOCK, Wire, first_byte
from ptycassette.tape.routing import Destination, NotServedError, Origin, Routes

if TYPE_CHECKING:
    from ptycassette.tape.io._authority import Authority

_TLS_HANDSHAKE = 0x16
_FIRST_HEAD_S = 60.0
_CHALLENGE = ("proxy-authenticate", 'Basic realm="ptycassette"')

Route = Callable[[h11.Request], Destination]


class Client:
    """Serves one connection.

    Args:
        context: what exchanges have in common.
        routes: what is served.
        authority: makes certificates for tunnels; None if this is no HTTP proxy.
        number: of the connection.
    """

    def __init__(
        self,
        context: ExchangeContext,
        routes: Routes,
        authority: Authority | None,
        number: int,
    ) -> None:
        self._context, self._routes, self._authority = context, routes, authority
        self._number = number

    async def serve(self, wire: Wire) -> None:
        """Serve requests until either side ends; closes the connection."""
        try:
            await self._serve(wire, self._routes.destination, tunnels=True)
        except StorageError:
            wire.abort()  # the sink reports it; what cannot be noted is not served
        finally:
            await wire.close()

    async def _serve(self, wire: Wire, route: Route, *, tunnels: bool) -> None:
        upstream: Wire | None = None
        origin: Origin | None = None
        try:
            while await _goes_on(wire, upstream) and (head := await _head(wire)) is not None:
                try:
                    request, reader = read_request(head)
                    if request.method == b"CONNECT" and tunnels:
                        await self._tunnel(wire, self._routes.tunnel(request))
                        return
                    to = route(request)
                except h11.RemoteProtocolError as wrong:
                    await _say(wire, own_answer(wrong.error_status_hint, str(wrong).encode()))
                    return
                except NotServedError as stranger:
                    extra = [_CHALLENGE] if stranger.status == 407 else []
                    answer = own_answer(stranger.status, stranger.reason.encode(), *extra)
                    await _say(wire, answer)
                    return
                if upstream is not None and to.origin != origin:
                    await upstream.close()
                    upstream = None
                exchange = Exchange(
                    self._context, wire, request, reader, to=to, connection=self._number
                )
                origin = to.origin
                upstream = await exchange.carry_out(upstream)
                if upstream is None:
                    return
                if exchange.switched is not None:
                    await relay_websocket(self._context, exchange, wire, upstream, to)
                    return
        finally:
            if upstream is not None:
                await upstream.close()

    async def _tunnel(self, wire: Wire, authority: str) -> None:
        """Serve what a client sends through a tunnel: TLS with our certificate, or plain.

        The socket is taken out of the first transport and given to another, which speaks TLS from
        its first byte (streams cannot change their transport safely before Python 3.12).
        """
        assert self._authority is not None  # noqa: S101 - routes let no CONNECT pass without one
        if wire.put_back:
            await _say(wire, own_answer(400, b"nothing may follow CONNECT before its answer"))
            return
        wire.transport.pause_reading()
        await wire.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        inner = wire.transport.get_extra_info("socket").dup()
        inner.setblocking(False)
        wire.abort()
        try:
            secure = await first_byte(inner) == _TLS_HANDSHAKE
            origin = Origin.of("https" if secure else "http", authority)
            context = self._authority.context(origin.host) if secure else None
            through = await _accepted(inner, context)
        except (OSError, ValueError):
            inner.close()  # a client that does not trust the certificate says so itself
            return
        try:
            await self._serve(through, lambda request: _inside(origin, request), tunnels=False)
        finally:
            await through.close()


def _inside(origin: Origin, request: h11.Request) -> Destination:
    target = request.target.decode("ascii")
    if not target.startswith("/") and target != "*":
        raise NotServedError(400, "a tunnel takes paths")
    return Destination(origin, target)


async def _goes_on(wire: Wire, upstream: Wire | None) -> bool:
    """Wait for the client; False if the provider has closed its connection before.

    So the client learns that it is closed as it would without us.
    """
    if upstream is None or wire.put_back:
        return True
    client, provider = (asyncio.create_task(one.read_ahead()) for one in (wire, upstream))
    try:
        await asyncio.wait({client, provider}, return_when=asyncio.FIRST_COMPLETED)
        return client.done()
    finally:
        for task in (client, provider):
            task.cancel()
        await asyncio.gather(client, provider, return_exceptions=True)


async def _head(wire: Wire) -> bytes | None:
    """The head of the next request; None where there is none."""
    data = b""
    while not (length := end_of_head(data)):
        if len(data) > MAX_HEAD_BYTES:
            await _say(wire, own_answer(431, b"the head of the request is too large"))
            return None
        try:
            more = await wire.read()
        except OSError:
            return None
        if not more:
            return None
        data = (data + more).lstrip(b"\r\n") if not data else data + more
    wire.unread(data[length:])
    return data[:length]


async def _say(wire: Wire, answer: bytes) -> None:
    with suppress(OSError):
        await wire.write(answer)


async def _accepted(connection: socket.socket, context: ssl.SSLContext | None) -> Wire:
    """A socket as a wire.

    Raises:
        OSError: the other side takes no part in TLS, or does not trust us.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=BLOCK)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=context)
    return Wire(reader, asyncio.StreamWriter(transport, protocol, reader, loop))
