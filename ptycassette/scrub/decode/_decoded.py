"""Decoded texts, each able to say which characters of its source a stretch of it came from.

What is too short for any rule is not worth a search: ``READABLE`` printable characters in a
row make a decoded text. A known value that is shorter is looked for by ``EncodedSearch``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from ptycassette.scrub._mask import BASE32, BASE64

READABLE = 10
"""The shortest text in which a rule finds something: ``pwd=`` and a value of six characters."""

AROUND = 400
"""Characters beside an edit that belong to its text: as far as most rules reach."""
_READABLE_RUN = re.compile(rb"[\x20-\x7e]{%d}|(?:[\x20-\x7e]\0){%d}" % (READABLE, READABLE))
_BETWEEN_BYTES = 4  # as in ", 0x"; the offset of a line of a dump takes more

Edit = tuple[int, int, str]
"""Characters from start to end of a text, and what they stand for."""
Spans = Iterator[tuple[int, int]]


def is_readable(raw: bytes) -> bool:
    """Whether ``raw`` holds text that is worth a search, in UTF-16 (either order) too."""
    return _READABLE_RUN.search(raw) is not None


class Decoded:
    """Decoded text, each character of which knows its place in the source.

    Args:
        text: canonical.
        place: start and end, in the source, of what the character at a position was read from.
        form: how it is masked there (see ``mask``).
        apart: what is farther apart than this in the source is masked separately. In characters.
    """

    def __init__(
        self,
        text: str,
        place: Callable[[int], tuple[int, int]],
        *,
        form: str,
        apart: int = AROUND,
    ) -> None:
        self.text = text
        self._place = place
        self.form = form
        self._apart = apart

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the source that hold characters ``start`` to ``end``."""
        return self._place(start)[0], self._place(end - 1)[1]

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """As ``source``, in several stretches where the source has characters in between."""
        stretches: list[tuple[int, int]] = []
        for first, last in map(self._place, range(start, end)):
            if stretches and first - stretches[-1][1] <= self._apart:
                stretches[-1] = (stretches[-1][0], last)
            else:
                stretches.append((first, last))
        return tuple(stretches)

    def form_at(self, start: int) -> str:
        """The form in which what begins at ``start`` is masked in the source.

        Of base64 and base32 it includes the position in the group of four or eight digits.
        """
        if self.form == BASE32:
            return f"{BASE32}{start * 8 // 5 % 8}"
        return f"{BASE64}{start * 8 // 6 % 4}" if self.form == BASE64 else self.form


def of_digits(raw: bytes, spans: Sequence[tuple[int, int]], *, form: str) -> Decoded:
    """Decoded bytes, one for each of ``spans``, which holds its digits."""
    return Decoded(raw.decode("latin-1"), spans.__getitem__, form=form, apart=_BETWEEN_BYTES)


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


def rewritten(text: str, edits: list[Edit], *, form: str, apart: int = AROUND) -> Decoded:
    """A text with each edit applied, as far as ``AROUND`` characters beside them."""
    at, stop = max(0, edits[0][0] - AROUND), min(len(text), edits[-1][1] + AROUND)
    parts: list[str] = []
    begins: list[int] = []  # where in the new text an unchanged stretch begins, and one of an edit
    length = 0
    sources: list[tuple[int, int]] = []
    for start, end, meaning in (*edits, (stop, stop, "")):
        parts += [text[at:start], meaning]
        begins += [length, length + start - at]
        sources += [(at, at + 1), (start, end)]
        length += start - at + len(meaning)
        at = end

    def place(position: int) -> tuple[int, int]:
        number = bisect_right(begins, position) - 1
        first, last = sources[number]
        shift = 0 if number % 2 else position - begins[number]
        return first + shift, last + shift

    return Decoded("".join(parts), place, form=form, apart=apart)
