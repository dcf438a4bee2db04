"""Define the messages between a recorder and its proxy: lines of JSON over two pipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ptycassette.model.records import native, storable
from ptycassette.model.resolved_types import resolved
from ptycassette.tape.consent.terms import Terms
from ptycassette.tape.retries import Retries


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a proxy: the only line sent to it. It ends when that pipe ends.

    Attributes:
        journal: the new file for its notes.
        terms: what may leave the machine.
        token: the secret that its clients send.
        upstreams: base URLs of providers, by the names of their routes.
        forward: whether it is also an HTTP proxy.
        ca_file: the file for the certificate that clients of an HTTP proxy must trust.
        authorities: files of certificates that the user's CLI trusts besides the system's.
        origin_us: the moment of the monotonic clock at which ``t_us`` is 0.
        retries: how to repeat failed requests; None to pass errors of providers on.
    """

    journal: str = ""
    terms: Terms = Terms()
    token: str
    upstreams: Mapping[str, str]
    forward: bool = False
    ca_file: str = ""
    authorities: Sequence[str] = ()
    origin_us: int = 0
    retries: Retries | None = None


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """The proxy listens."""

    port: int


class NotStarted(msgspec.Struct, frozen=True, kw_only=True, tag="not-started"):
    """The proxy could not start, and ends."""

    error: str
    message: str
    where: str | None = None
    hint: str | None = None


class Reported(msgspec.Struct, frozen=True, kw_only=True, tag="reported"):
    """A line for the user."""

    text: str


class Stopped(msgspec.Struct, frozen=True, kw_only=True, tag="stopped"):
    """The proxy passes nothing more, because it cannot note anything."""

    problem: str


FromProxy = Ready | NotStarted | Reported | Stopped


def written(message: Order | FromProxy) -> bytes:
    """A message as a line of JSON; paths in it may hold any bytes."""
    return msgspec.json.encode(storable(msgspec.to_builtins(message))) + b"\n"


def read_order(line: bytes) -> Order:
    """Decode a line that ``written`` made.

    Raises:
        msgspec.MsgspecError: it is not an order.
    """
    return msgspec.convert(native(msgspec.json.decode(line)), resolved(Order))


def read_reply(line: bytes) -> FromProxy:
    """Decode a line that ``written`` made.

    Raises:
        msgspec.MsgspecError: it is not a message of the proxy.
    """
    reply: FromProxy = msgspec.convert(native(msgspec.json.decode(line)), resolved(FromProxy))
    return reply
