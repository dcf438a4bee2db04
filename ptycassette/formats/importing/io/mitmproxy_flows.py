"""Import saved flows of mitmproxy (``mitmdump -w``) through mitmproxy itself, if it is installed.

The format is private, changes with versions of mitmproxy, and is documented only by its code, so
other code should not parse it.
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

from ptycassette.errors import CassetteError, UsageError
from ptycassette.formats.importing.har import (
    Call,
    Headers,
    Message,
    Skipped,
    SkippedError,
    checked_status,
    checked_url,
    header_pairs,
    moment_us,
    session_of_calls,
    unpacked,
)
from ptycassette.formats.importing.session import BadImportError, ImportedSession

_BINARY = 2


def read_flows(data: bytes) -> ImportedSession:
    """The HTTP flows, with messages of WebSockets.

    Raises:
        BadImportError: it is not such a file; the message has the number of the flow.
        UsageError: mitmproxy is not installed.
    """
    try:
        reader = import_module("mitmproxy.io").FlowReader(io.BytesIO(data))
    except ImportError as exc:
        raise UsageError(
            "flows of mitmproxy are read by mitmproxy, which is not installed",
            hint="pip install mitmproxy, or save them as HAR (mitmdump --set hardump=FILE.har)",
        ) from exc
    calls: list[Call] = []
    skipped = Skipped()
    read = 0
    try:
        for flow in reader.stream():
            try:
                calls.append(_call(flow))
            except SkippedError as reason:
                skipped.note(reason, f"flow {read + 1}")
            read += 1
    except CassetteError:
        raise
    except Exception as exc:  # broken files also end in its assertions and attributes
        raise BadImportError(f"flow {read + 1} cannot be read: {exc}") from exc
    return session_of_calls(calls, skipped, dated=True)


def _call(flow: Any) -> Call:
    request, response = getattr(flow, "request", None), getattr(flow, "response", None)
    if request is None or not hasattr(request, "method"):
        raise SkippedError("a flow that is not HTTP")
    begun_us = moment_us(request.timestamp_start)
    answered_us = begun_us if response is None else moment_us(response.timestamp_start)
    headers, body = _side(request)
    answer_headers, answer = ((), b"") if response is None else _side(response)
    ended = getattr(response, "timestamp_end", None)
    error = getattr(flow, "error", None)
    socket = getattr(flow, "websocket", None)
    return Call(
        begun_us=begun_us,
        answered_us=answered_us,
        ended_us=answered_us if ended is None else moment_us(ended),
        method=request.method,
        url=checked_url(request.url),
        headers=headers,
        body=body,
        status=None if response is None else checked_status(response.status_code),
        answer_headers=answer_headers,
        answer=answer,
        messages=None if socket is None else tuple(map(_message, socket.messages)),
        outcome="complete" if error is None and response is not None else "provider-gone",
        detail="" if error is None else str(error.msg),
    )


def _side(side: Any) -> tuple[Headers, bytes]:
    """Headers and body, unpacked by us: mitmproxy does not limit the size of an unpacked body."""
    return unpacked(header_pairs(side.headers.items(multi=True)), side.raw_content or b"")


def _message(said: Any) -> Message:
    return Message(
        t_us=moment_us(said.timestamp),
        sender="client" if said.from_client else "provider",
        data=said.content,
        binary=int(said.type) == _BINARY,
    )
