"""Bytes to write over a channel, gathered from many views, applied as it streams by."""

from __future__ import annotations

import re
from bisect import bisect_left

__all__ = ["Patches"]

_LONGEST = 1024
_CONTROLS = frozenset([*range(0x20), 0x7F])
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


class Patches:
    """What to put at which offsets of one channel. Lengths never change."""

    def __init__(self) -> None:
        self._at: dict[int, bytes] = {}
        self._order: list[int] | None = None

    def __len__(self) -> int:
        return len(self._at)

    def add(self, offset: int, data: bytes) -> bool:
        """Remember to write ``data`` at ``offset``; False when something begins there already."""
        new = offset not in self._at
        if new and len(data) <= _LONGEST:
            self._at[offset] = data
            self._order = None
            return True
        for start in range(0, len(data), _LONGEST):
            part = data[start : start + _LONGEST]
            there = self._at.get(offset + start, b"")
            # The order in which views were searched must not show.
            if (len(there), there) < (len(part), part):
                self._at[offset + start] = part
                self._order = None
        return new

    def apply(self, data: bytes, offset: int) -> bytes:
        """``data``, which stands at ``offset`` of the channel, with everything written over it."""
        if not self._at:
            return data
        if self._order is None:
            self._order = sorted(self._at)
        order = self._order
        end = offset + len(data)
        at = bisect_left(order, offset - _LONGEST + 1)
        if at == len(order) or order[at] >= end:
            return data
        out = bytearray(data)
        while at < len(order) and order[at] < end:
            start = order[at]
            patch = self._at[start]
            lo, hi = max(start, offset), min(start + len(patch), end)
            if lo < hi:
                over = slice(lo - offset, hi - offset)
                out[over] = _over(bytes(out[over]), patch[lo - start : hi - start])
            at += 1
        return bytes(out)


def _over(before: bytes, patch: bytes) -> bytes:
    """``patch``, but for what a view shows as a control and what is one: no such byte changes."""
    if not (_CONTROL.search(patch) or _CONTROL.search(before)):
        return patch
    return bytes(
        old if old in _CONTROLS or new in _CONTROLS else new
        for old, new in zip(before, patch, strict=True)
    )
