"""Known values in base64 and hexadecimal that do not decode to readable text.

The decoder reads what decodes to ``READABLE`` characters of printable ASCII. A known value with
other letters, or a shorter one, is found by the digits that it is encoded as.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub.decode._base64 import runs_from
from ptycassette.scrub.decode._decoded import READABLE, Decoded
from ptycassette.scrub.decode._digits import pairs_of
from ptycassette.scrub.match import Literals, Pattern

_SHORTEST = 6
_PIECE = 7  # bytes of a value whose digits are looked for: eight of base64 at any alignment
_MOST_DIGITS = 8
_MOST_VALUES = 512
_READABLE_RUN = lazy_pattern(rb"[\x20-\x7e]{%d,}" % READABLE)
_RUN = lazy_pattern(f"[A-Za-z0-9+/_-]{{{_MOST_DIGITS},}}")
_PAIR = r"(?:0[xX])?[0-9A-Fa-f]{2}"
_PAIRS = Pattern(rf"[0-9A-Fa-f]?{_PAIR}(?:[ :,]{{0,2}}{_PAIR}){{{_SHORTEST - 1},}}[0-9A-Fa-f]?")
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
        pieces = {raw[at : at + _PIECE] for at in _places(raw)} - self._seen
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


def _places(raw: bytes) -> Iterator[int]:
    """The starts of pieces that the general decoder does not read, because they are not ASCII.

    Their number does not grow with the length of the ASCII text around them.
    """
    at = 0
    for run in _READABLE_RUN.finditer(raw):
        yield from range(at, run.start())
        at = max(at, run.end() - _PIECE + 1)
    yield from range(at, len(raw) - _PIECE + 1) if len(raw) > _PIECE else (0,)
