"""What all exchanges share, and how either end of one can break off."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ptycassette.tape.gate import Gate, OutgoingRequest
from ptycassette.tape.io._upstreams import Upstreams
from ptycassette.tape.io._wire import Wire
from ptycassette.tape.io.journal_file import TapeSink
from ptycassette.tape.retries import Retries


class ClientGoneError(Exception):
    """The client went away: what it left undone."""


class ProviderGoneError(Exception):
    """The provider broke off: how."""


class RecordedAnswer(msgspec.Struct, frozen=True):
    """An answer of another recording: status, type of its content, unpacked body."""

    status: int
    kind: str
    body: bytes


class ExchangeContext(msgspec.Struct, frozen=True, kw_only=True):
    """What exchanges have in common.

    Attributes:
        sink: takes what is noted.
        upstreams: makes connections to providers.
        gate: decides what may leave the machine.
        now_us: microseconds since the recording began.
        report: takes a line for the user.
        number: the next number of an exchange.
        retries: what to do about errors of providers; None to pass them on as they are.
        recorded_answer: the answer of a recording to a question, with its status and the type of
            its content; None where it has none.
    """

    sink: TapeSink
    upstreams: Upstreams
    gate: Gate
    now_us: Callable[[], int]
    report: Callable[[str], None]
    number: Callable[[], int]
    retries: Retries | None = None
    recorded_answer: Callable[[OutgoingRequest], RecordedAnswer | None] = lambda question: None  # noqa: ARG005


async def write_to_client(client: Wire, data: bytes) -> None:
    """Write, and wait until the kernel has it.

    Raises:
        ClientGoneError: the connection broke.
    """
    try:
        await client.write(data)
    except OSError as broken:
        raise ClientGoneError(str(broken)) from broken
