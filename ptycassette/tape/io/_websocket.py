"""A WebSocket after its handshake: bytes pass as they came, whole messages are noted before.

A message is delivered with its last byte, and the block that holds that is written only after the
message was noted. Where a gate judges messages, nothing of one is sent on before it is whole.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal

from ptycassette.model.tape import ExchangeOutcome
from ptycassette.tape._frames import MessageFollower, NotFollowedError
from ptycassette.tape.gate import OutgoingRequest, QuestionRefusedError
from ptycassette.tape.io._exchange import Exchange
from ptycassette.tape.io._exchange_context import ExchangeContext
from ptycassette.tape.io._wire import Wire
from ptycassette.tape.items import SocketMessage
from ptycassette.tape.routing import Destination

Side = Literal["client", "provider"]

_LAST_WORDS_S = 5.0
"""How long the other side may take to close, after one has."""


async def relay_websocket(
    context: ExchangeContext, exchange: Exchange, client: Wire, upstream: Wire, to: Destination
) -> None:
    """Pass both directions on until they are over; closes both connections.

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
    """One direction."""

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
        """Pass on until this side ends; what that makes of the exchange.

        Raises:
            QuestionRefusedError, NotFollowedError: it must not go on.
            StorageError: a message is not kept.
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
