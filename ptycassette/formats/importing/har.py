"""Import HAR 1.2, as browsers and ``export`` write it.

Source: http://www.softwareishard.com/blog/har-12-spec/. Bodies in it are unpacked. Messages of
WebSockets are in Chrome's extension ``_webSocketMessages``: binary ones in base64, with opcode 2.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args
from urllib.parse import urlencode, urlsplit

import msgspec

from ptycassette.formats.importing.asciicast import decoded
from ptycassette.formats.importing.session import BadImportError, ImportedSession
from ptycassette.model.records import Noted, decoded_json
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.model.visible_text import visible
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
    SocketMessage,
    TapeItem,
)
from ptycassette.tape.unpacking import unpacker_for

# Calls of a provider, as other tools note them, to the items of a tape.


MAX_CALLS = 100_000
_MOST_FAULTS = 100
Headers = tuple[tuple[str, str], ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_STATUSES = range(100, 1000)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a WebSocket."""

    t_us: int
    sender: Literal["client", "provider"]
    data: bytes
    binary: bool = False


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its answer. ``status`` is None if there was no answer.

    ``messages`` are the messages of a WebSocket; None for HTTP. Header names are in lower case.
    ``with_headers``: whether the file has the headers of the question; otherwise they are made up
    for readers, and a rerun does not compare them. ``rebuilt``: whether the question was rebuilt
    from a description in the file.
    """

    begun_us: int
    answered_us: int
    ended_us: int
    method: str
    url: str
    headers: Headers = ()
    with_headers: bool = True
    body: bytes = b""
    status: int | None = None
    answer_headers: Headers = ()
    answer: bytes = b""
    messages: tuple[Message, ...] | None = None
    outcome: ExchangeOutcome = "complete"
    detail: str = ""
    rebuilt: bool = False


class SkippedError(Exception):
    """An entry cannot be imported; the message is the reason, the same for all such entries.

    Attributes:
        field: the missing or broken member of a call; empty if it is not a call.
    """

    def __init__(self, reason: str, field: str = "") -> None:
        super().__init__(reason)
        self.field = field


class Skipped(Counter[str]):
    """How many entries were left out, by reason.

    Attributes:
        faults: the broken calls among them: the place, the field, and the reason of each.
    """

    def __init__(self, counted: Mapping[str, int] | None = None) -> None:
        super().__init__(counted or {})
        self.faults: list[str] = []

    def note(self, reason: SkippedError, where: str) -> None:
        """Count an entry; ``where`` is its place in the file."""
        self[str(reason)] += 1
        if reason.field and len(self.faults) < _MOST_FAULTS:
            self.faults.append(f"{where}: {reason.field}: {reason}")


def checked_url(url: object, field: str = "url") -> str:
    """A URL that a tape can contain. ``field`` is its place in a call.

    Raises:
        SkippedError: it is not such a URL.
    """
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        found = parts is not None and parts.scheme in _SCHEMES and bool(parts.hostname)
    except ValueError:
        found = False
    if not found:
        raise SkippedError("not a URL of HTTP or of a WebSocket", field)
    return str(url)


def checked_status(status: object) -> int | None:
    """An HTTP status; None for 0, which tools write if there was no answer.

    Raises:
        SkippedError: it is not a status.
    """
    if isinstance(status, int) and not isinstance(status, bool) and status in _STATUSES:
        return status
    if status is None or status == 0:
        return None
    raise SkippedError("not a status of HTTP", "status")


def header_pairs(pairs: Iterable[tuple[object, object]]) -> Headers:
    """Headers with names in lower case, without the pseudo headers of HTTP/2."""
    return tuple(
        (name.lower(), value)
        for name, value in pairs
        if isinstance(name, str) and isinstance(value, str) and name and name[0] != ":"
    )


def without_packing(headers: Headers) -> Headers:
    """The headers for a body that the tool has unpacked."""
    return tuple(pair for pair in headers if pair[0] != "content-encoding")


def unpacked(headers: Headers, body: bytes, *, parsed: bool = False) -> tuple[Headers, bytes]:
    """Headers and body without content encodings.

    Tools that unpack a body may keep the header. A body that is UTF-8 is not packed: the output of
    gzip, zstd, br and deflate never is UTF-8.

    Args:
        headers: with names in lower case.
        body: the body of the request or the answer.
        parsed: whether the body is certainly not packed in the file.

    Raises:
        SkippedError: it is packed, and damaged or of an unknown encoding.
        CassetteError: the library that unpacks it is not installed.
    """
    encoding = ", ".join(value for name, value in headers if name == "content-encoding")
    if not encoding:
        return headers, body
    if not parsed and not _is_text(body):
        unpacker = unpacker_for(encoding)
        body = b"".join(unpacker.feed(body))
        unpacker.end()
        if unpacker.problem is not None:
            what = "that unpacks to too much" if unpacker.is_bomb else "that is damaged"
            raise SkippedError(f"a body packed with {visible(encoding, limit=40)} {what}", "body")
    return without_packing(headers), body


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def moment_us(text: object, field: str = "time") -> int:
    """Convert a moment in RFC 3339, or seconds since 1970, to microseconds since 1970.

    ``field`` is its place in a call.

    Raises:
        SkippedError: it is not a moment.
    """
    try:
        if isinstance(text, str):
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return (moment - _EPOCH) // timedelta(microseconds=1)
        if isinstance(text, int | float) and not isinstance(text, bool) and 0 <= text < 1e11:
            return round(text * 1_000_000)
    except (ValueError, OverflowError):
        pass
    raise SkippedError("not a time that can be read", field)


def session_of_calls(
    calls: Sequence[Call],
    skipped: Mapping[str, int],
    *,
    dated: bool,
    rebuilt: bool = False,
    notes: Sequence[Noted] = (),
    **facts: Any,
) -> ImportedSession:
    """Make a session from calls.

    Args:
        calls: in any order.
        skipped: counts of what was not imported, by reason.
        dated: whether times count from 1970, so that the first one is the beginning.
        rebuilt: see ``ImportedSession``.
        notes: service events beside the calls; their times count from the same moment.
        **facts: more fields of ``ImportedSession``.

    Raises:
        BadImportError: there is no call.
    """
    if not calls and not notes:
        reasons = "; ".join(f"{count} times: {reason}" for reason, count in skipped.items())
        if isinstance(skipped, Skipped) and skipped.faults:
            reasons += f"; {skipped.faults[0]}"
        raise BadImportError(f"no call can be taken from it{reasons and f' ({reasons})'}")
    if len(calls) > MAX_CALLS:
        raise BadImportError(f"more than {MAX_CALLS} calls")
    ordered = sorted(calls, key=lambda call: call.begun_us)
    placed = sorted(notes, key=lambda note: note.t_us)
    firsts = [*(call.begun_us for call in ordered[:1]), *(note.t_us for note in placed[:1])]
    origin_us = min(firsts)
    items = [item for n, call in enumerate(ordered, 1) for item in _items(n, call, origin_us)]
    items.sort(key=lambda item: item.t_us)
    began = _EPOCH + timedelta(microseconds=origin_us) if dated else None
    events = [Noted(note.t_us - origin_us, note.payload) for note in placed]
    return ImportedSession(
        events=events,
        items=items,
        compared_headers=_compared(calls),
        faults=tuple(skipped.faults) if isinstance(skipped, Skipped) else (),
        rebuilt_entries=[number for number, call in enumerate(ordered, 1) if call.rebuilt],
        end_us=max(one.t_us for one in (*items[-1:], *events[-1:])),
        recorded_at=began,
        skipped=dict(Counter(skipped)),
        rebuilt=rebuilt,
        **facts,
    )


def _compared(calls: Sequence[Call]) -> tuple[str, ...]:
    """The headers that a rerun compares: those in the file."""
    if not all(call.with_headers for call in calls):
        return ()
    return tuple(sorted({name for call in calls for name, _ in call.headers}))


def tool_events(
    times: tuple[int, int],
    call_id: str,
    name: str,
    arguments: Any,
    ended: Mapping[str, Any] | None,
) -> Iterator[Noted]:
    """The call of a tool and its result, as ``tape_tool`` records them.

    Args:
        times: when it began and ended, in microseconds.
        call_id: the id of the call.
        name: the name of the tool.
        arguments: the arguments by name, or the JSON text of them.
        ended: ``output``, or ``error`` (``tool_failure``); None if it is not in the file.
    """
    value = decoded_json(arguments) if isinstance(arguments, str) else arguments
    arguments = value if isinstance(value, dict | list) else arguments
    call = {"type": "tool-call", "call_id": call_id, "name": name, "arguments": arguments}
    yield Noted(times[0], call)
    if ended is not None:
        yield Noted(max(times), {"type": "tool-result", "call_id": call_id, **ended})


def tool_failure(said: object, *, kind: object = None) -> dict[str, dict[str, str]]:
    """The exception of a tool, as far as a file has it: its ``type`` and its ``message``, or one.

    Args:
        said: the message, ``TYPE: MESSAGE``, or an object with both.
        kind: the type, if the file has it separately.
    """
    message = said
    if isinstance(said, dict):
        kind = next((said[name] for name in ("type", "name", "class") if said.get(name)), kind)
        message = next((said[name] for name in ("message", "msg") if said.get(name)), None)
    elif isinstance(said, str) and not kind and (named := _EXCEPTION.fullmatch(said)):
        kind, message = named[1], named[2] or ""
    known = {"type": kind, "message": message}
    error = {name: str(value) for name, value in known.items() if value is not None}
    return {"error": {**error, **({"type": _short(error["type"])} if "type" in error else {})}}


_EXCEPTION = re.compile(r"(?s)([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt))(?:: ?(.*))?")


def _short(kind: str) -> str:
    """The name of a class without its module, as ``tape_tool`` records it."""
    return kind.rpartition(".")[2] or kind


def _items(number: int, call: Call, origin_us: int) -> Iterator[TapeItem]:
    """The items of one call, with times that never decrease."""
    parts = urlsplit(call.url)
    path = parts.path or "/"
    t_us = call.begun_us - origin_us
    yield RequestBegun(
        t_us=t_us,
        exchange=number,
        connection=number,
        kind="http" if call.messages is None else "websocket",
        method=call.method,
        upstream=f"{_SCHEMES[parts.scheme]}://{parts.netloc.rpartition('@')[2]}",
        target=f"{path}?{parts.query}" if parts.query else path,
        headers=call.headers,
    )
    if call.body:
        yield RequestData(t_us=t_us, exchange=number, data=call.body)
    yield RequestComplete(t_us=t_us, exchange=number)
    t_us = max(t_us, call.answered_us - origin_us)
    if call.status is not None:
        yield AnswerBegun(
            t_us=t_us, exchange=number, status=call.status, headers=call.answer_headers
        )
    if call.answer:
        yield AnswerData(t_us=t_us, exchange=number, data=call.answer)
    for said in call.messages or ():
        t_us = max(t_us, said.t_us - origin_us)
        yield SocketMessage(
            t_us=t_us, exchange=number, sender=said.sender, data=said.data, binary=said.binary
        )
    t_us = max(t_us, call.ended_us - origin_us)
    yield ExchangeEnded(t_us=t_us, exchange=number, outcome=call.outcome, detail=call.detail)


_OUTCOMES = get_args(ExchangeOutcome)
_BINARY = 2


def read_har(data: bytes) -> ImportedSession:
    """The calls of an HTTP archive.

    Raises:
        BadImportError: it is not an HTTP archive.
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
    """A length of time in ms, converted to microseconds; HAR writes -1 if it does not apply."""
    if isinstance(milliseconds, int | float) and 0 <= milliseconds < 1e12:
        return round(milliseconds * 1000)
    return 0


def _outcome(entry: dict[str, Any], response: dict[str, Any]) -> tuple[ExchangeOutcome, str]:
    """The outcome, from the comment that ``export`` writes, or from Chrome's status 0."""
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
