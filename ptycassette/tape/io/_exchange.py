"""One HTTP exchange: what passes is noted first, and passes as it came.

The head of the request is written anew. All other bytes go on as they were received, block by
block, while h11 reads them at the side. So the client gets the provider's framing, interim answers
and trailers, and also what is broken in them. A block is written only when the one before it has
left, so that a slow reader slows its sender, and memory stays flat.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import h11
import msgspec

from ptycassette.errors import StorageError
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.tape._heads import is_websocket, own_answer
from ptycassette.tape.gate import OutgoingRequest, QuestionRefusedError
from ptycassette.tape.io._answer_side import AnswerSide
from ptycassette.tape.io._exchange_context import (
    ClientGoneError,
    ExchangeContext,
    ProviderGoneError,
    write_to_client,
)
from ptycassette.tape.io._persistence import Persistence
from ptycassette.tape.io._request_side import HeldRequest, RequestSide
from ptycassette.tape.io._upstreams import UnreachableError
from ptycassette.tape.io._wire import Wire
from ptycassette.tape.items import ExchangeEnded
from ptycassette.tape.retries import Retries
from ptycassette.tape.routing import Destination

_REFUSED = 403


class Exchange:
    """One request of a client, and all that comes of it.

    Args:
        context: what exchanges have in common.
        client: its connection.
        request: the head, and ``reader`` reads what follows it.
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
        """Extensions of the WebSocket that the connections are now; None while they are none."""
        return self._answer.switched

    async def carry_out(self, upstream: Wire | None) -> Wire | None:
        """Do it; the connection to the provider if both connections can be used again.

        Args:
            upstream: a connection to the same provider that was used before.

        Raises:
            StorageError: it cannot be noted; it was broken off.
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
                if not self._ended:  # an error of our own: it has an end all the same
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
            StorageError: it is not kept.
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
        """Ask until there is an answer; else the last error, or the answer of a recording."""
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
        """Give the answer that another recording has; whether it has one."""
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
        """Pass both directions on, each as fast as the other side takes it."""
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
        """Answer in the provider's place: the words that the CLIs of all providers show."""
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
        """Note the end, and leave both connections as a broken one leaves them."""
        try:
            if outcome is not None:
                self.end(outcome, detail)
        finally:
            self._client.abort()
            if upstream is not None:
                upstream.abort()
