"""Traffic with a provider as bytes: JSON bodies and event streams, searched as they stand.

A message may come in many deltas, each a JSON string of its own under the same
key (``"text"``, ``"partial_json"``, ``"content"``, ``"delta"``, ...). The strings of
each key are therefore also searched as one text, and so are those of each key
and block (``"index"``) when several blocks are streamed at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.views import PiecewiseView, View

__all__ = ["TrafficChannel"]

_BLOCK = 1 << 20
_OVERLAP = 1 << 16
_STRING = re.compile(r'"((?:[^"\\\n]|\\.){1,64})"\s{0,8}:\s{0,8}"((?:[^"\\]|\\[\s\S])*)')
_INDEX = re.compile(r'"(?:index|output_index|item_id)"\s{0,8}:\s{0,8}"?([A-Za-z0-9_-]{1,64})')


class TrafficChannel:
    """One direction of traffic, or one log of it."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._base = 0

    def feed(self, data: bytes) -> Iterator[View]:
        """Take bytes; views whenever a block is full."""
        self._held += data
        while len(self._held) >= _BLOCK:
            yield from _views(self._held[:_BLOCK].decode("latin-1"), self._base)
            del self._held[: _BLOCK - _OVERLAP]
            self._base += _BLOCK - _OVERLAP

    def rest(self) -> Iterator[View]:
        """What is left at the end."""
        yield from _views(self._held.decode("latin-1"), self._base)


def _views(raw: str, base: int) -> Iterator[View]:
    """The bytes, and the strings of each key joined."""
    yield View(raw, base=base)
    runs: dict[str, list[tuple[int, str]]] = {}
    line_end = 0
    block = ""
    for match in _STRING.finditer(raw):
        key, text = match.groups()
        if match.start() >= line_end:
            line_end = raw.find("\n", match.start())
            line_end = len(raw) if line_end < 0 else line_end
            line_start = raw.rfind("\n", 0, match.start()) + 1
            found = _INDEX.search(raw, line_start, line_end)
            block = found[1] if found else ""
        place = (base + match.start(2), text)
        runs.setdefault(key, []).append(place)
        if block:
            runs.setdefault(f"{key}[{block}]", []).append(place)
    for places in runs.values():
        if len(places) > 1:
            yield _joined(places)


def _joined(places: list[tuple[int, str]]) -> PiecewiseView:
    starts, offsets, parts = [], [], []
    length = 0
    for offset, text in places:
        starts.append(length)
        offsets.append(offset)
        parts.append(text)
        length += len(text)
    return PiecewiseView("".join(parts), starts=starts, offsets=offsets)
