"""What the proxy notes while it passes traffic on: the journal of the tape, item by item.

An exchange is one HTTP request with its answer, or one WebSocket from handshake to end. Exchanges
are numbered from 1 in the order in which their requests began. ``t_us`` are microseconds of the
monotonic clock since the recording began, taken before the bytes go on to the other side.
Bytes are as they came, neither unpacked nor scrubbed.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ptycassette.model.tape import ExchangeOutcome


class RequestBegun(msgspec.Struct, frozen=True, kw_only=True, tag="request"):
    """The head of a request.

    ``connection`` numbers the client's connections from 1. ``target`` is path and query as they
    were sent; ``upstream`` is scheme and authority of the provider (``https://api.openai.com``).
    ``headers`` are all headers, in order, names in lower case.
    """

    t_us: int
    exchange: int
    connection: int
    kind: Literal["http", "websocket"]
    method: str
    upstream: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()


class RequestData(msgspec.Struct, frozen=True, kw_only=True, tag="request-data"):
    """A piece of the body of a request, as it was sent."""

    t_us: int
    exchange: int
    data: bytes


class RequestComplete(msgspec.Struct, frozen=True, kw_only=True, tag="request-complete"):
    """The body of a request was there to its end."""

    t_us: int
    exchange: int


class AnswerBegun(msgspec.Struct, frozen=True, kw_only=True, tag="answer"):
    """The head of an answer; 101 for a WebSocket."""

    t_us: int
    exchange: int
    status: int
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class AnswerData(msgspec.Struct, frozen=True, kw_only=True, tag="answer-data"):
    """A piece of the body of an answer, as it was received."""

    t_us: int
    exchange: int
    data: bytes


class SocketMessage(msgspec.Struct, frozen=True, kw_only=True, tag="message"):
    """A whole message of a WebSocket, unpacked (permessage-deflate is undone)."""

    t_us: int
    exchange: int
    sender: Literal["client", "provider"]
    data: bytes
    binary: bool = False


class ExchangeEnded(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """The end of an exchange. ``detail`` is for people: why it broke off.

    ``close_code`` is that of a WebSocket's closing frame, where there was one.
    """

    t_us: int
    exchange: int
    outcome: ExchangeOutcome
    detail: str = ""
    close_code: int | None = None


TapeItem = (
    RequestBegun
    | RequestData
    | RequestComplete
    | AnswerBegun
    | AnswerData
    | SocketMessage
    | ExchangeEnded
)
