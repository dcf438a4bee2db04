"""Pass one HTTP exchange on unchanged, and note each block before it is passed on.

The head of the request is rewritten. All other bytes go on as received, block by block, while h11
reads a copy. So the client gets the provider's own framing, interim answers and trailers, broken
ones included. A block is written only after the previous one was sent. So a slow reader slows its
sender, and memory stays flat.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus

import h11
import msgspec

from ptycassette.errors import StorageError
from ptycassette.keys.quantities import time_text
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.tape._heads import (
    MAX_HEAD_BYTES,
    answer_follower,
    end_of_head,
    events,
    head_for_provider,
    header_pairs,
    is_websocket,
    noted_headers,
    own_answer,
)
from ptycassette.tape.io._wire import (
    BLOCK,
    ClientGoneError,
    ExchangeContext,
    ProviderGoneError,
    UnreachableError,
    Wire,
    write_to_client,
)
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
)
from ptycassette.tape.retries import Retries, may_be_asked_again, wait_s
from ptycassette.tape.routing import Destination, OutgoingRequest, QuestionRefusedError, header

# The answer of an exchange: the parts that h11 reads are noted, and the bytes pass unchanged.


class AnswerSide:
    """Notes the answer, and passes it on.

    Args:
        context: the state that exchanges share.
        client: the client's connection.
        request: the request that is answered.
        number: the number of the exchange.
        complete: called when the answer is complete, before its last block is written.

    Attributes:
        switched: the extensions of the WebSocket after an upgrade; None before.
    """

    def __init__(
        self,
        context: ExchangeContext,
        client: Wire,
        request: h11.Request,
        *,
        number: int,
        complete: Callable[[], None],
    ) -> None:
        self._context, self._client = context, client
        self._number, self._complete = number, complete
        self._follower = answer_follower(request)
        self._whole = False
        self.switched: str | None = None

    @property
    def reusable(self) -> bool:
        """Whether the connection to the provider can be used for another request."""
        return self._follower.their_state is h11.DONE

    async def pass_on(self, upstream: Wire) -> None:
        """Pass the answer on, until it is complete or the connection becomes a WebSocket.

        Raises:
            ClientGoneError, ProviderGoneError: one side broke off.
            StorageError: a piece cannot be noted.
        """
        while not self._over:
            try:
                data = await upstream.read()
            except OSError as broken:
                raise ProviderGoneError(str(broken)) from broken
            self._follower.receive_data(data)
            try:
                for event in events(self._follower):
                    self._note_event(event)
            except h11.RemoteProtocolError as wrong:
                # Broken as it is: the client sees what it would see without us.
                await write_to_client(self._client, data)
                raise ProviderGoneError(str(wrong)) from wrong
            if self.switched is not None:
                frames, _ = self._follower.trailing_data
                upstream.unread(frames)
                data = data[: len(data) - len(frames)]
            await write_to_client(self._client, data)

    @property
    def _over(self) -> bool:
        return self._whole or self.switched is not None

    def note_own(self, answer: bytes) -> None:
        """Note an answer that we give instead of the provider; the caller notes its end.

        Raises:
            StorageError: it cannot be noted.
        """
        self._follower.receive_data(answer)
        for event in events(self._follower):
            if not isinstance(event, h11.EndOfMessage):
                self._note_event(event)

    def _note_event(self, event: h11.Event) -> None:
        now_us, sink = self._context.now_us(), self._context.sink
        if isinstance(event, h11.Response | h11.InformationalResponse):
            switches = event.status_code == HTTPStatus.SWITCHING_PROTOCOLS
            if event.status_code < HTTPStatus.OK and not switches:
                return  # an interim answer: it passes, but does not belong to the tape
            headers = header_pairs(event)
            sink.note(
                AnswerBegun(
                    t_us=now_us,
                    exchange=self._number,
                    status=event.status_code,
                    reason=event.reason.decode("latin-1"),
                    headers=headers,
                )
            )
            self._context.gate.begun(self._number, event.status_code, dict(headers))
            if switches:
                self.switched = dict(headers).get("sec-websocket-extensions", "")
        elif isinstance(event, h11.Data):
            data = bytes(event.data)
            sink.note(AnswerData(t_us=now_us, exchange=self._number, data=data))
            self._context.gate.answered(self._number, data)
        elif isinstance(event, h11.EndOfMessage):
            self._whole = True
            self._complete()
        elif isinstance(event, h11.ConnectionClosed) and not self._whole:
            raise h11.RemoteProtocolError("it closed the connection before its answer")


# The request of an exchange: noted, then passed on unchanged; held if a gate judges it.


_PACKING = "content-encoding"
MAX_HELD_BYTES = 64 << 20
"""The longest request that is held until it is judged."""


class HeldRequest(msgspec.Struct, frozen=True):
    """A judged request as it is sent on; ``left_out`` are the paths that were removed."""

    head: bytes
    body: bytes
    question: OutgoingRequest
    left_out: tuple[str, ...]


class RequestSide:
    """Notes the request, and passes it on.

    Args:
        context: the state that exchanges share.
        client: the client's connection.
        request: the head; ``reader`` reads the bytes after it.
        to: the provider.
        number: the number of the exchange.
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
        """Whether the client's connection can be used for another request."""
        return self._complete and self._reader.their_state is h11.DONE

    def note_head(self, *, connection: int, repacked: bool = False) -> None:
        """Note the head.

        Args:
            connection: the number of the client's connection.
            repacked: the packing of the body has changed since the head was written.

        Raises:
            StorageError: it cannot be noted.
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
        """Send the head, and the body if it was held.

        Raises:
            OSError: the connection broke.
        """
        await upstream.write(held.head if held else head_for_provider(self._request, self._to))
        await upstream.write(held.body if held else b"")

    async def pass_on(self, upstream: Wire) -> None:
        """Pass the body on, then watch whether the client stays.

        Raises:
            ClientGoneError: the client went away, or its request is broken.
            StorageError: a piece cannot be noted.
        """
        if not self._complete:
            async for pieces, received in self._body():
                self._note_pieces(pieces)
                try:
                    await upstream.write(received)
                except OSError:
                    return  # it may have answered before that: its answer decides
        # A client that half-closes wants its answer. One that is gone looks the same, so we
        # half-close, too, and the provider acts as it would without us.
        while len(self._client.put_back) < BLOCK:
            try:
                if await self._client.read_ahead():
                    continue
            except OSError as broken:
                raise ClientGoneError(str(broken)) from broken
            if self._client.put_back:
                return  # further requests are waiting; the half-close is passed on after the last
            if not upstream.end_writing():
                raise ClientGoneError("it closed the connection")
            return

    async def judged(self, *, connection: int) -> HeldRequest:
        """Read the whole request, pass it through the gate, and note the result.

        Args:
            connection: the number of the client's connection.

        Raises:
            QuestionRefusedError: it must not be sent on.
            ClientGoneError: the client went away before its request was complete.
            StorageError: it cannot be noted.
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
        """The request as it is sent on, and its body as noted."""
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
        """The rest of the request: pieces of the body, and the bytes that carried them."""
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


# Repeat a request until the provider answers, or until the attempts are used up.


class Persistence:
    """Sends one request, and repeats it after failures.

    Args:
        context: the state that exchanges share.
        request: the head of the request.
        held: the request as it is sent.
        question: the same request for the gate, which judges each further attempt.
        retries: how often to repeat, and how long to wait.

    Attributes:
        failures: the results of the failed attempts, in order.
        answered: whether there is an answer that is not an error.
    """

    def __init__(
        self,
        context: ExchangeContext,
        request: h11.Request,
        held: HeldRequest,
        question: OutgoingRequest,
        retries: Retries,
    ) -> None:
        self._context, self._request = context, request
        self._held, self._question, self._retries = held, question, retries
        self._retry_after: str | None = None
        self.failures: list[str] = []
        self.answered = False

    @property
    def summary(self) -> str:
        """The failed attempts in words; empty if none failed."""
        if not self.failures:
            return ""
        asked = len(self.failures) + self.answered
        times = "once" if asked == 1 else f"{asked} times"
        return f"asked {times}: {', '.join(self.failures)}"

    async def ask(self, upstream: Wire | None, sending: Callable[[], None]) -> Wire:
        """Get an answer; return its connection, to be read from the beginning of the answer.

        Args:
            upstream: a used connection to the provider.
            sending: called before anything is sent.

        Raises:
            UnreachableError: the last attempt could not connect.
            ProviderGoneError: the last attempt got no answer.
            QuestionRefusedError: the gate refuses another attempt.
        """
        for attempt in range(1, self._retries.times + 2):
            if attempt > 1:
                now = datetime.now(UTC)
                await asyncio.sleep(wait_s(self._retry_after, attempt=attempt - 1, now=now))
                self._context.gate.judge(self._question)
                upstream = None
            last = attempt == self._retries.times + 1
            try:
                if upstream is None or upstream.ended:
                    upstream = await self._context.upstreams.connect(self._question.origin)
                sending()
                if await self._is_answered(upstream):
                    self.answered = True
                    return upstream
                if last:
                    return upstream
            except (UnreachableError, ProviderGoneError) as failed:
                self.failures.append(str(failed))
                if upstream is not None:
                    upstream.abort()
                if last:
                    raise
            else:
                await upstream.close()
        raise AssertionError("it is asked once at least")

    async def _is_answered(self, upstream: Wire) -> bool:
        """Send the request, read the head of the answer and put it back.

        Raises:
            ProviderGoneError: there is no answer.
        """
        with suppress(OSError):  # it may have answered before that: its answer decides
            await upstream.write(self._held.head)
            await upstream.write(self._held.body)
        data = b""
        try:
            async with asyncio.timeout(self._retries.timeout_s):
                while not end_of_head(data) and len(data) <= MAX_HEAD_BYTES:
                    if not (more := await upstream.read()):
                        raise ProviderGoneError("it closed the connection before its answer")
                    data += more
        except TimeoutError as late:
            raise ProviderGoneError(f"no answer in {time_text(self._retries.timeout_s)}") from late
        except OSError as broken:
            raise ProviderGoneError(str(broken)) from broken
        upstream.unread(data)
        return not self._is_error(data)

    def _is_error(self, data: bytes) -> bool:
        follower = answer_follower(self._request)
        follower.receive_data(data)
        try:
            head = follower.next_event()
        except h11.RemoteProtocolError:
            return False  # broken as it is: the client sees what it would see without us
        if not isinstance(head, h11.Response) or not may_be_asked_again(head.status_code):
            return False
        self.failures.append(str(head.status_code))
        after = dict(head.headers).get(b"retry-after")
        self._retry_after = None if after is None else after.decode("latin-1")
        return True


_REFUSED = 403


class Exchange:
    """One request of a client, with its answer.

    Args:
        context: the state that exchanges share.
        client: the client's connection.
        request: the head; ``reader`` reads the bytes after it.
        to: the provider.
        connection: the number of the client's connection.
    """

    def __init__(
        self,
        context: ExchangeContext,
        client: Wire,
        request: h11.Request,
        reader: h11.Connection,
        *,
        to: Destination,
        connection: int,
    ) -> None:
        self._context, self._client, self._to = context, client, to
        self._connection = connection
        self._sent = False
        self._ended = False
        self.number = context.number()
        self._request = RequestSide(context, client, request, reader, to=to, number=self.number)
        self._answer = AnswerSide(
            context, client, request, number=self.number, complete=self._complete
        )
        self._head, self._is_websocket = request, is_websocket(request)
        self._detail = self._note = ""

    @property
    def switched(self) -> str | None:
        """The extensions of the WebSocket after an upgrade; None while it is HTTP."""
        return self._answer.switched

    async def carry_out(self, upstream: Wire | None) -> Wire | None:
        """Run the exchange; return the provider's connection if both connections can be reused.

        Args:
            upstream: a used connection to the same provider.

        Raises:
            StorageError: it cannot be noted; both connections were broken off.
        """
        try:
            retries = None if self._is_websocket else self._context.retries
            judges = retries is not None or self._context.gate.reads(self._to.origin)
            held = await self._held() if judges else None
            if held is None:
                self._request.note_head(connection=self._connection)
            if retries is not None and held is not None:
                return await self._ask_often(upstream, held, retries)
            if upstream is None or upstream.ended:
                upstream = await self._context.upstreams.connect(self._to.origin)
            self._sent = True
            with suppress(OSError):  # it may have answered before that: its answer decides
                await self._request.send_begin(upstream, held)
            return await self._relay(upstream)
        except QuestionRefusedError as refused:
            await self._refuse(str(refused))
        except UnreachableError as unreachable:
            self._context.report(f"no connection to {unreachable}")
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
                if not self._ended:  # an error of our own: the exchange still needs an end
                    with suppress(StorageError):
                        self._break_off(upstream, "provider-gone", "an error of the proxy")
                self._context.gate.over(self.number, sent=self._sent)
        return None

    async def _held(self) -> HeldRequest:
        held = await self._request.judged(connection=self._connection)
        if held.left_out:
            self._note = f"sent without {', '.join(held.left_out)}"
            self._context.report(f"to {self._to.origin}: {self._note}")
        return held

    def end(
        self, outcome: ExchangeOutcome, detail: str = "", close_code: int | None = None
    ) -> None:
        """Note the end, once.

        Raises:
            StorageError: it cannot be noted.
        """
        if not self._ended:
            self._ended = True
            self._context.sink.note(
                ExchangeEnded(
                    t_us=self._context.now_us(),
                    exchange=self.number,
                    outcome=outcome,
                    detail="; ".join(filter(None, (self._note, detail))),
                    close_code=close_code,
                )
            )

    def _complete(self) -> None:
        self.end("complete", self._detail)

    async def _ask_often(
        self, upstream: Wire | None, held: HeldRequest, retries: Retries
    ) -> Wire | None:
        """Repeat until there is an answer; else use the last error or a recorded answer."""
        asking = Persistence(self._context, self._head, held, held.question, retries)
        try:
            upstream = await asking.ask(upstream, self._sending)
        except (UnreachableError, ProviderGoneError) as failed:
            if await self._answer_from_recording(held.question, asking.summary):
                return None
            self._context.report(f"no answer of {self._to.origin}: {asking.summary}")
            raise ProviderGoneError(asking.summary) from failed
        if not asking.answered:
            if await self._answer_from_recording(held.question, asking.summary):
                await upstream.close()
                return None
            self._context.report(f"no answer of {self._to.origin}: {asking.summary}")
        self._detail = asking.summary
        return await self._relay(upstream)

    def _sending(self) -> None:
        self._sent = True

    async def _answer_from_recording(self, question: OutgoingRequest, summary: str) -> bool:
        """Answer from another recording; False if it has no answer."""
        recorded = self._context.recorded_answer(question)
        if recorded is None:
            return False
        self._context.report(f"answered from a recording, not by {self._to.origin}: {summary}")
        answer = own_answer(recorded.status, recorded.body, kind=recorded.kind)
        self._answer.note_own(answer)
        self.end("complete", f"answered from a recording; {summary}")
        await write_to_client(self._client, answer)
        return True

    async def _relay(self, upstream: Wire) -> Wire | None:
        """Pass both directions on, each at the speed of its reader."""
        up = asyncio.create_task(self._request.pass_on(upstream))
        down = asyncio.create_task(self._answer.pass_on(upstream))
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            if not down.done():
                up.result()
            await down
        finally:
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
        if self.switched is not None or (self._request.reusable and self._answer.reusable):
            return upstream
        await upstream.close()
        return None

    async def _refuse(self, reason: str) -> None:
        """Answer instead of the provider, with an error that the CLIs of all providers show."""
        self._context.report(f"not sent to {self._to.origin}: {reason}")
        error = {
            "type": "permission_error",
            "code": _REFUSED,
            "status": "PERMISSION_DENIED",
            "message": f"ptycassette did not send this: {reason}",
        }
        body = msgspec.json.encode({"type": "error", "error": error})
        answer = own_answer(_REFUSED, body, kind="application/json")
        self._answer.note_own(answer)
        self.end("refused", reason)
        with suppress(ClientGoneError):
            await write_to_client(self._client, answer)

    def _break_off(
        self, upstream: Wire | None, outcome: ExchangeOutcome | None = None, detail: str = ""
    ) -> None:
        """Note the end, and abort both connections."""
        try:
            if outcome is not None:
                self.end(outcome, detail)
        finally:
            self._client.abort()
            if upstream is not None:
                upstream.abort()
