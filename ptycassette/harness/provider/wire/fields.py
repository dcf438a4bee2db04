"""Reading JSON that a client sent: strict, with messages that name the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from ptycassette.harness.provider.wire.neutral import WireError
from ptycassette.model import resolved

S = TypeVar("S", bound=msgspec.Struct)


def read(body: Any, kind: type[S], *, lenient: bool = False) -> tuple[S, tuple[str, ...]]:
    """``body`` decoded as ``kind``, and the names of its unknown top-level fields.

    Args:
        body: decoded JSON.
        kind: a struct with ``forbid_unknown_fields``.
        lenient: ignore unknown fields instead of refusing them.

    Raises:
        WireError: not an object, a field missing or of the wrong type, or unknown fields.
    """
    if not isinstance(body, dict):
        raise WireError("the request body must be a JSON object")
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    unknown = tuple(sorted(set(body) - known))
    if unknown and not lenient:
        raise WireError(f"unknown request field: {', '.join(unknown)}")
    try:
        value = msgspec.convert({k: v for k, v in body.items() if k in known}, resolved(kind))
    except msgspec.ValidationError as wrong:
        raise WireError(str(wrong)) from wrong
    return value, unknown


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """``value``, which must be an object."""
    if not isinstance(value, dict):
        raise WireError(f"{where}: expected an object")
    return value


def items(value: Any, where: str) -> list[Any]:
    """``value``, which must be a list."""
    if not isinstance(value, list):
        raise WireError(f"{where}: expected a list")
    return value


def word(value: Mapping[str, Any], name: str, where: str) -> str:
    """The string field ``name`` of an object."""
    found = value.get(name)
    if not isinstance(found, str):
        raise WireError(f"{where}.{name}: expected a string")
    return found


def text_of(content: Any, where: str, *, types: Mapping[str, str | None]) -> str:
    """The text of a message content: a string, or a list of typed blocks.

    Args:
        content: what the client sent.
        where: the field, for messages.
        types: block type -> the field that holds its text, or None where the
            block counts as ``[type]``.

    Raises:
        WireError: a block type that is not in ``types``, or no text where one must be.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    texts: list[str] = []
    for index, block in enumerate(items(content, where)):
        place = f"{where}[{index}]"
        kind = word(mapping(block, place), "type", place)
        if kind not in types:
            raise WireError(f"{place}.type: unknown block type {kind!r}")
        field = types[kind]
        texts.append(f"[{kind}]" if field is None else word(block, field, place))
    return "\n".join(texts)
