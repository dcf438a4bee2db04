"""What all exchanges share, and how either end of one can break off."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ptycassette.tape.gate import Gate
from ptycassette.tape.io._upstreams import Upstreams
from ptycassette.tape.io._wire import Wire
from ptycassette.tape.io.journal_file import TapeSink


class ClientGoneError(Exception):
    """The client went away: what it left undone."""


class ProviderGoneError(Exception):
    """The provider broke off: how."""


class ExchangeContext(msgspec.Struct, frozen=True, kw_only=True):
    """What exchanges have in common.

    Attributes:
        sink: takes what is noted.
        upstreams: makes connections to providers.
        gate: decides what may leave the machine.
        now_us: microseconds since the recording began.
        report: takes a line for the user.
        number: the next number of an exchange.
    """

    sink: TapeSink
    upstreams: Upstreams
    gate: Gate
    now_us: Callable[[], int]
    report: Callable[[str], None]
    number: Callable[[], int]


async def write_to_client(client: Wire, data: bytes) -> None:
    """Write, and wait until the kernel has it.

    Raises:
        ClientGoneError: the connection broke.
    """
    try:
        await client.write(data)
    except OSError as broken:
        raise ClientGoneError(str(broken)) from broken
