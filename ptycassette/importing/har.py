"""HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), as browsers and ``export`` write it.

Bodies in it are unpacked. Messages of WebSockets are in ``_webSocketMessages``, which is Chrome's:
binary ones in base64, with opcode 2.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, get_args
from urllib.parse import urlencode

from ptycassette.importing.calls import (
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
    without_packing,
)
from ptycassette.importing.json_lines import decoded
from ptycassette.importing.session import BadImportError, ImportedSession
from ptycassette.model.tape import ExchangeOutcome

_OUTCOMES = get_args(ExchangeOutcome)
_BINARY = 2


def read_har(data: bytes) -> ImportedSession:
    """The calls of an HTTP archive.

    Raises:
        BadImportError: it is none.
    """
    document = decoded(data.removeprefix(b"\xef\xbb\xbf"), "it is not JSON")
    log = document.get("log") if isinstance(document, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(log, dict) or not isinstance(entries, list):
        raise BadImportError("there is no list log.entries in it")
    calls: list[Call] = []
    skipped = Skipped()
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not _objects(entry, "request", "response"):
            raise BadImportError(f"entry {number} has no request and response")
        try:
            calls.append(_call(entry))
        except SkippedError as reason:
            skipped.note(reason, f"entry {number}")
    return session_of_calls(
        calls,
        skipped,
        dated=True,
        made_by=_made_by(log.get("creator")) or _made_by(log.get("browser")),
        format_version=log.get("version") if isinstance(log.get("version"), str) else None,
    )


def _made_by(said: object) -> str | None:
    """Name and version of the program that wrote an archive."""
    if not isinstance(said, dict) or not isinstance(said.get("name"), str):
        return None
    version = said.get("version")
    return f"{said['name']} {version}" if isinstance(version, str) and version else said["name"]


def _objects(value: dict[str, Any], *names: str) -> bool:
    return all(isinstance(value.get(name), dict) for name in names)


def _call(entry: dict[str, Any]) -> Call:
    request, response = entry["request"], entry["response"]
    begun_us = moment_us(entry.get("startedDateTime"), "startedDateTime")
    ended_us = begun_us + _us(entry.get("time"))
    timings = entry.get("timings")
    received_us = _us(timings.get("receive")) if isinstance(timings, dict) else 0
    outcome, detail = _outcome(entry, response)
    messages = entry.get("_webSocketMessages")
    status = checked_status(response.get("status"))
    return Call(
        begun_us=begun_us,
        answered_us=max(begun_us, ended_us - received_us),
        ended_us=ended_us,
        method=str(request.get("method") or "GET"),
        url=checked_url(request.get("url")),
        headers=_headers(request),
        body=_question(request),
        status=status,
        answer_headers=_headers(response),
        answer=b"" if status is None else _answer(response),
        messages=tuple(map(_message, messages)) if isinstance(messages, list) else None,
        outcome=outcome,
        detail=detail,
    )


def _us(milliseconds: object) -> int:
    """A length of time in ms; -1 is HAR's word for one that does not apply."""
    if isinstance(milliseconds, int | float) and 0 <= milliseconds < 1e12:
        return round(milliseconds * 1000)
    return 0


def _outcome(entry: dict[str, Any], response: dict[str, Any]) -> tuple[ExchangeOutcome, str]:
    """How it ended: as ``export`` says it in the comment, or by Chrome's status 0."""
    comment = entry.get("comment")
    if isinstance(comment, str):
        for outcome in _OUTCOMES:
            if comment == outcome or comment.startswith(f"{outcome}: "):
                return outcome, comment.removeprefix(outcome).removeprefix(": ")
    if response.get("status") == 0:
        return "unreachable", str(response.get("_error") or "")
    return "complete", ""


def _headers(side: dict[str, Any]) -> Headers:
    listed = side.get("headers")
    pairs = listed if isinstance(listed, list) else []
    found = header_pairs(
        (pair.get("name"), pair.get("value")) for pair in pairs if isinstance(pair, dict)
    )
    return without_packing(found)


def _question(request: dict[str, Any]) -> bytes:
    posted = request.get("postData")
    if not isinstance(posted, dict):
        return b""
    text, params = posted.get("text"), posted.get("params")
    if isinstance(text, str) and text:
        return _decoded(text, posted.get("encoding"))
    if isinstance(params, list) and params:
        pairs = [one for one in params if isinstance(one, dict) and "fileName" not in one]
        if len(pairs) != len(params):
            raise SkippedError("a file that was uploaded is not in it", "postData")
        return urlencode(
            [(str(one.get("name")), str(one.get("value") or "")) for one in pairs]
        ).encode()
    return b""


def _answer(response: dict[str, Any]) -> bytes:
    content = response.get("content")
    content = content if isinstance(content, dict) else {}
    text = content.get("text")
    if not isinstance(text, str):
        if _us(content.get("size")):
            raise SkippedError("the body of the answer is not in it", "content.text")
        return b""
    return _decoded(text, content.get("encoding"))


def _message(said: object) -> Message:
    if not isinstance(said, dict) or not isinstance(said.get("data"), str):
        raise SkippedError("a message of a WebSocket without data", "_webSocketMessages")
    binary = said.get("opcode") == _BINARY
    return Message(
        t_us=moment_us(said.get("time")),
        sender="client" if said.get("type") == "send" else "provider",
        data=_decoded(said["data"], "base64" if binary else None),
        binary=binary,
    )


def _decoded(text: str, encoding: object) -> bytes:
    if encoding != "base64":
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise SkippedError("a body that is not base64", "text") from exc
