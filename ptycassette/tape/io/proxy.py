"""The proxy: listens only on 127.0.0.1, and serves one recording's client."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import h11
import msgspec
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, TextMessage
from wsproto.extensions import Extension, PerMessageDeflate
from wsproto.frame_protocol import CloseReason, FrameDecoder, FrameProtocol, Opcode, RsvBits

from ptycassette.errors import StorageError
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.system.clock import monotonic_s
from ptycassette.tape._heads import MAX_HEAD_BYTES, end_of_head, own_answer, read_request
from ptycassette.tape.io._exchange import Exchange
from ptycassette.tape.io._proxy_messages import Order
from ptycassette.tape.io._wire import (
    BLOCK,
    ExchangeContext,
    RecordedAnswer,
    Upstreams,
    Wire,
    first_byte,
    provider_context,
)
from ptycassette.tape.io.journal_file import TapeSink
from ptycassette.tape.io.recorded_answers import belongs_to_another_user
from ptycassette.tape.items import SocketMessage
from ptycassette.tape.journal_codec import MAX_ITEM_BYTES
from ptycassette.tape.retries import Retries
from ptycassette.tape.routing import (
    Destination,
    Gate,
    NotServedError,
    Origin,
    OutgoingRequest,
    QuestionRefusedError,
    Routes,
)

if TYPE_CHECKING:
    from ptycassette.tape.io._authority import Authority
    from ptycassette.tape.io.recorded_answers import RecordedAnswers


class NotFollowedError(Exception):
    """The messages of a WebSocket cannot be read, so they cannot be recorded; gives the reason."""


class WholeMessage(msgspec.Struct, frozen=True):
    """A complete message, unpacked."""

    data: bytes
    binary: bool


class MessageFollower:
    """Reads one direction of a WebSocket.

    Args:
        sender: the side that sends these frames.
        extensions: the header ``Sec-WebSocket-Extensions`` of the provider's answer.

    Raises:
        NotFollowedError: an extension is not supported.
    """

    def __init__(self, sender: Literal["client", "provider"], extensions: str) -> None:
        role = ConnectionType.SERVER if sender == "client" else ConnectionType.CLIENT
        self._connection = Connection(role, _extensions(extensions))
        self._parts: list[bytes] = []
        self._size = 0
        self._binary = False
        self.close_code: int | None = None
        """The code of the closing frame, once it has arrived."""

    @property
    def within_message(self) -> bool:
        """Whether a message has begun that is not complete yet."""
        return bool(self._parts)

    def feed(self, data: bytes) -> Sequence[WholeMessage]:
        """The messages that these bytes complete.

        Raises:
            NotFollowedError: a message is too large.
        """
        self._connection.receive_data(data)
        whole = []
        for event in self._connection.events():
            if isinstance(event, CloseConnection):
                self.close_code = int(event.code)
            elif isinstance(event, TextMessage | BytesMessage):
                self._take(event)
                if event.message_finished:
                    whole.append(WholeMessage(b"".join(self._parts), self._binary))
                    self._parts, self._size = [], 0
        return whole

    def _take(self, event: TextMessage | BytesMessage) -> None:
        part = event.data.encode() if isinstance(event.data, str) else bytes(event.data)
        self._binary = isinstance(event, BytesMessage)
        self._parts.append(part)
        self._size += len(part)
        if self._size > MAX_ITEM_BYTES:
            raise NotFollowedError(f"a message is larger than {MAX_ITEM_BYTES} bytes")


class _Deflate(PerMessageDeflate):
    """Works around wsproto 1.3: a ping between fragments makes it forget that they are packed."""

    def frame_inbound_header(
        self, proto: FrameDecoder | FrameProtocol, opcode: Opcode, rsv: RsvBits, payload_length: int
    ) -> CloseReason | RsvBits:
        self._of_message = self._inbound_compressed
        return super().frame_inbound_header(proto, opcode, rsv, payload_length)

    def frame_inbound_complete(
        self,
        proto: FrameDecoder | FrameProtocol,
        fin: bool,  # noqa: FBT001 - as the library has it
    ) -> bytes | CloseReason | None:
        found = super().frame_inbound_complete(proto, fin)
        if not self._inbound_is_compressible:
            self._inbound_compressed = self._of_message
        return found


def _extensions(offered: str) -> list[Extension]:
    found: list[Extension] = []
    for one in filter(None, (part.strip() for part in offered.split(","))):
        if one.split(";")[0].strip().lower() != PerMessageDeflate.name:
            raise NotFollowedError(f"the extension {one!r} is not known")
        deflate = _Deflate()
        try:
            deflate.finalize(one)
        except (ValueError, IndexError) as wrong:
            raise NotFollowedError(f"the extension {one!r}: {wrong}") from wrong
        found.append(deflate)
    return found


# A WebSocket after its handshake: bytes pass as they came, whole messages are noted before.


Side = Literal["client", "provider"]

_LAST_WORDS_S = 5.0
"""How long the other side may take to close, after one has."""


async def relay_websocket(
    context: ExchangeContext, exchange: Exchange, client: Wire, upstream: Wire, to: Destination
) -> None:
    """Pass both directions on until both end, then close both connections.

    Raises:
        StorageError: a message cannot be noted; the connections were broken off.
    """
    outcome: ExchangeOutcome = "client-gone"
    detail = "the recording ended"
    codes: list[int] = []  # of closing frames, in order
    try:
        pumps = [
            _Pump(context, exchange, "client", source=client, sink=upstream, to=to, codes=codes),
            _Pump(context, exchange, "provider", source=upstream, sink=client, to=to, codes=codes),
        ]
        tasks = [asyncio.create_task(pump.run()) for pump in pumps]
        try:
            outcome, detail = await _first_end(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    except QuestionRefusedError as refused:
        context.report(f"not sent to {to.origin}: {refused}")
        outcome, detail = "refused", str(refused)
    except NotFollowedError as strange:
        context.report(f"the WebSocket to {to.origin} was broken off: {strange}")
        outcome, detail = "refused", str(strange)
    finally:
        try:
            if codes and outcome != "refused":
                outcome, detail = "complete", ""
            exchange.end(outcome, detail, codes[0] if codes else None)
        finally:
            context.gate.over(exchange.number, sent=True)
            client.abort()
            upstream.abort()


async def _first_end(
    tasks: list[asyncio.Task[tuple[ExchangeOutcome, str]]],
) -> tuple[ExchangeOutcome, str]:
    done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    first = done.pop().result()
    if waiting:
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(waiting.pop()), _LAST_WORDS_S)
    return first


class _Pump:
    def __init__(
        self,
        context: ExchangeContext,
        exchange: Exchange,
        sender: Side,
        *,
        source: Wire,
        sink: Wire,
        to: Destination,
        codes: list[int],
    ) -> None:
        self._context, self._exchange = context, exchange
        self._sender: Side = sender
        self._source, self._sink, self._to = source, sink, to
        self._codes = codes
        self._follower = MessageFollower(sender, exchange.switched or "")
        self._judges = sender == "client" and context.gate.reads(to.origin)

    async def run(self) -> tuple[ExchangeOutcome, str]:
        """Pass on until this side ends; return the outcome and detail for the exchange.

        Raises:
            QuestionRefusedError, NotFollowedError: the connection must not continue.
            StorageError: a message cannot be noted.
        """
        gone: ExchangeOutcome = "client-gone" if self._sender == "client" else "provider-gone"
        held = b""
        while True:
            try:
                data = await self._source.read()
            except OSError as broken:
                return gone, str(broken)
            if not data:
                self._sink.end_writing()
                return gone, "it closed the connection without a closing frame"
            held += data
            for message in self._follower.feed(data):
                self._take(message.data, binary=message.binary)
            closing = self._follower.close_code
            if closing is not None:
                self._codes.append(closing)
            if self._judges and self._follower.within_message:
                continue
            try:
                await self._sink.write(held)
            except OSError as broken:
                other: ExchangeOutcome
                other = "provider-gone" if self._sender == "client" else "client-gone"
                return other, str(broken)
            if closing is not None:
                return "complete", ""
            held = b""

    def _take(self, data: bytes, *, binary: bool) -> None:
        if self._judges:
            passed = self._context.gate.judge(
                OutgoingRequest(
                    exchange=self._exchange.number,
                    origin=self._to.origin,
                    method="GET",
                    target=self._to.target,
                    body=data,
                    over_websocket=True,
                )
            )
            if passed.left_out:
                raise QuestionRefusedError("a message over a WebSocket is not changed on its way")
        self._context.sink.note(
            SocketMessage(
                t_us=self._context.now_us(),
                exchange=self._exchange.number,
                sender=self._sender,
                data=data,
                binary=binary,
            )
        )
        if self._sender == "provider":
            self._context.gate.said(self._exchange.number, data)


# One connection of a client: request after request, or a tunnel, until it ends.


_TLS_HANDSHAKE = 0x16
_FIRST_HEAD_S = 60.0
_CHALLENGE = ("proxy-authenticate", 'Basic realm="ptycassette"')

Route = Callable[[h11.Request], Destination]


class Client:
    """Serves one connection.

    Args:
        context: the state that exchanges share.
        routes: the routes that are served.
        authority: makes certificates for tunnels; None without an HTTP proxy.
        number: the number of the connection.
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
            wire.abort()  # the sink reports it; nothing is served that cannot be noted
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
        """Serve requests inside a tunnel: TLS with our certificate, or plain.

        The socket moves from the first transport to a new one, which speaks TLS from its first
        byte. (Streams cannot safely change their transport before Python 3.12.)
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
            inner.close()  # a client that does not trust the certificate reports that itself
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
    """Wait for the client; False if the provider closes its connection first.

    So the client learns of that as it would without us.
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
    """The head of the next request; None if the client sends no more."""
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
        OSError: the TLS handshake failed, or the other side does not trust us.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=BLOCK)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=context)
    return Wire(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


HOST = "127.0.0.1"
MAX_CONNECTIONS = 512
"""At once. A CLI keeps a dozen; more means a loop or an attack."""
_BACKLOG = 256
_GRACE_S = 0.5


def _recorded_answers(retries: Retries | None) -> RecordedAnswers | None:
    if retries is None or not retries.fallback:
        return None
    from ptycassette.tape.io.recorded_answers import RecordedAnswers  # noqa: PLC0415 - seldom

    return RecordedAnswers(Path(retries.fallback))


def _no_answer(question: OutgoingRequest) -> RecordedAnswer | None:  # noqa: ARG001 - there is none
    return None


class Proxy:
    """A proxy in the running event loop.

    Args:
        order: its settings.
        sink: takes the items that it notes.
        gate: decides what may leave the machine.
        report: takes lines for the user.
    """

    def __init__(
        self, order: Order, *, sink: TapeSink, gate: Gate, report: Callable[[str], None]
    ) -> None:
        self._order, self._sink, self._gate, self._report = order, sink, gate, report
        self._connections = itertools.count(1)
        self._open: set[asyncio.Task[None]] = set()
        self._fallback: RecordedAnswers | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen on any free port, and set ``port``.

        Raises:
            UsageError: an upstream is not a base URL.
            StorageError: the certificate cannot be written.
            OSError: no port is available.
        """
        order = self._order
        authorities = [Path(one) for one in order.authorities]
        self._authority = None
        if order.forward:
            # It loads a library of cryptography that most programs do not need.
            from ptycassette.tape.io._authority import Authority  # noqa: PLC0415

            self._authority = Authority()
            self._authority.write(Path(order.ca_file), authorities)
        self._server = await asyncio.start_server(
            self._accept, HOST, 0, limit=BLOCK, backlog=_BACKLOG
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._routes = Routes(
            token=order.token, port=self.port, upstreams=order.upstreams, forward=order.forward
        )
        self._fallback = _recorded_answers(order.retries)
        self._context = ExchangeContext(
            sink=self._sink,
            upstreams=Upstreams(own_port=self.port, context=provider_context(authorities)),
            gate=self._gate,
            now_us=lambda: round(monotonic_s() * 1e6) - order.origin_us,
            report=self._report,
            number=itertools.count(1).__next__,
            retries=order.retries,
            recorded_answer=_no_answer if self._fallback is None else self._fallback.find,
        )

    async def close(self) -> None:
        """Stop listening, give open exchanges half a second to end, then break them off.

        Also deletes the certificate and closes the cassette of recorded answers.
        """
        self._server.close()
        if self._order.ca_file:
            Path(self._order.ca_file).unlink(missing_ok=True)  # noqa: ASYNC240 - one name, once
        if self._open:
            await asyncio.wait(self._open, timeout=_GRACE_S)
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open, timeout=_GRACE_S)
        if self._fallback is not None:
            self._fallback.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - streams run this in a task
        wire = Wire(reader, writer)
        own, peer = (writer.get_extra_info(name) for name in ("sockname", "peername"))
        if peer is None or belongs_to_another_user(peer, own):
            self._report("another user of this machine was not let in")
            wire.abort()
            return
        if len(self._open) >= MAX_CONNECTIONS:
            with suppress(OSError):
                await wire.write(own_answer(503, b"too many connections"))
            await wire.close()
            return
        self._open.add(task)
        try:
            client = Client(self._context, self._routes, self._authority, next(self._connections))
            await client.serve(wire)
        except asyncio.CancelledError:
            wire.abort()
        finally:
            self._open.discard(task)
