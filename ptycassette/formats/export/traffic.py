"""Export the tape as HAR (http://www.softwareishard.com/blog/har-12-spec/) or as YAML for vcrpy.

Both contain requests and answers as the cassette has them: unpacked, scrubbed, with the kept
headers. HAR has messages of WebSockets as Chrome writes them (``_webSocketMessages``); vcrpy does
not support them and gets only the HTTP exchanges.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qsl

import msgspec
import yaml

from ptycassette.errors import UsageError
from ptycassette.formats.export.registry import ExportSource
from ptycassette.model.records import Manifest
from ptycassette.model.tape import Chunk, TapeEntry
from ptycassette.model.visible_text import has_active, visible_json
from ptycassette.version import __version__


class _Exchange(Protocol):
    """A question with its answer, from an open cassette."""

    entry: TapeEntry

    def question(self) -> bytes: ...

    def answer(self) -> bytes: ...

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]: ...


@runtime_checkable
class _WithTape(Protocol):
    manifest: Manifest

    @property
    def has_tape(self) -> bool: ...

    def tape(self) -> Iterable[_Exchange]: ...


def har(source: ExportSource) -> Iterable[bytes]:
    """The tape as HAR 1.2, the HTTP archive that browsers read.

    Raises:
        UsageError: there is no tape.
    """
    cassette = _with_tape(source)
    start = datetime.fromisoformat(cassette.manifest.provenance.recorded_at)
    exchanges = list(cassette.tape())
    entries = [
        _har_entry(one, start, exchanges) for one in exchanges if one.entry.kind != "message"
    ]
    creator = {"name": "ptycassette", "version": __version__}
    log = {"version": "1.2", "creator": creator, "entries": entries}
    yield visible_json(msgspec.json.format(msgspec.json.encode({"log": log}), indent=2)) + b"\n"


def vcr(source: ExportSource) -> Iterable[bytes]:
    """The HTTP exchanges of the tape as a cassette of vcrpy, version 1.

    Raises:
        UsageError: there is no tape.
    """
    interactions = [
        _interaction(one)
        for one in _with_tape(source).tape()
        if one.entry.kind == "http" and one.entry.answer is not None
    ]
    made = {"interactions": interactions, "version": 1}
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # five times as fast, where it is built
    text = yaml.dump(made, Dumper=dumper, sort_keys=True, allow_unicode=True)
    if has_active(text):
        text = yaml.dump(made, Dumper=dumper, sort_keys=True)
    yield text.encode()


def _with_tape(source: ExportSource) -> _WithTape:
    if not isinstance(source, _WithTape) or not source.has_tape:
        raise UsageError(
            "it has no tape to export",
            where=str(source.path),
            hint="record it with ptycassette rec --tape",
        )
    return source


def _url(entry: TapeEntry) -> str:
    return f"{entry.upstream}{entry.target}"


def _har_entry(one: _Exchange, start: datetime, exchanges: Sequence[_Exchange]) -> dict[str, Any]:
    entry, answer = one.entry, one.entry.answer
    begun_us = entry.t_us if answer is None else answer.t_us
    end_us = entry.end_us or begun_us
    made = {
        "startedDateTime": (start + timedelta(microseconds=entry.t_us)).isoformat(),
        "time": (end_us - entry.t_us) / 1000,
        "request": _har_request(one),
        "response": _har_response(one),
        "cache": {},
        "timings": {
            "send": 0,
            "wait": (begun_us - entry.t_us) / 1000,
            "receive": (end_us - begun_us) / 1000,
        },
    }
    if entry.outcome != "complete":
        made["comment"] = f"{entry.outcome}: {entry.detail}".rstrip(": ")
    if entry.kind == "websocket":
        within = [other for other in exchanges if other.entry.within == entry.entry]
        made["_webSocketMessages"] = [said for other in within for said in _said(other, start)]
    return made


def _har_request(one: _Exchange) -> dict[str, Any]:
    entry, body = one.entry, one.question()
    query = parse_qsl(entry.target.partition("?")[2], keep_blank_values=True)
    made: dict[str, Any] = {
        "method": entry.method,
        "url": _url(entry),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _named(entry.headers),
        "queryString": _named(query),
        "headersSize": -1,
        "bodySize": len(body),
    }
    if body:
        kind = dict(entry.headers).get("content-type", "application/octet-stream")
        made["postData"] = {"mimeType": kind, "text": body.decode("utf-8", "replace")}
    return made


def _har_response(one: _Exchange) -> dict[str, Any]:
    answer, body = one.entry.answer, one.answer()
    headers = () if answer is None else answer.headers
    content: dict[str, Any] = {
        "size": len(body),
        "mimeType": dict(headers).get("content-type", ""),
    }
    try:
        content["text"] = body.decode()
    except UnicodeDecodeError:
        content |= {"text": base64.b64encode(body).decode(), "encoding": "base64"}
    status = 0 if answer is None else answer.status or 0
    return {
        "status": status,
        "statusText": _reason(status),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _named(headers),
        "content": content,
        "redirectURL": dict(headers).get("location", ""),
        "headersSize": -1,
        "bodySize": len(body),
    }


def _said(one: _Exchange, start: datetime) -> Iterator[dict[str, Any]]:
    entry = one.entry
    yield _message("send", entry.t_us, one.question(), entry.form, start)
    for chunk, data in one.pieces():
        yield _message("receive", chunk.t_us, data, chunk.form, start)


def _message(kind: str, t_us: int, data: bytes, form: str, start: datetime) -> dict[str, Any]:
    binary = form == "binary"
    text = base64.b64encode(data).decode() if binary else data.decode("utf-8", "replace")
    moment = (start + timedelta(microseconds=t_us)).timestamp()
    return {"type": kind, "time": moment, "opcode": 2 if binary else 1, "data": text}


def _named(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _reason(status: int) -> str:
    known = {one.value: one.phrase for one in HTTPStatus}
    return known.get(status, "")


def _interaction(one: _Exchange) -> dict[str, Any]:
    entry, answer = one.entry, one.entry.answer
    assert answer is not None  # noqa: S101 - the caller left others out
    status = answer.status or 0
    return {
        "request": {
            "body": _text_or_bytes(one.question()) or None,
            "headers": _listed(entry.headers),
            "method": entry.method,
            "uri": _url(entry),
        },
        "response": {
            "body": {"string": _text_or_bytes(one.answer())},
            "headers": _listed(answer.headers),
            "status": {"code": status, "message": _reason(status)},
        },
    }


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _listed(headers: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    return found
