"""Names in an answer: which there are, and the answer with others in their places.

A name that the model wrote in pieces (see ``_leaves``) is replaced in its first piece and taken out
of the others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

import msgspec

from ptycassette.tape.matching._finder import Finder, Span
from ptycassette.tape.matching._leaves import Leaf, leaves_of
from ptycassette.tape.matching._text import spelt, unspelt


class Found(msgspec.Struct, frozen=True):
    """A name in an answer, and the places of its pieces: from, to.

    ``depth`` is how often it is written as a JSON string: 0 in plain bytes, 2 in JSON within JSON.
    """

    type: str
    value: bytes
    places: tuple[tuple[int, int], ...]
    depth: int


def found_in(body: bytes, cuts: tuple[int, ...], names: Finder, values: Finder) -> list[Found]:
    """The names in an answer, in order.

    Args:
        body: the answer.
        cuts: where its messages end, if they are those of a WebSocket.
        names: finds names in one text.
        values: finds names that are known, also where a text is in pieces.
    """
    streams: dict[object, list[tuple[Leaf, list[Span]]]] = {}
    for number, leaf in enumerate(leaves_of(body, cuts)):
        spans = list(names.find(leaf.text.data))
        key = number if leaf.stream is None else leaf.stream
        streams.setdefault(key, []).append((leaf, spans))
    found = [one for stream in streams.values() for one in _in_stream(stream, values)]
    return sorted(found, key=lambda one: one.places)


_Stream = list[tuple[Leaf, list[Span]]]


def _in_stream(stream: _Stream, values: Finder) -> Iterator[Found]:
    """Names in texts that continue each other; in a part of a name no other is looked for."""
    depth = _depth(stream[0][0])
    taken: list[tuple[int, int]] = []
    for one in _in_pieces(stream, values, depth) if len(stream) > 1 else ():
        taken += one.places
        yield one
    for leaf, spans in stream:
        for span in spans:
            offset, length = leaf.text.place(span.start, span.end)
            place = (offset, offset + length)
            if not _overlaps(taken, place):
                value = leaf.text.data[span.start : span.end]
                yield Found(span.type, value, (place,), depth)


def _overlaps(taken: list[tuple[int, int]], place: tuple[int, int]) -> bool:
    """Whether a place overlaps one of others, which are in order."""
    at = bisect_left(taken, (place[1], 0)) - 1
    return at >= 0 and taken[at][1] > place[0]


def _depth(first: Leaf) -> int:
    if first.stream is None:
        return 0
    return 2 if first.text.data.lstrip()[:1] in {b"{", b"["} else 1


def _in_pieces(stream: _Stream, values: Finder, depth: int) -> Iterator[Found]:
    """Names that begin in one text and end in another."""
    starts = list(accumulate((len(leaf.text.data) for leaf, _ in stream), initial=0))
    whole = b"".join(leaf.text.data for leaf, _ in stream)
    for span in values.find(whole):
        first = bisect_right(starts, span.start) - 1
        last = bisect_right(starts, span.end - 1) - 1
        if first == last:
            continue
        places: list[tuple[int, int]] = []
        for index in range(first, last + 1):
            text = stream[index][0].text
            start = max(span.start - starts[index], 0)
            end = min(span.end - starts[index], len(text.data))
            if end > start:
                offset, length = text.place(start, end)
                places.append((offset, offset + length))
        yield Found(span.type, whole[span.start : span.end], tuple(places), depth)


def renamed(
    body: bytes,
    lengths: Iterable[int],
    found: Iterable[Found],
    name_of: Callable[[Found], bytes | None],
) -> tuple[bytes, tuple[int, ...]]:
    """An answer with other names, and the lengths of its pieces, cut where they were cut.

    Args:
        body: the answer.
        lengths: of its pieces.
        found: the names in it.
        name_of: what takes the place of a name; None leaves it as it is.
    """
    edits: list[tuple[int, int, bytes]] = []
    for one in found:
        value = name_of(one)
        if value is None or value == one.value:
            continue
        for _ in range(one.depth):
            value = spelt(value)
        for start, end in one.places:
            edits.append((start, end, value))
            value = b""
    edits.sort()
    if not edits:
        return body, tuple(lengths)
    parts: list[bytes] = []
    at = 0
    for start, end, value in edits:
        parts += (body[at:start], value)
        at = end
    parts.append(body[at:])
    return b"".join(parts), tuple(_new_lengths(lengths, edits))


def moved(
    body: bytes, found: Sequence[Found], name_of: Callable[[Found], bytes | None]
) -> list[Found]:
    """The names of an answer where they are in ``body``, which is ``renamed`` by ``name_of``.

    Their values are read there.
    """
    lengths: list[tuple[int, int, int, int]] = []
    for number, one in enumerate(found):
        value = name_of(one)
        left = None if value is None or value == one.value else value
        for _ in range(one.depth if left is not None else 0):
            left = spelt(left or b"")
        for start, end in one.places:
            length = end - start if left is None else len(left)
            lengths.append((start, end, number, length))
            left = left if left is None else b""
    places: list[list[tuple[int, int]]] = [[] for _ in found]
    shift = 0
    for start, end, number, length in sorted(lengths):
        places[number].append((start + shift, start + shift + length))
        shift += length - (end - start)
    return [
        Found(one.type, _read(body, where, one.depth), tuple(where), one.depth)
        for one, where in zip(found, places, strict=True)
    ]


def _read(body: bytes, places: Iterable[tuple[int, int]], depth: int) -> bytes:
    value = b"".join(body[start:end] for start, end in places)
    for _ in range(depth):
        value = unspelt(value)
    return value


def _new_lengths(lengths: Iterable[int], edits: list[tuple[int, int, bytes]]) -> Iterator[int]:
    """A cut within a name lies as far within what took its place, at most at its end."""
    shift = index = last = 0
    for cut in accumulate(lengths):
        while index < len(edits) and edits[index][1] <= cut:
            start, end, value = edits[index]
            shift += len(value) - (end - start)
            index += 1
        new = cut + shift
        if index < len(edits) and edits[index][0] < cut:
            start, _, value = edits[index]
            new = start + shift + min(cut - start, len(value))
        yield new - last
        last = new
