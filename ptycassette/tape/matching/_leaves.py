"""The texts of an answer: where they are, and which of them continue each other.

A streamed answer is a row of documents: the ``data`` of server-sent events, lines of JSON, messages
of a WebSocket. What the model writes comes in pieces, so that a path may begin in one event and
end in the next. Pieces that belong together stand at the same place in documents of the same kind:
those whose members, ``type``, numbers of blocks and ids are equal.

A stream has thousands of documents, so they are decoded by msgspec, which says that they are JSON,
and searched for strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ptycassette.model.json_values import NOT_JSON
from ptycassette.tape.matching._json_places import parse_json
from ptycassette.tape.matching._text import Text

_SSE_DATA = re.compile(rb"(?m)^data:[ ]?([^\r\n]*)")
_LINE = re.compile(rb"[^\r\n]+")
_STRING = re.compile(
    rb'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*)"'
    rb"(?P<colon>[ \t\r\n]*+:[ \t\r\n]*+(?P<number>-?[0-9]++)?)?"
)
_TELLING = frozenset(
    {b"type", b"index", b"output_index", b"content_index", b"summary_index", b"item_id", b"id"}
)
"""Members that say to which piece of an answer an event belongs."""
_MAX_DECODED_BYTES = 4 << 20
"""Of a document that is decoded: a list of numbers takes ten times as much memory."""


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
    if _is_json(body, start, end):
        yield from _of_document(body, start, end)
        return
    events = [one.span(1) for one in _SSE_DATA.finditer(body, start, end)]
    lines = events or [one.span() for one in _LINE.finditer(body, start, end)]
    documents = [place for place in lines if _is_json(body, *place)]
    if documents and (events or len(documents) == len(lines)):  # not text with a number in it
        for place in documents:
            yield from _of_document(body, *place)
    elif end > start:
        yield Leaf(Text(body, start, end, escaped=False), None)


def _is_json(body: bytes, start: int, end: int) -> bool:
    try:
        if end - start > _MAX_DECODED_BYTES:
            parse_json(body, start, end)
        else:
            msgspec.json.decode(memoryview(body)[start:end])
    except NOT_JSON:
        return False
    return True


def _of_document(body: bytes, start: int, end: int) -> Iterator[Leaf]:
    members: list[bytes] = []
    telling: list[bytes] = []
    places: list[tuple[int, int]] = []
    name = b""
    for string in _STRING.finditer(body, start, end):
        if string["colon"] is not None:
            name = string["text"]
            members.append(name)
            if name in _TELLING:
                telling.append(string["number"] or b"")
        else:
            if name in _TELLING:
                telling.append(string["text"])
            members.append(b'"')  # a value; no name is written like this
            places.append(string.span("text"))
            name = b""
    kind = (b"\0".join(members), *telling)
    for number, (first, last) in enumerate(places):
        yield Leaf(Text(body, first, last), (kind, number))
