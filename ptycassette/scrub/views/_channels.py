"""Each channel of a session, turned into views as its bytes stream by, in bounded memory.

A channel is cut at fixed offsets of its bytes, never where reads happened to
end, so that the same bytes give the same views however they were chunked. Each
cut is read again by a few kilobytes, so that nothing hides on it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from ptycassette.scrub.views._printed import printed_views
from ptycassette.scrub.views._typed import SentView, TypedView
from ptycassette.scrub.views._view import View
from ptycassette.terminal import edited_text, typed_text

BLOCK = 65536
_BREAKS = "\n\x1b\r "


class Blocks(ABC):
    """A channel whose blocks end with the last whole word, and begin before the end of the last.

    Args:
        block: how many bytes; blocks end at multiples of it.
        overlap: how many bytes at most are read again.
    """

    def __init__(self, block: int = BLOCK, overlap: int = 4096) -> None:
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

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        yield from self._views(self._held.decode("latin-1"), self._base)

    @abstractmethod
    def _views(self, raw: str, base: int) -> Iterable[View]:
        """What a block says (canonical), which begins at ``base``."""

    def _cut(self, raw: str) -> tuple[int, int]:
        """The end of what is read of a full block, and where the next one begins in it."""
        floor, half = max(0, len(raw) - self._overlap), self._overlap // 2
        end = max(raw.rfind(char, len(raw) - half) for char in _BREAKS)
        begins = [at for at in (raw.find(char, floor, floor + half) for char in _BREAKS) if at >= 0]
        return end if end >= 0 else len(raw), min(begins, default=floor)


class OutputText(Blocks):
    """Output as bytes in the order of time: the print stream and the string sequences.

    It is read in the same blocks as the screen, so that values found here are known there.

    Args:
        block: how many bytes.
        wanted: whether the bytes between two offsets are to be read; None for all.
    """

    def __init__(
        self, block: int = BLOCK, wanted: Callable[[int, int], bool] | None = None
    ) -> None:
        super().__init__(block)
        self._wanted = wanted

    def _views(self, raw: str, base: int) -> Iterable[View]:
        if self._wanted is None or self._wanted(base, base + len(raw)):
            return printed_views(raw, base=base)
        return ()


class InputChannel(Blocks):
    """Input: the bytes as sent, the keys in them, and the text after editing."""

    def _views(self, raw: str, base: int) -> Iterable[View]:
        yield SentView(raw, base=base)
        if "\x1b" in raw:
            yield TypedView(typed_text(raw, base=base, editing=False))
        if any(key in raw for key in "\x1b\x7f\x08\x15\x17"):
            yield TypedView(typed_text(raw, base=base))
        edited = edited_text(raw, base=base)
        if edited is not None:
            yield TypedView(edited)
