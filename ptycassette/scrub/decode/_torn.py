"""Words that are interrupted by characters that do not belong to them.

Invisible characters that a page or a chat program put there, strings that a language joins,
lines that continue behind a backslash, the character that a password field shows for a moment,
a cursor behind each typed character, and what git prints around words that changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ptycassette.scrub._mask import TEXT
from ptycassette.scrub.decode._decoded import Decoded, Edit, neighbours, rewritten
from ptycassette.scrub.decode._plug import Spans

__all__ = [
    "TORN_BY_FORMAT",
    "TYPED",
    "changed_words",
    "continued_lines",
    "joined_strings",
    "moments",
    "visible",
]

# Characters without a cell, as their UTF-8 bytes: soft hyphen; U+034F; U+061C; U+180B-180E;
# U+200B-200F and U+202A-202E (zero width, bidi); U+2060-206F; U+FE00-FE0F and U+FEFF;
# U+E0000-E0FFF (tags, variations). Marks that combine belong to the letter before them.
_FORMAT = (
    "(?:\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1\xa0[\x8b-\x8e]|\xe2\x80[\x8b-\x8f\xaa-\xae]"
    "|\xe2\x81[\xa0-\xaf]|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf)|\xf3\xa0[\x80-\xbf]{2})"
)
_FORMATS = re.compile(f"{_FORMAT}+")
TORN_BY_FORMAT = f"[!-~]{_FORMAT}+[!-~]"
"""A word of ASCII with format characters in it; elsewhere they do what they are there for."""

_STAR = "(?:\\*|\xe2\x80\xa2)"
_CURSOR = "\xe2\x96[\x80-\x9f]"
_CHARACTER = "(?:[!-~]|[\xc2-\xf4][\x80-\xbf]{1,3})"

TYPED = f"(?:{_CHARACTER}(?:\n+{_STAR}\n*|{_CURSOR}\n+)){{3}}"
"""Three characters shown so; a star, or a block behind a character, stands in many texts."""
_MOMENT = re.compile(f"(?<=[!-~\x80-\xbf])(?:\n+{_STAR}\n*|{_CURSOR}\n+)(?={_CHARACTER}|\\Z)")

_INSIDE = "[A-Za-z0-9_+/.:=~\x80-\xff-]"
_ANYTHING = r"[^\\\n{}]"  # but the quote
_OPERATOR = r"(?:\+|\.{1,2}|&|<>|\|\||~)"
_GUTTER = r"(?:[+-]|[ \t]*\d{1,6}[ \t]?[:|+-]?)?"  # of a diff or a listing
_SAME_LINE = rf"[ \t]*(?:{_OPERATOR}[ \t]*)?"
_NEXT_LINE = (
    rf"[ \t]*(?:(?:{_OPERATOR}|\\)[ \t]*\n{_GUTTER}[ \t]*|\n{_GUTTER}[ \t]+(?:{_OPERATOR}[ \t]*)?)"
)
_PREFIX = "[bfruBFRUL]{0,2}"

_CONTINUED = re.compile(r"\\(?=\n)\n[ \t]*(?:> )?")
_OLD = re.compile(r"\[(?=-)-[^\n]{1,400}?-\]")
_NEW = re.compile(r"\{(?=\+)\+[^\n]{1,400}?\+\}")


@cache
def _seams() -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(
            rf"{quote}(?:[ \t]*\+[ \t\n]*{quote}"
            rf"|(?<={_INSIDE}.){_SAME_LINE}{_PREFIX}{quote}(?={_INSIDE})"
            rf"|(?:(?<={_ANYTHING.format(quote)}.)|(?<=[A-Za-z0-9]{quote}.)){_NEXT_LINE}"
            rf"{_PREFIX}{quote}(?={_ANYTHING.format(quote)}))"
        )
        for quote in "\"'"
    )


def visible(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Text without invisible format characters."""
    return _without(text, _FORMATS)


def continued_lines(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Join lines of shell or C that end in a backslash with the next one."""
    return _without(text, _CONTINUED)


def joined_strings(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Join string literals as compilers do: side by side, or with an operator between.

    Strings on lines of their own that are not indented, and with a comma between, are a list.
    """
    for seam in _seams():
        yield from _without(text, seam)


def moments(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Text typed into a field that shows each character for a moment, or a cursor after it."""
    return _without(text, _MOMENT)


def changed_words(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Lines with changed words (git diff --word-diff=plain): the old text and the new one."""
    old = [change.span() for change in _OLD.finditer(text)] if "-]" in text else []
    new = [change.span() for change in _NEW.finditer(text)] if "+}" in text else []
    for kept, gone in ((old, new), (new, old)):
        edits: list[Edit] = [(*change, "") for change in gone]
        for start, end in kept:  # without the brackets around it
            edits += [(start, start + 2, ""), (end - 2, end, "")]
        for group in neighbours(sorted(edits)) if kept else ():
            yield rewritten(text, group, form=TEXT)


def _without(text: str, tear: re.Pattern[str]) -> Iterator[Decoded]:
    """Text without the characters that interrupt its words."""
    for edits in neighbours((*match.span(), "") for match in tear.finditer(text)):
        yield rewritten(text, edits, form=TEXT)
