"""Decoded texts, each able to say which characters of its source a stretch of it came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from itertools import pairwise

from ptycassette.scrub.mask import BASE64, ESCAPED, HEX, TEXT

__all__ = ["Base64Run", "Decoded", "Digits", "Escaped", "HexRun", "Parts"]

_APART = 4


class Decoded(ABC):
    """Decoded text, and from which characters of its source each stretch came.

    ``start``/``end`` delimit the source stretch; ``form`` says how it is masked.
    """

    def __init__(self, text: str, *, form: str) -> None:
        self.text = text
        self.form = form

    @abstractmethod
    def source(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the source that hold characters ``start`` to ``end``."""

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """The same in stretches, where something else stands in between."""
        return (self.source(start, end),)

    def form_at(self, start: int) -> str:
        """The form in which what begins at ``start`` is masked in the source."""
        del start
        return self.form


class Base64Run(Decoded):
    """Text that stood as base64 from character ``base`` on, in ``length`` digits."""

    def __init__(self, text: str, *, base: int, length: int) -> None:
        super().__init__(text, form=BASE64)
        self._base = base
        self._length = length

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``."""
        last = min(self._length, -(-end * 8 // 6))
        return self._base + start * 8 // 6, self._base + last

    def form_at(self, start: int) -> str:
        """See ``Decoded``."""
        return f"{BASE64}{start * 8 // 6 % 4}"


class HexRun(Decoded):
    """Text that stood as pairs of hexadecimal digits, one after the other from ``base`` on."""

    def __init__(self, text: str, *, base: int) -> None:
        super().__init__(text, form=HEX)
        self._base = base

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``."""
        return self._base + 2 * start, self._base + 2 * end


class Digits(Decoded):
    """Bytes as digits, each of which stands in a place of its own."""

    def __init__(self, text: str, *, spans: list[tuple[int, int]], form: str = HEX) -> None:
        super().__init__(text, form=form)
        self._spans = spans

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``."""
        return self._spans[start][0], self._spans[end - 1][1]

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """Offsets and characters beside the bytes of a dump are none of them."""
        stretches = [self._spans[start]]
        for first, last in self._spans[start + 1 : end]:
            if first - stretches[-1][1] > _APART:
                stretches.append((first, last))
            else:
                stretches[-1] = (stretches[-1][0], last)
        return tuple(stretches)


class Parts(Decoded):
    """Characters as one that stand apart: the strings of a list, the parts of a torn token."""

    def __init__(self, text: str, *, places: list[int]) -> None:
        super().__init__(text, form=TEXT)
        self._places = places

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``."""
        return self._places[start], self._places[end - 1] + 1

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """Quotes and commas are none of them."""
        places = self._places[start:end]
        cuts = [0, *(at for at in range(1, len(places)) if places[at] != places[at - 1] + 1)]
        return tuple(
            (places[first], places[last - 1] + 1) for first, last in pairwise([*cuts, len(places)])
        )


class Escaped(Decoded):
    """Text with escapes in it.

    ``runs`` has (position, where it stood, length of the escape or 0) for each stretch,
    ``starts`` the positions.
    """

    def __init__(
        self,
        text: str,
        *,
        starts: list[int],
        runs: list[tuple[int, int, int]],
        form: str = ESCAPED,
    ) -> None:
        super().__init__(text, form=form)
        self._starts = starts
        self._runs = runs

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``."""
        return self._of(start)[0], self._of(end - 1)[1]

    def _of(self, at: int) -> tuple[int, int]:
        position, source, length = self._runs[bisect_right(self._starts, at) - 1]
        if length:  # an escape, of that many characters, whatever it stands for
            return source, source + length
        return source + at - position, source + at - position + 1
