"""Each channel of a session, turned into views as its bytes stream by, in bounded memory.

A channel is cut at fixed offsets of its bytes, never where reads happened to
end, so that the same bytes give the same views however they were chunked. Each
cut is read again by a few kilobytes, so that nothing hides on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ptycassette.scrub.views._printed import printed_views
from ptycassette.scrub.views._typed import SentView, TypedView
from ptycassette.scrub.views._view import View
from ptycassette.terminal import edited_text, typed_text

__all__ = ["BLOCK", "InputChannel", "OutputText"]

BLOCK = 65536
OVERLAP = 4096
_BREAKS = "\n\x1b\r "


class OutputText:
    """Output as bytes in the order of time: the print stream and the string sequences.

    It is read in the same blocks as the screen, so that values found here are known there.

    Args:
        block: how many bytes.
        wanted: whether the bytes between two offsets are to be read; None for all.
    """

    def __init__(
        self, block: int = BLOCK, wanted: Callable[[int, int], bool] | None = None
    ) -> None:
        self._wanted = wanted
        self._block = self._next = block
        self._parts: list[bytes] = []
        self._length = 0
        self._base = 0

    def feed(self, data: bytes) -> Iterator[View]:
        """Take bytes; returns views whenever a block is full."""
        while self._base + self._length + len(data) >= self._next:
            take = self._next - self._base - self._length
            self._next += self._block
            self._parts.append(data[:take])
            data = data[take:]
            raw = b"".join(self._parts).decode("latin-1")
            if self._wanted is None or self._wanted(self._base, self._base + len(raw)):
                yield from printed_views(raw[: _whole(raw)], base=self._base)
            keep = _last_break(raw)
            self._parts = [raw[keep:].encode("latin-1")]
            self._length = len(raw) - keep
            self._base += keep
        if data:
            self._parts.append(data)
            self._length += len(data)

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        yield from printed_views(b"".join(self._parts).decode("latin-1"), base=self._base)


def _last_break(raw: str) -> int:
    """Where the next block begins: at most ``OVERLAP`` before the end, not inside a word."""
    floor = max(0, len(raw) - OVERLAP)
    found = [
        at for at in (raw.find(char, floor, floor + OVERLAP // 2) for char in _BREAKS) if at >= 0
    ]
    return min(found, default=floor)


def _whole(raw: str) -> int:
    """The end of the last word that is whole in this block. The next block has the others."""
    floor = len(raw) - OVERLAP // 2
    found = max(raw.rfind(char, floor) for char in _BREAKS)
    return found if found >= 0 else len(raw)


class InputChannel:
    """Input: the bytes as sent, the keys in them, and the text after editing."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0
        self._base = 0

    def feed(self, data: bytes) -> Iterator[View]:
        """Take bytes; returns views whenever a block is full."""
        self._parts.append(data)
        self._length += len(data)
        while self._length >= BLOCK:
            raw = b"".join(self._parts)
            block, rest = raw[:BLOCK], raw[BLOCK - OVERLAP :]
            yield from _input_views(block.decode("latin-1"), self._base)
            self._base += BLOCK - OVERLAP
            self._parts = [rest]
            self._length = len(rest)

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        yield from _input_views(b"".join(self._parts).decode("latin-1"), self._base)


def _input_views(raw: str, base: int) -> Iterator[View]:
    yield SentView(raw, base=base)
    if "\x1b" in raw:
        yield TypedView(typed_text(raw, base=base, editing=False))
    if any(key in raw for key in "\x1b\x7f\x08\x15\x17"):
        yield TypedView(typed_text(raw, base=base))
    edited = edited_text(raw, base=base)
    if edited is not None:
        yield TypedView(edited)
