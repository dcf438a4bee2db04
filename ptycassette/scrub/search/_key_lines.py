"""Lines of a private key that are shown without its BEGIN or END line.

A rule finds the text between BEGIN and END, or before END. A key that is typed between other
repaints, or that scrolls by, gives texts with neither. Its lines are found by their neighbours:
they are lines of 64 base64 digits (RFC 7468) below each other, and one of these holds: one of
them is known, an END line follows, or a key that began in the text before has not ended yet.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator

import msgspec

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.scrub.rules.rule_set import Found, Rule
from ptycassette.scrub.rules.values import is_random

_NAME = "private-key"
_KEY = "PRIVATE KEY"
_LINE = 64
_SHORTEST_KNOWN = 12
_MOST_KNOWN = 512
_FARTHEST = 1 << 17
"""Characters of text behind a line of a key that has not ended yet."""
_PIECE = lazy_pattern(
    r"-----(?P<mark>BEGIN|END) (?P<what>[A-Z0-9 ]{1,40})-*"
    r"|(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{2,}={1,2}|[A-Za-z0-9+/]{4,})(?![A-Za-z0-9+/=])"
)
_BLANK = " \t\r\n|\xe2\x94\x82\x83"  # and borders, by their bytes

_Piece = re.Match[str]


class KeyLines:
    """Finds such lines in one text after the other.

    Args:
        rules: the rules in use. If none is about private keys, nothing is found.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rule = next((rule for rule in rules if rule.name == _NAME), None)
        self._known: set[str] = set()
        self._left: dict[Hashable, int] = {}

    @property
    def version(self) -> int:
        """Another number whenever a line was remembered."""
        return len(self._known)

    def took(self, rule: Rule, value: str) -> None:
        """Remember what a rule found: one or several lines of a key."""
        for line in value.split() if rule.name == _NAME and rule.learn else ():
            if len(line) >= _SHORTEST_KNOWN and len(self._known) < _MOST_KNOWN:
                self._known.add(line)

    def find(self, text: str, source: Hashable) -> Iterator[Found]:
        """Lines of a key in canonical ``text``: full ones, and the rest of longer words.

        Texts with the same ``source`` follow each other: a key that begins in one of them
        may continue in the next. A text whose source is None follows no other.
        """
        left = self._left.pop(source, 0)
        if self._rule is None or not (left or self._known or _KEY in text):
            return
        run: list[_Piece] = []  # words below each other
        last = 0
        for piece in (*_PIECE.finditer(text), None):
            follows = piece is not None and not text[last : piece.start()].strip(_BLANK)
            mark = piece if piece is not None and piece["mark"] else None
            if mark is not None or not follows:
                below = mark if follows else None
                ends = below is not None and below["mark"] == "END"
                known = left or ends or any(word.group() in self._known for word in run)
                if known and (below is None or _of_a_key(below)):
                    for line in _lines(run, ends=ends):
                        left = left and _FARTHEST
                        yield from self._found(*line.span())
                run = []
            if mark is not None:
                left = _FARTHEST if mark["mark"] == "BEGIN" and _KEY in mark["what"] else 0
            elif piece is not None:
                run.append(piece)
            last = piece.end() if piece is not None else last
        if source is not None and left > len(text):
            self._left[source] = left - len(text)

    def _found(self, first: int, last: int) -> Iterator[Found]:
        """A word of one or several lines. A line that is not full is not learnt."""
        assert self._rule is not None  # noqa: S101 - asked before
        for start in range(first, last, _LINE):
            end = min(start + _LINE, last)
            learn = self._rule.learn and end - start == _LINE
            yield Found(start, end, msgspec.structs.replace(self._rule, learn=learn))


def _lines(run: list[_Piece], *, ends: bool) -> list[_Piece]:
    """The lines of a key among words below each other; the last one may be short."""
    lines = [piece for piece in run if _is_line(piece.group())]
    if lines and lines[-1] is not run[-1] and (ends or run[-1].group().endswith("=")):
        lines += run[-1:] if run[-2] is lines[-1] else []
    return lines


def _of_a_key(mark: _Piece) -> bool:
    """Whether a BEGIN or END line belongs to a private key, or is cut off before that shows."""
    return _KEY in mark["what"] or (
        mark.end() == len(mark.string) and not mark.group().endswith("-")
    )


def _is_line(text: str) -> bool:
    """Whether a word looks like one or several full lines of a key, not like a digest or a path."""
    return len(text) >= _LINE and text.lower() != text != text.upper() and is_random(text)
