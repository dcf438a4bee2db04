r"""Views of text decoded: base64 at every alignment, hexadecimal, percent, ``\u``, HTML, JSON.

A decoded stretch is read only when it holds a run of printable characters: a
secret does, most of what merely looks like base64 does not.
"""

from __future__ import annotations

import re
import sys
from base64 import b64decode
from collections.abc import Iterable, Iterator
from functools import lru_cache

from ptycassette.scrub.adjacent import adjacent
from ptycassette.scrub.base64_lines import base64_lines
from ptycassette.scrub.blanks import blanks
from ptycassette.scrub.canonical import INVISIBLE, canonical
from ptycassette.scrub.decoded import Base64Run, Decoded, Digits, HexRun, Parts
from ptycassette.scrub.dumps import Dumps
from ptycassette.scrub.fields import fields
from ptycassette.scrub.grown import grown
from ptycassette.scrub.mask import NUMBERS
from ptycassette.scrub.patterns import Pattern
from ptycassette.scrub.quoted import quoted
from ptycassette.scrub.slid import slid
from ptycassette.scrub.stretches import AROUND, neighbours, unescaped, without

__all__ = ["Decoder"]

_PRINTABLE_RUN = re.compile(rb"[\x20-\x7e]{6,}")
_TO_STANDARD = str.maketrans("-_", "+/")
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SHORTEST_BASE64 = 12
_SHORT_RUN = 128
_HEX = r"(?:0[xX])?[0-9A-Fa-f]{2}(?:[ :,]{0,2}(?:0[xX])?[0-9A-Fa-f]{2}){5,}"
# Six pairs that stand for printable characters, as far as one look can tell.
_HEX_HINT = re.compile(r"[2-7][0-9A-Fa-f](?:[0-9A-Fa-f]?[ :,]{0,2}(?:0[xX])?[2-7][0-9A-Fa-f]){5}")
_NO_HEX_DIGIT = re.compile("[^0-9A-Fa-f]")
_PAIR = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{2})")
_ESCAPE = re.compile(
    r"%([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|\\([0-3][0-7]{2})|\\([\"\\/bfnrt'])"
    r"|\\u\{([0-9A-Fa-f]{1,6})\}|\\U([0-9A-Fa-f]{8})"
    r"|&\#[xX]([0-9A-Fa-f]{1,6});|&\#([0-9]{1,7});|&(amp|lt|gt|quot|apos);"
)
# A form field besides has + for a blank (WHATWG URL, application/x-www-form-urlencoded).
_FORM_ESCAPE = re.compile(rf"{_ESCAPE.pattern}|(\+)")
# An ampersand that is not escaped parts fields, where others are.
_NEXT_FIELD = re.compile(r"&(?=[A-Za-z][\w.\[\]-]{0,32}=)", re.ASCII)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
# Lists as programs print them: bytes as numbers, and texts in parts of a few characters.
_NUMBER = r"(?:3[2-9]|[4-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]|9|10|13)"
_NUMBERS = rf"\b{_NUMBER}(?:[ \n\r\t,]+{_NUMBER}){{5,}}\b"
_DIGITS_OF_NUMBER = re.compile("[0-9]+")
_PARTS = "|".join(
    rf"{part}(?:,[ \n\r\t]*{part}){{5,}}"
    for part in (rf"{quote}(?:[^{quote}\\\n]|\\[^\n]){{1,8}}{quote}" for quote in "\"'")
)
_PART = re.compile(r"\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'")
# What stands inside of a token without being part of it: characters without a cell, that as which a
# character of a password is shown a moment later, a cursor behind each, a line that goes on behind
# a backslash, strings that are added.
_ADDED = r"\\\n[ \t]*(?:> )?|\"[ \t]*\+[ \t\n]*\"|'[ \t]*\+[ \t\n]*'"
_MOMENT = (
    r"(?<=[ -~\x80-\xbf])\n+(?:\*|\xe2\x80\xa2)\n*"
    r"(?=(?:[ -~]|[\xc2-\xf4][\x80-\xbf]{1,3})?(?:\n|\Z))"
    r"|(?<=\n\*[ -~])\n+\*|(?<=\n\xe2\x80\xa2[ -~])\n+\xe2\x80\xa2"  # the last one
    r"|(?<=[ -~\x80-\xbf])\xe2\x96[\x80-\x9f]\n+(?=[ -~](?:\xe2\x96[\x80-\x9f])?(?:\n|\Z))"
)
# By whether there is anything of the second and of the third kind, which most texts have none of.
_BETWEEN = {
    (False, False): re.compile(_ADDED),
    (True, False): re.compile(f"{_MOMENT}|{_ADDED}"),
    (False, True): re.compile(f"{INVISIBLE}|{_ADDED}"),
    (True, True): re.compile(f"{INVISIBLE}|{_MOMENT}|{_ADDED}"),
}
_SIGNS_OF_ADDING = ('" +', "' +", '"+', "'+")
_INVISIBLE = re.compile(INVISIBLE)
_SHOWN_AND_GONE = re.compile(
    r"\n(?:\*|\xe2\x80\xa2)\n*(?:[ -~]|[\xc2-\xf4][\x80-\xbf]{1,3})?(?:\n|\Z)"
    r"|\xe2\x96[\x80-\x9f]\n[ -~]\xe2\x96[\x80-\x9f]\n"
)
_SIGNS_OF_MOMENT = ("\n*", "\n\xe2\x80\xa2", "\xe2\x96")  # there is one of them in each
# What git shows of words that changed (git-diff, --word-diff=plain).
_CHANGED = re.compile(r"\[-(?P<old>[^\n]{1,400}?)-\]|\{\+(?P<new>[^\n]{1,400}?)\+\}")
_FIRST_OF_SEVERAL_BYTES = 0x80
_MOST_DIGITS = 1 << 20


_ANY_BASE64 = "[A-Za-z0-9+/_-]"
_BASE64_RUN = f"{_ANY_BASE64}{{{_SHORTEST_BASE64},}}"


def _readable_base64() -> str:
    """Eight digits of which every printable run of six characters leaves some such behind.

    A printable character is 0x20 to 0x7e: of the four digits of three characters the first is
    8 to 31, the lower bits of the second 2 to 7, the last bits of the third 0 or 1.
    """
    first = f"[{_DIGITS[8:32]}]"
    second = f"[{''.join(digit for at, digit in enumerate(_DIGITS) if 2 <= at % 16 <= 7)}]"
    third = f"[{''.join(digit for at, digit in enumerate(_DIGITS) if at % 4 <= 1)}]"
    group = [first, second, third, _ANY_BASE64]
    return "|".join(
        "".join(group[(phase + at) % 4] for at in range(2 * len(group))) for phase in range(3)
    )


_READABLE_BASE64 = _readable_base64()
_BASE64_HINT = re.compile(_READABLE_BASE64)


class Decoder:
    """Finds encoded stretches in canonical text and decodes them.

    Args:
        fast: as for ``Pattern``.
    """

    def __init__(self, *, fast: bool | None = None) -> None:
        self._base64 = Pattern(_BASE64_RUN, fast=fast)
        if self._base64.fast:  # which finds at once the runs that hold something readable
            self._base64 = Pattern(f"{_ANY_BASE64}*(?:{_READABLE_BASE64}){_ANY_BASE64}*", fast=fast)
        self._hex = Pattern(_HEX, fast=fast)
        self._dumps = Dumps(fast=fast)
        self._lists = Pattern(f"{_NUMBERS}|{_PARTS}", fast=fast)

    def views(self, text: str) -> Iterator[Decoded]:
        """Everything in ``text`` that decodes to something readable."""
        for start, end in self._base64.spans(text):
            if end - start < _SHORTEST_BASE64:
                continue
            if self._base64.fast or _BASE64_HINT.search(text, start, end):
                yield from _base64(text, start, end)
        yield from base64_lines(text)
        for start, end in self._hex.spans(text):
            yield from _hex(text, start, end)
        if self.dumps(text):
            yield from self._dumps.read(text)
        for start, end in self._lists.spans(text):
            yield from (_parts if text[start] in "\"'" else _numbers)(text, start, end)
        if "\\" in text or "%" in text or "&" in text:
            yield from _escaped(text)
        yield from fields(text)
        yield from quoted(text)
        yield from adjacent(text)
        yield from blanks(text)
        yield from _torn(text)
        if ("[-" in text and "-]" in text) or ("{+" in text and "+}" in text):
            yield from _changed(text)
        yield from slid(text)
        yield from grown(text)

    def dumps(self, text: str) -> bool:
        """Whether there may be lines of a dump in ``text``."""
        return self._dumps.occur(text)


def _base64(text: str, start: int, end: int) -> Iterator[Decoded]:
    """One run of the alphabet, read from each of its first four characters."""
    run = text[start:end]
    readings = _often_read(run) if len(run) <= _SHORT_RUN else _readings(run)
    for skip, taken, decoded in readings:
        yield Base64Run(decoded, base=start + skip, length=taken)


def _readings(run: str) -> Iterable[tuple[int, int, str]]:
    """What a run says that is read from a digit on: where, how many digits, and the text."""
    standard = run.translate(_TO_STANDARD)
    for skip in range(4):
        digits = (len(run) - skip) // 4 * 4
        rest = (len(run) - skip) % 4
        taken = digits + (rest if rest > 1 else 0)
        if taken < 8:
            continue
        raw = b64decode(standard[skip : skip + taken] + "=" * (-taken % 4))
        if _PRINTABLE_RUN.search(raw):
            yield skip, taken, raw.decode("latin-1")


@lru_cache(maxsize=8192)
def _often_read(run: str) -> tuple[tuple[int, int, str], ...]:
    """The same for a short run: in rows that are joined and searched again it comes often."""
    return tuple(_readings(run))


def _hex(text: str, start: int, end: int) -> Iterator[Decoded]:
    """One run of digit pairs, read from its first and from its second digit."""
    run = text[start : min(end + 1, start + _MOST_DIGITS)]  # a digit without a pair may follow
    if not _NO_HEX_DIGIT.search(run, 0, len(run) - 1):
        yield from _plain_hex(run, start)
        return
    if not _HEX_HINT.search(run):
        return
    for skip in (0, 1):
        spans = []
        digits = []
        for match in _PAIR.finditer(run, skip):
            spans.append((start + match.start(1), start + match.end(1)))
            digits.append(match[1])
        raw = bytes.fromhex("".join(digits))
        if _PRINTABLE_RUN.search(raw):
            yield Digits(raw.decode("latin-1"), spans=spans)


def _plain_hex(run: str, start: int) -> Iterator[Decoded]:
    """The same for a run without anything between its digits."""
    length = len(run) - (_NO_HEX_DIGIT.match(run, len(run) - 1) is not None)
    for skip in (0, 1):
        raw = bytes.fromhex(run[skip : length - (length - skip) % 2])
        if _PRINTABLE_RUN.search(raw):
            yield HexRun(raw.decode("latin-1"), base=start + skip)


def _numbers(text: str, start: int, end: int) -> Iterator[Decoded]:
    """One list of numbers, each a byte."""
    spans = [match.span() for match in _DIGITS_OF_NUMBER.finditer(text, start, end)]
    raw = bytes(int(text[first:last]) for first, last in spans)
    if _PRINTABLE_RUN.search(raw):
        yield Digits(raw.decode("latin-1"), spans=spans, form=NUMBERS)


def _parts(text: str, start: int, end: int) -> Iterator[Decoded]:
    """One list of short strings."""
    places: list[int] = []
    for match in _PART.finditer(text, start, end):
        places += range(*match.span(match.lastgroup or 0))
    yield Parts("".join([text[at] for at in places]), places=places)


def _torn(text: str) -> Iterator[Decoded]:
    """Stretches with something in them that is no part of the words that it tears."""
    may_be = ("*" in text or "\xe2" in text) and any(sign in text for sign in _SIGNS_OF_MOMENT)
    moment = may_be and _SHOWN_AND_GONE.search(text) is not None
    invisible = not text.isascii() and _INVISIBLE.search(text) is not None
    if not (moment or invisible or ("\\" in text and "\\\n" in text) or _adds(text)):
        return
    for matches in neighbours(list(_BETWEEN[moment, invisible].finditer(text))):
        yield without(text, matches, [(0, 0)] * len(matches))


def _adds(text: str) -> bool:
    """Whether strings may be added."""
    if "+" not in text or not ('"' in text or "'" in text):
        return False
    return any(sign in text for sign in _SIGNS_OF_ADDING)


def _changed(text: str) -> Iterator[Decoded]:
    """Stretches with changed words in them, as they were and as they are."""
    for matches in neighbours(list(_CHANGED.finditer(text))):
        for kept in ("old", "new"):
            if any(match[kept] for match in matches):
                yield without(text, matches, [match.span(kept) for match in matches])


def _escaped(text: str) -> Iterator[Decoded]:
    """Stretches with escapes, and what stands around them."""
    for matches in neighbours(list(_ESCAPE.finditer(text))):
        start, end = matches[0].start(), matches[-1].end()
        escapes = [(*match.span(), _meaning(match)) for match in matches]
        if text.find("%", start, end) >= 0 and text.find("&", start, end + AROUND) >= 0:
            ends = (match.span() for match in _NEXT_FIELD.finditer(text, start, end + AROUND))
            escapes = sorted({*escapes, *((*span, "\n&") for span in ends)})
        yield unescaped(text, escapes)
        if text.find("%", start, end) >= 0 and text.find("+", start, end) >= 0:
            fields = _FORM_ESCAPE.finditer(text, start, end)
            yield unescaped(text, [(*match.span(), _meaning(match)) for match in fields])


def _meaning(match: re.Match[str]) -> str:
    """What one escape stands for, as canonical text."""
    percent, unicode, hexadecimal, octal, named, braced, long, html, decimal, entity, *plus = (
        match.groups()
    )
    if plus and plus[0]:
        return " "
    if named:
        return _NAMED.get(named, named)
    if entity:
        return _ENTITIES[entity]
    if octal:
        return chr(int(octal, 8))
    digits = percent or unicode or hexadecimal or braced or long or html
    code = int(decimal) if decimal else int(digits, 16)
    if code >= _FIRST_OF_SEVERAL_BYTES and not (percent or hexadecimal):
        return canonical(chr(min(code, sys.maxunicode)))
    return chr(code)
