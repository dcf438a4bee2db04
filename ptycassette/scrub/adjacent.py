"""String literals that stand side by side, which compilers read as one.

C, Python and shells join what stands next to each other, other languages with an operator
between; on the same line, behind a backslash, or on the next line, which is indented then: what
stands there without is a list. Between lines there may be what a diff or a listing puts there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.stretches import neighbours, without

__all__ = ["adjacent"]

_INSIDE = "[A-Za-z0-9_+/.:=~\x80-\xff-]"
_ANYTHING = r"[^\\\n{}]"  # but the quote
_OPERATOR = r"(?:\+|\.{1,2}|&|<>|\|\||~)"
_GUTTER = r"(?:[+-]|[ \t]*\d{1,6}[ \t]?[:|+-]?)?"
_SAME_LINE = rf"[ \t]*(?:{_OPERATOR}[ \t]*)?"
_NEXT_LINE = (
    rf"[ \t]*(?:(?:{_OPERATOR}|\\)[ \t]*\n{_GUTTER}[ \t]*|\n{_GUTTER}[ \t]+(?:{_OPERATOR}[ \t]*)?)"
)
_SEAMS = tuple(
    re.compile(
        rf"{quote}(?:(?<={_INSIDE}.){_SAME_LINE}[bfruBFRUL]{{0,2}}{quote}(?={_INSIDE})"
        rf"|(?:(?<={_ANYTHING.format(quote)}.)|(?<=[A-Za-z0-9]{quote}.)){_NEXT_LINE}"
        rf"[bfruBFRUL]{{0,2}}{quote}(?={_ANYTHING.format(quote)}))"
    )
    for quote in "\"'"
)


def adjacent(text: str) -> Iterator[Decoded]:
    """Stretches of canonical ``text`` with such literals, as one."""
    for seam in _SEAMS:
        for matches in neighbours(list(seam.finditer(text))):
            yield without(text, matches, [(0, 0)] * len(matches))
