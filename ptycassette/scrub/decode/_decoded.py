"""Decoded texts, each able to say which characters of its source a stretch of it came from.

What is too short for any rule is not worth a search: ``READABLE`` printable characters in a
row make a decoded text. A known value that is shorter is looked for by ``Sought``.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from ptycassette.scrub._mask import BASE64, HEX, TEXT

__all__ = [
    "AROUND",
    "READABLE",
    "Decoded",
    "Edit",
    "Pieces",
    "Run",
    "is_readable",
    "neighbours",
    "of_digits",
    "rewritten",
]

READABLE = 10
"""The shortest text in which a rule finds something: ``pwd=`` and a value of six characters."""

AROUND = 400
"""Characters beside an edit that belong to its text: as far as most rules reach."""

_READABLE_RUN = re.compile(rb"[\x20-\x7e]{%d}" % READABLE)
_BETWEEN_BYTES = 4  # as in ", 0x"; the offset of a line of a dump takes more

Edit = tuple[int, int, str]
"""Characters from start to end of a text, and what they stand for."""


def is_readable(raw: bytes) -> bool:
    """Whether ``raw`` holds text that is worth a search."""
    return _READABLE_RUN.search(raw) is not None


class Decoded(ABC):
    """Decoded text, and from which characters of its source each stretch came.

    Attributes:
        text: what the source says, canonical.
        form: how the source is masked (see ``mask``).
    """

    def __init__(self, text: str, *, form: str) -> None:
        self.text = text
        self.form = form

    @abstractmethod
    def source(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the source that hold characters ``start`` to ``end``."""

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """As ``source``, in several stretches where the source has characters in between."""
        return (self.source(start, end),)

    def form_at(self, start: int) -> str:
        """The form in which what begins at ``start`` is masked in the source."""
        del start
        return self.form


class Run(Decoded):
    """Text that is written as digits without gaps, in one line or in several.

    Args:
        text: what the digits say from byte ``first`` on.
        spans: the start and end of the digits in each line.
        first: the number of decoded bytes before the text.
        form: ``BASE64`` or ``HEX``.
    """

    def __init__(
        self, text: str, *, spans: list[tuple[int, int]], first: int = 0, form: str = BASE64
    ) -> None:
        super().__init__(text, form=form)
        self._bits = 6 if form == BASE64 else 4
        self._first = first
        self._spans = spans
        self._starts = [*accumulate((last - first for first, last in spans), initial=0)]

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``. The result includes the line ends between the digits."""
        last = min(self._starts[-1], -(-(self._first + end) * 8 // self._bits)) - 1
        return self._of((self._first + start) * 8 // self._bits), self._of(last) + 1

    def form_at(self, start: int) -> str:
        """See ``Decoded``. For base64 it includes the position in the group of four digits."""
        return f"{BASE64}{(self._first + start) * 8 // 6 % 4}" if self._bits == 6 else self.form

    def _of(self, digit: int) -> int:
        number = min(bisect_right(self._starts, digit), len(self._spans)) - 1
        return self._spans[number][0] + digit - self._starts[number]


class Pieces(Decoded):
    """Text that was put together from parts of the source, plain or encoded.

    Args:
        text: the parts together.
        starts: where in ``text`` each part begins, ascending.
        sources: for each part its start and its length in the source. A length of 0 means that
            the part is plain: one character of the source for each character.
        form: how it is masked.
        apart: parts that are farther apart than this are masked separately. In characters.
    """

    def __init__(
        self,
        text: str,
        *,
        starts: Sequence[int],
        sources: list[tuple[int, int]],
        form: str,
        apart: int,
    ) -> None:
        super().__init__(text, form=form)
        self._starts = starts
        self._sources = sources
        self._apart = apart

    def source(self, start: int, end: int) -> tuple[int, int]:
        """See ``Decoded``."""
        return self._of(start)[0], self._of(end - 1)[1]

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """See ``Decoded``."""
        first, last = bisect_right(self._starts, start), bisect_right(self._starts, end - 1)
        cuts = [start, *self._starts[first:last], end]
        stretches: list[tuple[int, int]] = []
        for at, stop in (self.source(*cut) for cut in pairwise(cuts)):
            if stretches and at - stretches[-1][1] <= self._apart:
                stretches[-1] = (stretches[-1][0], stop)
            else:
                stretches.append((at, stop))
        return tuple(stretches)

    def _of(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._starts, at) - 1
        source, length = self._sources[number]
        if length:
            return source, source + length
        source += at - self._starts[number]
        return source, source + 1


def of_digits(raw: bytes, spans: list[tuple[int, int]], *, form: str = HEX) -> Decoded:
    """Decoded bytes, one for each of ``spans``, which holds its digits."""
    sources = [(start, end - start) for start, end in spans]
    text = raw.decode("latin-1")
    return Pieces(text, starts=range(len(text)), sources=sources, form=form, apart=_BETWEEN_BYTES)


def neighbours(edits: Iterable[Edit]) -> Iterator[list[Edit]]:
    """Edits (ascending) in groups that are less than ``AROUND`` characters apart."""
    group: list[Edit] = []
    for edit in edits:
        if group and edit[0] - group[-1][1] >= AROUND:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def rewritten(
    text: str, edits: list[Edit], *, form: str, within: tuple[int, int] | None = None
) -> Decoded:
    """One stretch of a text, with each edit applied.

    The stretch is ``within`` these characters, or reaches ``AROUND`` beyond the edits.
    """
    at, stop = within or (max(0, edits[0][0] - AROUND), edits[-1][1] + AROUND)
    stop = min(len(text), stop)
    parts: list[str] = []
    starts: list[int] = []
    sources: list[tuple[int, int]] = []
    length = 0
    for start, end, meaning in (*edits, (stop, stop, "")):
        for part, source in ((text[at:start], (at, 0)), (meaning, (start, end - start))):
            if part:
                parts.append(part)
                starts.append(length)
                sources.append(source)
                length += len(part)
        at = end
    apart = 0 if form == TEXT else AROUND
    return Pieces("".join(parts), starts=starts, sources=sources, form=form, apart=apart)
