"""JSON as the format allows it: RFC 8259 without the parts on which readers disagree.

Refused, each with a reason that names it: duplicate keys, ``NaN`` and
``Infinity``, numbers outside of int64 or of a double, lone surrogates, bytes
that are not UTF-8, nesting deeper than the limit, and keys that differ from a
known key in case alone (the reference reader, Go's ``encoding/json``, takes
those for the known key).

msgspec accepts some of these silently. Readers therefore decode with msgspec
and compare what it would write with what is there; only where the two differ
(an unknown field, another spelling) do the functions here look closely.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from functools import cache
from typing import Any, NoReturn, get_args

import msgspec

from ptycassette.errors import InvalidCassetteError, LimitError
from ptycassette.model.limits import INT64_MAX, INT64_MIN, Limits
from ptycassette.model.records import NOT_JSON
from ptycassette.model.visible_text import visible

_MAX_INT_DIGITS = 20  # the longest int64 has 19 digits and a sign
_CONTAINERS = (dict, list)
_INDENT = 2
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_INTEGER = b"0" * 19  # digits; the longest int64 has as many
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class _RefusedError(ValueError):
    """A reason why a text is not strict JSON; carried out of the parser's callbacks."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _RefusedError(f"the key {visible(twice, limit=80)!r} occurs twice in one object")
    return value


def _integer(text: str) -> int:
    value = int(text) if len(text) <= _MAX_INT_DIGITS else INT64_MAX + 1
    if not INT64_MIN <= value <= INT64_MAX:
        raise _RefusedError(f"the integer {visible(text, limit=40)} does not fit 64 bits")
    return value


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _RefusedError(f"the number {visible(text, limit=40)} does not fit a double")
    return value


def _constant(text: str) -> NoReturn:
    raise _RefusedError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_number,
    parse_constant=_constant,
)


def explain(exc: Exception) -> str:
    """A decoder's error on one line, safe to print."""
    if isinstance(exc, json.JSONDecodeError):
        return f"not valid JSON: {exc.msg.removesuffix(' at')} at character {exc.pos + 1}"
    if isinstance(exc, UnicodeError):
        return "not valid UTF-8"
    return visible(str(exc), limit=300)


def parse_strict(
    data: bytes, *, where: str, error: type[InvalidCassetteError], limits: Limits
) -> Any:
    """Parse ``data`` as strict JSON.

    Args:
        data: one whole JSON text, white space around it allowed.
        where: the place that the error names.
        error: the class to raise for anything but a limit.
        limits: the depth that is allowed.

    Raises:
        LimitError: it nests too deep.
        InvalidCassetteError: ``error``, with the reason.
    """
    written = _as_we_write_it(data, limits)
    if written is not None:
        return written
    try:
        text = data.decode("utf-8")
        if text.startswith("\ufeff"):
            raise _RefusedError("it starts with a byte order mark")
        value = _DECODER.decode(text)
    except RecursionError as exc:
        raise _too_deep(limits, where) from exc
    except (ValueError, UnicodeError) as exc:
        raise error(explain(exc), where=where) from exc
    try:
        if _SURROGATE_ESCAPE.search(data) is None:  # the decoder has checked all numbers
            _check_depth(value, limits.max_depth)
        else:
            _check(value, limits.max_depth, texts=True)
    except _RefusedError as exc:
        raise error(str(exc), where=where) from exc
    except RecursionError as exc:
        raise _too_deep(limits, where) from exc
    return value


def _as_we_write_it(data: bytes, limits: Limits) -> Any:
    """The value, if ``data`` is spelt as documents are written; None if it needs a full check.

    If encoding gives the same bytes, the text has no key twice and nothing that a decoder reads
    loosely (decision 0011). Its indentation gives its depth: strings contain no line ends.
    Integers of any length survive, so long ones need the full check.
    """
    if b"\n" + _INDENT * b" " * limits.max_depth in data:
        return None
    if _LONG_INTEGER in data.translate(_DIGITS):
        return None
    try:
        value = msgspec.json.decode(data)
        text = msgspec.json.format(msgspec.json.encode(value), indent=_INDENT)
    except NOT_JSON:
        return None
    same = len(text) + 1 == len(data) and data.endswith(b"\n") and data.startswith(text)
    return value if same else None


def check_value(
    value: Any,
    *,
    where: str,
    error: type[InvalidCassetteError],
    limits: Limits,
    inside: int = 0,
) -> None:
    """Check a decoded JSON value for depth, integer range and finite numbers.

    Args:
        value: a JSON value: dicts, lists, tuples, texts, numbers, booleans, None.
        where: the place that the error names.
        error: the class to raise for anything but the depth.
        limits: the depth that is allowed.
        inside: how many levels are around it already.

    Raises:
        LimitError: it nests too deep.
        InvalidCassetteError: ``error``, with the reason.
    """
    try:
        _check(value, limits.max_depth - inside, texts=True)
    except _RefusedError as exc:
        raise error(str(exc), where=where) from exc
    except RecursionError as exc:
        raise _too_deep(limits, where) from exc


def _too_deep(limits: Limits, where: str) -> LimitError:
    return LimitError(f"nested deeper than {limits.max_depth} levels", where=where)


def _check_depth(value: Any, depth: int) -> None:
    """Check only the containers of a decoded value; raises like ``_check``."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(depth):
        level = [
            child
            for item in level
            for child in (item.values() if type(item) is dict else item)
            if type(child) in _CONTAINERS
        ]
        if not level:
            return
    if level:
        raise RecursionError


def _check(value: Any, depth: int, *, texts: bool) -> None:
    """Walk ``value``; ``RecursionError`` means too deep, as it does in the decoder."""
    stack = [(value, depth)]
    while stack:
        item, left = stack.pop()
        if isinstance(item, dict):
            items: Any = item.values()
            if texts:
                for key in item:
                    _check_text(key)
        elif isinstance(item, list | tuple):
            items = item
        else:
            _check_scalar(item, texts=texts)
            continue
        if left <= 0:
            raise RecursionError
        stack.extend((child, left - 1) for child in items)


def _check_scalar(item: Any, *, texts: bool) -> None:
    if isinstance(item, str):
        if texts:
            _check_text(item)
    elif isinstance(item, int):
        if not INT64_MIN <= item <= INT64_MAX:
            raise _RefusedError("an integer does not fit 64 bits")
    elif isinstance(item, float) and not math.isfinite(item):
        raise _RefusedError("a number is not finite")


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise _RefusedError(f"a key is not text but {type(text).__name__}")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as exc:
            raise _RefusedError("a text holds a lone surrogate") from exc


@cache
def _known(struct: type[msgspec.Struct]) -> tuple[frozenset[str], dict[str, str], dict[str, Any]]:
    """Field names as written, the same by folded case, and the fields that are structs."""
    names: set[str] = set()
    nested: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        names.add(field.encode_name)
        for option in (field.type, *get_args(field.type)):
            if isinstance(option, type) and issubclass(option, msgspec.Struct):
                nested[field.encode_name] = option
    return frozenset(names), {name.casefold(): name for name in names}, nested


def check_keys(
    value: Any, struct: type[msgspec.Struct], *, where: str, error: type[InvalidCassetteError]
) -> None:
    """Refuse keys of ``value`` that differ from a key of ``struct`` in case alone.

    Raises:
        InvalidCassetteError: ``error``, naming both keys.
    """
    if not isinstance(value, dict):
        return
    names, folded, nested = _known(struct)
    for key, item in value.items():
        if key not in names and key.casefold() in folded:
            raise error(
                f"the key {visible(key, limit=80)!r} differs from "
                f"{folded[key.casefold()]!r} in case alone",
                where=where,
            )
        if key in nested:
            check_keys(item, nested[key], where=where, error=error)
