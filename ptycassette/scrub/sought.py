"""Known values in base64, hexadecimal and quoted-printable that nobody would take for text.

The decoder reads what decodes to some printable ASCII. A known value with other letters, or
one so short that it makes a few digits, is found by the digits that it must give. A sign that
is escaped alone (``=27``) says nothing by itself: it is read where known values have such a sign.
"""

from __future__ import annotations

import re
import string
from base64 import b64decode, b64encode
from collections.abc import Iterator

from ptycassette.scrub.decoded import Base64Run, Decoded, Digits
from ptycassette.scrub.growing import GrowingLiterals
from ptycassette.scrub.mask import QUOTED
from ptycassette.scrub.patterns import Pattern
from ptycassette.scrub.stretches import neighbours, unescaped

__all__ = ["Sought"]

_SHORTEST = 6
_READABLE = 9  # so many characters of ASCII the decoder finds by itself
_READABLE_RUN = re.compile(rb"[\x20-\x7e]{%d,}" % _READABLE)
_IN_BASE64 = 7
_IN_HEX = 5
_MOST_DIGITS = 8
_MOST_VALUES = 512
_FARTHEST = 4096
_BESIDE = 1024  # digits of a run that are read with a value
_URL_SAFE = str.maketrans("+/", "-_")
_STANDARD = str.maketrans("-_", "+/")
_NO_DIGIT = re.compile("[^A-Za-z0-9+/_-]")
_PAIR = r"(?:0[xX])?[0-9A-Fa-f]{2}"
_PAIRS = rf"[0-9A-Fa-f]?{_PAIR}(?:[ :,]{{0,2}}{_PAIR}){{{_SHORTEST - 1},}}[0-9A-Fa-f]?"
_NO_PAIRS = re.compile("0[xX]|[ :,]")
_DIGIT = re.compile("(?:0[xX])?([0-9A-Fa-f])")
_SIGN = re.compile("=([2-7][0-9A-F])")
_SIGNS = frozenset(string.punctuation)


class Sought:
    """Finds encoded stretches that hold known values which the decoder does not read.

    Args:
        fast: as for ``literal_finder``.
    """

    def __init__(self, *, fast: bool | None = None) -> None:
        self._fast = fast
        self._values = 0
        self._places: dict[str, set[int]] = {}
        self._digits = GrowingLiterals(fast=fast)
        self._hex: set[str] = set()
        self._bytes = GrowingLiterals(fast=fast)
        self._pairs = Pattern(_PAIRS, fast=fast)
        self._signs: set[str] = set()

    def add(self, text: str) -> None:
        """Look for the value ``text`` (canonical) from now on, when the decoder would not."""
        self._signs.update(_SIGNS.intersection(text))
        readable = text.isascii()
        if len(text) < _SHORTEST or (readable and len(text) >= _READABLE):
            return
        if self._values >= _MOST_VALUES:
            return
        self._values += 1
        raw = text.encode("latin-1")
        for at in _places(raw, _IN_BASE64) if len(raw) > _IN_BASE64 else (0,):
            for phase in range(3):
                self._add_digits(raw[at : at + _IN_BASE64], phase)
        for at in () if readable else _places(raw, _IN_HEX):
            piece = raw[at : at + _IN_HEX].hex()
            if piece not in self._hex:
                self._hex.add(piece)
                self._bytes.add((piece,))

    def _add_digits(self, raw: bytes, phase: int) -> None:
        """The digits that ``raw`` gives behind ``phase`` bytes, whatever stands around it."""
        first, last = -(-phase * 8 // 6), (phase + len(raw)) * 8 // 6
        digits = b64encode(bytes(phase) + raw).decode()[first:last][:_MOST_DIGITS]
        for literal in {digits, digits.translate(_URL_SAFE)}:
            if literal not in self._places:
                self._places[literal] = set()
                self._digits.add((literal,))
            self._places[literal].add(first % 4)

    def views(self, text: str) -> Iterator[Decoded]:
        """What of canonical ``text`` decodes to such values, and what stands around them."""
        if self._places:
            yield from self._base64(text)
        if self._hex:
            for start, end in self._pairs.spans(text):
                yield from self._read_hex(text, start, end)

        if self._signs and "=" in text:
            yield from self._quoted(text)

    def _quoted(self, text: str) -> Iterator[Decoded]:
        """Stretches with signs of such values that are escaped."""
        escaped = [sign for sign in _SIGN.finditer(text) if _meant(sign) in self._signs]
        for signs in neighbours(escaped):
            yield unescaped(text, [(*sign.span(), _meant(sign)) for sign in signs], form=QUOTED)

    def _base64(self, text: str) -> Iterator[Decoded]:
        reached = [0] * 4  # by the phase of the digits, how far they were read
        for at, minus_length in self._digits.find(text):
            places = self._places[text[at : at - minus_length]]
            if all(at + _BESIDE <= reached[(at - place) % 4] for place in places):
                continue
            before = len(_digits(text[max(0, at - _FARTHEST) : at][::-1]))
            end = at + len(_digits(text[at : at + _FARTHEST]))
            for place in places:
                start = at - before + (before - place) % 4
                read = reached[start % 4]
                if start > at or at + _BESIDE <= read or (end == read and start < read):
                    continue
                # Up to there or, in a long run, up to where nobody looked beside the last ones.
                reached[start % 4] = end if end < at + _FARTHEST else end - _BESIDE
                length = end - start
                length -= length % 4 == 1
                digits = text[start : start + length].translate(_STANDARD)
                raw = b64decode(digits + "=" * (-length % 4))
                yield Base64Run(raw.decode("latin-1"), base=start, length=length)

    def _read_hex(self, text: str, start: int, end: int) -> Iterator[Decoded]:
        """One run of pairs, when such a value is in it."""
        run = _NO_PAIRS.sub("", text[start:end]).lower()
        hits = self._bytes.find(run)
        if not hits:
            return
        places = [match.start(1) for match in _DIGIT.finditer(text, start, end)]
        for skip in sorted({at % 2 for at, _ in hits}):
            pairs = list(zip(places[skip::2], places[skip + 1 :: 2], strict=False))
            spans = [(first, last + 1) for first, last in pairs]
            raw = bytes.fromhex(run[skip : skip + 2 * len(pairs)])
            yield Digits(raw.decode("latin-1"), spans=spans)


def _meant(sign: re.Match[str]) -> str:
    return chr(int(sign[1], 16))


def _places(raw: bytes, size: int) -> Iterator[int]:
    """Where pieces begin that the decoder would not read: not those of a run of ASCII.

    A key with a border before it has as few as the border has, however long it grows.
    """
    at = 0
    for run in _READABLE_RUN.finditer(raw):
        yield from range(at, run.start())
        at = max(at, run.end() - size + 1)
    yield from range(at, len(raw) - size + 1)


def _digits(text: str) -> str:
    """The digits of base64 that ``text`` begins with."""
    other = _NO_DIGIT.search(text)
    return text if other is None else text[: other.start()]
