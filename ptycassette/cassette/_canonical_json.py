"""The canonical text of a JSON value (RFC 8785, JCS), for digests of values instead of bytes.

Compact, keys sorted by their UTF-16 code units, only what must be escaped is
escaped, numbers as ECMAScript prints them. One deviation: an integer is
written with all its digits, although RFC 8785 would round one above 2^53.
"""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

import msgspec

_KEYS = frozenset({str})
_PLAIN = frozenset({dict, list, tuple, str, int, bool, type(None)})
_FIXED_DIGITS = 21  # ECMA-262, Number::toString: from here on with an exponent
_FIXED_ZEROS = -6


def canonical_json(value: Any) -> bytes:
    """The canonical text of ``value``: dicts, lists, tuples, texts, numbers, booleans, None.

    Raises:
        ValueError: a number is not finite, or a text holds a lone surrogate.
        TypeError: another type, or a key that is not a text.
    """
    if _is_plain(value):
        with suppress(ValueError, OverflowError, RecursionError):
            text = msgspec.json.encode(value, order="sorted")
            if text.isascii():  # else its order of keys may not be that of UTF-16
                return text
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts).encode("utf-8")


def _is_plain(value: Any) -> bool:
    """Whether msgspec writes it as it is to be: with keys of text, and without fractions."""
    level = [value]
    while level:
        if not _PLAIN.issuperset(map(type, level)):
            return False
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                if not _KEYS.issuperset(map(type, item)):
                    return False
                below += item.values()
            elif type(item) is list or type(item) is tuple:
                below += item
        level = below
    return True


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, dict):
        opening, closing = "{", "}"
        for key in sorted(value, key=_utf16):
            parts += (opening, _text(key), ":")
            _write(value[key], parts)
            opening = ","
        parts.append("{}" if opening == "{" else closing)
    elif isinstance(value, list | tuple):
        opening = "["
        for item in value:
            parts.append(opening)
            _write(item, parts)
            opening = ","
        parts.append("[]" if opening == "[" else "]")
    elif isinstance(value, float):
        parts.append(_number(value))
    elif value is None or isinstance(value, bool | int | str):
        parts.append(_text(value))
    else:
        raise TypeError(f"{type(value).__name__} is no JSON value")


def _utf16(key: Any) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"a key is not text but {type(key).__name__}")
    return key.encode("utf-16-be")


def _text(value: str | int | None) -> str:
    return encode_basestring(value) if isinstance(value, str) else json.dumps(value)


def _number(value: float) -> str:
    """``value`` as ECMA-262 prints a number (Number::toString, radix 10)."""
    decimal = Decimal(repr(value))
    if not decimal.is_finite():
        raise ValueError("a number is not finite")
    if not decimal:
        return "0"
    sign, numerals, exponent = decimal.normalize().as_tuple()
    digits = "".join(map(str, numerals))
    point = len(digits) + int(exponent)  # where the decimal point stands among the digits
    if len(digits) <= point <= _FIXED_DIGITS:
        text = digits.ljust(point, "0")
    elif 0 < point <= _FIXED_DIGITS:
        text = f"{digits[:point]}.{digits[point:]}"
    elif _FIXED_ZEROS < point <= 0:
        text = f"0.{digits.rjust(len(digits) - point, '0')}"
    else:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return f"-{text}" if sign else text
