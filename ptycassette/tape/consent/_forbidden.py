"""Inputs under forbidden keys: found in the body of a request, or taken out of it.

A key is forbidden if one of its words is, or if words side by side make it: ``api_token``,
``vaultPath``, ``HoldOut-Set``. So is a word that ends with it (``oauth``, ``apitoken``) and its
plural, but numbers of ``tokens`` are counts. What a tool's schema calls its parameters are names
and not inputs. Text that is JSON is searched like JSON: arguments and results of tools are.

A body is searched by what it is, whatever its ``content-type`` claims: JSON in UTF-8, UTF-16 or
UTF-32, JSON lines, forms, multipart. Any other body cannot be searched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from email import message_from_bytes, policy
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SCHEMA_NAMES = "properties"
_ALSO = {"auth": ("authorization", "authentication", "authn", "authz")}
"""Longer words for a key; ``author`` and ``authority`` are not among them."""
_MOST_DEPTH = 60
"""How deep JSON may lie within JSON, and in texts within it."""
_SHORT = 5
"""Letters of a key that is also looked for at the end of longer words; ``data`` is too short."""
_LINES = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_FORM = re.compile(rb"[\w.~%+\[\]*-]+=[^&\s]*(&[\w.~%+\[\]*-]+=[^&\s]*)*")


class UnsearchedBodyError(Exception):
    """A body whose keys cannot be looked at; the text gives the reason."""


class Searched(NamedTuple):
    """A body after a search.

    Attributes:
        paths: where there are inputs under forbidden keys.
        left: the body without them; None for a form or a multipart, which are not rewritten.
    """

    paths: tuple[str, ...]
    left: bytes | None


def search_body(body: bytes, keys: Collection[str], *, content_type: str = "") -> Searched:
    """Look for inputs under forbidden keys.

    Args:
        body: as the provider reads it: unpacked.
        keys: those that are forbidden, in any spelling.
        content_type: the header of that name; only a multipart needs it.

    Raises:
        UnsearchedBodyError: it is none of the forms that are read.
    """
    search = _Search(keys)
    if not body.strip():
        return Searched((), body)
    value = _json(body)
    if value is not _NOTHING:
        left, paths = search.without(value)
        return Searched(tuple(paths), _written(left).encode() if paths else body)
    lines = [line for line in body.splitlines() if line.strip()]
    values = [_json(line) for line in lines]
    if len(lines) > 1 and all(value is not _NOTHING for value in values):
        parts = [search.without(value, f"[{number}]") for number, value in enumerate(values)]
        paths = [path for _, found in parts for path in found]
        kept = "".join(f"{_written(left)}\n" for left, _ in parts).encode()
        return Searched(tuple(paths), kept if paths else body)
    if content_type.strip().lower().startswith("multipart/"):
        return Searched(tuple(_in_multipart(body, content_type, search)), None)
    if _FORM.fullmatch(body):
        fields = parse_qsl(body.decode("latin-1"), keep_blank_values=True)
        return Searched(tuple(search.fields(fields)), None)
    raise UnsearchedBodyError("it is no JSON, form or multipart whose keys could be looked at")


def body_without(body: bytes, keys: Collection[str]) -> bytes:
    """A body as it is sent without what is under forbidden keys; as it is if that is nothing."""
    try:
        left = search_body(body, keys).left
    except UnsearchedBodyError:
        return body
    return body if left is None else left


def forbidden_paths(value: Any, keys: Collection[str]) -> list[str]:
    """The paths of inputs under forbidden keys in a JSON value."""
    return _Search(keys).without(value)[1]


def without_forbidden(value: Any, keys: Collection[str]) -> Any:
    """A JSON value without what is under forbidden keys."""
    return _Search(keys).without(value)[0]


_NOTHING: Any = object()


def _json(data: bytes | str) -> Any:
    """The JSON value; ``_NOTHING`` if it is not exactly one.

    Of members with the same name each is kept, so that none hides another.
    """
    if isinstance(data, bytes):
        try:
            data = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
        except UnicodeDecodeError:
            return _NOTHING
    try:
        return json.loads(data, object_pairs_hook=_members)
    except (ValueError, RecursionError):
        return _NOTHING


def _written(value: Any) -> str:
    """A value in JSON; halves of characters and large integers, which ``json`` reads, too."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value, separators=(",", ":"))


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    every: dict[str, list[Any]] = {}
    for name, value in pairs:
        every.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in every.items()}


def _in_multipart(body: bytes, content_type: str, search: _Search) -> Iterator[str]:
    message = message_from_bytes(
        b"content-type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n" + body,
        policy=policy.HTTP,
    )
    if not message.is_multipart():
        raise UnsearchedBodyError("its multipart is broken")
    for number, part in enumerate(message.iter_parts()):
        name = str(part.get_param("name", "", "content-disposition") or f"part {number}")
        content = part.get_payload(decode=True)
        if not isinstance(content, bytes):
            raise UnsearchedBodyError("it has a multipart within a multipart")
        try:
            text = content.decode()
        except UnicodeDecodeError as exc:
            raise UnsearchedBodyError(f"its part {name!r} is no text") from exc
        yield from search.fields([(name, text)])


_DECODER = json.JSONDecoder(object_pairs_hook=_members)


class _Search:
    def __init__(self, keys: Collection[str]) -> None:
        whole = {"".join(_WORDS.findall(key)).lower() or key.lower() for key in keys}
        self._keys = whole.union(*(_ALSO.get(key, ()) for key in whole))
        self._endings = tuple(key for key in whole if len(key) >= _SHORT or key in _ALSO)
        self._known: dict[str, bool] = {}
        self._plural: dict[str, bool] = {}

    def fields(self, fields: list[tuple[str, str]]) -> Iterator[str]:
        """The names of fields of a form that are forbidden, and paths in JSON that they hold."""
        for name, text in fields:
            yield from self.without({name: text})[1]

    def without(
        self, value: Any, path: str = "", *, names: bool = False, depth: int = 0
    ) -> tuple[Any, list[str]]:
        """What is left of a value, and the paths of what is not."""
        if depth > _MOST_DEPTH:
            raise UnsearchedBodyError("it is nested too deeply to be looked at")
        if isinstance(value, str):
            return self._within_text(value, path, depth)
        if isinstance(value, list):
            parts = [
                self.without(one, f"{path}[{n}]", depth=depth + 1) for n, one in enumerate(value)
            ]
            return [left for left, _ in parts], [one for _, found in parts for one in found]
        if not isinstance(value, dict):
            return value, []
        left, paths = {}, []
        for key, inner in value.items():
            place = f"{path}.{key}" if path else key
            if not names and inner and not isinstance(inner, bool) and self._forbids(key, inner):
                paths.append(place)
                continue
            within = key == _SCHEMA_NAMES and isinstance(inner, dict)
            left[key], found = self.without(inner, place, names=within, depth=depth + 1)
            paths += found
        return left, paths

    def _within_text(self, text: str, path: str, depth: int) -> tuple[str, list[str]]:
        """The same for a text: JSON as a whole, or where a line begins with it."""
        if "{" not in text:
            return text, []
        value = _json(text)
        if isinstance(value, dict | list):
            left, found = self.without(value, path, depth=depth + 1)
            return (_written(left) if found else text), found
        pieces, paths, done = [], [], 0
        for begin in _LINES.finditer(text):
            at = begin.end() - 1
            if at < done:
                continue
            try:
                value, end = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                continue
            left, found = self.without(value, path, depth=depth + 1)
            if found:
                pieces += [text[done:at], _written(left)]
                paths += found
                done = end
        return "".join((*pieces, text[done:])), paths

    def _forbids(self, key: str, value: Any) -> bool:
        if _remembered(self._known, key, self._is_forbidden):
            return True
        counts = isinstance(value, int | float)
        return not counts and _remembered(self._plural, key, self._is_forbidden_plural)

    def _is_forbidden(self, key: str) -> bool:
        words = [word.lower() for word in _WORDS.findall(key)]
        joined = {
            "".join(words[first:last])
            for first in range(len(words))
            for last in range(first + 1, len(words) + 1)
        }
        return not self._keys.isdisjoint({key.lower(), *joined}) or any(
            word.endswith(self._endings) for word in words
        )

    def _is_forbidden_plural(self, key: str) -> bool:
        return key[-1:] in {"s", "S"} and self._is_forbidden(key[:-1])


def _remembered(known: dict[str, bool], key: str, judge: Callable[[str], bool]) -> bool:
    if key not in known:
        known[key] = judge(key)
    return known[key]
