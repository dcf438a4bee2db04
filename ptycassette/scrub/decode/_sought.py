"""Known values in base64 and hexadecimal that do not decode to readable text.

The decoder reads what decodes to ``READABLE`` characters of printable ASCII. A known value with
other letters, or a shorter one, is found by the digits that it is encoded as.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator

from ptycassette.scrub.decode._base64 import run_around, runs_from
from ptycassette.scrub.decode._decoded import READABLE, Decoded
from ptycassette.scrub.decode._digits import pairs_of
from ptycassette.scrub.match import Literals, Pattern

_SHORTEST = 6
_READABLE_RUN = re.compile(rb"[\x20-\x7e]{%d,}" % READABLE)
_IN_BASE64 = 7  # bytes of a value whose digits are looked for: they give eight at any alignment
_IN_HEX = 5  # bytes: ten digits that other text does not have by chance
_MOST_DIGITS = 8
_MOST_VALUES = 512
_URL_SAFE = str.maketrans("+/", "-_")
_PAIR = r"(?:0[xX])?[0-9A-Fa-f]{2}"
_PAIRS = Pattern(rf"[0-9A-Fa-f]?{_PAIR}(?:[ :,]{{0,2}}{_PAIR}){{{_SHORTEST - 1},}}[0-9A-Fa-f]?")
_LOWER = bytes(range(256)).lower()


class Sought:
    """Finds encoded stretches that hold known values which the decoder does not read."""

    def __init__(self) -> None:
        self._values = 0
        self._places: dict[str, set[int]] = {}
        self._digits = Literals()
        self._bytes: set[str] = set()
        self._pairs = Literals()

    def add(self, text: str) -> None:
        """Look for the value ``text`` (canonical) from now on, when the decoder would not."""
        readable = text.isascii() and len(text) >= READABLE
        if len(text) < _SHORTEST or readable or self._values >= _MOST_VALUES:
            return
        self._values += 1
        raw = text.encode("latin-1")
        for at in _places(raw, _IN_BASE64) if len(raw) > _IN_BASE64 else (0,):
            for phase in range(3):
                self._add_digits(raw[at : at + _IN_BASE64], phase)
        pieces = {raw[at : at + _IN_HEX].hex() for at in _places(raw, _IN_HEX)} - self._bytes
        self._bytes |= pieces
        self._pairs.add(pieces)

    def _add_digits(self, raw: bytes, phase: int) -> None:
        """Search for the digits of ``raw`` after ``phase`` bytes, except those at its borders."""
        first, last = -(-phase * 8 // 6), (phase + len(raw)) * 8 // 6
        digits = b64encode(bytes(phase) + raw).decode()[first:last][:_MOST_DIGITS]
        for literal in {digits, digits.translate(_URL_SAFE)}:
            if literal not in self._places:
                self._places[literal] = set()
                self._digits.add((literal,))
            self._places[literal].add(first % 4)

    def views(self, text: str) -> Iterator[Decoded]:
        """Decode the known values in canonical ``text``, together with the text around them."""
        if self._places:
            yield from self._base64(text)
        if self._bytes and self._pairs.occur_in(_digits_together(text)):
            for start, end in _PAIRS.spans(text):
                if self._pairs.occur_in(_digits_together(text[start:end])):
                    yield from pairs_of(text, start, end)

    def _base64(self, text: str) -> Iterator[Decoded]:
        """Decode base64 runs with digits of known values, at each of the four alignments."""
        first = end = 0
        skips: set[int] = set()  # with which the run from ``first`` to ``end`` was read
        for at, minus_length in self._digits.find(text):
            if at >= end:
                first, end = run_around(text, at)
                skips.clear()
            for place in self._places[text[at : at - minus_length]]:
                skip = (at - first - place) % 4
                if first + skip <= at and skip not in skips:
                    skips.add(skip)
                    yield from runs_from(text, [(first, end)], skips=(skip,), readable=False)


def _digits_together(text: str) -> str:
    """``text`` in lower case, without the separators between pairs of digits."""
    together = text.encode("latin-1").translate(_LOWER, b" :,")
    return together.replace(b"0x", b"").decode("latin-1")


def _places(raw: bytes, size: int) -> Iterator[int]:
    """The starts of pieces that the general decoder does not read, because they are not ASCII.

    Their number does not grow with the length of the ASCII text around them.
    """
    at = 0
    for run in _READABLE_RUN.finditer(raw):
        yield from range(at, run.start())
        at = max(at, run.end() - size + 1)
    yield from range(at, len(raw) - size + 1)
