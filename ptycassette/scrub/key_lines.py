"""Lines of a private key that stand apart from its first or its last line.

A rule finds what stands between BEGIN and END, or before END. A key that is typed out amid
other repaints, or scrolls by line by line, gives texts that show neither. Its lines are found by
what is beside them: they are base64 (of 64 digits and more: RFC 7468) and follow each other, so
that one tells the next; they come after a BEGIN line of the same channel; or several of them were
joined to one word, which holds one that is known. Beside other text lines are broken, and words of
it come between; there they are what looks generated behind BEGIN, where several such words are.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator

import msgspec

from ptycassette.scrub.known import is_random
from ptycassette.scrub.rules import Found, Rule
from ptycassette.scrub.words import looks_torn_off

__all__ = ["KeyLines"]

_NAME = "private-key"
_KEY = "PRIVATE KEY"
_SHORTEST_KNOWN = 12
_LINE = 64
_MOST_KNOWN = 512
_FARTHEST = 1 << 17
_SHORTEST_GENERATED = 20
_FEWEST_GENERATED = 3
_SHORTEST_PIECE = 6
_LONGEST = 1 << 14
_CUT_OFF = 1 << 12
_PIECE = re.compile(
    r"-----(?P<mark>BEGIN|END) (?P<what>[A-Z0-9 ]{1,40})-*"
    r"|(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{2,}={1,2}|[A-Za-z0-9+/]{4,})(?![A-Za-z0-9+/=])"
)
_BLANK = " \t\r\n|\xe2\x94\x82\x83"  # and borders, by their bytes

_Piece = re.Match[str]


class KeyLines:
    """Finds such lines in one text after the other.

    Args:
        rules: where those of this name are not among them, nothing is found.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rule = next((rule for rule in rules if rule.name == _NAME), None)
        self._rest = self._rule and msgspec.structs.replace(self._rule, learn=False)
        self._known: dict[str, None] = {}
        self._left: dict[Hashable, int] = {}

    def forget(self) -> None:
        """Know nothing any more."""
        self._known.clear()
        self._left.clear()

    def took(self, rule: Rule, value: str) -> None:
        """Know what a rule took: of a key a line, or several."""
        for line in value.split() if rule.name == _NAME and rule.learn else ():
            if len(line) >= _SHORTEST_KNOWN and len(self._known) < _MOST_KNOWN:
                self._known[line] = None

    def find(self, text: str, source: Hashable) -> Iterator[Found]:
        """What of such lines stands in canonical ``text``: full ones, and what is left of words.

        ``source`` says which texts come one after the other: a key that begins in one of them
        may go on in the next. None is of no such texts.
        """
        rule, rest = self._rule, self._rest
        if rule is None or rest is None:
            return
        told: set[tuple[int, int]] = set()
        for word in _amid_others(text) if _KEY in text else ():
            told.add(word.span())
            yield Found(*word.span(), rule if _generated(word.group()) else rest)
        for line in self._found(text, source):
            for start in range(line.start(), line.end(), _LINE):
                end = min(start + _LINE, line.end())
                if (start, end) not in told:
                    yield Found(start, end, rule if end - start == _LINE else rest)

    def _found(self, text: str, source: Hashable) -> Iterator[_Piece]:
        """The words that are lines of a key, or several lines."""
        left = self._left.pop(source, 0)
        if not (left or self._known or _KEY in text):
            return
        above: _Piece | None = None
        part: list[_Piece] = []
        last = 0
        for piece in (*_PIECE.finditer(text), None):
            follows = piece is not None and not text[last : piece.start()].strip(_BLANK)
            if piece is None or piece["mark"] or not follows:
                below = piece if follows else None
                for line in self._lines(part, above, below, begun=left > 0):
                    left = left and _FARTHEST
                    yield line
                part, above = [], None
            if piece is not None and piece["mark"]:
                left = _FARTHEST if piece["mark"] == "BEGIN" and _KEY in piece["what"] else 0
                above = piece
            elif piece is not None:
                part.append(piece)
            last = piece.end() if piece is not None else last
        if source is not None and left > len(text):
            self._left[source] = left - len(text)

    def _lines(
        self, part: list[_Piece], above: _Piece | None, below: _Piece | None, *, begun: bool
    ) -> Iterator[_Piece]:
        """Which of the words that stand one below the other are lines of a key.

        ``above`` and ``below`` are the BEGIN and END lines right beside them; ``begun`` says
        whether the key that began last has not ended yet.
        """
        if any(mark is not None and not _of_a_key(mark) for mark in (above, below)):
            return
        ends = below is not None and below["mark"] == "END"
        lines = [piece for piece in part if _is_line(piece.group())]
        if not (ends or begun or any(map(self._knows, part))):
            return
        yield from lines
        if len(part) > 1 and part[-2] in lines[-1:] and (ends or part[-1].group().endswith("=")):
            yield part[-1]

    def _knows(self, piece: _Piece) -> bool:
        """Whether a word is a line of a known key, or holds one."""
        text = piece.group()
        return text in self._known or (
            len(text) > _LINE and any(line in text for line in self._known)
        )


def _of_a_key(mark: _Piece) -> bool:
    """Whether a BEGIN or END line is one of a private key, or may be as the text ends in it."""
    what = mark["what"]
    return _KEY in what or (mark.end() == len(mark.string) and not mark.group().endswith("-"))


def _amid_others(text: str) -> Iterator[_Piece]:
    """What of keys stands behind their first lines, with other words between."""
    pieces = list(_PIECE.finditer(text))
    for number, begin in enumerate(pieces):
        if begin["mark"] != "BEGIN" or _KEY not in begin["what"]:
            continue
        words: list[_Piece] = []
        reach = begin.end() + _CUT_OFF
        for at in range(number + 1, len(pieces)):
            piece = pieces[at]
            if piece["mark"]:
                reach = begin.end() + _LONGEST
                break
            if piece.start() > begin.end() + _LONGEST:
                break
            words.append(piece)
        words = [word for word in words if word.start() <= reach]
        while words and not _generated(words[-1].group()) and not _ends(words[-1].group()):
            words.pop()
        if sum(_generated(word.group()) for word in words) >= _FEWEST_GENERATED:
            yield from (word for word in words if _of_key(word.group()))


def _generated(text: str) -> bool:
    """Whether a word is so long a piece of a line that no other text has such."""
    return len(text) >= _SHORTEST_GENERATED and text.lower() != text and is_random(text)


def _of_key(text: str) -> bool:
    """Whether a word amid pieces of a key is one, too."""
    if _generated(text) or _ends(text):
        return True
    return len(text) >= _SHORTEST_PIECE and not text.isupper() and looks_torn_off(text)


def _ends(text: str) -> bool:
    return text.endswith("=")


def _is_line(text: str) -> bool:
    """Whether a word looks like a full line of a key, or several: not like a digest or a path."""
    return len(text) >= _LINE and text.lower() != text != text.upper() and is_random(text)
