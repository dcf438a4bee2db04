"""OTLP in JSON: spans and events of OpenTelemetry as plain values.

https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: attributes are lists of key and
value, 64-bit integers are texts. A file is one document, or one on each line, as the collector's
file exporter writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ptycassette.importing.json_lines import objects_of
from ptycassette.importing.session import BadImportError

_MOST_NS = 1 << 63
_MOST_DEPTH = 32


NO_MESSAGE = "error"
"""What a span without a message failed with."""


class TelemetryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A span, or an event. Times are microseconds since 1970.

    ``trace`` and ``span`` are the ids of the span, or of that in which the event happened.
    """

    name: str
    is_span: bool
    trace: str
    span: str
    begun_us: int
    ended_us: int
    attributes: Mapping[str, Any]
    body: Any = None
    failed: str = ""


def records_in(data: bytes) -> Iterator[TelemetryRecord]:
    """All spans with their events, and all records of logs, in the order of the file.

    Raises:
        BadImportError: it is not OTLP; the message says on which line.
    """
    for line, document in objects_of(data):
        if not {"resourceSpans", "resourceLogs"} & document.keys():
            raise BadImportError(f"line {line} has neither resourceSpans nor resourceLogs")
        try:
            for span in _inner(document, "resourceSpans", "scopeSpans", "spans"):
                yield from _span(span)
            for record in _inner(document, "resourceLogs", "scopeLogs", "logRecords"):
                yield _event(record, record)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as exc:
            raise BadImportError(f"line {line} is not OTLP: {exc!r}") from exc


def _inner(value: Any, *names: str) -> Iterator[dict[str, Any]]:
    if not names:
        yield value
        return
    for one in value.get(names[0]) or []:
        yield from _inner(one, *names[1:])


def _span(span: dict[str, Any]) -> Iterator[TelemetryRecord]:
    status = span.get("status") or {}
    begun_us = _us(span["startTimeUnixNano"])
    yield TelemetryRecord(
        name=str(span.get("name", "")),
        is_span=True,
        trace=str(span.get("traceId", "")),
        span=str(span.get("spanId", "")),
        begun_us=begun_us,
        ended_us=max(begun_us, _us(span.get("endTimeUnixNano", 0))),
        attributes=_attributes(span),
        failed=str(status.get("message") or NO_MESSAGE) if status.get("code") == 2 else "",
    )
    for event in span.get("events") or []:
        yield _event(event, span)


def _event(event: dict[str, Any], within: dict[str, Any]) -> TelemetryRecord:
    moment_us = _us(event.get("timeUnixNano") or event.get("observedTimeUnixNano") or 0)
    attributes = _attributes(event)
    return TelemetryRecord(
        name=str(event.get("eventName") or event.get("name") or attributes.get("event.name", "")),
        is_span=False,
        trace=str(within.get("traceId", "")),
        span=str(within.get("spanId", "")),
        begun_us=moment_us,
        ended_us=moment_us,
        attributes=attributes,
        body=_value(event.get("body")),
    )


def _us(nanoseconds: Any) -> int:
    number = int(nanoseconds)
    if not 0 <= number < _MOST_NS:
        raise ValueError(f"{number} is no time")
    return number // 1000


def _attributes(owner: dict[str, Any]) -> dict[str, Any]:
    return {str(one["key"]): _value(one.get("value")) for one in owner.get("attributes") or []}


def _value(value: Any, depth: int = 0) -> Any:
    """An AnyValue as a plain one."""
    if depth > _MOST_DEPTH:
        raise ValueError("nested too deep")
    match value:
        case {"intValue": number}:
            return int(number)
        case {"stringValue": plain} | {"boolValue": plain} | {"doubleValue": plain}:
            return plain
        case {"arrayValue": {"values": list(values)}}:
            return [_value(one, depth + 1) for one in values]
        case {"kvlistValue": {"values": list(pairs)}}:
            return {str(one["key"]): _value(one.get("value"), depth + 1) for one in pairs}
        case _:
            return None
