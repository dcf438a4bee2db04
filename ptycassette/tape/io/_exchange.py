"""One HTTP exchange: what passes is noted first, and passes as it came.

The head of the request is written anew. All other bytes go on as they were received, block by
block, while h11 reads them at the side. So the client gets the provider's framing, interim answers
and trailers, and also what is broken in them. A block is written only when the one before it has
left, so that a slow reader slows its sender, and memory stays flat.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from http import HTTPStatus

import h11
import msgspec

from ptycassette.errors import StorageError
from ptycassette.model import ExchangeOutcome
from ptycassette.tape._heads import (
    answer_follower,
    events,
    head_for_provider,
    header_pairs,
    is_websocket,
    noted_headers,
    own_answer,
)
from ptycassette.tape.gate import Gate, Question, QuestionRefusedError
from ptycassette.tape.io._upstreams import UnreachableError, Upstreams
from ptycassette.tape.io._wire import BLOCK, Wire
from ptycassette.tape.io.journal_file import TapeSink
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
)
from ptycassette.tape.routing import Destination, header

MAX_HELD_BYTES = 64 << 20
"""Of a request that is held until it was judged."""
_REFUSED = 403


class ClientGoneError(Exception):
    """The client went away: what it left undone."""


class ProviderGoneError(Exception):
    """The provider broke off: how."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What exchanges have in common.

    Attributes:
        sink: takes what is noted.
        upstreams: makes connections to providers.
        gate: decides what may leave the machine.
        now_us: microseconds since the recording began.
        report: takes a line for the user.
        number: the next number of an exchange.
    """

    sink: TapeSink
    upstreams: Upstreams
    gate: Gate
    now_us: Callable[[], int]
    report: Callable[[str], None]
    number: Callable[[], int]


class _Held(msgspec.Struct, frozen=True):
    """A request that was judged, as it is sent on."""

    head: bytes
    body: bytes


class Exchange:
    """One request of a client, and all that comes of it.

    Args:
        around: what exchanges have in common.
        client: its connection.
        request: the head, and ``reader`` reads what follows it.
        to: the provider.
        connection: the number of the client's connection.
    """

    def __init__(
        self,
        around: Surroundings,
        client: Wire,
        request: h11.Request,
        reader: h11.Connection,
        *,
        to: Destination,
        connection: int,
    ) -> None:
        self._around, self._client, self._to = around, client, to
        self._request, self._reader = request, reader
        self._connection = connection
        self._follower = answer_follower(request)
        self._asked = False
        self._sent = False
        self._over = False
        self.number = around.number()
        self.switched: str | None = None
        """Extensions of the WebSocket that the connections are now."""

    async def carry_out(self, upstream: Wire | None) -> Wire | None:
        """Do it; the connection to the provider if both connections can be used again.

        Args:
            upstream: a connection to the same provider that was used before.

        Raises:
            StorageError: it cannot be noted; it was broken off.
        """
        try:
            self._note_request()
            held = await self._judged() if self._around.gate.reads(self._to.origin) else None
            if upstream is None or upstream.ended:
                upstream = await self._around.upstreams.connect(self._to.origin)
            return await self._relay(upstream, held)
        except QuestionRefusedError as refused:
            await self._refuse(str(refused))
        except UnreachableError as unreachable:
            self._around.report(f"no connection to {unreachable}")
            self._break_off(upstream, "unreachable", str(unreachable))
        except ClientGoneError as gone:
            self._break_off(upstream, "client-gone", str(gone))
        except ProviderGoneError as gone:
            self._break_off(upstream, "provider-gone", str(gone))
        except asyncio.CancelledError:
            self._break_off(upstream, "client-gone", "the recording ended")
            raise
        except StorageError:
            self._break_off(upstream)
            raise
        finally:
            if self.switched is None:
                if not self._over:  # an error of our own: it has an end all the same
                    with suppress(StorageError):
                        self._break_off(upstream, "provider-gone", "an error of the proxy")
                self._around.gate.over(self.number, sent=self._sent)
        return None

    def end(
        self, outcome: ExchangeOutcome, detail: str = "", close_code: int | None = None
    ) -> None:
        """Note the end, once.

        Raises:
            StorageError: it is not kept.
        """
        if not self._over:
            self._over = True
            self._around.sink.note(
                ExchangeEnded(
                    t_us=self._around.now_us(),
                    exchange=self.number,
                    outcome=outcome,
                    detail=detail,
                    close_code=close_code,
                )
            )

    def _note_request(self) -> None:
        request, sink = self._request, self._around.sink
        sink.note(
            RequestBegun(
                t_us=self._around.now_us(),
                exchange=self.number,
                connection=self._connection,
                kind="websocket" if is_websocket(request) else "http",
                method=request.method.decode("ascii"),
                upstream=str(self._to.origin),
                target=self._to.target,
                headers=noted_headers(request, self._to),
            )
        )

    async def _relay(self, upstream: Wire, held: _Held | None) -> Wire | None:
        """Pass both directions on, each as fast as the other side takes it."""
        self._sent = True
        try:
            await upstream.write(held.head if held else head_for_provider(self._request, self._to))
            await upstream.write(held.body if held else b"")
        except OSError:
            pass  # it may have answered before that: its answer decides
        up = asyncio.create_task(self._upload(upstream))
        down = asyncio.create_task(self._download(upstream))
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            if not down.done():
                up.result()
            await down
        finally:
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
        reusable = self._asked and self._reader.their_state is h11.DONE
        if self.switched is not None or (reusable and self._follower.their_state is h11.DONE):
            return upstream
        await upstream.close()
        return None

    async def _upload(self, upstream: Wire) -> None:
        """Pass the body on, then watch whether the client stays."""
        if not self._asked:
            async for pieces, received in self._body():
                self._note_pieces(pieces)
                try:
                    await upstream.write(received)
                except OSError:
                    return  # it may have answered before that: its answer decides
        # A client that half-closes wants its answer. One that is gone looks the same, so the
        # provider is told the same, and does what it would do without us.
        while len(self._client.put_back) < BLOCK:
            try:
                if await self._client.read_ahead():
                    continue
            except OSError as broken:
                raise ClientGoneError(str(broken)) from broken
            if self._client.put_back:
                return  # requests that are still to come; the last of them will be told
            if not upstream.end_writing():
                raise ClientGoneError("it closed the connection")
            return

    async def _body(self) -> AsyncIterator[tuple[list[bytes], bytes]]:
        """The rest of the request: pieces of the body, and the bytes in which they came."""
        received = b""
        while True:
            pieces = []
            try:
                for event in events(self._reader):
                    if isinstance(event, h11.Data):
                        pieces.append(bytes(event.data))
                    elif isinstance(event, h11.EndOfMessage):
                        self._asked = True
            except h11.RemoteProtocolError as wrong:
                raise ClientGoneError(f"its request is broken: {wrong}") from wrong
            if self._asked:
                following, _ = self._reader.trailing_data
                self._client.unread(following)
                yield pieces, received[: len(received) - len(following)]
                return
            yield pieces, received
            try:
                received = await self._client.read()
            except OSError as broken:
                raise ClientGoneError(f"in its request: {broken}") from broken
            self._reader.receive_data(received)

    def _note_pieces(self, pieces: Iterable[bytes]) -> None:
        now_us, sink = self._around.now_us(), self._around.sink
        for piece in pieces:
            sink.note(RequestData(t_us=now_us, exchange=self.number, data=piece))
        if self._asked:
            sink.note(RequestComplete(t_us=now_us, exchange=self.number))

    async def _judged(self) -> _Held:
        """The whole request, after the gate has seen it; noted as it is sent on.

        Raises:
            QuestionRefusedError: it must not be sent on.
        """
        waits = self._reader.they_are_waiting_for_100_continue
        if waits:
            await self._to_client(b"HTTP/1.1 100 Continue\r\n\r\n")
        body, framed = bytearray(), bytearray()
        async for pieces, received in self._body():
            body += b"".join(pieces)
            framed += received
            if len(body) > MAX_HELD_BYTES:
                raise QuestionRefusedError(f"the request is larger than {MAX_HELD_BYTES} bytes")
        passed = self._around.gate.judge(
            Question(
                exchange=self.number,
                origin=self._to.origin,
                method=self._request.method.decode("ascii"),
                target=self._to.target,
                body=bytes(body),
                packing=header(self._request, b"content-encoding"),
            )
        )
        changed = passed != body
        self._note_pieces([passed] if passed else [])
        head = head_for_provider(
            self._request, self._to, expects=not waits, length=len(passed) if changed else None
        )
        return _Held(head, passed if changed else bytes(framed))

    async def _download(self, upstream: Wire) -> None:
        """Pass the answer on."""
        while not self._passed:
            try:
                data = await upstream.read()
            except OSError as broken:
                raise ProviderGoneError(str(broken)) from broken
            self._follower.receive_data(data)
            try:
                for event in events(self._follower):
                    self._note_event(event)
            except h11.RemoteProtocolError as wrong:
                await self._to_client(data)  # broken as it is: the client sees what it would see
                raise ProviderGoneError(str(wrong)) from wrong
            if self.switched is not None:
                frames, _ = self._follower.trailing_data
                upstream.unread(frames)
                data = data[: len(data) - len(frames)]
            await self._to_client(data)

    @property
    def _passed(self) -> bool:
        """Whether the answer has passed as HTTP."""
        return self._over or self.switched is not None

    def _note_event(self, event: h11.Event) -> None:
        now_us, sink = self._around.now_us(), self._around.sink
        if isinstance(event, h11.Response | h11.InformationalResponse):
            switches = event.status_code == HTTPStatus.SWITCHING_PROTOCOLS
            if event.status_code < HTTPStatus.OK and not switches:
                return  # an interim answer: it passes, and is no part of the tape
            headers = header_pairs(event)
            sink.note(
                AnswerBegun(
                    t_us=now_us,
                    exchange=self.number,
                    status=event.status_code,
                    reason=event.reason.decode("latin-1"),
                    headers=headers,
                )
            )
            self._around.gate.begun(self.number, event.status_code, dict(headers))
            if switches:
                self.switched = dict(headers).get("sec-websocket-extensions", "")
        elif isinstance(event, h11.Data):
            data = bytes(event.data)
            sink.note(AnswerData(t_us=now_us, exchange=self.number, data=data))
            self._around.gate.answered(self.number, data)
        elif isinstance(event, h11.EndOfMessage):
            self.end("complete")
        elif isinstance(event, h11.ConnectionClosed) and not self._over:
            raise h11.RemoteProtocolError("it closed the connection before its answer")

    async def _to_client(self, data: bytes) -> None:
        try:
            await self._client.write(data)
        except OSError as broken:
            raise ClientGoneError(str(broken)) from broken

    async def _refuse(self, reason: str) -> None:
        """Answer in the provider's place: the words that the CLIs of all providers show."""
        self._around.report(f"not sent to {self._to.origin}: {reason}")
        error = {
            "type": "permission_error",
            "code": _REFUSED,
            "status": "PERMISSION_DENIED",
            "message": f"ptycassette did not send this: {reason}",
        }
        body = msgspec.json.encode({"type": "error", "error": error})
        answer = own_answer(_REFUSED, body, kind="application/json")
        self._follower.receive_data(answer)
        for event in events(self._follower):
            if not isinstance(event, h11.EndOfMessage):
                self._note_event(event)
        self.end("refused", reason)
        with suppress(ClientGoneError):
            await self._to_client(answer)

    def _break_off(
        self, upstream: Wire | None, outcome: ExchangeOutcome | None = None, detail: str = ""
    ) -> None:
        """Note the end, and leave both connections as a broken one leaves them."""
        try:
            if outcome is not None:
                self.end(outcome, detail)
        finally:
            self._client.abort()
            if upstream is not None:
                upstream.abort()
