"""The request of an exchange: noted, then passed on as it came; held where a gate judges it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import h11
import msgspec

from ptycassette.tape._heads import events, head_for_provider, is_websocket, noted_headers
from ptycassette.tape.gate import OutgoingRequest, QuestionRefusedError
from ptycassette.tape.io._exchange_context import (
    ClientGoneError,
    ExchangeContext,
    write_to_client,
)
from ptycassette.tape.io._wire import BLOCK, Wire
from ptycassette.tape.items import RequestBegun, RequestComplete, RequestData
from ptycassette.tape.routing import Destination, header

_PACKING = "content-encoding"
MAX_HELD_BYTES = 64 << 20
"""Of a request that is held until it was judged."""


class HeldRequest(msgspec.Struct, frozen=True):
    """A request that was judged, as it is sent on; ``left_out`` are paths of what is not."""

    head: bytes
    body: bytes
    question: OutgoingRequest
    left_out: tuple[str, ...]


class RequestSide:
    """Notes the request, and passes it on.

    Args:
        context: what exchanges have in common.
        client: its connection.
        request: the head, and ``reader`` reads what follows it.
        to: the provider.
        number: of the exchange.
    """

    def __init__(
        self,
        context: ExchangeContext,
        client: Wire,
        request: h11.Request,
        reader: h11.Connection,
        *,
        to: Destination,
        number: int,
    ) -> None:
        self._context, self._client, self._to = context, client, to
        self._request, self._reader, self._number = request, reader, number
        self._complete = False

    @property
    def reusable(self) -> bool:
        """Whether the client can send another request on its connection."""
        return self._complete and self._reader.their_state is h11.DONE

    def note_head(self, *, connection: int, repacked: bool = False) -> None:
        """Note the head.

        Args:
            connection: the number of the client's.
            repacked: the body is not packed any more as the head says.

        Raises:
            StorageError: it is not kept.
        """
        request = self._request
        headers = noted_headers(request, self._to)
        self._context.sink.note(
            RequestBegun(
                t_us=self._context.now_us(),
                exchange=self._number,
                connection=connection,
                kind="websocket" if is_websocket(request) else "http",
                method=request.method.decode("ascii"),
                upstream=str(self._to.origin),
                target=self._to.target,
                headers=tuple(one for one in headers if one[0] != _PACKING or not repacked),
            )
        )

    async def send_begin(self, upstream: Wire, held: HeldRequest | None) -> None:
        """Send the head, and the body too if it was held.

        Raises:
            OSError: the connection broke.
        """
        await upstream.write(held.head if held else head_for_provider(self._request, self._to))
        await upstream.write(held.body if held else b"")

    async def pass_on(self, upstream: Wire) -> None:
        """Pass the body on, then watch whether the client stays.

        Raises:
            ClientGoneError: it went away, or its request is broken.
            StorageError: a piece is not kept.
        """
        if not self._complete:
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

    async def judged(self, *, connection: int) -> HeldRequest:
        """The whole request, after the gate has seen it; noted as it is sent on.

        Args:
            connection: the number of the client's.

        Raises:
            QuestionRefusedError: it must not be sent on.
            ClientGoneError: it went away before its request was whole.
            StorageError: it is not kept.
        """
        try:
            held, noted = await self._judged()
        except BaseException:
            self.note_head(connection=connection)
            raise
        self.note_head(connection=connection, repacked=bool(held.left_out))
        self._note_pieces([noted] if noted else [])
        return held

    async def _judged(self) -> tuple[HeldRequest, bytes]:
        """The request as it is sent on, and its body as it is noted."""
        waits = self._reader.they_are_waiting_for_100_continue
        if waits:
            await write_to_client(self._client, b"HTTP/1.1 100 Continue\r\n\r\n")
        body, framed = bytearray(), bytearray()
        async for pieces, received in self._body():
            body += b"".join(pieces)
            framed += received
            if len(body) > MAX_HELD_BYTES:
                raise QuestionRefusedError(f"the request is larger than {MAX_HELD_BYTES} bytes")
        question = OutgoingRequest(
            exchange=self._number,
            origin=self._to.origin,
            method=self._request.method.decode("ascii"),
            target=self._to.target,
            body=bytes(body),
            packing=header(self._request, b"content-encoding"),
            headers=noted_headers(self._request, self._to),
        )
        passed, left_out = self._context.gate.judge(question)
        head = head_for_provider(
            self._request, self._to, expects=not waits, length=len(passed) if left_out else None
        )
        sent = passed if left_out else bytes(framed)
        if left_out:
            question = msgspec.structs.replace(question, body=passed, packing="")
        return HeldRequest(head, sent, question, left_out), passed

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
                        self._complete = True
            except h11.RemoteProtocolError as wrong:
                raise ClientGoneError(f"its request is broken: {wrong}") from wrong
            if self._complete:
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
        now_us, sink = self._context.now_us(), self._context.sink
        for piece in pieces:
            sink.note(RequestData(t_us=now_us, exchange=self._number, data=piece))
        if self._complete:
            sink.note(RequestComplete(t_us=now_us, exchange=self._number))
