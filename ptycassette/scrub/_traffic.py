r"""Traffic with a provider, scrubbed as bytes: as many chunks, each as long as it was.

JSON stays JSON: its syntax and its escapes stay whole. Values are searched in the raw bytes. So a
match may begin after the backslash of an escape, include the quote that ends a string, or be a
number. Syntax between strings is no secret, and is put back. An escape that lost a byte is replaced
by a neutral one (RFC 8259 7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from json import JSONDecoder

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub._patches import Patches
from ptycassette.scrub.tally import Tally

from .search._searcher import Searcher
from .views._channels import Blocks
from .views._messages import Messages
from .views._view import View

_PROVIDER = "provider"
_BLOCK = 1 << 20
_OVERLAP = 1 << 16
_DECODER = JSONDecoder(strict=False)
_BEGINS = lazy_pattern(r"[{\[\"]")
_TOKEN = lazy_pattern(
    r'"(?P<body>[^"\\]*+(?:\\[\s\S][^"\\]*+)*)"'
    r"|(?P<number>-?\d++(?:\.\d++)?)(?:[eE][+-]?\d++)?"
)
_ESCAPE = lazy_pattern(r"\\(?:u[0-9A-Fa-f]{4}|[\s\S])")
# JSON in a string of JSON: quotes are escaped, and the backslashes of escapes are doubled.
_ESCAPE_WITHIN = lazy_pattern(r"\\{1,2}u[0-9A-Fa-f]{4}|\\\\[bfnrt/]|\\[\s\S]")
_QUOTE_WITHIN = '\\"'
_DIGIT = lazy_pattern(r"\d")
_X = "u0078"


def scrubbed_traffic(searcher: Searcher, tally: Tally, chunks: Sequence[bytes]) -> list[bytes]:
    """``chunks`` with their secrets masked; JSON stays JSON."""
    patches = Patches()
    for again in (False, True):
        for view in traffic_views(chunks):
            matches = (
                searcher.search_again(view.text)
                if again
                else searcher.search(view.text, borders=view.borders)
            )
            for match in matches:
                if patches.cover(view.masks(match.stretches, match.form)):
                    tally.count(_PROVIDER, match.rule, form=match.form)
            searcher.adopt()
    if not len(patches):
        return list(chunks)
    whole = b"".join(chunks)
    masked = patches.apply(whole, 0).decode("latin-1")
    scrubbed = whole_json(whole.decode("latin-1"), masked).encode("latin-1")
    ends = [*accumulate(map(len, chunks), initial=0)]
    return [scrubbed[start:end] for start, end in pairwise(ends)]


def traffic_views(chunks: Sequence[bytes]) -> Iterator[View]:
    """What is read of one direction of traffic, or of one log of it: bytes, and their messages."""
    readers = (Blocks(lambda raw, base: (View(raw, base=base),), _BLOCK, _OVERLAP), Messages())
    for chunk in chunks:
        for reader in readers:
            yield from reader.feed(chunk)
    for reader in readers:
        yield from reader.rest()


def whole_json(raw: str, masked: str) -> str:
    """``masked``, with the JSON of ``raw`` repaired. Both are canonical text."""
    parts = []
    at = 0
    for start, end in _documents(raw):
        if raw[start:end] != masked[start:end]:
            parts += [masked[at:start], *_mended(raw, masked, start, end)]
            at = end
    return "".join([*parts, masked[at:]])


def _documents(raw: str) -> Iterator[tuple[int, int]]:
    """The JSON in ``raw``: all of it, or in each line the part from the first bracket on."""
    if _ends(raw, 0) == len(raw.rstrip()):
        yield 0, len(raw)
        return
    at = 0
    for line in raw.splitlines(keepends=True):
        begins = _BEGINS.search(line)
        if begins is not None:
            end = _ends(line, begins.start())
            if end is not None:
                yield at + begins.start(), at + end
        at += len(line)


def _ends(text: str, start: int) -> int | None:
    """The end of the value that begins at ``start``; None if there is none."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _mended(raw: str, masked: str, start: int, end: int) -> Iterator[str]:
    """The parts of one document: strings and numbers as masked, the rest as in the original."""
    at = start
    for token in _TOKEN.finditer(raw, start, end):
        first, last = token.span("number" if token["body"] is None else "body")
        yield raw[at:first]
        if token["body"] is not None:
            yield from _string(raw, masked, first, last)
        elif raw[first:last] == masked[first:last]:
            yield raw[first:last]
        else:
            yield _DIGIT.sub("8", raw[first:last])
        at = last
    yield raw[at:end]


def _string(raw: str, masked: str, start: int, end: int) -> Iterator[str]:
    """The inside of one string."""
    at = start
    escapes = _ESCAPE_WITHIN if raw.find(_QUOTE_WITHIN, start, end) >= 0 else _ESCAPE
    for escape in escapes.finditer(raw, start, end):
        first, last = escape.span()
        yield masked[at:first]
        was = escape.group()
        changed = was != masked[first:last]
        yield was[: -len(_X)] + _X if changed and len(was) > len(_X) else was
        at = last
    yield masked[at:end]
