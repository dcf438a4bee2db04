"""What was searched so far, for values that are learnt late.

A rule may tell only at the end of a session what a piece at its beginning was. Whether a value
was anywhere before it was known is asked of the squeezed texts; only then everything is read
once more. Of a long session the texts are too many to be kept: then the answer is yes.
"""

from __future__ import annotations

from ptycassette.scrub.match import Literals
from ptycassette.scrub.search._known import Lesson

__all__ = ["Past"]

_MOST_KEPT = 8 << 20
"""Characters, a byte each."""


class Past:
    """Texts that were searched for all that was known at the time."""

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
        """Whether anything of a lesson was in a text.

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
