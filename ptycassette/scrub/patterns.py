"""Regular expressions over one byte per character: RE2 when installed, ``re`` otherwise.

RE2 needs time linear in the text whatever the pattern, which is what makes
rules of users safe on hostile output. Patterns keep to what both engines
read alike: no look-around, no back references, ASCII classes. Both then find
the same spans (leftmost, then first alternative).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

re2: Any
try:
    import re2
except ImportError:  # pragma: no cover - both sides are run by the tests through ``fast``
    re2 = None

__all__ = ["HAVE_RE2", "Pattern", "PatternError", "any_of"]

HAVE_RE2 = re2 is not None
_MOST_MEMORY = 96 << 20
_MOST_STATES = _MOST_MEMORY // 5  # RE2 takes a third of it for them, and they are larger than that
_STATE, _POINTER = 800, 8
_UNSHARED = re.compile(r"\(\?(?:[=!>]|<[=!]|\(|P=)|\\[1-9]|[*+?}]\+")


class PatternError(ValueError):
    """A pattern that the two engines would not read alike."""


def any_of(literals: Collection[str]) -> Callable[[str], bool] | None:
    """What tells whether a canonical text holds any of ``literals``, which are short.

    None without RE2, and where its automaton might not fit in its memory for some text: it is
    several hundred times slower then. That has a state for each beginning of a literal, and in
    each of them a pointer for each character that literals have.
    """
    states = {literal[:length] for literal in literals for length in range(1, len(literal) + 1)}
    size = _STATE + _POINTER * len(set().union(*literals))
    if not HAVE_RE2 or len(states) * size > _MOST_STATES:
        return None
    source = b"|".join(re.escape(literal.encode("latin-1")) for literal in literals)
    options = re2.Options()
    options.encoding = options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = _MOST_MEMORY
    options.log_errors = False
    engine: Any = re2.compile(source, options)
    return lambda text: engine.search(text.encode("latin-1", "replace")) is not None


class Pattern:
    """A pattern over text whose characters are bytes (code points up to 255).

    Args:
        source: the expression.
        fast: True for RE2, False for ``re``, None for the best there is.

    Attributes:
        fast: whether it is RE2 that searches, in linear time whatever the expression.

    Raises:
        PatternError: the expression is wrong, or uses what only one engine knows.
    """

    def __init__(self, source: str, *, fast: bool | None = None) -> None:
        self.source = source
        if _UNSHARED.search(source):
            raise PatternError(f"look-around, back references and possessive loops: {source!r}")
        try:
            raw = source.encode("latin-1")
            plain = re.compile(raw)
            use_re2 = HAVE_RE2 if fast is None else fast
            self.fast = bool(use_re2)
            self._engine: Any = re2.compile(raw) if use_re2 else plain
        except Exception as exc:
            raise PatternError(f"not a regular expression: {source!r}: {exc}") from exc
        self.groups: dict[str, int] = dict(plain.groupindex)

    def occurs(self, text: str) -> bool:
        """Whether anything in ``text`` matches."""
        return self._engine.search(text.encode("latin-1", "replace")) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of every match in ``text``."""
        for _, start, end in self.matches(text):
            yield start, end

    def matches(self, text: str, *, group: str | None = None) -> Iterator[tuple[int, int, int]]:
        """Where every match in ``text`` starts, and start and end of it or of a named group.

        Empty ones are left out.
        """
        number = self.groups[group] if group else 0
        for match in self._engine.finditer(text.encode("latin-1", "replace")):
            start, end = match.span(number)
            if end > start:
                yield match.start() if number else start, start, end
