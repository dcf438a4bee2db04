"""The provider of a fork: answers from the parent's tape up to the change, and notes all traffic.

Needs the extra ``tape`` (aiohttp).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.io.tape_server import TapeServer
from ptycassette.agents.rerun.made_answers import PacedHit
from ptycassette.model.ports import Clock
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.recording.io.options import RunningTape
from ptycassette.system.ownership import Closing
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
    SocketMessage,
    TapeItem,
)
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question

# Note the traffic between a fork's server and the program, as a recorder's proxy does.


_PIECE_BYTES = 1 << 20
_PACKING = "content-encoding"


class TapeNotes(Closing):
    """The journal of a child's tape. A ``RunningTape``.

    Args:
        clock: the recorder's clock.
        described: the manifest's description of how the program is pointed at its provider.
    """

    def __init__(self, clock: Clock, described: Mapping[str, Any]) -> None:
        self.environment: Mapping[str, str] = {}
        self.arguments: Sequence[str] = ()
        self.secrets: Sequence[str] = ()
        self.address = ""
        self.reports: Sequence[str] = ()
        self.described = described
        self.needed = False
        self._clock = clock
        self._lock = threading.Lock()
        self._file: TapeJournalFile | None = None
        self._connections: dict[Any, int] = {}
        self._open: set[int] = set()
        self._count = 0

    def start(self, journal: Path, environment: Mapping[str, str]) -> RunningTape:
        """Begin the journal. A ``TapeStarter``."""
        del environment
        self._file = TapeJournalFile(journal, origin_us=0)
        return self

    @property
    def problem(self) -> str | None:
        """See ``RunningTape.problem``."""
        failure = None if self._file is None else self._file.failure
        return None if failure is None else failure.message

    def close(self) -> None:
        """See ``RunningTape.close``."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._open.clear()

    def begin(self, question: Question, *, upstream: str, connection: object) -> int:
        """Note a request with its body; return the number of the exchange."""
        with self._lock:
            self._count += 1
            number = self._count
            self._open.add(number)
            known = self._connections.setdefault(connection, len(self._connections) + 1)
        self._note(
            RequestBegun(
                t_us=self._now,
                exchange=number,
                connection=known,
                kind="websocket" if question.kind == "websocket" else "http",
                method=question.method,
                upstream=upstream,
                target=question.target,
                headers=tuple(one for one in question.headers if one[0] != _PACKING),
            )
        )
        for at in range(0, len(question.body), _PIECE_BYTES):
            data = question.body[at : at + _PIECE_BYTES]
            self._note(RequestData(t_us=self._now, exchange=number, data=data))
        self._note(RequestComplete(t_us=self._now, exchange=number))
        return number

    def answer(self, number: int, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Note the head of an answer."""
        kept = tuple((name.lower(), value) for name, value in headers)
        self._put(number, AnswerBegun(t_us=self._now, exchange=number, status=status, headers=kept))

    def data(self, number: int, data: bytes) -> None:
        """Note a piece of an answer."""
        for at in range(0, len(data), _PIECE_BYTES):
            piece = data[at : at + _PIECE_BYTES]
            self._put(number, AnswerData(t_us=self._now, exchange=number, data=piece))

    def message(self, number: int, data: bytes, *, provider: bool, binary: bool) -> None:
        """Note a message over a WebSocket."""
        item = SocketMessage(
            t_us=self._now,
            exchange=number,
            sender="provider" if provider else "client",
            data=data,
            binary=binary,
        )
        self._put(number, item)

    def ended(self, number: int, outcome: ExchangeOutcome, close_code: int | None = None) -> None:
        """Note the end of an exchange; only the first one counts."""
        item = ExchangeEnded(
            t_us=self._now, exchange=number, outcome=outcome, close_code=close_code
        )
        self._put(number, item)
        self._open.discard(number)

    @property
    def _now(self) -> int:
        return self._clock.now_us()

    def _put(self, number: int, item: TapeItem) -> None:
        if number in self._open:
            self._note(item)

    def _note(self, item: TapeItem) -> None:
        with self._lock:
            if self._file is not None and item.exchange in self._open:
                self._file.note(item)


_NOTHING_SENT = 1006  # RFC 6455, 7.4.1
_Rest = Callable[[int], Awaitable[None]]


class ForkServer(TapeServer):
    """A tape's server whose answers may come from elsewhere.

    Args:
        gates, hold_s, ca_file: as for ``TapeServer``.
        notes: takes the traffic.

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
        """Answer any request, and note its end in any case."""
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
        """The answer from the present source."""
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
        """Wait before the next piece of an answer that has a pace."""
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
    """Notes data before sending it."""

    def __init__(self, notes: TapeNotes, number: int, rest: _Rest, status: int) -> None:
        super().__init__(status=status)
        self._notes, self._number, self._rest = notes, number, rest

    async def prepare(self, request: web.BaseRequest) -> Any:
        self._notes.answer(self._number, self.status, tuple(self.headers.items()))
        return await super().prepare(request)

    async def write(self, data: Any) -> None:
        await self._rest(self._number)
        self._notes.data(self._number, bytes(data))
        await super().write(data)

    async def write_eof(self, data: bytes = b"") -> None:
        self._notes.ended(self._number, "complete")
        await super().write_eof(data)


class _NotedSocket(web.WebSocketResponse):
    """Notes data before sending it."""

    def __init__(self, notes: TapeNotes, number: int, rest: _Rest, **options: Any) -> None:
        super().__init__(**options)
        self._notes, self._number, self._rest = notes, number, rest

    async def prepare(self, request: web.BaseRequest) -> Any:
        opened = await super().prepare(request)  # which decides on its headers
        self._notes.answer(self._number, self.status, tuple(self.headers.items()))
        return opened

    async def send_str(self, data: str, compress: int | None = None) -> None:
        await self._rest(self._number)
        self._notes.message(self._number, data.encode(), provider=True, binary=False)
        await super().send_str(data, compress)

    async def send_bytes(self, data: Any, compress: int | None = None) -> None:
        await self._rest(self._number)
        self._notes.message(self._number, bytes(data), provider=True, binary=True)
        await super().send_bytes(data, compress)
