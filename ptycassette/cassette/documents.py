"""The files of one JSON object each: final, scrub report, quota, discovery.

Written with an indentation of two spaces and a newline at the end, in the
order of ``FORMAT.md``.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from ptycassette.cassette._records import check_stamp
from ptycassette.cassette.layout import DISCOVERY, FINAL, QUOTA, SCRUB_REPORT
from ptycassette.cassette.strict_json import check_keys, check_value, explain, parse_strict
from ptycassette.errors import InvalidCassetteError, LimitError, RecordError
from ptycassette.model.events import FinalRecord
from ptycassette.model.limits import DEFAULT_LIMITS, INT64_MAX, INT64_MIN, Limits, check_density
from ptycassette.model.records import SCRUB_STATUSES, DiscoveryRecord, QuotaRecord, ScrubReport
from ptycassette.model.resolved_types import resolved
from ptycassette.model.visible_text import visible

DOCUMENT_TYPES: dict[str, type[msgspec.Struct]] = {
    FINAL: FinalRecord,
    SCRUB_REPORT: ScrubReport,
    QUOTA: QuotaRecord,
    DISCOVERY: DiscoveryRecord,
}
"""The class of each document."""

D = TypeVar("D", FinalRecord, ScrubReport, QuotaRecord, DiscoveryRecord)


def parse_document(
    data: bytes,
    *,
    where: str,
    error: type[InvalidCassetteError] = RecordError,
    limits: Limits = DEFAULT_LIMITS,
    strict: bool = True,
) -> dict[str, Any]:
    """The JSON object that a file is.

    Args:
        data: the whole file.
        where: what errors call it.
        error: the class to raise for anything but a limit.
        limits: what is accepted.
        strict: refuse what two readers could read differently.

    Raises:
        LimitError: too large, or nested too deep.
        InvalidCassetteError: ``error``, with the reason.
    """
    if len(data) > limits.max_document_bytes:
        raise LimitError(
            f"{len(data)} bytes, and a reader accepts {limits.max_document_bytes}", where=where
        )
    check_density(data, limits.max_values, where)
    if strict:
        value = parse_strict(data, where=where, error=error, limits=limits)
    else:
        try:
            value = msgspec.json.decode(data)
        except RecursionError as exc:
            raise LimitError(f"nested deeper than {limits.max_depth}", where=where) from exc
        except (msgspec.MsgspecError, ValueError) as exc:
            raise error(explain(exc), where=where) from exc
    if not isinstance(value, dict):
        raise error(f"no JSON object but {type(value).__name__}", where=where)
    return value


def decode_document(
    data: bytes, struct: type[D], *, where: str, limits: Limits = DEFAULT_LIMITS
) -> D:
    """Decode the record in a file.

    Raises:
        RecordError: it is not what the format says.
        LimitError: it is too large, or nested too deep.
    """
    value = parse_document(data, where=where, limits=limits)
    check_keys(value, struct, where=where, error=RecordError)
    if struct is FinalRecord:
        _forget_go_error(value)
    try:
        record = msgspec.convert(value, resolved(struct))
    except msgspec.ValidationError as exc:
        raise RecordError(explain(exc), where=where) from exc
    fault = _fault(record)
    if fault is not None:
        raise RecordError(fault, where=where)
    return record


def encode_document(
    record: msgspec.Struct, *, where: str, error: type[InvalidCassetteError] = RecordError
) -> bytes:
    """The bytes of a document.

    Raises:
        InvalidCassetteError: ``error``, when a field holds what the format does not allow.
        LimitError: it is too large, or nested too deep.
    """
    try:
        value = msgspec.to_builtins(record)
    except RecursionError as exc:
        raise LimitError(
            f"nested deeper than {DEFAULT_LIMITS.max_depth} levels", where=where
        ) from exc
    except TypeError as exc:
        raise error(explain(exc), where=where) from exc
    fault = _fault(record)
    if fault is not None:
        raise error(fault, where=where)
    if isinstance(record, FinalRecord):
        value = {"seq": record.seq, "t_ms": record.t_ms, "exit": None, **value}
    check_value(value, where=where, error=error, limits=DEFAULT_LIMITS)
    data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    if len(data) > DEFAULT_LIMITS.max_document_bytes:
        raise LimitError(
            f"{len(data)} bytes, and a reader accepts {DEFAULT_LIMITS.max_document_bytes}",
            where=where,
        )
    check_density(data, DEFAULT_LIMITS.max_values, where)
    return data


def _forget_go_error(value: dict[str, Any]) -> None:
    """Read ``exit.Err`` as null where the reference wrote an object.

    Its writer hands Go's error of a program that ended with anything but 0 to
    encoding/json, which makes ``{"Stderr":null}`` or ``{}`` of it. It holds
    no message to keep, and the reference's own reader fails on it.
    """
    exit_status = value.get("exit")
    if isinstance(exit_status, dict) and isinstance(exit_status.get("Err"), dict):
        exit_status["Err"] = None


def _fault(record: msgspec.Struct) -> str | None:
    """Check what the types of a document cannot express; None if all is well."""
    if isinstance(record, FinalRecord):
        return _final_fault(record)
    if isinstance(record, ScrubReport) and record.status not in SCRUB_STATUSES:
        return (
            f"the scrub status is {visible(record.status, limit=80)!r}, and none of "
            f"{', '.join(SCRUB_STATUSES)}: it is not known whether it was scrubbed"
        )
    return None


def _final_fault(record: FinalRecord) -> str | None:
    if not 0 <= record.duration_ms <= INT64_MAX:
        return f"duration_ms {record.duration_ms} is not between 0 and 2^63-1"
    exit_status = record.exit
    if exit_status is not None and not INT64_MIN <= exit_status.code <= INT64_MAX:
        return "exit.Code does not fit 64 bits"
    return check_stamp(record)
