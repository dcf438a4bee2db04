"""JSON as a tree of places: where in the bytes each value is, and nothing decoded.

Matching needs to say where in a body a token is, and compares numbers as they are written. No
decoder keeps either. The grammar is that of RFC 8259; what it does not allow, a key that stands
twice in an object, and what is deeper or denser than any agent's body is no JSON here. Such a body
is compared by its bytes.
"""

from __future__ import annotations

import json
import re
from typing import Literal

import msgspec

MAX_DEPTH = 100
MAX_VALUES = 250_000
"""A megabyte of conversation has about ten thousand values; so many are read in half a second."""

_TOKEN = re.compile(
    rb"[ \t\n\r]*+(?:"
    rb'(?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*")'
    rb"|(?P<mark>[][{}:,])"
    rb"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    rb"|(?P<word>true|false|null)"
    rb")"
)
_BLANK = re.compile(rb"[ \t\n\r]*+")

Kind = Literal["object", "array", "string", "number", "word"]


class NoJsonError(ValueError):
    """Not JSON, or more than is read."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A value from ``start`` to ``end``; for a string without its quotes.

    ``items`` are the values of an array; ``keys`` and ``items`` are the members of an object.
    """

    kind: Kind
    start: int
    end: int
    items: tuple[Node, ...] = ()
    keys: tuple[Node, ...] = ()


def parse_json(body: bytes, start: int = 0, end: int | None = None) -> Node:
    """The tree of one JSON text in ``body``, blanks around it allowed.

    Raises:
        NoJsonError: see the module.
    """
    parser = _Parser(body, start, len(body) if end is None else end)
    node = parser.value(0)
    parser.finish()
    return node


class _Parser:
    """Recursive descent; the depth is bounded."""

    def __init__(self, body: bytes, start: int, end: int) -> None:
        try:
            str(memoryview(body)[start:end], "utf-8")
        except UnicodeDecodeError as wrong:
            raise NoJsonError("not UTF-8") from wrong
        self._body = body
        self._at = start
        self._end = end
        self._count = 0

    def finish(self) -> None:
        """Check that nothing follows.

        Raises:
            NoJsonError: something does.
        """
        blank = _BLANK.match(self._body, self._at, self._end)
        if blank is None or blank.end() != self._end:
            raise NoJsonError(f"something follows at byte {self._at}")

    def value(self, depth: int) -> Node:
        """The next value."""
        return self._value(self._next(), depth)

    def _next(self) -> re.Match[bytes]:
        token = _TOKEN.match(self._body, self._at, self._end)
        if token is None:
            raise NoJsonError(f"no JSON at byte {self._at}")
        self._at = token.end()
        return token

    def _value(self, token: re.Match[bytes], depth: int) -> Node:
        self._count += 1
        if self._count > MAX_VALUES:
            raise NoJsonError(f"more than {MAX_VALUES} values")
        match token.lastgroup:
            case "string":
                return _string(token)
            case "number":
                return Node("number", token.start("number"), token.end())
            case "word":
                return Node("word", token.start("word"), token.end())
        if depth >= MAX_DEPTH:
            raise NoJsonError(f"deeper than {MAX_DEPTH} levels")
        match token["mark"]:
            case b"{":
                return self._object(token.end() - 1, depth + 1)
            case b"[":
                return self._array(token.end() - 1, depth + 1)
        raise NoJsonError(f"no value at byte {token.start()}")

    def _array(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        token = self._next()
        if token["mark"] == b"]":
            return Node("array", start, self._at)
        while True:
            items.append(self._value(token, depth))
            mark = self._next()["mark"]
            if mark == b"]":
                return Node("array", start, self._at, tuple(items))
            if mark != b",":
                raise NoJsonError(f"neither a comma nor an end before byte {self._at}")
            token = self._next()

    def _object(self, start: int, depth: int) -> Node:
        keys: list[Node] = []
        items: list[Node] = []
        token = self._next()
        if token["mark"] == b"}":
            return Node("object", start, self._at)
        while True:
            if token.lastgroup != "string":
                raise NoJsonError(f"no key before byte {self._at}")
            keys.append(_string(token))
            if self._next()["mark"] != b":":
                raise NoJsonError(f"no colon before byte {self._at}")
            items.append(self.value(depth))
            mark = self._next()["mark"]
            if mark == b"}":
                break
            if mark != b",":
                raise NoJsonError(f"neither a comma nor an end before byte {self._at}")
            token = self._next()
        if self._names(keys) != len(keys):
            raise NoJsonError(f"a key is there twice in the object at byte {start}")
        return Node("object", start, self._at, tuple(items), tuple(keys))

    def _names(self, keys: list[Node]) -> int:
        """How many names there are; one may be written in several ways."""
        names = {self._body[key.start : key.end] for key in keys}
        if any(b"\\" in name for name in names):
            return len({json.loads(b'"%b"' % name) for name in names})
        return len(names)


def _string(token: re.Match[bytes]) -> Node:
    return Node("string", token.start("string") + 1, token.end() - 1)
