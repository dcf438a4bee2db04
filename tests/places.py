"""What is at a dotted place of JSON: ``at(answer, "choices.0.message.content")``."""

from __future__ import annotations

from typing import Any


def at(value: Any, place: str) -> Any:
    """What is there, or None where there is nothing of that name or number."""
    for name in place.split("."):
        try:
            value = value[int(name)] if isinstance(value, list | tuple) else value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def held(value: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    """What is at the places of ``wanted``: equal to it where all is as wanted."""
    return {place: at(value, place) for place in wanted}
