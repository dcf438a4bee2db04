"""The table of decoders, and the class that runs all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptycassette.scrub.decode._base64 import READABLE_BASE64, base64_runs
from ptycassette.scrub.decode._decoded import READABLE, Decoded
from ptycassette.scrub.decode._dumps import DUMP, dumps
from ptycassette.scrub.decode._escapes import escapes
from ptycassette.scrub.decode._fields import NAMED_BLANK, form_fields, other_blanks
from ptycassette.scrub.decode._hexadecimal import READABLE_HEX, hex_runs
from ptycassette.scrub.decode._lists import NUMBERS_LIST, STRINGS_LIST, numbers, short_strings
from ptycassette.scrub.decode._plug import DecoderRow, OneLook, Plug
from ptycassette.scrub.decode._quoted_printable import quoted_printable
from ptycassette.scrub.decode._torn import (
    TORN_BY_FORMAT,
    TYPED,
    changed_words,
    continued_lines,
    joined_strings,
    moments,
    visible,
)

__all__ = ["PLUGS", "Decoder"]

_DUMPS = DecoderRow("dumps", dumps, hint=DUMP)

PLUGS: Final[tuple[tuple[DecoderRow, ...], ...]] = (
    (DecoderRow("base64", base64_runs, hint=READABLE_BASE64),),
    (
        DecoderRow("hexadecimal", hex_runs, hint=READABLE_HEX),
        _DUMPS,
        DecoderRow("numbers", numbers, hint=NUMBERS_LIST),
        DecoderRow("short strings", short_strings, signs=",", hint=STRINGS_LIST),
    ),
    (DecoderRow("escapes", escapes, signs="%\\&"),),
    (DecoderRow("quoted-printable", quoted_printable, signs="="),),
    (DecoderRow("form fields", form_fields, signs="+"),),
    (DecoderRow("joined strings", joined_strings, signs="\"'"),),
    (DecoderRow("continued lines", continued_lines, signs="\\"),),
    (DecoderRow("changed words", changed_words, signs="[{"),),
    (
        DecoderRow("other blanks", other_blanks, signs="\xc2\xe2\xe3", hint=NAMED_BLANK),
        DecoderRow("invisible", visible, signs="\xc2\xcd\xd8\xe1\xe2\xef\xf3", hint=TORN_BY_FORMAT),
        DecoderRow("moments", moments, signs="*\xe2", hint=TYPED),
    ),
)
"""Every decoder. A new one is a module and a row here; those in one group share a search."""


class Decoder:
    """Finds what is encoded in canonical text, and decodes it."""

    def __init__(self) -> None:
        self._looks = [OneLook(rows) for rows in PLUGS]
        self._dumps = Plug(_DUMPS)

    def views(self, text: str) -> Iterator[Decoded]:
        """All readable texts that are encoded in ``text``."""
        if len(text) >= READABLE:
            for look in self._looks:
                yield from look.views(text)

    def dumps(self, text: str) -> bool:
        """Whether there may be lines of a dump in ``text``."""
        return self._dumps.may_hold(text)
