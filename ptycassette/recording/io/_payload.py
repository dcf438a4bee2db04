"""Payloads of service events: checked before they are recorded."""

from __future__ import annotations

from typing import Any

import msgspec

from ptycassette.cassette.strict_json import check_value
from ptycassette.errors import LimitError, RecordError
from ptycassette.model.json_values import storable
from ptycassette.model.limits import Limits

_PAYLOAD_LIMITS = Limits(max_depth=32)
_PAYLOAD_BYTES = 4 << 20


def checked_payload(payload: Any) -> Any:
    """``payload`` as readers will take it as a service event.

    Raises:
        RecordError: it is not a JSON value, or it is too large.
        LimitError: too large, or nested too deep.
    """
    try:
        try:
            size = len(msgspec.msgpack.encode(payload))
        except UnicodeEncodeError:  # bytes of the system, such as the path of a file
            payload = storable(payload)
            size = len(msgspec.msgpack.encode(payload))
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise RecordError(f"a service event that is not a JSON value: {exc}") from exc
    if size > _PAYLOAD_BYTES:
        raise LimitError(f"a service event of {size} bytes, and {_PAYLOAD_BYTES} is the limit")
    check_value(payload, where="service event", error=RecordError, limits=_PAYLOAD_LIMITS)
    return payload
