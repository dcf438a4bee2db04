"""The proxy's own process: takes its order from standard input, and ends when that ends.

Standard output goes to the recorder as lines of JSON. The pipe may stay unread for hours, so lines
that do not fit are dropped. Only the last line, which reports that nothing passes any more, is
worth waiting for.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ptycassette.errors import CassetteError, StorageError
from ptycassette.tape.consent.terms import TermsGate
from ptycassette.tape.io._proxy_messages import (
    FromProxy,
    NotStarted,
    Order,
    Ready,
    Reported,
    Stopped,
    read_order,
    written,
)
from ptycassette.tape.io._scheduling import ask_for_short_slices
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.io.price_table import load_prices
from ptycassette.tape.io.proxy import Proxy
from ptycassette.tape.items import TapeItem

_LOOK_S = 0.5
_MOST_REPORTS = 100


def _send(message: FromProxy) -> None:
    with suppress(OSError):  # full, or without a reader
        os.write(1, written(message))


class _Reports:
    """Lines for the user, each reported once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, text: str) -> None:
        if text not in self._said and len(self._said) < _MOST_REPORTS:
            self._said.add(text)
            _send(Reported(text=text))


class _WatchedSink:
    """A ``TapeSink`` that reports when the disk is full."""

    def __init__(self, journal: TapeJournalFile) -> None:
        self._journal, self._said = journal, False

    def note(self, item: TapeItem) -> None:
        try:
            self._journal.note(item)
        except StorageError as full:
            if not self._said:
                self._said = True
                _send(Stopped(problem=str(full)))
            raise


async def _serve(order: Order, parent: int) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    _when_input_ends(loop, ended.set)

    def end(number: signal.Signals) -> None:
        _send(Stopped(problem=f"the tape's proxy was ended by {number.name}"))
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    gate = TermsGate(order.terms, load_prices())
    with TapeJournalFile(Path(order.journal), origin_us=order.origin_us) as journal:
        proxy = Proxy(order, sink=_WatchedSink(journal), gate=gate, report=_Reports())
        await proxy.start()
        os.set_blocking(1, False)
        _send(Ready(port=proxy.port))
        # A fork of the recorder may hold the pipe open, so its end alone is not enough.
        while not ended.is_set() and os.getppid() == parent:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(ended.wait(), _LOOK_S)
        await proxy.close()


def _when_input_ends(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    def look() -> None:
        if not os.read(0, 64):
            loop.remove_reader(0)
            call()

    loop.add_reader(0, look)


def _order() -> Order | None:
    """The order; None if the recorder ended before it sent one."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(0, 1 << 16)
        if not more:
            return None
        line += more
    return read_order(line)


def main() -> int:
    """Serve until standard input ends."""
    parent = os.getppid()
    ask_for_short_slices()
    order = _order()
    if order is None:
        return 0
    try:
        asyncio.run(_serve(order, parent))
    except CassetteError as wrong:
        _send(
            NotStarted(
                error=type(wrong).__name__,
                message=wrong.message,
                where=wrong.where,
                hint=wrong.hint,
            )
        )
    except OSError as wrong:
        _send(NotStarted(error="StorageError", message=f"the proxy cannot listen: {wrong}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
