"""What a recorder and its proxy tell each other: lines of JSON over two pipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ptycassette.model.records import native, storable
from ptycassette.model.resolved_types import resolved
from ptycassette.tape.consent.terms import Terms
from ptycassette.tape.retries import Retries


class ProxyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a proxy serves.

    Attributes:
        token: the secret that its clients know.
        upstreams: base URLs of providers, by the names of their routes.
        forward: whether it is an HTTP proxy, too.
        ca_file: where the certificate goes that clients of an HTTP proxy must trust.
        authorities: files of certificates that the user's CLI trusts besides the system's.
        origin_us: the moment of the monotonic clock from which items count.
        retries: what to do about errors of providers; None to pass them on as they are.
    """

    token: str
    upstreams: Mapping[str, str]
    forward: bool = False
    ca_file: str = ""
    authorities: Sequence[str] = ()
    origin_us: int = 0
    retries: Retries | None = None


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The only line to the proxy. The end of that pipe is the end of the proxy."""

    journal: str
    plan: ProxyPlan
    terms: Terms


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """It listens."""

    port: int


class NotStarted(msgspec.Struct, frozen=True, kw_only=True, tag="not-started"):
    """It does not, and ends."""

    error: str
    message: str
    where: str | None = None
    hint: str | None = None


class Reported(msgspec.Struct, frozen=True, kw_only=True, tag="reported"):
    """A line for the user."""

    text: str


class Stopped(msgspec.Struct, frozen=True, kw_only=True, tag="stopped"):
    """Nothing passes any more, because it cannot be noted."""

    problem: str


FromProxy = Ready | NotStarted | Reported | Stopped


def written(message: Order | FromProxy) -> bytes:
    """A message as a line of JSON; paths in it may hold any bytes."""
    return msgspec.json.encode(storable(msgspec.to_builtins(message))) + b"\n"


def read_order(line: bytes) -> Order:
    """What ``written`` was given.

    Raises:
        msgspec.MsgspecError: it is no order.
    """
    return msgspec.convert(native(msgspec.json.decode(line)), resolved(Order))


def read_reply(line: bytes) -> FromProxy:
    """What ``written`` was given.

    Raises:
        msgspec.MsgspecError: the proxy sends no such thing.
    """
    reply: FromProxy = msgspec.convert(native(msgspec.json.decode(line)), resolved(FromProxy))
    return reply
