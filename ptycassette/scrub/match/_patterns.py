"""Regular expressions over one byte per character, searched by RE2."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ptycassette.model import PatternError, compile_re2

__all__ = ["Pattern", "PatternError"]


class Pattern:
    """A pattern over text whose characters are bytes (code points up to 255).

    It is compiled when it is first needed, once in a process; ``check`` compiles it now.
    """

    def __init__(self, source: str) -> None:
        self.source = source

    def check(self) -> None:
        """Compile it.

        Raises:
            PatternError: the expression is invalid, or uses a feature that RE2 lacks.
        """
        _compiled(self.source)

    def occurs(self, text: str) -> bool:
        """Whether anything in ``text`` matches."""
        return _compiled(self.source).search(text.encode("latin-1", "replace")) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of every match in ``text``."""
        for _, start, end in self.matches(text):
            yield start, end

    def matches(self, text: str, *, group: str = "") -> Iterator[tuple[int, int, int]]:
        """Where every match in ``text`` starts, and start and end of its group of that name.

        Of the whole match where the pattern has no such group. Empty ones are left out.
        """
        engine = _compiled(self.source)
        number = engine.groupindex.get(group.encode(), 0)
        for match in engine.finditer(text.encode("latin-1", "replace")):
            start, end = match.span(number)
            if end > start:
                yield match.start(), start, end


@cache
def _compiled(source: str) -> Any:
    return compile_re2(source, latin1=True)
