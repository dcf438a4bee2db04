"""What goes on in the same columns of the row below: panes, table cells, columns of a list.

A row of the screen may show several texts side by side. Rows of each are joined
as those of the whole screen are: where what stands below looks like the rest of a token,
or where a value has begun.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from ptycassette.scrub.joins import BORDER, DIGESTS, EDGE, ROWS_REMEMBERED
from ptycassette.scrub.known import is_random
from ptycassette.scrub.words import (
    GRAPHIC,
    halves_of_an_address,
    looks_torn_off,
    may_tell,
    named_when_joined,
    names_a_secret,
    names_a_value,
    stands_alone,
)

__all__ = [
    "KEY_BEGINS",
    "chained",
    "columns",
    "goes_on",
    "has_neighbour",
    "key_below",
    "parted",
    "tight",
]

_SHORTEST_VALUE = 16
_SHORTEST_PART = 12
_SHORTEST_PIECE = 6
_INDENT = 4
_NEAR_MARGIN = 4
_MOST_OF_KEY = 128
_PREFIX_ENDS = frozenset("-_")
_SHORTEST_PREFIX = 2
KEY_BEGINS = "-----BEGIN "
_KEY_ENDS = "-----END "
_NOTHING = frozenset(("", " "))
_ASSIGNS = frozenset(":=")
_PARTING = " \u2502\u2503\u2551|"
_PANES = frozenset("\u2502\u2503\u2551|")
_INNER = re.compile(rf"[^\s{BORDER}]")
_TEXT = re.compile(rf"(?![{BORDER}])[{GRAPHIC}]")
_SAID = re.compile(r"[A-Za-z]{3,} *\Z")
_WORD = re.compile(rf"[{GRAPHIC}]+")
_TOKEN = re.compile(rf"[{GRAPHIC}]{{{_SHORTEST_VALUE},}}")
# The end of a string; digits; base64.
_REST = re.compile(r'[^"]+"[,;)]?|[0-9-]{6,}|(?=[^+/]*[+/])(?=.*[a-z][A-Z])[A-Za-z0-9+/]{12,}=*')
_VALUE_BELOW = re.compile(rf" ?[{GRAPHIC}]{{6,}}")
_WITH_VALUE = re.compile(rf"[{GRAPHIC}]+ [{GRAPHIC}]{{6,}}")
_PART_WITH_DIGIT = re.compile(rf"(?<![{GRAPHIC}])(?=[{GRAPHIC}]{{{_SHORTEST_PART}}})[{GRAPHIC}]*\d")
_MIXING = re.compile("[0-9A-Z\xc0-\U0001efff]")  # one of these is in what is mixed
_MIXED_WORD = "(?<= )[^ 0-9A-Z\xc0-\U0001efff]*[0-9A-Z\xc0-\U0001efff][^ ]*"
_MIXED = re.compile(_MIXED_WORD)
_LAST_OR_MIXED = re.compile(rf"{_MIXED_WORD}|(?<= )[^ ]+\Z")
_DIGEST = re.compile("[0-9a-f]+")
# Text in a pane or a column: behind two blanks or a border.
_PANE = re.compile(rf"(?:  |[\u2502\u2503\u2551|] ?)(?P<text>[{GRAPHIC}]+(?: [{GRAPHIC}]+)*)")
# The same without the border that ASCII has.
_LETTERS = GRAPHIC.replace("!-~", "!-{}~")
_STRETCH = re.compile(rf"[{_LETTERS}]+(?: [{_LETTERS}]+)*")
# Text in the first pane: before a border with something behind it.
_FIRST_PANE = re.compile(
    rf"[ \u2502\u2503\u2551|]*(?P<text>[{_LETTERS}]+(?: [{_LETTERS}]+)*)"
    rf" *[\u2502\u2503\u2551|] *[{_LETTERS}]"
)
# Is in every such row.
_BETWEEN = re.compile(rf"[{_LETTERS}] *[\u2502\u2503\u2551|] *[{_LETTERS}]")


def key_below(above: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Where the lines of a private key stand in the rows below the one where it begins.

    Args:
        above: the row in which its first line begins, at ``start``, and those below.
        start: the column.
    """
    if not above[0].startswith(KEY_BEGINS, start):
        return
    broken_in_name = not above[0].rstrip().endswith("-----")
    for number, text in enumerate(above[1:_MOST_OF_KEY]):
        line = _STRETCH.match(text, start)
        if line is None and number == 0 and broken_in_name:
            line = _STRETCH.match(text, start + 1)  # behind the blank before " KEY-----"
        if line is None:
            return
        yield line.span()
        if line.group().startswith(_KEY_ENDS):
            return


def chained(texts: Sequence[str], cols: int) -> Iterator[int]:
    """Numbers of the rows with a token that may go on in the same columns of the row below.

    ``cols`` is how wide the screen is.
    """
    begun: tuple[tuple[int, int], ...] = ()
    for number, (text, below) in enumerate(pairwise(texts)):
        found, begun = _chained(text, below, begun, near=len(text) >= cols - _NEAR_MARGIN)
        if found:
            yield number
        if KEY_BEGINS in text:
            start = text.index(KEY_BEGINS)
            yield from range(number, number + sum(1 for _ in key_below(texts[number:], start)))


@lru_cache(maxsize=ROWS_REMEMBERED)
def _chained(
    text: str, below: str, begun: tuple[tuple[int, int], ...], *, near: bool
) -> tuple[bool, tuple[tuple[int, int], ...]]:
    """Whether something may go on in a column of the row below, and what may further down.

    ``begun`` is what goes on from above, ``near`` says whether the row runs up to the margin.
    """
    if not (_MIXING.search(below) or "@" in text or _PART_WITH_DIGIT.search(text)):
        return False, ()
    for start, end in (*begun, *columns(text)):
        part = goes_on(text, below, start, end)
        if part is not None:
            return True, ((part.start(), end),) if part.end() == end else ()
    return near and next(tight(text, below, len(text)), None) is not None, ()


def has_neighbour(rest: str) -> bool:
    """Whether what is left of a row is another column: behind a border or two blanks."""
    behind = rest.lstrip()
    return behind[:1] in _PANES if rest[:2] != "  " else behind != ""


def parted(text: str) -> bool:
    """Whether a row has columns: two blanks or a border inside."""
    return "  " in text.strip() or (_may_be_barred(text) and _BETWEEN.search(text) is not None)


def _may_be_barred(text: str) -> bool:
    return not text.isascii() or "|" in text


@lru_cache(maxsize=2048)
def columns(text: str) -> Collection[tuple[int, int]]:
    """Where in a (right-trimmed) row something stands that the row below may go on with.

    Of what begins with the row only what has something beside it, or may have in the row below.
    """
    spans = [match.span() for match in _TOKEN.finditer(text, 1)]
    if "  " in text or _may_be_barred(text):
        text = text.rstrip(EDGE)
        spans += [match.span("text") for match in _PANE.finditer(text)]
        begins = len(text) - len(text.lstrip(" "))
        ends = text.find("  ", begins)
        if ends > 0 and text[begins] not in _PANES and text[ends:].lstrip(" ")[:1] not in _PANES:
            spans.append((begins, ends))
        if _BETWEEN.search(text):
            first = _FIRST_PANE.match(text)
            spans += [] if first is None else [first.span("text")]
    if _may_go_on(text) and not parted(text):  # a column in the row below
        spans.append((len(text) - len(text.lstrip(EDGE)), len(text)))
    for span in spans:
        if span[1] - span[0] in DIGESTS:
            spans = [span for span in spans if not _digest(text, *span)]
            break
    return dict.fromkeys(spans) if len(spans) > 1 else spans


def _may_go_on(text: str) -> bool:
    """Whether the last word of a row is a token, or a piece of one, or what a name tells of."""
    last = text.rfind(" ") + 1
    if len(text) - last >= _SHORTEST_VALUE:
        return True
    word = text[last:]
    if word[-1:] in _PREFIX_ENDS and len(word) > _SHORTEST_PREFIX:
        return True
    if word.isalpha() and word.islower() and text[last - 2 : last - 1] not in _ASSIGNS:
        return False  # as most rows end
    if len(word) >= _SHORTEST_PIECE and _MIXING.search(word) and looks_torn_off(word):
        return True
    return last > 1 and names_a_secret(text, last - 1)


def tight(above: str, below: str, cols: int) -> Iterator[tuple[int, int]]:
    """Where columns that one blank parts may begin in (right-trimmed) rows, and the end of them.

    The row above runs up to the margin of a screen of ``cols``. In the row below such a column
    begins with what goes on, behind one blank more where that parts a name and its value.
    """
    if len(above) < cols - _NEAR_MARGIN:
        return
    last = above.rfind(" ") + 1
    tells = may_tell(above[last:])
    begun = (last > 1 and names_a_secret(above, last - 1)) or (
        len(above) - last >= _SHORTEST_PART and is_random(above[last:])
    )
    for word in (_WORD if tells else _LAST_OR_MIXED if begun else _MIXED).finditer(below, 1):
        at = word.start()
        if not (begun or tells) and word.group().isupper() and word.group().isalpha():
            continue  # an acronym
        for begins in (at, at - 1):
            if (
                above[begins - 1 : begins] == below[begins - 1 : begins] == " "
                and above[begins : begins + 1] not in _NOTHING
                and goes_on(above, below, begins, len(above))
            ):
                yield begins, len(above)


def _digest(text: str, start: int, end: int) -> bool:
    """Whether a stretch is a digest, which is whole."""
    return end - start in DIGESTS and _DIGEST.fullmatch(text, start, end) is not None


def goes_on(above: str, below: str, start: int, end: int) -> re.Match[str] | None:
    """The word that stands in the row below a stretch of the row above, and goes on with it."""
    begins = _beginning(above, below, start)
    if begins < 0 or (above.startswith(below[:begins]) and _SAID.search(below[:begins])):
        return None  # both begin with the same words, as lines of a list do
    part = _WORD.match(below, begins, end)
    if part is not None and looks_torn_off(part.group()):
        last = above[above.rfind(" ", start, end) + 1 or start : end]
        return None if stands_alone(last, part.group()) else part
    return _told_above(above, below, (begins, end), part)


def _told_above(
    above: str, below: str, span: tuple[int, int], part: re.Match[str] | None
) -> re.Match[str] | None:
    """What goes on with a stretch: ``part``, a word that does not look so by itself, or more."""
    start, end = span
    begins = above.rfind(" ", start, end) + 1 or start
    last = above[begins:end]
    if may_tell(last):
        if names_a_value(above, end):
            return _VALUE_BELOW.match(below, start, end)
        if "_" in last and names_a_secret(above, end):
            value = _VALUE_BELOW.match(below, start, end)
            if value is not None and len(value.group()) > _SHORTEST_VALUE:
                return value if looks_torn_off(value.group().lstrip()) else None
        if part is not None and named_when_joined(last, part.group()):
            return _WITH_VALUE.match(below, start, end) or part
        if part is not None and halves_of_an_address(last, part.group()):
            return part
    if part is None or not _is_rest(above, below, (start, begins, end), part):
        return None
    return part


def _is_rest(above: str, below: str, at: tuple[int, int, int], part: re.Match[str]) -> bool:
    """Whether a word goes on with a stretch ``at`` (where that and its last word begin, its end).

    A word that is not told by itself does where nothing follows it.
    """
    start, begins, end = at
    last = above[begins:end]
    rest = _REST.fullmatch(part.group()) is not None
    if rest and len(last) >= _SHORTEST_PART and is_random(last + part.group()):
        return True
    return (rest or _alone(below, part.end())) and _begun(above, start, begins, last)


def _beginning(above: str, below: str, start: int) -> int:
    """Where the row below goes on with a column that begins at ``start``; -1 for nowhere.

    Further left where the row above is indented.
    """
    if start == 0 or not _INNER.match(below, start - 1):
        return start
    parting = " |" if below.isascii() else _PARTING
    begins = max([below.rfind(parts, 0, start) for parts in parting]) + 1
    return begins if start - begins <= _INDENT and not above[begins:start].strip(" ") else -1


def _begun(text: str, start: int, begins: int, last: str) -> bool:
    """Whether the last word of a stretch is a part of a token, of a named value or of a URL."""
    if "://" in last or (len(last) >= _SHORTEST_PART and is_random(last)):
        return True
    return begins > start + 1 and text[begins - 2] != " " and names_a_secret(text, begins - 1)


def _alone(text: str, end: int) -> bool:
    """Whether no sentence goes on behind a word that ends here."""
    return text[end : end + 1] in _PANES or _TEXT.match(text, end + 1) is None
