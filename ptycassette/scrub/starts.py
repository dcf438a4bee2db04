"""Where the characters of a text stand in the bytes that it came from."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import overload

from ptycassette.screen.trace import _byte_length as byte_length

__all__ = ["Starts"]

_WIDE_BYTES = re.compile("[^\x00-\x7f]+")


class Starts(Sequence[int]):
    """Byte offset of each character of a text, worked out where it is asked for."""

    def __init__(self, text: str, base: int) -> None:
        self._text = text
        self._base = base
        self._firsts: list[int] = []
        self._ends: list[int] = []
        self._shifts = [0]
        shift = 0
        for match in _WIDE_BYTES.finditer(text):
            shift += len(match.group().encode()) - match.end() + match.start()
            self._firsts.append(match.start())
            self._ends.append(match.end())
            self._shifts.append(shift)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...

    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            start, stop = index.start, index.stop
            run = bisect_right(self._firsts, start)
            if (not run or start >= self._ends[run - 1]) and (
                run == len(self._firsts) or stop <= self._firsts[run]
            ):
                first = self._base + start + self._shifts[run]
                return range(first, first + stop - start)
            return self._several(start, stop)
        run = bisect_right(self._firsts, index)
        if run and index < self._ends[run - 1]:
            inside = self._text[self._firsts[run - 1] : index]
            return self._base + index + self._shifts[run - 1] + len(inside.encode()) - len(inside)
        return self._base + index + self._shifts[run]

    def _several(self, start: int, stop: int) -> Sequence[int]:
        first = self[start]
        text = self._text[start:stop]
        if text.isascii():
            return range(first, first + stop - start)
        return list(accumulate(map(byte_length, text[:-1]), initial=first))

    def __len__(self) -> int:
        return len(self._text)
