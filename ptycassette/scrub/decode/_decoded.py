"""Decoded texts, each able to say which characters of its source a stretch of it came from.

What is too short for any rule is not worth a search: ``READABLE`` printable characters in a
row make a decoded text. A known value that is shorter is looked for by ``Sought``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

READABLE = 10
"""The shortest text in which a rule finds something: ``pwd=`` and a value of six characters."""

AROUND = 400
"""Characters beside an edit that belong to its text: as far as most rules reach."""
_READABLE_RUN = re.compile(rb"[\x20-\x7e]{%d}" % READABLE)
_BETWEEN_BYTES = 4  # as in ", 0x"; the offset of a line of a dump takes more

Edit = tuple[int, int, str]
"""Characters from start to end of a text, and what they stand for."""
Spans = Iterator[tuple[int, int]]


def is_readable(raw: bytes) -> bool:
    """Whether ``raw`` holds text that is worth a search."""
    return _READABLE_RUN.search(raw) is not None


class Decoded:
    """Decoded text, put together from parts of its source, plain or encoded.

    Args:
        text: the parts together, canonical.
        starts: where in ``text`` each part begins, ascending.
        sources: for each part its start and its length in the source. A length of 0 means that
            the part is plain: one character of the source for each character.
        form: how it is masked in the source (see ``mask``).
        apart: parts that are farther apart than this are masked separately. In characters.
    """

    def __init__(
        self,
        text: str,
        *,
        starts: Sequence[int] = (),
        sources: Sequence[tuple[int, int]] = (),
        form: str,
        apart: int = AROUND,
    ) -> None:
        self.text = text
        self.form = form
        self._starts = starts
        self._sources = sources
        self._apart = apart

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the source that hold characters ``start`` to ``end``."""
        return self._of(start)[0], self._of(end - 1)[1]

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """As ``source``, in several stretches where the source has characters in between."""
        first, last = bisect_right(self._starts, start), bisect_right(self._starts, end - 1)
        stretches: list[tuple[int, int]] = []
        for cut in pairwise([start, *self._starts[first:last], end]):
            at, stop = self.source(*cut)
            if stretches and at - stretches[-1][1] <= self._apart:
                stretches[-1] = (stretches[-1][0], stop)
            else:
                stretches.append((at, stop))
        return tuple(stretches)

    def form_at(self, start: int) -> str:
        """The form in which what begins at ``start`` is masked in the source."""
        del start
        return self.form

    def _of(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._starts, at) - 1
        source, length = self._sources[number]
        if length:
            return source, source + length
        source += at - self._starts[number]
        return source, source + 1


def of_digits(raw: bytes, spans: Sequence[tuple[int, int]], *, form: str) -> Decoded:
    """Decoded bytes, one for each of ``spans``, which holds its digits."""
    sources = [(start, end - start) for start, end in spans]
    text = raw.decode("latin-1")
    return Decoded(text, starts=range(len(text)), sources=sources, form=form, apart=_BETWEEN_BYTES)


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


def rewritten(text: str, edits: list[Edit], *, form: str) -> Decoded:
    """A text with each edit applied, as far as ``AROUND`` characters beside them."""
    at, stop = max(0, edits[0][0] - AROUND), min(len(text), edits[-1][1] + AROUND)
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
    return Decoded("".join(parts), starts=starts, sources=sources, form=form)
