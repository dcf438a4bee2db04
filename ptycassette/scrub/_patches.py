"""Bytes to write over a channel: collected from many views, applied as the channel streams by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_PAGE = 1 << 12
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


class _Page:
    """Replacements for a page of consecutive bytes. Only bytes marked in ``set`` are replaced."""

    __slots__ = ("data", "set")

    def __init__(self) -> None:
        self.data = bytearray(_PAGE)
        self.set = bytearray(_PAGE)


class Patches:
    """The bytes to write at given offsets of one channel. Lengths and controls never change.

    Attributes:
        lowest: the lowest offset that was added since somebody set this to None.
    """

    def __init__(self) -> None:
        self._pages: dict[int, _Page] = {}
        self.lowest: int | None = None

    def __len__(self) -> int:
        return len(self._pages)

    def add(self, offset: int, data: bytes) -> bool:
        """Add ``data`` at ``offset``; earlier patches stay. False when nothing was new."""
        new = False
        for page, at, part in _parts(offset, data):
            there = self._pages.get(page)
            if there is None:
                there = self._pages[page] = _Page()
            end = at + len(part)
            left = there.set.count(0, at, end)
            if not left:
                continue
            new = True
            if left == len(part):
                there.data[at:end] = part
            else:
                for number, byte in enumerate(part, at):
                    if not there.set[number]:
                        there.data[number] = byte
            there.set[at:end] = b"\1" * len(part)
        if new and (self.lowest is None or offset < self.lowest):
            self.lowest = offset
        return new

    def cover(self, parts: Iterable[tuple[int, bytes]]) -> bool:
        """Add several patches. False when nothing was new."""
        added = [self.add(offset, data) for offset, data in parts]
        return any(added)

    def touch(self, start: int, end: int) -> bool:
        """Whether anything is to be written between two offsets."""
        first, last = start // _PAGE, end // _PAGE
        return bool(self._pages) and any(page in self._pages for page in range(first, last + 1))

    def apply(self, data: bytes, offset: int) -> bytes:
        """``data``, which starts at ``offset`` of the channel, with all patches applied."""
        if not self._pages:
            return data
        out: list[bytes] = []
        for page, at, part in _parts(offset, data):
            there = self._pages.get(page)
            end = at + len(part)
            if there is None or not there.set.count(1, at, end):
                out.append(part)
            else:
                out.append(_over(part, there.data[at:end], there.set[at:end]))
        return b"".join(out)


def _parts(offset: int, data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Split ``data`` at an offset into (page, offset in the page, bytes)."""
    done = 0
    while done < len(data):
        page, at = divmod(offset + done, _PAGE)
        part = data[done : done + _PAGE - at]
        yield page, at, part
        done += len(part)


def _over(before: bytes, patch: bytearray, where: bytearray) -> bytes:
    """``patch`` over ``before``. A control stays, and no byte becomes one."""
    out = bytearray(before)
    at = where.find(1)
    while at >= 0:
        end = where.find(0, at)
        end = len(where) if end < 0 else end
        if _CONTROL.search(patch, at, end) or _CONTROL.search(before, at, end):
            for number in range(at, end):
                if not (_CONTROL.match(patch, number) or _CONTROL.match(before, number)):
                    out[number] = patch[number]
        else:
            out[at:end] = patch[at:end]
        at = where.find(1, end)
    return bytes(out)
