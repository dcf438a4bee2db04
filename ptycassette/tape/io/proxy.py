"""The proxy: listens on 127.0.0.1 and nowhere else, and serves one recording's client."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ptycassette.system.clock import monotonic_s
from ptycassette.tape._heads import own_answer
from ptycassette.tape.gate import Gate, OutgoingRequest
from ptycassette.tape.io._client import Client
from ptycassette.tape.io._exchange_context import ExchangeContext, RecordedAnswer
from ptycassette.tape.io._peer import belongs_to_another_user
from ptycassette.tape.io._proxy_messages import ProxyPlan
from ptycassette.tape.io._upstreams import Upstreams, provider_context
from ptycassette.tape.io._wire import BLOCK, Wire
from ptycassette.tape.io.journal_file import TapeSink
from ptycassette.tape.retries import Retries
from ptycassette.tape.routing import Routes

if TYPE_CHECKING:
    from ptycassette.tape.io.recorded_answers import RecordedAnswers

HOST = "127.0.0.1"
MAX_CONNECTIONS = 512
"""At once. A CLI keeps a dozen; what has more is a loop or an attack."""
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
        plan: what it serves.
        sink: takes what it notes.
        gate: decides what may leave the machine.
        report: takes lines for the user.
    """

    def __init__(
        self, plan: ProxyPlan, *, sink: TapeSink, gate: Gate, report: Callable[[str], None]
    ) -> None:
        self._plan, self._sink, self._gate, self._report = plan, sink, gate, report
        self._connections = itertools.count(1)
        self._open: set[asyncio.Task[None]] = set()
        self._fallback: RecordedAnswers | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen on any free port, which is then ``port``.

        Raises:
            UsageError: an upstream is no base URL.
            StorageError: the certificate cannot be written.
            OSError: there is no port to be had.
        """
        plan = self._plan
        authorities = [Path(one) for one in plan.authorities]
        self._authority = None
        if plan.forward:
            # It loads a library of cryptography, for which most programs would wait in vain.
            from ptycassette.tape.io._authority import Authority  # noqa: PLC0415

            self._authority = Authority()
            self._authority.write(Path(plan.ca_file), authorities)
        self._server = await asyncio.start_server(
            self._accept, HOST, 0, limit=BLOCK, backlog=_BACKLOG
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._routes = Routes(
            token=plan.token, port=self.port, upstreams=plan.upstreams, forward=plan.forward
        )
        self._fallback = _recorded_answers(plan.retries)
        self._context = ExchangeContext(
            sink=self._sink,
            upstreams=Upstreams(own_port=self.port, context=provider_context(authorities)),
            gate=self._gate,
            now_us=lambda: round(monotonic_s() * 1e6) - plan.origin_us,
            report=self._report,
            number=itertools.count(1).__next__,
            retries=plan.retries,
            recorded_answer=_no_answer if self._fallback is None else self._fallback.find,
        )

    async def close(self) -> None:
        """Listen no more, let open exchanges end for half a second, then break them off.

        The certificate is deleted, and the cassette of recorded answers closed, too.
        """
        self._server.close()
        if self._plan.ca_file:
            Path(self._plan.ca_file).unlink(missing_ok=True)  # noqa: ASYNC240 - one name, once
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
