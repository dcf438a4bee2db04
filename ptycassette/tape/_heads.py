"""Read the heads of requests, rewrite them for the provider, and parse answers as they pass.

h11 only reads a copy: the received bytes go on to the other side unchanged. So trailers, interim
answers, chunk boundaries and even broken framing arrive as they were sent. Only the head of a
request is rewritten, because its target and ``Host`` name the proxy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import h11

from ptycassette.tape.routing import Destination, header

MAX_HEAD_BYTES = 256 << 10
"""The limit for the head of a request or an answer; common servers accept half of that."""

_BLANK_LINE = re.compile(rb"\n\r?\n")
_NOT_PASSED_ON = (b"proxy-authorization", b"proxy-connection")
# No protocol but WebSocket can be noted, so no other is offered (RFC 9110, section 7.8).
_UPGRADES = (b"upgrade", b"http2-settings")


def end_of_head(data: bytes) -> int:
    """The length of the head at the beginning of ``data``; 0 if it is incomplete."""
    found = _BLANK_LINE.search(data)
    return found.end() if found else 0


def read_request(head: bytes) -> tuple[h11.Request, h11.Connection]:
    """Parse a request head; return the request and a reader for its body.

    Raises:
        h11.RemoteProtocolError: it is not an HTTP/1 head.
    """
    reader = h11.Connection(h11.SERVER, MAX_HEAD_BYTES)
    reader.receive_data(head)
    request = reader.next_event()
    if not isinstance(request, h11.Request):
        raise h11.RemoteProtocolError("not a request")
    return request, reader


def answer_follower(request: h11.Request) -> h11.Connection:
    """A reader for the answer to a request. h11 needs the request to read it."""
    headers = [(b"host", b"x")]
    if is_websocket(request):
        headers += [(b"connection", b"upgrade"), (b"upgrade", b"websocket")]
    reader = h11.Connection(h11.CLIENT, MAX_HEAD_BYTES)
    reader.send(h11.Request(method=request.method, target=b"/", headers=headers))
    reader.send(h11.EndOfMessage())
    return reader


def events(reader: h11.Connection) -> Iterator[h11.Event]:
    """The events that h11 can parse from the bytes received so far.

    Raises:
        h11.RemoteProtocolError: the other side broke the protocol, or ended too early.
    """
    while True:
        event = reader.next_event()
        if event is h11.NEED_DATA or event is h11.PAUSED:
            return
        yield event  # type: ignore[misc]  # what is left are events
        if isinstance(event, h11.ConnectionClosed):
            return


def head_for_provider(
    request: h11.Request, to: Destination, *, expects: bool = True, length: int | None = None
) -> bytes:
    """The head for the provider: with the provider's target and host, otherwise unchanged.

    Args:
        request: the client's request.
        to: the provider.
        expects: whether ``Expect`` is passed on.
        length: the length of the body, if it differs from the client's.
    """
    passed = is_websocket(request)
    dropped = {*_NOT_PASSED_ON, *(() if passed else _UPGRADES), *(() if expects else (b"expect",))}
    if length is not None:
        dropped |= {b"content-length", b"transfer-encoding", b"content-encoding"}
    lines = [b"%b %b HTTP/%b" % (request.method, to.target.encode("ascii"), request.http_version)]
    for name, value in request.headers.raw_items():
        key = name.lower()
        if key == b"host":
            lines.append(name + b": " + to.origin.authority.encode("ascii"))
        elif key == b"connection" and not passed:
            kept = [one for one in value.split(b",") if one.strip().lower() not in _UPGRADES]
            if kept:
                lines.append(name + b": " + b",".join(kept).strip())
        elif key not in dropped:
            lines.append(name + b": " + value)
    if length is not None:
        lines.append(b"content-length: %d" % length)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def noted_headers(request: h11.Request, to: Destination) -> tuple[tuple[str, str], ...]:
    """The headers of a request for the tape: the provider's host, without the proxy's secret."""
    return tuple(
        (name, to.origin.authority if name == "host" else value)
        for name, value in header_pairs(request)
        if name.encode("latin-1") not in _NOT_PASSED_ON
    )


def header_pairs(
    head: h11.Request | h11.Response | h11.InformationalResponse,
) -> tuple[tuple[str, str], ...]:
    """All headers, in order, names in lower case."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers)


def is_websocket(request: h11.Request) -> bool:
    """Whether the request is a WebSocket handshake."""
    return header(request, b"upgrade").lower() == "websocket"


def own_answer(
    status: int, body: bytes, *extra: tuple[str, str], kind: str = "text/plain"
) -> bytes:
    """An answer that the proxy itself gives before it closes the connection."""
    headers = [
        ("content-type", f"{kind}; charset=utf-8"),
        ("content-length", str(len(body))),
        ("connection", "close"),
        *extra,
    ]
    lines = [f"HTTP/1.1 {status} ptycassette", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
