"""What a decoder is: a cheap test whether text may hold its encoding, and a function to read it.

Most text holds nothing encoded. A decoder is therefore asked twice: ``may_hold`` searches the
whole text natively, and only where that finds something ``read`` runs Python over it. What such
a search costs decides what a decoder looks for: a single character takes 0.03 ms for each MB,
an expression of ``re`` that begins with a single character 0.3 ms, of RE2 1.6 ms, a fixed string
of two characters 0.9 ms, and an expression of ``re`` that begins with a class 4 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ptycassette.scrub.decode._decoded import Decoded
from ptycassette.scrub.match import Pattern

__all__ = ["DecoderRow", "OneLook", "Plug", "Spans"]

Spans = Iterator[tuple[int, int]]


class DecoderRow(NamedTuple):
    """A row of the table of decoders.

    ``read`` gets canonical text and where ``hint`` (see ``Pattern``) is found in it, which is
    searched as it asks. Every text that it reads has one of the characters ``signs`` ("" for
    any), and the hint ("" for one that searches as fast itself).
    """

    name: str
    read: Callable[[str, Spans], Iterator[Decoded]]
    signs: str = ""
    hint: str = ""


class Plug:
    """A decoder, ready to run.

    Args:
        row: its row in the table.
    """

    def __init__(self, row: DecoderRow) -> None:
        self.name = row.name
        self._row = row
        self._hint = Pattern(row.hint)

    def may_hold(self, text: str) -> bool:
        """Whether canonical ``text`` may hold this encoding. False is certain, True is not."""
        return self.has_signs(text) and self._hint.occurs(text)

    def has_signs(self, text: str) -> bool:
        """Whether one of its characters is in ``text``."""
        return not self._row.signs or any(sign in text for sign in self._row.signs)

    def read(self, text: str) -> Iterator[Decoded]:
        """The decoded texts in ``text``."""
        return self._row.read(text, self._hint.spans(text))


class OneLook:
    """Decoders that share one search, because most text holds none of their encodings.

    Args:
        rows: the decoders. One that is alone is asked for its characters only, and searches.
    """

    def __init__(self, rows: tuple[DecoderRow, ...]) -> None:
        self.plugs = [Plug(row) for row in rows]
        self._alone = len(rows) == 1
        self._any = Pattern("|".join(f"(?:{row.hint})" for row in rows))

    def views(self, text: str) -> Iterator[Decoded]:
        """The decoded texts in ``text``."""
        plugs = [plug for plug in self.plugs if plug.has_signs(text)]
        if plugs and (self._alone or self._any.occurs(text)):
            for plug in plugs:
                if self._alone or plug.may_hold(text):
                    yield from plug.read(text)
