"""Search patterns: plain text or regular expressions, with a time limit.

An expression such as ``(a|aa)+$`` takes time that doubles with every character. The
``regex`` library gives up when its time is over, and lets other threads run meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import regex

MAX_QUERY = 1_000
"""More characters than this are no query."""
_TIMEOUT_S = 0.05
_CHARACTERS_PER_S = 2_000_000


class TooSlowError(Exception):
    """The search was stopped: the expression takes too long on this text."""


class Query(msgspec.Struct, frozen=True):
    """A search. With ``regex`` False the text is literal."""

    text: str
    regex: bool = False
    case: bool = False


class Pattern:
    """A compiled query. Made by ``compiled``.

    Args:
        expression: compiled.
        timeout_s: how long a search through a short text may take.
    """

    def __init__(self, expression: Any, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._expression = expression
        self._timeout_s = timeout_s

    def hurried(self, timeout_s: float) -> Pattern:
        """The same pattern with a shorter time limit."""
        return Pattern(self._expression, timeout_s=timeout_s)

    def found(self, text: str) -> bool:
        """Whether it is in ``text``.

        Raises:
            TooSlowError: the search took too long.
        """
        return next(self.spans(text), None) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The matches in ``text``: start and end of each, from left to right.

        Raises:
            TooSlowError: the remaining matches are unknown.
        """
        timeout_s = self._timeout_s + len(text) / _CHARACTERS_PER_S
        try:
            for match in self._expression.finditer(text, timeout=timeout_s):
                yield match.span()
        except TimeoutError as exc:
            raise TooSlowError from exc


def parsed(answer: str) -> Query:
    r"""Parse a query: ``text``, ``/expression/``, with ``\C`` in front for case-sensitive."""
    case = answer.startswith("\\C")
    text = answer[2:] if case else answer
    is_regex = len(text) > 2 and text.startswith("/") and text.endswith("/")
    return Query(text[1:-1] if is_regex else text, is_regex, case)


def compiled(query: Query) -> Pattern:
    """The pattern of a query.

    Raises:
        ValueError: it is not a regular expression, or too long.
    """
    if len(query.text) > MAX_QUERY:
        raise ValueError(f"a query has at most {MAX_QUERY} characters")
    flags = 0 if query.case else regex.IGNORECASE
    text = query.text if query.regex else regex.escape(query.text, literal_spaces=True)
    try:
        return Pattern(regex.compile(text, flags))
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from error
