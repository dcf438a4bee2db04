"""Asks a provider until it answers, or until it was asked often enough.

The head of each answer is read before anything of it passes. So a client sees one answer: the
first that is not an error, or the last one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import h11

from ptycassette.keys.quantities import time_text
from ptycassette.tape._heads import MAX_HEAD_BYTES, answer_follower, end_of_head
from ptycassette.tape.gate import OutgoingRequest
from ptycassette.tape.io._exchange_context import ExchangeContext, ProviderGoneError
from ptycassette.tape.io._request_side import HeldRequest
from ptycassette.tape.io._upstreams import UnreachableError
from ptycassette.tape.io._wire import Wire
from ptycassette.tape.retries import Retries, may_be_asked_again, wait_s


class Persistence:
    """Asks one question.

    Args:
        context: what exchanges have in common.
        request: its head.
        held: the request as it is sent.
        question: the same, for the gate, which judges each further attempt.
        retries: how often, and how long to wait.

    Attributes:
        failures: what came of the attempts that failed, in their order.
        answered: whether there is an answer that is no error.
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
        """What came of the failed attempts, in words; empty if there were none."""
        if not self.failures:
            return ""
        asked = len(self.failures) + self.answered
        times = "once" if asked == 1 else f"{asked} times"
        return f"asked {times}: {', '.join(self.failures)}"

    async def ask(self, upstream: Wire | None, sending: Callable[[], None]) -> Wire:
        """The connection on which the answer comes, to be read from its beginning.

        Args:
            upstream: a connection to the provider that was used before.
            sending: called before anything is sent.

        Raises:
            UnreachableError: there is no connection, at the last attempt.
            ProviderGoneError: there is no answer, at the last attempt.
            QuestionRefusedError: the gate does not let it be asked again.
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
        """Send it, and read the head of the answer, which is put back.

        Raises:
            ProviderGoneError: there is none.
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
