"""The texts that were searched so far, for values that are learnt late.

A rule may match only at the end of a session what was shown in pieces at its start. So the
squeezed texts are kept, to see whether a value occurred before it was known. Only then is the
session read once more. A long session has too many texts to keep: then the answer is yes.
"""

from __future__ import annotations

from ptycassette.scrub.match import Literals
from ptycassette.scrub.search._known import Lesson

_MOST_KEPT = 8 << 20
"""Characters, a byte each."""


class Past:
    """The texts searched so far, each for the values known at that time."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0

    def add(self, text: str) -> None:
        """Keep a squeezed text, while there is room."""
        if self._length <= _MOST_KEPT:
            self._length += len(text)
            self._texts.append(text)
            if self._length > _MOST_KEPT:
                self._texts.clear()

    def may_hold(self, lesson: Lesson, *, but_last: int = 0) -> bool:
        """Whether a part of ``lesson`` occurs in a text that was searched.

        The last ``but_last`` texts are left out: they were searched again.
        """
        wanted = {*lesson.pieces, *lesson.words}
        if not wanted or self._length > _MOST_KEPT:
            return bool(wanted)
        literals = Literals(wanted)
        return any(map(literals.occur_in, self._texts[: len(self._texts) - but_last]))

    @property
    def count(self) -> int:
        """How many texts there are."""
        return len(self._texts)
