"""The texts of an answer: where they are, and which of them continue each other.

A streamed answer is a row of documents: the ``data`` of server-sent events, lines of JSON, messages
of a WebSocket. What the model writes comes in pieces, so that a path may begin in one event and
end in the next. Pieces that belong together stand at the same path in documents of the same kind:
those whose ``type``, numbers of blocks and ids are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ptycassette.tape.matching._json_places import Node, NoJsonError, parse_json
from ptycassette.tape.matching._text import Text

_SSE_DATA = re.compile(rb"(?m)^data:[ ]?([^\r\n]*)")
_LINE = re.compile(rb"[^\r\n]+")
_TELLING = frozenset(
    {b"type", b"index", b"output_index", b"content_index", b"summary_index", b"item_id", b"id"}
)
"""Members that say to which piece of an answer an event belongs."""


class Leaf(msgspec.Struct, frozen=True):
    """A text of an answer.

    ``stream`` is equal for texts that continue each other; None for bytes that are not JSON.
    """

    text: Text
    stream: tuple[object, ...] | None


def leaves_of(body: bytes, cuts: tuple[int, ...] = ()) -> Iterator[Leaf]:
    """The texts of an answer, from left to right.

    Args:
        body: the answer.
        cuts: where one message of a WebSocket ends and the next begins; empty for HTTP.
    """
    start = 0
    for end in (*cuts, len(body)):
        yield from _of_message(body, start, end)
        start = end


def _of_message(body: bytes, start: int, end: int) -> Iterator[Leaf]:
    tree = _tree(body, start, end)
    if tree is not None:
        yield from _of_document(body, tree)
        return
    data = list(_SSE_DATA.finditer(body, start, end))
    places = [one.span(1) for one in data] or [
        one.span() for one in _LINE.finditer(body, start, end)
    ]
    trees = [_tree(body, first, last) for first, last in places]
    if any(trees) and (data or all(trees)):  # text may have a number in one of its lines
        for one in trees:
            if one is not None:
                yield from _of_document(body, one)
    elif end > start:
        yield Leaf(Text(body, start, end, escaped=False), None)


def _tree(body: bytes, start: int, end: int) -> Node | None:
    try:
        return parse_json(body, start, end)
    except NoJsonError:
        return None


def _of_document(body: bytes, tree: Node) -> Iterator[Leaf]:
    telling = tuple(
        body[one.start : one.end]
        for one in _telling(body, tree)
        if one.kind in {"string", "number"}
    )
    yield from _walk(body, tree, (telling,))


def _telling(body: bytes, tree: Node) -> Iterator[Node]:
    for key, item in zip(tree.keys, tree.items, strict=False):
        if body[key.start : key.end] in _TELLING:
            yield item


def _walk(body: bytes, node: Node, path: tuple[object, ...]) -> Iterator[Leaf]:
    if node.kind == "string":
        yield Leaf(Text.of(body, node), path)
    elif node.kind == "array":
        for index, item in enumerate(node.items):
            yield from _walk(body, item, (*path, index))
    elif node.kind == "object":
        for key, item in zip(node.keys, node.items, strict=True):
            yield from _walk(body, item, (*path, body[key.start : key.end]))
