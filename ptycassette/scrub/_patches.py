"""Bytes to write over a channel: collected from many views, applied as the channel streams by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_PAGE = 1 << 12
_CONTROLS = frozenset([*range(0x20), 0x7F])
_PATCH = re.compile(rb"[^\0]+")


class Patches:
    """The bytes to write at given offsets of one channel. Lengths and controls never change.

    Attributes:
        lowest: the lowest offset that was added since somebody set this to None.
        names: of the texts that hold patches, where a channel is made of several and they have one.
    """

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}  # 0 where nothing is to be written
        self.lowest: int | None = None
        self.names: set[str] = set()

    def __len__(self) -> int:
        return len(self._pages)

    def cover(self, patches: Iterable[tuple[int, bytes]]) -> bool:
        """Add bytes at offsets; earlier patches stay. False when nothing was new."""
        new = False
        for offset, data in patches:
            for number, at, part in _parts(offset, data):
                page = self._pages.get(number) or self._pages.setdefault(number, bytearray(_PAGE))
                for place, byte in enumerate(part, at):
                    if not page[place] and byte not in _CONTROLS:
                        page[place] = byte
                        new = True
                        first = number * _PAGE + place
                        if self.lowest is None or first < self.lowest:
                            self.lowest = first
        return new

    def touch(self, start: int, end: int) -> bool:
        """Whether anything is to be written between two offsets."""
        for number in range(start // _PAGE, end // _PAGE + 1) if self._pages else ():
            page = self._pages.get(number)
            if page is not None:
                base = number * _PAGE
                first, last = max(start - base, 0), min(end - base, _PAGE)
                if page.count(0, first, last) < last - first:
                    return True
        return False

    def apply(self, data: bytes, offset: int) -> bytes:
        """``data``, which starts at ``offset`` of the channel, with all patches applied.

        A control stays, and no byte becomes one.
        """
        if not self.touch(offset, offset + len(data)):
            return data
        out = []
        for number, at, part in _parts(offset, data):
            page = self._pages.get(number)
            out.append(part if page is None else _written(part, page, at))
        return b"".join(out)


def _written(data: bytes, page: bytearray, at: int) -> bytes:
    """``data`` with the patches of a page from ``at`` on."""
    changed = bytearray(data)
    for patch in _PATCH.finditer(page, at, at + len(data)):
        for place, byte in enumerate(patch.group(), patch.start() - at):
            if changed[place] not in _CONTROLS:
                changed[place] = byte
    return bytes(changed)


def _parts(offset: int, data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Split ``data`` at an offset into (page, offset in the page, bytes)."""
    done = 0
    while done < len(data):
        page, at = divmod(offset + done, _PAGE)
        part = data[done : done + _PAGE - at]
        yield page, at, part
        done += len(part)
