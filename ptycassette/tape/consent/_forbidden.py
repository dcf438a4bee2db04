"""Inputs under forbidden keys: found in JSON, or taken out of it.

A key is forbidden if one of its words is (``api_token``, ``vaultPath``); ``max_tokens`` is not.
What a tool's schema calls its parameters are names, not inputs; the arguments of a call are inputs,
also where they are JSON within a text, as some APIs have them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import msgspec

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SCHEMA_NAMES = "properties"
_JSON_TEXTS = ("arguments", "input")


def forbidden_paths(value: Any, keys: Collection[str]) -> list[str]:
    """The paths of inputs under forbidden keys."""
    return _Search(keys).without(value)[1]


def without_forbidden(value: Any, keys: Collection[str]) -> Any:
    """The value without what is under forbidden keys."""
    return _Search(keys).without(value)[0]


def body_without(body: bytes, keys: Collection[str]) -> bytes:
    """A body as it is sent without what is under forbidden keys; as it is if that is nothing."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return body
    left, found = _Search(keys).without(value)
    return msgspec.json.encode(left) if found else body


class _Search:
    def __init__(self, keys: Collection[str]) -> None:
        self._keys = {key.lower() for key in keys}

    def without(self, value: Any, path: str = "", *, names: bool = False) -> tuple[Any, list[str]]:
        """What is left of a value, and the paths of what is not."""
        if isinstance(value, list):
            parts = [self.without(one, f"{path}[{n}]") for n, one in enumerate(value)]
            return [left for left, _ in parts], [one for _, found in parts for one in found]
        if not isinstance(value, dict):
            return value, []
        left, paths = {}, []
        for key, inner in value.items():
            place = f"{path}.{key}" if path else key
            if not names and inner and not isinstance(inner, bool) and self._is_forbidden(key):
                paths.append(place)
                continue
            if key in _JSON_TEXTS and isinstance(inner, str):
                left[key], found = self._within_text(inner, place)
            else:
                left[key], found = self.without(inner, place, names=key == _SCHEMA_NAMES)
            paths += found
        return left, paths

    def _within_text(self, text: str, path: str) -> tuple[str, list[str]]:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text, []
        left, found = self.without(value, path)
        return (msgspec.json.encode(left).decode() if found else text), found

    def _is_forbidden(self, key: str) -> bool:
        words = [word.lower() for word in _WORDS.findall(key)]
        return key.lower() in self._keys or not self._keys.isdisjoint(words)
