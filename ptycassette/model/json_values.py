"""JSON that strangers wrote: what can be read of it is read, and what cannot is nothing."""

from __future__ import annotations

from typing import Any

import msgspec


def decoded_json(data: bytes | str) -> Any:
    """A JSON value; None where it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none where it is none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
