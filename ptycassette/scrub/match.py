"""The form of text that is searched, and the native engines that search it.

The alphabet is UTF-8 bytes shown as characters 0 to 255: a position in such text is a position in
bytes, so a hit in plain output is a byte range without any table. Squeezed text leaves out blanks,
box borders, invisible characters and quotes: in it, a value that was wrapped, boxed, indented or
quoted is in one piece. ``spread`` maps a hit back to the stretches of the original text.

``Literals`` finds many fixed strings (Aho-Corasick); a ``Pattern`` is searched by RE2.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from ahocorasick_rs import BytesAhoCorasick, Implementation

from ptycassette.model.re2_engine import compile_re2, lazy_pattern

# Characters that take no room, as their UTF-8 bytes: soft hyphen; U+0300-036F (marks that combine);
# U+061C; U+180B-180E; U+1AB0-1AFF and U+1DC0-1DFF (more marks); U+200B-200F and U+202A-202E (zero
# width, bidi); U+2060-206F; U+20D0-20FF (marks for symbols); U+FE00-FE0F and U+FE20-FE2F
# (variations, half marks); U+FEFF; U+FFF9-FFFB; U+E0000-E0FFF (tags, variations).
INVISIBLE = (
    "\xc2\xad|\xcc[\x80-\xbf]|\xcd[\x80-\xaf]|\xd8\x9c"
    "|\xe1(?:\xa0[\x8b-\x8e]|\xaa[\xb0-\xbf]|[\xab\xb7][\x80-\xbf])"
    "|\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf]|\x83[\x90-\xbf])"
    "|\xef(?:\xb8[\x80-\x8f\xa0-\xaf]|\xbb\xbf|\xbf[\xb9-\xbb])"
    "|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)
# And no-break space, bullets; U+2000-200A, U+2028-202F, U+3000 (spaces); U+23BF; U+2500-257F and
# U+2580-259F (boxes and blocks); U+25A0-25FF (shapes); U+2800-28FF (braille spinners).
_AWAY = (
    f"\xc2[\xa0\xb7]|\xe2(?:\x80[\x80-\x8a\xa2\xa8\xa9\xaf]|\x8e\xbf"
    f"|[\x94-\x97][\x80-\xbf]|[\xa0-\xa3][\x80-\xbf])|\xe3\x80\x80|{INVISIBLE}"
)
# These; blanks and controls; | and > (ASCII borders and quotes); * (shown for passwords); quotes,
# and the sign at the end of a line that continues.
_ASCII_AWAY = bytes([*range(0x21), 0x7F, *b"|>*\"'\\"])
_SQUEEZED_AWAY = lazy_pattern(f"[{re.escape(_ASCII_AWAY.decode())}]+|{_AWAY}")


def canonical(text: str) -> str:
    """``text`` with each UTF-8 byte as one character. Lone surrogates keep their byte."""
    if text.isascii():
        return text
    try:
        return text.encode().decode("latin-1")
    except UnicodeEncodeError:
        errors = "surrogatepass" if _LONE.search(text) else "surrogateescape"
        return text.encode("utf-8", errors).decode("latin-1")


# A surrogate that is no byte that was no UTF-8.
_LONE = lazy_pattern("[\ud800-\udc7f\udd00-\udfff]")


def plain(text: str) -> str:
    """The text that canonical text represents."""
    if text.isascii():
        return text
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


_OTHERS_AWAY = lazy_pattern(_AWAY.encode("latin-1"))


def squeeze(text: str) -> str:
    """Canonical ``text`` without blanks, borders, quotes and invisible characters."""
    raw = text.encode("latin-1")
    if not text.isascii():
        raw = _OTHERS_AWAY.sub(b"", raw)  # first, so that nothing new comes together
    return raw.translate(None, _ASCII_AWAY).decode("latin-1")


_Span = tuple[int, int]
_ESCAPE = "\x1b"
_ASCII = lazy_pattern("[\x00-\x7f]")
_PIECE = 1024
"""Characters of text that are mapped at once."""
_BY_CHANCE = 2
"""So many letters of a word on another line, or in another column, may continue a value."""


def spread(text: str, spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """The stretches of ``text`` for each of ``spans`` (ascending) of its squeezed form.

    A phrase of several words is one stretch. Left out are the character right after ESC, which
    belongs to a sequence, and one or two letters of a word on the line before or after.
    """
    for parts in _stretches(text, spans) if spans else ():
        if len(parts) > 1 and _by_chance(text, parts[-1], parts[-2][1], parts[-1][0], parts[-1][1]):
            del parts[-1]
        if len(parts) > 1 and _by_chance(text, parts[0], parts[0][1], parts[1][0], parts[0][0] - 1):
            del parts[0]
        joined: list[_Span] = []
        for start, end in parts:
            first = start + (text[start - 1 : start] == _ESCAPE)
            if joined and not text[joined[-1][1] : first].strip(" "):
                joined[-1] = joined[-1][0], end
            elif first < end:
                joined.append((first, end))
        yield joined


def _by_chance(text: str, part: _Span, end: int, start: int, beyond: int) -> bool:
    """Whether ``part`` belongs to an unrelated word.

    ``text[end:start]`` is between it and the rest of the value, ``beyond`` its other side.
    """
    between = text[end:start]
    return (
        part[1] - part[0] <= _BY_CHANCE
        and text[max(0, beyond) : beyond + 1].isalnum()
        and ("\n" in between or "  " in between)
    )


def _stretches(text: str, spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """As ``spread``, but each run of characters that are kept by ``squeeze`` is a stretch.

    Only the pieces of the text that hold a span are taken apart. The others are only measured.
    """
    cuts = _cuts(text)
    lengths = [0, *accumulate(len(squeeze(text[slice(*piece)])) for piece in pairwise(cuts))]
    taken, runs = -1, list[tuple[int, int]]()  # the last piece that was taken apart
    for span in spans:
        first, last = span
        number = bisect_right(lengths, first) - 1
        parts: list[_Span] = []
        while first < last:
            if taken != number:
                taken, runs = number, [*_kept(text, cuts[number], cuts[number + 1])]
            length = lengths[number]
            for start, end in runs:
                shift, length = start - length, length + end - start
                if length <= first:
                    continue
                start, first = first + shift, min(last, length)  # noqa: PLW2901 - what is wanted
                if parts and parts[-1][1] == start:  # it was cut there
                    start = parts.pop()[0]  # noqa: PLW2901
                parts.append((start, first + shift))
                if first == last:
                    break
            number += 1
        yield parts


def _cuts(text: str) -> list[int]:
    """The places at which a text is cut into pieces: never inside a character's bytes."""
    cuts = [0]
    while len(text) - cuts[-1] > 2 * _PIECE:
        found = _ASCII.search(text, cuts[-1] + _PIECE)
        if found is None:
            break
        cuts.append(found.start())
    return [*cuts, len(text)]


def _kept(text: str, start: int, end: int) -> Iterator[_Span]:
    """The runs of characters between two places that ``squeeze`` keeps."""
    for gap in _SQUEEZED_AWAY.finditer(text, start, end):
        if gap.start() > start:
            yield start, gap.start()
        start = gap.end()
    if start < end:
        yield start, end


_FEW = 256
"""Automata up to this size are made anew each time: they take less than 1 ms."""
_STEP = 3
_SHARING, _NEEDLE = 8, 5
"""Pieces of that length share what is searched for, and how many characters that is."""


class _Automaton:
    """Finds fixed strings, at 3 ns for each character of a text."""

    def __init__(self, literals: list[str]) -> None:
        self.literals = literals
        # A DFA searches in half the time, but takes four times as long to make.
        self._engine = BytesAhoCorasick(
            [one.encode("latin-1") for one in literals if not _BEYOND_BYTES.search(one)],
            implementation=Implementation.ContiguousNFA,
        )

    def find(self, text: bytes) -> list[tuple[int, int]]:
        """Each occurrence, overlapping ones too: its place, and minus its length."""
        hits = self._engine.find_matches_as_indexes(text, overlapping=True)
        return [(start, start - end) for _, start, end in hits]

    def occurs_in(self, text: bytes) -> bool:
        """Whether there is an occurrence."""
        return bool(self._engine.find_matches_as_indexes(text))


def _bytes_of(text: str) -> bytes:
    """A byte for each character: NUL for those that canonical text does not have."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return _BEYOND_BYTES.sub("\0", text).encode("latin-1")


_BEYOND_BYTES = lazy_pattern("[^\0-\xff]")


class Literals:
    """Fixed strings, to be found in text. Strings can be added at any time.

    An automaton cannot grow, and making one costs its size. So there are several, whose sizes
    differ by factors: a new one takes in those that are not much larger, and each string is put
    into an automaton a logarithmic number of times. Text is searched once for each automaton.

    Args:
        literals: to begin with; distinct and not empty.
    """

    def __init__(self, literals: Iterable[str] = ()) -> None:
        self._new = list(literals)
        self._automata: list[_Automaton] = []

    def add(self, literals: Iterable[str]) -> None:
        """Add strings, each of them new and not empty."""
        self._new += literals

    def find(self, text: str) -> list[tuple[int, int]]:
        """Every occurrence, overlapping ones too: (start, minus the length of the literal).

        Sorted: of several that begin at one place, the longest comes first.
        """
        if self._new:
            self._take_in()
        raw = _bytes_of(text)
        found = [hit for automaton in self._automata for hit in automaton.find(raw)]
        found.sort()
        return found

    def occur_in(self, text: str) -> bool:
        """Whether any of them occurs in ``text``."""
        if self._new:
            self._take_in()
        raw = _bytes_of(text)
        return any(automaton.occurs_in(raw) for automaton in self._automata)

    def _take_in(self) -> None:
        literals, self._new = self._new, []
        kept = self._automata
        while kept and len(kept[-1].literals) <= max(_FEW, _STEP * len(literals)):
            literals = kept.pop().literals + literals
        kept.append(_Automaton(literals))


class Pieces:
    """Like ``Literals``, for overlapping pieces of the same values.

    Several overlapping pieces share the same few characters. The search looks for these, then
    checks which pieces are around a hit. So it searches for an eighth of the characters.

    Args:
        pieces: the first pieces; distinct and not empty.
    """

    def __init__(self, pieces: Iterable[str] = ()) -> None:
        self._needles = Literals()
        self._holders: dict[str, list[tuple[int, str]]] = {}
        self.add(pieces)

    def add(self, pieces: Iterable[str]) -> None:
        """Add pieces, each of them new and not empty."""
        holders, new = self._holders, []
        for piece in pieces:
            needle, offset = piece, 0
            if len(piece) == _SHARING:
                for offset in range(_SHARING - _NEEDLE + 1):
                    needle = piece[offset : offset + _NEEDLE]
                    if needle in holders:
                        break
            held = holders.get(needle)
            if held is None:
                held = holders[needle] = []
                new.append(needle)
            held.append((offset, piece))
        self._needles.add(new)

    def find(self, text: str) -> list[tuple[int, int]]:
        """See ``Literals.find``."""
        found = [
            (start - offset, -len(piece))
            for start, minus_length in self._needles.find(text)
            for offset, piece in self._holders[text[start : start - minus_length]]
            if start >= offset and text.startswith(piece, start - offset)
        ]
        found.sort()
        return found


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
        """Every match in ``text``: its start, and start and end of its group of that name.

        If the pattern has no such group, of the whole match. Empty ones are left out.
        """
        engine = _compiled(self.source)
        number = _group_of(self.source, group) if group else 0
        for match in engine.finditer(text.encode("latin-1", "replace")):
            start, end = match.span(number)
            if end > start:
                yield match.start(), start, end


@cache
def _compiled(source: str) -> Any:
    return compile_re2(source, latin1=True)


@cache
def _group_of(source: str, name: str) -> int:
    """The number of the group of that name; 0 (the whole match) without such a group."""
    number: int = _compiled(source).groupindex.get(name.encode(), 0)
    return number
