"""Joined lines: words that a program or the terminal broke at the margin.

A terminal marks the rows that it wrapped; boxes, lists and paragraphs that a program wrapped
leave no mark. A line may continue in the next one when the first word of that one would not have
fitted after it. The margin is the end of the widest of the lines around. Such lines are joined and
searched as one. A match that crosses a join is then judged: do the two sides read as the halves of
one word? Joining too often masks a word beside a secret; joining too seldom misses a secret.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.scrub.rules.values import looks_torn_off, seems_by_chance
from ptycassette.scrub.views.view import EDGE, RunsView, View

_EDGES = EDGE.encode().decode("latin-1")
_AROUND = 6
"""Lines above and below that say where the margin is."""
_ALIKE = 6
"""Lines that begin with so many equal characters are items of a list, or of a log."""
_LONGEST_WORD = 4096
_WORD = lazy_pattern(r"[^\s\x00]+")
_FIRST = lazy_pattern(rf"[{re.escape(_EDGES)}]*([^\s\x00]+)\s*")
_DATE = lazy_pattern(r"\W?\d{2,4}[-/.:]\d\d[-/.:]\d\d")
_ASSIGNED = lazy_pattern(r"[A-Za-z_]\w*=[^=]")
_PLAIN = r"(?>[A-Z]?[a-z]+|[A-Z]+|\d+)"
_PLAIN_WORD_SOURCE = rf"[(\[\"'`./~*]*+{_PLAIN}(?>(?:[/._:-]{_PLAIN}?)*)[.,:;!?)\]\"'`*]*+"
_PLAIN_WORD = lazy_pattern(_PLAIN_WORD_SOURCE)
_GUTTER = lazy_pattern(
    r"(?P<n>\d{1,6}[ \t]{0,4})?"
    r"(?P<sign>[^\w\s\"'`(\[{<$~@=.]{1,4}(?<!://)|(?<=\d)|(?<=[ \t]))[ \t]{0,4}",
    re.ASCII,
)
_NUMBERED = lazy_pattern(r"[ \t]*(\d{1,6})(?:[ \t]*(?:\t|\xe2\x86\x92)| {2,})")
_MAYBE_GOES_ON = lazy_pattern(
    rf"\n(?<!\n\n)(?:(?![ ]*+(?!\d+\s){_PLAIN_WORD_SOURCE}[^\S\n]++\S)|(?<=[_-]\n))"
    r"(?![^\n0-9A-Za-z\x80-\xff]*+(?:\n|\Z))"
)
"""The line ends that ``_may_continue`` may be right at. In most text few of them are: below others
is a plain word with another one behind it, or no letter at all."""
_HYPHENS = frozenset("-_")
_SAYS = lazy_pattern(r"[^\W_]")
_APART = "\n\0\n"
_SIGNS = ".,:;!?)]}\"'`"
_ORDINARY = 4
"""Shorter words are told from the end of a token by nothing."""
_ITSELF = lazy_pattern(
    r"[{\"']{0,2}(?:[A-Za-z][A-Za-z0-9]{0,20}[_-]){0,6}(?i:password|passwd|pwd|passphrase|secret|token"
    r"|(?:api|access|private|secret|account|session)_?key|credentials?|auth|cookie|psk)"
    r"(?:[_-](?i:id|key|value|secret|token))?[\"']?(?:[:=]|%3[Dd])[^=:/]"
    r"|git@[a-z]|//[a-z0-9.-]+/:"  # of a remote repository, of a registry in .npmrc
)
_LISTS = frozenset(";&?,\\")
_ADDRESS = lazy_pattern(r"[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}[,;]?")
_DIGEST = lazy_pattern("(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}")  # whole or abbreviated
_HEX_BEGUN = lazy_pattern(r"(?=[a-f]*[0-9])[0-9a-f]{6,}\Z")  # after a prefix
_NO_HEX = lazy_pattern("[G-Zg-z]")
_ENOUGH = 12
_LEAST_FULL = 6
"""Narrower lines are no margin of anything."""


class JoinedLines(RunsView):
    """The lines of another view, joined where one may continue the one before.

    Args:
        parent: the view.
        parts: the lines, and where they begin there.
        joined_at: the positions at which two lines were joined, ascending.
    """

    def __init__(
        self, parent: View, parts: Iterable[tuple[str, int]], joined_at: Sequence[int]
    ) -> None:
        super().__init__(parts, parent)
        self._joined_at = joined_at

    def clipped(self, start: int, end: int, *, shaped: bool, whole: int = 0) -> int:
        """The end of a match from ``start`` to ``end``, cut at the first join that splits no word.

        0 if it crosses no real join: then it is within one line, where the other views find it.
        ``shaped``: the match begins like a token, not like a word. ``whole``: how many
        characters such a token has, 0 if that varies.
        """
        reached = 0
        for number in range(
            bisect_right(self._joined_at, start), bisect_left(self._joined_at, end)
        ):
            at = self._joined_at[number]
            if at - start == whole or not self._one_word(at, shaped=shaped):
                return at if reached else 0
            reached = at
        return end if reached else 0

    def _one_word(self, at: int, *, shaped: bool) -> bool:
        text = self.text
        above = text[max(0, at - _LONGEST_WORD) : at]
        last = above[max(above.rfind(" "), above.rfind("\n"), above.rfind("\0")) + 1 :]
        found = _WORD.match(text, at, at + _LONGEST_WORD)
        if found is None:
            return False
        word = found.group()
        number = bisect_right(self._joined_at, at)
        piece = text[at : min([found.end(), *self._joined_at[number : number + 1]])]
        ends_here = piece != word and _is_ordinary(piece)  # the next line was joined to it, too
        if ends_here or _DATE.match(word) or _ASSIGNED.match(word):
            return False
        if looks_torn_off(word):
            return not _is_a_digest_beside(last, word)
        alone = text[found.end() : found.end() + 1] in {"", "\n", "\0"}
        letters = word.strip(_SIGNS)
        ordinary = len(letters) >= _ORDINARY and letters.isalpha() and not letters.isupper()
        if shaped and alone and not (ordinary and not seems_by_chance(letters)):
            return True  # it has its line for itself, and is no word
        if _PLAIN_WORD.fullmatch(word):
            hyphen = shaped and (last[-1:] in _HYPHENS or word[-1:] in _HYPHENS)
            return hyphen or (word.isalpha() and seems_by_chance(word))
        return shaped


def _is_ordinary(piece: str) -> bool:
    """Whether a line's part of a word is itself a word, in small letters."""
    small = len(piece) >= _ORDINARY and piece.isalpha() and piece.islower()
    return small and not seems_by_chance(piece)


def joined_lines(view: View, cols: int) -> JoinedLines | None:
    """The lines of a view, joined where they may continue in the next one; None if none may."""
    text = view.text
    ends = [match.start() for match in _MAYBE_GOES_ON.finditer(text)]
    if not ends:
        return None
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    numbers = [bisect_right(starts, end) - 1 for end in ends]
    numbers = [at for at in numbers if lines[at] and _may_continue(lines[at], lines[at + 1])]
    if not numbers:
        return None
    widths = [*map(_width, lines)]
    continue_below = {at for at in numbers if _is_full(lines, widths, at, cols)}
    parts: list[tuple[str, int]] = []
    joined_at: list[int] = []
    length = 0
    for number in sorted({*continue_below, *(number + 1 for number in continue_below)}):
        if number - 1 in continue_below:
            joined_at.append(length)
        elif parts:
            parts.append((_APART, -1))
            length += len(_APART)
        beside = (*lines[max(0, number - 1) : number], *lines[number + 1 : number + 2])
        start, end = _shown(lines[number], *beside)
        parts.append((lines[number][start:end], starts[number] + start))
        length += end - start
    return JoinedLines(view, parts, joined_at) if joined_at else None


def _may_continue(line: str, below: str) -> bool:
    """Whether the line below may begin with the end of a word."""
    if line[:_ALIKE] == below[:_ALIKE] and line[-1:] not in _HYPHENS:
        # Lines of a log are distinguished without their signs and numbers.
        words = below.split(None, 1)
        word = words[0] if len(words) > 1 else ""
        if word.isascii() and word[:1].isalnum() and not word.isdigit() and "\0" not in word:
            return False
    first = _FIRST.match(below)
    if first is not None and not _says(first[1]) and first[1] in line:
        first = _FIRST.match(below, first.end())  # a sign before both lines
    if first is not None and first[1][0].isdigit():
        numbers = _NUMBERED.match(line), _NUMBERED.match(below)
        if numbers[0] and numbers[1] and int(numbers[1][1]) == int(numbers[0][1]) + 1:
            first = _FIRST.match(below, numbers[1].end())
    if first is None or not _says(first[1]):
        return False
    word = first[1]
    if first.end() != len(below) and line[-1:] not in _HYPHENS:
        if word.isalpha() and (word.islower() or word.istitle()):
            return False
        if line[:_ALIKE] == below[:_ALIKE] or _PLAIN_WORD.fullmatch(word):
            return False
    # A line that names its own value is not part of the line above. Joined with it, that line would
    # seem longer than any token, and would not count as one.
    words = line.rstrip(_EDGES).split()
    return not (words and _stands_alone(words[-1], word))


def _says(word: str) -> bool:
    """Whether a word has a letter or a digit."""
    return word[0].isalnum() or _SAYS.search(word) is not None


def _shown(line: str, *beside: str) -> tuple[int, int]:
    """The start and end of the text of a line, without what the neighbouring line has as well.

    Left out are borders, indentation, line numbers and the signs of comments, lists and diffs.
    """
    start = len(line) - len(line.lstrip(_EDGES))
    end = len(line.rstrip(_EDGES))
    if line[start : start + 1].isalpha() and line[start] < "\x80":
        return start, max(start, end)  # no number or sign begins like that
    own = _GUTTER.match(line, start, end)
    for other in beside if own else ():
        others = _GUTTER.match(other.lstrip(_EDGES))
        if own and others and own["sign"] == others["sign"] and bool(own["n"]) == bool(others["n"]):
            start, sign = own.end(), own["sign"]
            if sign and line.endswith(sign, start, end) and other.rstrip(_EDGES).endswith(sign):
                end = len(line[: end - len(sign)].rstrip(_EDGES))  # a box of signs
            break
    return start, max(start, end)


def _width(line: str) -> int:
    """The number of columns of a line, roughly: wide characters count as one."""
    if line.isascii():
        return len(line.rstrip())
    return len(line.encode("latin-1").decode("utf-8", "replace").rstrip())


def _is_full(lines: Sequence[str], widths: Sequence[int], number: int, cols: int) -> bool:
    """Whether the first word of the line below would not have fitted after a line.

    A line may also continue below its own text, or behind a hyphen, where programs break words.
    """
    line, below = lines[number], lines[number + 1]
    end = widths[number]
    if end < _LEAST_FULL or not _SAYS.search(line):
        return False
    if line[:_ALIKE] == below[:_ALIKE] and line[:_ALIKE].strip(_EDGES).isalnum():
        return False
    start, _ = _shown(below, line)
    word = _WORD.match(below, start)
    if word is None or word.end() <= end or line.rstrip(_EDGES)[-1:] in _HYPHENS:
        return word is not None
    around = widths[max(0, number - _AROUND) : number + _AROUND + 1]
    margin = max((one for one in around if one <= cols), default=cols)
    return end + word.end() - start > margin


def _stands_alone(last: str, word: str) -> bool:
    """Whether a word at the start of a row is complete without the row above.

    It is not if the row above ends in the middle of a cookie or a query. Mail addresses below
    each other are complete.
    """
    if "@" in word and "@" in last and _ADDRESS.fullmatch(last) and _ADDRESS.fullmatch(word):
        return True
    return last[-1:] not in _LISTS and _ITSELF.match(word) is not None


def _is_a_digest_beside(last: str, word: str) -> bool:
    """Whether a word at the start of a row is a whole digest, unrelated to the row above.

    Only one in thousands of random tokens ends with so many hexadecimal digits.
    """
    above = last[-_ENOUGH:]
    mixed = above[-1:].isalnum() and not above.islower() and _NO_HEX.search(above) is not None
    return mixed and not _HEX_BEGUN.search(last) and _DIGEST.fullmatch(word) is not None
