"""Cassettes of vcrpy, as YAML or JSON, version 1.

vcrpy notes no times, so that the exchanges follow each other a millisecond apart. Its YAML may
hold aliases, which ours may not: they are read, because nothing here follows more than a header's
list. What is refused is depth and number. Tags of Python objects are refused by the safe loader.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from typing import Any

import msgspec
import yaml

from ptycassette.importing.calls import (
    Call,
    Headers,
    SkippedError,
    checked_status,
    checked_url,
    header_pairs,
    session_of_calls,
)
from ptycassette.importing.session import BadImportError, ImportedSession
from ptycassette.model import visible

MAX_DEPTH = 64
MAX_VALUES = 1_000_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_APART_US = 1000


def read_vcr(data: bytes) -> ImportedSession:
    """The exchanges of a cassette of vcrpy.

    Raises:
        BadImportError: it is none.
    """
    document = _document(data)
    interactions = document.get("interactions") if isinstance(document, dict) else None
    if not isinstance(interactions, list):
        raise BadImportError("there is no list of interactions in it")
    calls: list[Call] = []
    skipped: Counter[str] = Counter()
    for number, one in enumerate(interactions, 1):
        request, response = (
            (one.get("request"), one.get("response")) if isinstance(one, dict) else (None, None)
        )
        if not isinstance(request, dict) or not isinstance(response, dict):
            raise BadImportError(f"interaction {number} has no request and response")
        try:
            calls.append(_call(number, request, response))
        except SkippedError as reason:
            skipped[str(reason)] += 1
    return session_of_calls(calls, skipped, dated=False)


def _document(data: bytes) -> Any:
    if data.lstrip()[:1] == b"{":
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, ValueError, RecursionError) as exc:
            raise BadImportError(f"it is not JSON: {exc}") from exc
    try:
        _check_size(data)
        return yaml.load(data, _LOADER)  # noqa: S506 - a safe loader
    except BadImportError:
        raise
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as exc:
        raise BadImportError(f"{_line(exc)}: it is not YAML: {visible(_problem(exc))}") from exc


def _line(exc: Exception) -> str:
    mark = getattr(exc, "problem_mark", None) or getattr(exc, "context_mark", None)
    return "somewhere" if mark is None else f"line {mark.line + 1}"


def _problem(exc: Exception) -> str:
    return str(getattr(exc, "problem", None) or exc)


def _check_size(data: bytes) -> None:
    """Refuse what is nested too deep, which would end the loader written in C, or too much."""
    depth = 0
    for number, event in enumerate(yaml.parse(data, _LOADER)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            line = getattr(event.start_mark, "line", 0)
            raise BadImportError(f"line {line + 1}: nested deeper than {MAX_DEPTH} levels")
        if number > MAX_VALUES:
            raise BadImportError(f"more than {MAX_VALUES} values")


def _call(number: int, request: dict[str, Any], response: dict[str, Any]) -> Call:
    status = response.get("status")
    code = checked_status(status.get("code") if isinstance(status, dict) else status)
    if code is None:
        raise SkippedError("no status of HTTP")
    body = response.get("body")
    begun_us = number * _APART_US
    return Call(
        begun_us=begun_us,
        answered_us=begun_us,
        ended_us=begun_us,
        method=str(request.get("method") or "GET"),
        url=checked_url(request.get("uri")),
        headers=_headers(request.get("headers")),
        body=_body(request.get("body")),
        status=code,
        answer_headers=_headers(response.get("headers")),
        answer=_body(
            body if not isinstance(body, dict) or "string" not in body else body["string"]
        ),
    )


def _headers(said: object) -> Headers:
    """Headers; a value is a text or a list of them."""
    if not isinstance(said, dict):
        return ()
    return header_pairs(
        (name, value)
        for name, values in said.items()
        for value in (values if isinstance(values, list) else [values])
    )


def _body(said: object) -> bytes:
    match said:
        case None:
            return b""
        case bytes():
            return said
        case str():
            return said.encode("utf-8", "surrogatepass")
        case {"base64_string": str(packed)}:
            try:
                return base64.b64decode(packed, validate=True)
            except (binascii.Error, ValueError) as exc:
                raise SkippedError("a body that is not base64") from exc
        case _:
            raise SkippedError("a body that is neither text nor bytes")
