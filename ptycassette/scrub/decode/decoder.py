"""The table of decoders.

Most text holds nothing encoded. So a decoder works in two steps: a native search for its signs and
its hint in the whole text, and its Python function only where they are found. The cost of the
search decides which signs a decoder uses: a single character takes 0.03 ms for each MB, an
expression of ``re`` that begins with a single character 0.3 ms, of RE2 1.6 ms, and an expression of
``re`` that begins with a class 4 ms.
"""

from __future__ import annotations

import re
import sys
from base64 import b32decode, b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.scrub.mask import BASE32, BASE64, ESCAPED, HEX, NUMBERS, QUOTED, TEXT
from ptycassette.scrub.match import Literals, Pattern, canonical

# Decoded texts, each with a map from its stretches to the characters of its source.


READABLE = 10
"""The shortest text in which a rule finds something: ``pwd=`` and a value of six characters."""

AROUND = 400
"""Characters beside an edit that belong to its text: as far as most rules reach."""
_READABLE_RUN = re.compile(rb"[\x20-\x7e]{%d}|(?:[\x20-\x7e]\0){%d}" % (READABLE, READABLE))
_BETWEEN_BYTES = 4  # as in ", 0x"; the offset of a line of a dump takes more

Edit = tuple[int, int, str]
"""Characters from start to end of a text, and what they stand for."""
Spans = Iterator[tuple[int, int]]


def is_readable(raw: bytes) -> bool:
    """Whether ``raw`` holds text that is worth a search, in UTF-16 (either order) too."""
    return _READABLE_RUN.search(raw) is not None


class Decoded:
    """Decoded text, each character of which knows its place in the source.

    Args:
        text: canonical.
        place: start and end, in the source, of what the character at a position was read from.
        form: how it is masked there (see ``mask``).
        apart: what is farther apart than this in the source is masked separately. In characters.
    """

    def __init__(
        self,
        text: str,
        place: Callable[[int], tuple[int, int]],
        *,
        form: str,
        apart: int = AROUND,
    ) -> None:
        self.text = text
        self._place = place
        self.form = form
        self._apart = apart

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the source that hold characters ``start`` to ``end``."""
        return self._place(start)[0], self._place(end - 1)[1]

    def sources(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """As ``source``, in several stretches where the source has characters in between."""
        stretches: list[tuple[int, int]] = []
        for first, last in map(self._place, range(start, end)):
            if stretches and first - stretches[-1][1] <= self._apart:
                stretches[-1] = (stretches[-1][0], last)
            else:
                stretches.append((first, last))
        return tuple(stretches)

    def form_at(self, start: int) -> str:
        """The form of the mask in the source for decoded text from ``start`` on.

        For base64 and base32 it includes the position in the group of four or eight digits.
        """
        if self.form == BASE32:
            return f"{BASE32}{start * 8 // 5 % 8}"
        return f"{BASE64}{start * 8 // 6 % 4}" if self.form == BASE64 else self.form


def of_digits(raw: bytes, spans: Sequence[tuple[int, int]], *, form: str) -> Decoded:
    """Decoded bytes, one for each of ``spans``, which holds its digits."""
    return Decoded(raw.decode("latin-1"), spans.__getitem__, form=form, apart=_BETWEEN_BYTES)


def neighbours(edits: Iterable[Edit]) -> Iterator[list[Edit]]:
    """Edits (ascending) in groups that are less than ``AROUND`` characters apart."""
    group: list[Edit] = []
    for edit in edits:
        if group and edit[0] - group[-1][1] >= AROUND:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def rewritten(text: str, edits: list[Edit], *, form: str, apart: int = AROUND) -> Decoded:
    """A text with each edit applied, as far as ``AROUND`` characters beside them."""
    at, stop = max(0, edits[0][0] - AROUND), min(len(text), edits[-1][1] + AROUND)
    parts: list[str] = []
    begins: list[int] = []  # where in the new text an unchanged stretch begins, and one of an edit
    length = 0
    sources: list[tuple[int, int]] = []
    for start, end, meaning in (*edits, (stop, stop, "")):
        parts += [text[at:start], meaning]
        begins += [length, length + start - at]
        sources += [(at, at + 1), (start, end)]
        length += start - at + len(meaning)
        at = end

    def place(position: int) -> tuple[int, int]:
        number = bisect_right(begins, position) - 1
        first, last = sources[number]
        shift = 0 if number % 2 else position - begins[number]
        return first + shift, last + shift

    return Decoded("".join(parts), place, form=form, apart=apart)


# Base64 in both alphabets (RFC 4648), at every alignment, in one line or in lines; base32.


_STANDARD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ALPHABET = f"{_STANDARD}-_"
_DIGIT = "[A-Za-z0-9+/_-]"
_DIGITS = lazy_pattern(f"{_DIGIT}*")
_TO_STANDARD = str.maketrans("-_", "+/")
_SURPLUS = {1: 1, 3: 1, 6: 1}
"""Base32 digits behind the last whole byte, by how many are left of a group of eight."""
_STEP = 4096  # characters that are looked at together where a run may be long
# Programs break lines at 64 or 76, on small screens earlier; all but the last are equally long.
_LINES = lazy_pattern(
    rf"(?<!{_DIGIT}){_DIGIT}{{32,}}(?:[ \t\r]*\n[ \t]*{_DIGIT}{{32,}})*"
    rf"(?:[ \t\r]*\n[ \t]*{_DIGIT}{{2,}})(?==*[ \t\r]*(?:\n|\Z))"
)
_MAYBE_LINES = Pattern(rf"{_DIGIT}{{32}}[ \t\r]*\n[ \t]*{_DIGIT}{{2}}")
"""What any of these has. RE2 finds it far sooner."""


def _readable_digits() -> str:
    """A pattern of twelve digits that the encoding of every readable text contains.

    A printable character is 0x20 to 0x7e: of the four digits of three characters the first is
    8 to 31, the lower bits of the second 2 to 7, the last bits of the third 0 or 1. Ten
    characters make twelve whole digits, of which the first is the first, third or fourth of four.
    """
    first = f"[{_STANDARD[8:32]}]"
    second = "".join(digit for at, digit in enumerate(_STANDARD) if 2 <= at % 16 <= 7)
    third = "".join(digit for at, digit in enumerate(_STANDARD) if at % 4 <= 1)
    group = [first, f"[{second}_-]", f"[{third}_-]", _DIGIT]
    return "|".join("".join(group[(phase + at) % 4] for at in range(12)) for phase in (0, 2, 3))


def _readable_wide_digits() -> str:
    """A pattern of digits that the encoding of every readable text in UTF-16 contains.

    Every other byte is zero. So three bytes are a character, zero and a character, and the next
    three are zero, a character and zero.
    """
    around = f"[{_STANDARD[8:32]}][AQgw][AB]{_DIGIT}"
    return f"(?:{around}A[C-H][{_STANDARD[::4]}_-]A){{3}}"


READABLE_BASE64 = f"(?:{_readable_digits()}|{_readable_wide_digits()}){_DIGIT}*"
"""Digits that stand for printable ASCII, in UTF-16 too, and those behind them."""

_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def _readable_base32(alphabet: str) -> str:
    """A pattern of the digits of ten printable characters (see ``_readable_digits``)."""

    def those(fits: Callable[[int], bool]) -> str:
        return "[" + "".join([digit for at, digit in enumerate(alphabet) if fits(at)]) + "]"

    any_, even = f"[{alphabet}]", those(lambda at: at % 2 == 0)
    second, fourth = those(lambda at: at % 4 <= 1), those(lambda at: 2 <= at % 16 <= 7)
    first, seventh = those(lambda at: 4 <= at <= 15), those(lambda at: 1 <= at % 8 <= 3)
    group = f"{first}{second}{any_}{fourth}{even}{any_}{seventh}{any_}"
    return f"(?:{group}){{2}}{any_}*"


READABLE_BASE32 = f"(?:{_readable_base32(_BASE32)}|{_readable_base32(_BASE32.lower())})"
"""Base32 digits (RFC 4648 6) that stand for printable ASCII, and those behind them."""
_OF_BASE32 = lazy_pattern("(?:[A-Z2-7]*|[a-z2-7]*)")


def base64_runs(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode runs of digits: each run by itself, and those in lines below each other as one."""
    found = False
    for inside, end in spans:
        found = True
        start, _ = _run_around(text, inside)
        yield from runs_from(text, [(start, end)])
    for lines in _LINES.finditer(text) if found and _MAYBE_LINES.occurs(text) else ():
        parts = [part.span() for part in _DIGITS.finditer(text, *lines.span()) if part[0]]
        yield from runs_from(text, parts)


def runs_from(
    text: str,
    spans: Sequence[tuple[int, int]],
    *,
    readable: bool = True,
) -> Iterator[Decoded]:
    """Decode the digits in ``spans`` from each of their first four; skip unreadable results."""
    start, end = spans[0]
    for skip in range(4):
        lines = [(start + skip, end), *spans[1:]]
        raw = _decoded("".join([text[first:last] for first, last in lines]))
        if not readable or is_readable(raw):
            yield Decoded(raw.decode("latin-1"), _places(lines), form=BASE64)


def base32_runs(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode runs of base32 digits, of one case, from the first of eight that the hint shows."""
    for inside, end in spans:
        before = _OF_BASE32.match(text[max(0, inside - _STEP) : inside][::-1])
        start = inside - (0 if before is None else before.end() // 8 * 8)
        digits = text[start:end]
        digits = digits[: len(digits) - _SURPLUS.get(len(digits) % 8, 0)]
        raw = b32decode(digits + "=" * (-len(digits) % 8), casefold=True)
        if is_readable(raw):
            yield Decoded(raw.decode("latin-1"), partial(_base32_place, start), form=BASE32)


def _base32_place(start: int, at: int) -> tuple[int, int]:
    return start + at * 8 // 5, start + -(-(at + 1) * 8 // 5)


def _places(lines: Sequence[tuple[int, int]]) -> Callable[[int], tuple[int, int]]:
    """The place in the text of each byte, for digits that are spread over lines."""
    firsts = [*accumulate((last - first for first, last in lines), initial=0)]

    def digit(number: int) -> int:
        line = min(bisect_right(firsts, number), len(lines)) - 1
        return lines[line][0] + number - firsts[line]

    return lambda at: (digit(at * 8 // 6), digit(min(firsts[-1], -(-(at + 1) * 8 // 6)) - 1) + 1)


def _run_around(text: str, at: int) -> tuple[int, int]:
    """The run of digits that holds the one at ``at``."""
    start = at
    while start > 0:
        before = text[max(0, start - _STEP) : start]
        digits = len(before) - len(before.rstrip(_ALPHABET))
        start -= digits
        if digits < len(before):
            break
    after = _DIGITS.match(text, at)
    return start, at if after is None else after.end()


def _decoded(digits: str) -> bytes:
    """Decode ``digits``, of either alphabet; surplus digits at the end are decoded in part."""
    digits = digits[: len(digits) - (len(digits) % 4 == 1)].translate(_TO_STANDARD)
    return b64decode(digits + "=" * (-len(digits) % 4))


# Bytes as digits: pairs of hexadecimal digits, lists of decimal numbers, and dumps.


_HEX_DIGIT = "[0-9A-Fa-f]"
_OFFSET = rf"[ \t]*{_HEX_DIGIT}{{4,16}}:?[ \t]{{1,3}}"
_LINE_END = rf"(?: {{2}}[^\n]{{1,20}}|[ \t\r]*)\n(?:{_OFFSET}|[ \t]*)"
_BETWEEN = rf"(?:{_LINE_END}|[ :,]{{0,2}}(?:0[xX])?)"
READABLE_HEX = (
    f"(?:(?:[2-7]{_HEX_DIGIT}{_BETWEEN}){{{READABLE - 1}}}[2-7]{_HEX_DIGIT}"
    f"|(?:[2-7]{_HEX_DIGIT}{_BETWEEN}00{_BETWEEN}){{{READABLE - 1}}}[2-7]{_HEX_DIGIT}{_BETWEEN}00)"
    f"(?:{_BETWEEN}{_HEX_DIGIT}{{2}})*{_HEX_DIGIT}?"
)
"""Pairs that stand for printable ASCII, in UTF-16 too, and those behind them."""

_FIRST_OFFSET = lazy_pattern(_OFFSET)
_PAIR = lazy_pattern(f"{_LINE_END}|(?:0[xX])?({_HEX_DIGIT}{{2}})")
_THREE = lazy_pattern(f"{_HEX_DIGIT}{{3}}")
# Pairs that come before others, read backwards.
_BEFORE = lazy_pattern(f"(?:[xX]0)?(?:[ :,]{{0,2}}{_HEX_DIGIT}{{2}}(?:[xX]0)?)*")
_MOST_BEFORE = 512  # the cut part is not text: the run would have been found there

_NUMBER = "(?:3[2-9]|[4-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]|9|10|13)"
NUMBERS_LIST = rf"\b{_NUMBER}(?:[ \n\r\t,]+{_NUMBER}){{{READABLE - 1},}}\b"
"""Decimal numbers, each a byte of text."""
_NUMBERS = lazy_pattern("[0-9]+")


# A cell is three columns wide after a blank: a character, the name of one that has no picture, or
# its octal digits (POSIX, od: -t c).
_CELL = r" {3}([ -~])| {2,3}\\([0abefnrtv])| ([0-3][0-7]{2})"
_CELLS = lazy_pattern(_CELL)
_NAMED = dict(zip("0abefnrtv", "\0\a\b\x1b\f\n\r\t\v", strict=True))
CELLS = rf"(?: {{3}}[!-~]){{4}}(?:{_CELL})*(?:[ \r]*\n(?:[0-9A-Fa-f]{{6,8}})?(?:{_CELL})+)*"
"""Lines of cells."""


_CHARACTER = r"(?:[^\"\\\n]|\\[^\n]|[\x80-\xff]{2,4})"
CHARACTERS = rf'"{_CHARACTER}"(?:,[ \n\r\t]*"{_CHARACTER}"){{5,}}'
"""Strings of a character each, with commas between."""
_CONTENT = lazy_pattern(r'"\\?([^\n]|[\x80-\xff]{2,4})"')


def hex_runs(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode runs of pairs."""
    for inside, end in spans:
        floor = max(text.rfind("\n", 0, inside) + 1, inside - _MOST_BEFORE)
        offset = _FIRST_OFFSET.match(text, floor, inside)
        before = _BEFORE.match(text[offset.end() if offset else floor : inside][::-1])
        for view in pairs_of(text, inside - (before.end() if before else 0), end):
            if is_readable(view.text.encode("latin-1")):
                yield view


def pairs_of(text: str, start: int, end: int) -> Iterator[Decoded]:
    """Decode the pairs between two places. Digits without gaps may be paired in two ways."""
    for first in (start, start + 1) if _THREE.match(text, start, end) else (start,):
        pairs = [pair for pair in _PAIR.finditer(text, first, end) if pair[1]]
        raw = bytes.fromhex("".join([pair[1] for pair in pairs]))
        yield of_digits(raw, [pair.span(1) for pair in pairs], form=HEX)


def numbers(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode lists of numbers."""
    for span in spans:
        found = list(_NUMBERS.finditer(text, *span))
        raw = bytes(int(number.group()) for number in found)
        if is_readable(raw):
            yield of_digits(raw, [number.span() for number in found], form=NUMBERS)


def cells(text: str, spans: Spans) -> Iterator[Decoded]:
    """Decode dumps of characters."""
    for inside, end in spans:
        found = list(_CELLS.finditer(text, text.rfind("\n", 0, inside) + 1, end))
        raw = "".join([one[1] or _NAMED.get(one[2]) or chr(int(one[3], 8)) for one in found])
        places = [one.span(one.lastindex or 0) for one in found]
        if is_readable(raw.encode("latin-1")):
            yield of_digits(raw.encode("latin-1"), places, form=ESCAPED)


def characters(text: str, spans: Spans) -> Iterator[Decoded]:
    """Join the characters of each list."""
    for span in spans:
        found = list(_CONTENT.finditer(text, *span))
        places = [at for one in found for at in pairwise(range(one.start(1), one.end(1) + 1))]
        yield Decoded("".join([one[1] for one in found]), places.__getitem__, form=TEXT, apart=0)


# Characters as escapes, together with the text around them.


_HEX = "[0-9A-Fa-f]"
_ESCAPES = (
    lazy_pattern(rf"%(?P<percent>{_HEX}{{2}})"),
    lazy_pattern(
        rf"\\(?:(?P<name>[nrtbf!-/:-@\[-`{{-~])"
        rf"|u(?P<pair>[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}})|u(?P<unit>{_HEX}{{4}})"
        rf"|x(?P<byte>{_HEX}{{2}})|(?P<octal>[0-3][0-7]{{2}})|u\{{(?P<braced>{_HEX}{{1,6}})\}}|U(?P<long>{_HEX}{{8}}))"
    ),
    lazy_pattern(
        rf"&(?:(?P<entity>amp|lt|gt|quot|apos);|\#(?P<decimal>[0-9]{{1,7}});"
        rf"|\#[xX](?P<hex>{_HEX}{{1,6}});)"
    ),
)
_NAMED_ESCAPES = {
    "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f",
    "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'",
}  # fmt: skip
_FIELDS = {"+": " ", "&": "\n&"}
_BASES = {"octal": 8, "decimal": 10}
_OF_BYTES = frozenset({"percent", "byte", "octal"})
_BLANK = lazy_pattern(r"\s")
_IN_FORMS = lazy_pattern(r"\+|&(?=[A-Za-z][\w.\[\]-]{0,32}=)", re.ASCII)

_PRINTABLE = "(?:[2-6][0-9A-F]|7[0-9A-E])"
# Lines of at most 76 characters, after text that a mail program may show, or after the start of a
# JSON string.
_SOFT_END = r"(?<=[^\n]{69}=)(?:(?<![^\n]{86}=)|(?<![^\n\"]{86}=))\r?\n"
_EVIDENCE = lazy_pattern(
    r"=(?=[2-7C-F\r\n])(?:3D|[C-F][0-9A-F]=[89AB][0-9A-F]"
    rf"|{_PRINTABLE}[A-Za-z0-9_.+/-]{{0,24}}={_PRINTABLE}|{_SOFT_END})"
)
# Tags that searches put around a hit (``<em>``, ``<mark>``), and the tag that breaks long words
# (``<wbr>``).
_MARKUP = lazy_pattern(
    r"<(?:/?(?:em|mark|b|i|u|s|strong|span|code|font|kbd|tt|ins|del|wbr|hl)\b[^<>\n]{0,200}>)"
    r"|\*\*(?<![*\s]\*\*\*)(?=[\w-])"
)
_QUOTED = lazy_pattern(rf"=(?:(?P<code>[0-9A-F]{{2}})|{_SOFT_END})")


def escapes(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Decode stretches of text with escapes."""
    found = [(*one.span(), _meaning(one)) for kind in _ESCAPES for one in kind.finditer(text)]
    for edits in neighbours(sorted(found)):
        start, end = edits[0][0], edits[-1][1]
        if text.find("%", start, end) >= 0:
            taken = {edit[0] for edit in edits}
            start -= _to_blank(text[max(0, start - AROUND) : start][::-1])
            end += _to_blank(text[end : end + AROUND])
            fields = _IN_FORMS.finditer(text, start, end)
            edits += [(*one.span(), _FIELDS[one[0]]) for one in fields if one.start() not in taken]
            edits.sort()
        yield rewritten(text, edits, form=ESCAPED)


def quoted_printable(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Decode stretches of quoted-printable text."""
    evidence = [sign.start() for sign in _EVIDENCE.finditer(text)]
    found = _QUOTED.finditer(text) if evidence else ()
    for edits in neighbours((*one.span(), _quoted(one["code"])) for one in found):
        first = bisect_left(evidence, edits[0][0])
        if first < len(evidence) and evidence[first] < edits[-1][1]:
            yield rewritten(text, edits, form=QUOTED)


def markup(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Leave out what makes a part of a word bold or marked, in HTML and Markdown."""
    for edits in neighbours((*one.span(), "") for one in _MARKUP.finditer(text)):
        yield rewritten(text, edits, form=TEXT, apart=0)


def _to_blank(text: str) -> int:
    blank = _BLANK.search(text)
    return len(text) if blank is None else blank.start()


def _quoted(code: str | None) -> str:
    return "" if code is None else chr(int(code, 16))


def _meaning(escape: re.Match[str]) -> str:
    """The canonical text of one escape."""
    kind = escape.lastgroup or ""
    said = escape[kind]
    if kind in {"name", "entity"}:
        return _NAMED_ESCAPES.get(said, said)
    if kind == "pair":  # RFC 8259 7: of characters beyond U+FFFF
        units = int(said[:4], 16), int(said[6:], 16)
        return canonical(chr(0x10000 + (units[0] - 0xD800 << 10) + units[1] - 0xDC00))
    code = int(said, _BASES.get(kind, 16))
    return chr(code) if kind in _OF_BYTES else canonical(chr(min(code, sys.maxunicode)))


class DecoderRow(NamedTuple):
    """A row of the table of decoders.

    ``read`` gets canonical text and where ``hint`` (see ``Pattern``) is found in it, which is
    searched as it asks. Every text that it reads has one of the characters ``signs`` ("" for
    any), and the hint ("" for one that searches as fast itself).
    """

    name: str
    read: Callable[[str, Spans], Iterator[Decoded]]
    signs: str = ""
    hint: str = ""

    def views(self, text: str) -> Iterator[Decoded]:
        """The decoded texts in ``text``."""
        if not self.signs or any(sign in text for sign in self.signs):
            yield from self.read(text, Pattern(self.hint).spans(text) if self.hint else iter(()))


DECODERS: Final[tuple[DecoderRow, ...]] = (
    DecoderRow("base64", base64_runs, hint=READABLE_BASE64),
    DecoderRow("base32", base32_runs, hint=READABLE_BASE32),
    DecoderRow("hexadecimal", hex_runs, hint=READABLE_HEX),
    DecoderRow("numbers", numbers, hint=NUMBERS_LIST),
    DecoderRow("cells", cells, hint=CELLS),
    DecoderRow("characters", characters, signs=",", hint=CHARACTERS),
    DecoderRow("escapes", escapes, signs="%\\&"),
    DecoderRow("markup", markup, signs="<*"),
    DecoderRow("quoted-printable", quoted_printable, signs="="),
)
"""Every decoder. A new one is a function and a row here."""


# Most text has none of these, so one search is enough. Digits of base64 are everywhere.
_RARE = [row.hint for row in DECODERS[1:] if row.hint]
_ANY_RARE = Pattern("|".join(f"(?:{hint})" for hint in _RARE))


def decoded_views(text: str) -> Iterator[Decoded]:
    """All readable texts that are encoded in canonical ``text``."""
    if len(text) < READABLE:
        return
    rare = _ANY_RARE.occurs(text)
    for row in DECODERS:
        if rare or row.hint not in _RARE:
            yield from row.views(text)


# Known values in base64 and hexadecimal that do not decode to readable text.


_SHORTEST = 6
_PIECE = 7  # bytes of a value whose digits are looked for: eight of base64 at any alignment
_MOST_DIGITS = 8
_MOST_VALUES = 512
_READABLE_SEARCH = lazy_pattern(rb"[\x20-\x7e]{%d,}" % READABLE)
_RUN = lazy_pattern(f"[A-Za-z0-9+/_-]{{{_MOST_DIGITS},}}")
_BYTE = r"(?:0[xX])?[0-9A-Fa-f]{2}"
_PAIRS = Pattern(rf"[0-9A-Fa-f]?{_BYTE}(?:[ :,]{{0,2}}{_BYTE}){{{_SHORTEST - 1},}}[0-9A-Fa-f]?")
_LOWER = bytes(range(256)).lower()
_URL_SAFE = str.maketrans("+/", "-_")


class EncodedSearch:
    """Finds encoded stretches that hold known values which the decoder does not read."""

    def __init__(self) -> None:
        self._values = 0
        self._seen: set[bytes] = set()
        self._pieces, self._digits, self._pairs = Literals(), Literals(), Literals()

    def add(self, text: str) -> None:
        """Look for the value ``text`` (canonical) from now on, when the decoder would not."""
        readable = text.isascii() and len(text) >= READABLE
        if len(text) < _SHORTEST or readable or self._values >= _MOST_VALUES:
            return
        self._values += 1
        raw = text.encode("latin-1")
        pieces = {raw[at : at + _PIECE] for at in _places_of_digits(raw)} - self._seen
        self._seen |= pieces
        self._pieces.add(piece.decode("latin-1") for piece in pieces)
        self._pairs.add(piece.hex() for piece in pieces)
        digits = {_digits(piece, phase) for piece in pieces for phase in range(3)}
        self._digits.add(digits | {one.translate(_URL_SAFE) for one in digits})

    def views(self, text: str) -> Iterator[Decoded]:
        """Decode the known values in canonical ``text``, together with the text around them."""
        for run in _RUN.finditer(text) if self._digits.occur_in(text) else ():
            if self._digits.occur_in(run[0]):
                yield from self._held_in(runs_from(text, [run.span()], readable=False))
        for span in _PAIRS.spans(text) if self._pairs.occur_in(_together(text)) else ():
            if self._pairs.occur_in(_together(text[slice(*span)])):
                yield from self._held_in(pairs_of(text, *span))

    def _held_in(self, views: Iterator[Decoded]) -> Iterator[Decoded]:
        return (view for view in views if self._pieces.occur_in(view.text))


def _digits(raw: bytes, phase: int) -> str:
    """The base64 digits of ``raw`` after ``phase`` bytes, except those at its borders."""
    first, last = -(-phase * 8 // 6), (phase + len(raw)) * 8 // 6
    return b64encode(bytes(phase) + raw).decode()[first:last][:_MOST_DIGITS]


def _together(text: str) -> str:
    """``text`` in lower case, without the separators between pairs of digits."""
    together = text.encode("latin-1").translate(_LOWER, b" :,")
    return together.replace(b"0x", b"").decode("latin-1")


def _places_of_digits(raw: bytes) -> Iterator[int]:
    """The starts of pieces that the general decoder does not read, because they are not ASCII.

    Their number does not grow with the length of the ASCII text around them.
    """
    at = 0
    for run in _READABLE_SEARCH.finditer(raw):
        yield from range(at, run.start())
        at = max(at, run.end() - _PIECE + 1)
    yield from range(at, len(raw) - _PIECE + 1) if len(raw) > _PIECE else (0,)
