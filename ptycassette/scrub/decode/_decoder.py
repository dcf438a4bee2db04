"""The table of decoders.

Most text holds nothing encoded. A decoder is therefore asked twice: its signs and its hint are
searched natively in the whole text, and only where they are found its function runs Python over
it. What such a search costs decides what a decoder looks for: a single character takes 0.03 ms for
each MB, an expression of ``re`` that begins with a single character 0.3 ms, of RE2 1.6 ms, and an
expression of ``re`` that begins with a class 4 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from ptycassette.scrub.decode import _digits as digits
from ptycassette.scrub.decode._base64 import (
    READABLE_BASE32,
    READABLE_BASE64,
    base32_runs,
    base64_runs,
)
from ptycassette.scrub.decode._decoded import READABLE, Decoded, Spans
from ptycassette.scrub.decode._escapes import escapes, markup, quoted_printable
from ptycassette.scrub.match import Pattern


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
    DecoderRow("hexadecimal", digits.hex_runs, hint=digits.READABLE_HEX),
    DecoderRow("numbers", digits.numbers, hint=digits.NUMBERS_LIST),
    DecoderRow("cells", digits.cells, hint=digits.CELLS),
    DecoderRow("characters", digits.characters, signs=",", hint=digits.CHARACTERS),
    DecoderRow("escapes", escapes, signs="%\\&"),
    DecoderRow("markup", markup, signs="<*"),
    DecoderRow("quoted-printable", quoted_printable, signs="="),
)
"""Every decoder. A new one is a function and a row here."""


# Most text holds none of these, so that one search is enough. Digits of base64 are everywhere.
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
