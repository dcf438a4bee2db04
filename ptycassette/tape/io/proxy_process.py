"""The proxy's own process: takes its order from standard input, and ends when that ends.

Standard output goes to the recorder as lines of JSON. The pipe may stay unread for hours, so lines
that do not fit are dropped. Only the last line, which reports that nothing passes any more, is
worth waiting for.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import platform
import signal
import struct
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
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.io.price_table import load_prices
from ptycassette.tape.io.proxy import Proxy
from ptycassette.tape.items import TapeItem

# Ask the kernel to run this process soon after it wakes up.
#
# The proxy works for a millisecond and then waits, once for the client and once for the provider.
# On a busy machine most of its cost is the wait for a processor. Linux (EEVDF, from 6.12) lets any
# process ask for shorter slices (sched_setattr(2), ``sched_runtime``): it gets no more time than
# others, but its turn comes earlier. A lower nice value would need a privilege, and counts only
# within the session.


_SYSCALLS = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
_SLICE_NS = 100_000
"""The shortest slice that the kernel accepts."""
# struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period, utilisation.
_ATTRIBUTES = struct.Struct("=IIQiIQQQII")


def ask_for_short_slices() -> None:
    """Ask for short slices. Does nothing if the system does not support them."""
    number = _SYSCALLS.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        return  # it already has a better one
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = _ATTRIBUTES.pack(_ATTRIBUTES.size, 0, 0, nice, 0, _SLICE_NS, 0, 0, 0, 0)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).syscall(number, 0, attributes, 0)


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
