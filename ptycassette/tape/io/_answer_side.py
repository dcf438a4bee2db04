"""The answer of an exchange: what h11 reads in it is noted, and its bytes pass as they came."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import h11

from ptycassette.tape._heads import answer_follower, events, header_pairs
from ptycassette.tape.io._exchange_context import (
    ExchangeContext,
    ProviderGoneError,
    write_to_client,
)
from ptycassette.tape.io._wire import Wire
from ptycassette.tape.items import AnswerBegun, AnswerData


class AnswerSide:
    """Notes the answer, and passes it on.

    Args:
        context: what exchanges have in common.
        client: its connection.
        request: what is answered.
        number: of the exchange.
        complete: called when the answer is whole, before its last block is written.

    Attributes:
        switched: extensions of the WebSocket that the connections are now; None before.
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
        """Whether the provider can answer another request on its connection."""
        return self._follower.their_state is h11.DONE

    async def pass_on(self, upstream: Wire) -> None:
        """Pass the answer on, until it is whole or the connection is a WebSocket.

        Raises:
            ClientGoneError, ProviderGoneError: one of them broke off.
            StorageError: a piece is not kept.
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
        """Whether no more of it passes as HTTP."""
        return self._whole or self.switched is not None

    def note_own(self, answer: bytes) -> None:
        """Note an answer that we give in the provider's place; its end is the caller's to note.

        Raises:
            StorageError: it is not kept.
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
                return  # an interim answer: it passes, and is no part of the tape
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
