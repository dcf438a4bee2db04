"""The provider of a fork: answers from the parent's tape up to the change, and notes everything.

Needs the extra ``tape`` (aiohttp).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from ptycassette.fork.io.noting import TapeNotes
from ptycassette.rerun.gates import Gates
from ptycassette.rerun.io.tape_server import TapeServer
from ptycassette.rerun.made_answers import PacedHit
from ptycassette.tape.matching._misses import Miss
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.question import Question

_NOTHING_SENT = 1006  # RFC 6455, 7.4.1
_Rest = Callable[[int], Awaitable[None]]


class ForkServer(TapeServer):
    """A tape's server whose answers may come from elsewhere.

    Args:
        gates, hold_s, ca_file: as for ``TapeServer``.
        notes: where what passes is noted.

    Attributes:
        answers: gives the answer to a question; set before the first one.
        answering: how many questions are being answered now.
    """

    def __init__(
        self, gates: Gates, *, notes: TapeNotes, hold_s: float, ca_file: Path | None = None
    ) -> None:
        super().__init__(gates, hold_s=hold_s, ca_file=ca_file)
        self._notes = notes
        self._numbers: dict[int, int] = {}
        self._delays: dict[int, Iterator[float]] = {}
        self.answering = 0
        self.answers: Callable[[Question], Awaitable[Hit | Miss]] | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Any request; its end is noted, whatever it is."""
        plain = request.headers.get("upgrade", "").lower() != "websocket"
        self.answering += plain
        try:
            response = await super().handle(request)
        except asyncio.CancelledError:
            self._ended(request, "client-gone")
            raise
        finally:
            self.answering -= plain
        if isinstance(response, web.Response):  # it is sent as a whole, behind this
            self._whole(request, response)
        elif isinstance(response, web.WebSocketResponse):
            code = response.close_code
            broken = self._broken(request) and code in {None, _NOTHING_SENT}
            self._ended(request, "provider-gone" if broken else "complete", code)
        else:
            self._ended(request, "client-gone")
        self._numbers.pop(id(request), None)
        return response

    async def ask(self, request: web.Request, question: Question) -> Hit | Miss:
        """The answer, from wherever it comes now."""
        if question.kind == "message":
            self._notes.message(
                self._numbers[id(request)],
                question.body,
                provider=False,
                binary=question.form == "binary",
            )
        else:
            upstream = question.upstream or (
                self.desk.upstream(question.target) if self.desk is not None else ""
            )
            peer = request.transport.get_extra_info("peername") if request.transport else None
            self._numbers[id(request)] = self._notes.begin(
                question, upstream=upstream, connection=peer
            )
        assert self.answers is not None  # noqa: S101 - set before the program starts
        found = await self.answers(question)
        if isinstance(found, PacedHit):
            self._delays[self._numbers[id(request)]] = iter(found.delays_s)
        return found

    def response(self, request: web.Request, status: int) -> web.StreamResponse:
        """A response whose pieces are noted."""
        return _NotedResponse(self._notes, self._numbers[id(request)], self._rest, status)

    def socket(self, request: web.Request, **options: Any) -> web.WebSocketResponse:
        """A WebSocket whose messages are noted."""
        return _NotedSocket(self._notes, self._numbers[id(request)], self._rest, **options)

    async def _rest(self, number: int) -> None:
        """Wait before the next piece of an answer, where it has a pace."""
        seconds = next(self._delays.get(number, iter(())), 0.0)
        if seconds:
            await asyncio.sleep(seconds)

    def _whole(self, request: web.Request, response: web.Response) -> None:
        number = self._numbers.get(id(request), 0)
        if self._broken(request):
            self._notes.ended(number, "provider-gone")
            return
        self._notes.answer(number, response.status, tuple(response.headers.items()))
        self._notes.data(number, response.body if isinstance(response.body, bytes) else b"")
        self._notes.ended(number, "complete")

    @staticmethod
    def _broken(request: web.Request) -> bool:
        return request.transport is None or request.transport.is_closing()

    def _ended(self, request: web.Request, outcome: Any, close_code: int | None = None) -> None:
        self._notes.ended(self._numbers.get(id(request), 0), outcome, close_code)


class _NotedResponse(web.StreamResponse):
    """Notes what is sent before it is sent."""

    def __init__(self, notes: TapeNotes, number: int, rest: _Rest, status: int) -> None:
        super().__init__(status=status)
        self._notes, self._number, self._rest = notes, number, rest

    async def prepare(self, request: web.BaseRequest) -> Any:
        """Send the head."""
        self._notes.answer(self._number, self.status, tuple(self.headers.items()))
        return await super().prepare(request)

    async def write(self, data: Any) -> None:
        """Send a piece."""
        await self._rest(self._number)
        self._notes.data(self._number, bytes(data))
        await super().write(data)

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the end."""
        self._notes.ended(self._number, "complete")
        await super().write_eof(data)


class _NotedSocket(web.WebSocketResponse):
    """Notes what is sent before it is sent."""

    def __init__(self, notes: TapeNotes, number: int, rest: _Rest, **options: Any) -> None:
        super().__init__(**options)
        self._notes, self._number, self._rest = notes, number, rest

    async def prepare(self, request: web.BaseRequest) -> Any:
        """Open it."""
        opened = await super().prepare(request)  # which decides on its headers
        self._notes.answer(self._number, self.status, tuple(self.headers.items()))
        return opened

    async def send_str(self, data: str, compress: int | None = None) -> None:
        """Send a text."""
        await self._rest(self._number)
        self._notes.message(self._number, data.encode(), provider=True, binary=False)
        await super().send_str(data, compress)

    async def send_bytes(self, data: Any, compress: int | None = None) -> None:
        """Send bytes."""
        await self._rest(self._number)
        self._notes.message(self._number, bytes(data), provider=True, binary=True)
        await super().send_bytes(data, compress)
