"""A channel of a session, turned into views as its bytes stream by, in bounded memory.

A channel is cut at fixed offsets of its bytes, never where reads happened to
end, so that the same bytes give the same views however they were chunked. Each
cut is read again by a few kilobytes, so that nothing hides on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ptycassette.scrub.views._view import View

BLOCK = 65536
_BREAKS = "\n\x1b\r "
_OVERLAP = 4096
_STEP = 512
"""So many bytes are asked for at once: the smaller, the less is read around what is wanted."""


class Blocks:
    """A channel whose blocks end with the last whole word, and begin before the end of the last.

    Args:
        views: what a block says (canonical), which begins at an offset of the channel.
        block: how many bytes; blocks end at multiples of it.
        overlap: how many bytes at most are read again.
    """

    def __init__(
        self,
        views: Callable[[str, int], Iterable[View]],
        block: int = BLOCK,
        overlap: int = _OVERLAP,
    ) -> None:
        self._views = views
        self._block = self._next = block
        self._overlap = overlap
        self._held = bytearray()
        self._base = 0

    def feed(self, data: bytes) -> Iterator[View]:
        """Take bytes; returns views whenever a block is full."""
        while self._base + len(self._held) + len(data) >= self._next:
            take = self._next - self._base - len(self._held)
            self._held += data[:take]
            data = data[take:]
            self._next += self._block
            raw = self._held.decode("latin-1")
            end, begin = self._cut(raw)
            yield from self._views(raw[:end], self._base)
            del self._held[:begin]
            self._base += begin
        self._held += data

    def skip(self, length: int) -> None:
        """Begin so many bytes behind the beginning of the channel; nothing was fed before."""
        self._base = length
        self._next = (length // self._block + 1) * self._block

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        yield from self._views(self._held.decode("latin-1"), self._base)

    def _cut(self, raw: str) -> tuple[int, int]:
        """The end of what is read of a full block, and where the next one begins in it."""
        floor = max(0, len(raw) - self._overlap)
        return _last_break(raw, len(raw), self._overlap), _first_break(raw, floor, self._overlap)


def around(raw: str, wanted: Callable[[int, int], bool]) -> Iterator[tuple[int, int]]:
    """Stretches of a block with the parts that are wanted, each with the text around it.

    That is as much as two blocks have in common, and the stretches are cut as blocks are.
    """
    begin = end = 0
    for at in range(0, len(raw) or 1, _STEP):
        if not wanted(at, min(len(raw), at + _STEP)):
            continue
        if at - _OVERLAP > end:
            if end:
                yield begin, _last_break(raw, end, _OVERLAP)
            begin = _first_break(raw, at - _OVERLAP, _OVERLAP)
        end = at + _STEP + _OVERLAP
    if end:
        yield begin, _last_break(raw, end, _OVERLAP) if end < len(raw) else len(raw)


def _last_break(raw: str, end: int, overlap: int) -> int:
    """Where the last word before ``end`` ends; ``end`` itself if there is none nearby."""
    at = max(raw.rfind(char, end - min(end, overlap // 2), end) for char in _BREAKS)
    return at if at >= 0 else end


def _first_break(raw: str, start: int, overlap: int) -> int:
    """Where the first word after ``start`` ends; ``start`` itself if there is none nearby."""
    found = (raw.find(char, start, start + overlap // 2) for char in _BREAKS)
    return min((at for at in found if at >= 0), default=start)
