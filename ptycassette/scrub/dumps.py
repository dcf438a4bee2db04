"""Dumps: bytes as pairs of hexadecimal digits or as characters apart, line by line, as one text.

As ``xxd``, ``xxd -p``, ``hexdump -C``, ``od -tx1``, ``od -c`` and ``hexdump -c`` print them. A
single line is read elsewhere too; what makes a dump is that it goes on in the next line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.decoded import Decoded, Digits
from ptycassette.scrub.mask import ESCAPED
from ptycassette.scrub.patterns import Pattern
from ptycassette.scrub.views import PiecewiseView

__all__ = ["Dumps", "dump_columns"]

# Pairs of printable ASCII, tabs and line ends: of a line of random bytes next to none is all such.
_TEXT_PAIR = "(?:[2-7][0-9A-Fa-f]|0[9ADad])"
_BEGINS_PAIRS = r"^[ \t]*(?:0x)?[0-9A-Fa-f]{4,16}:?[ \t]{1,3}[0-9A-Fa-f]{2}"
_BEGINS_BARE = rf"^[ \t]*{_TEXT_PAIR}{{16}}"
_BEGINS_CHARACTERS = "(?: {3}[!-~]){4}"

_PRINTABLE_RUN = re.compile(rb"[\x20-\x7e]{6,}")
_LINE = re.compile(
    r"^[ \t]*(?:0x)?[0-9A-Fa-f]{4,16}:?[ \t]{1,3}(?P<bytes>(?:[0-9A-Fa-f]{2}){1,2}"
    r"(?: {1,2}(?:[0-9A-Fa-f]{2}){1,4}){0,31})(?= |$)",
    re.MULTILINE,
)
_BARE_LINE = re.compile(
    rf"^[ \t]*{_TEXT_PAIR}{{16,64}}[ \t\r]*$(?:\n[ \t]*{_TEXT_PAIR}{{1,64}}[ \t\r]*$)+",
    re.MULTILINE,
)
# A cell is three wide behind a blank: a character, the name of one that has no picture, or its
# octal digits (POSIX, od: -t c).
_CHARACTERS = re.compile(
    r"^(?:[0-9A-Fa-f]{6,8})?(?P<cells>(?: {3}[ -~]| {2,3}\\[0abefnrtv]| [0-3][0-7]{2}){1,32})"
    r"[ \r]*$",
    re.MULTILINE,
)
_PAIR = re.compile("[0-9A-Fa-f]{2}")
_CELL = re.compile(r" {3}([ -~])| {2,3}\\([0abefnrtv])| ([0-3][0-7]{2})")
_NAMED = {
    "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}  # fmt: skip
_COLUMN = 80
_NEXT_LINE = 8
_COLUMN_OF_CHARACTERS = re.compile(r" {1,60}\|?([^\r\n|]{1,32})")


class Dumps:
    """Finds dumps in canonical text.

    Args:
        fast: as for ``Pattern``.
    """

    def __init__(self, *, fast: bool | None = None) -> None:
        kinds = (_BEGINS_PAIRS, _BEGINS_BARE, _BEGINS_CHARACTERS)
        self._any = Pattern(f"(?m){'|'.join(kinds)}", fast=fast)
        self._pairs, self._bare, self._characters = (
            Pattern(f"(?m){kind}", fast=fast) for kind in kinds
        )

    def occur(self, text: str) -> bool:
        """Whether there may be lines of a dump in ``text``. One look, for all kinds of them."""
        return self._any.occurs(text)

    def read(self, text: str) -> Iterator[Decoded]:
        """What the dumps in ``text`` hold."""
        if self._pairs.occurs(text):
            for matches in _blocks(_LINE, text, apart=_COLUMN):
                if len(matches) > 1:
                    yield from _pairs(text, [_bytes(match) for match in matches])
        if self._bare.occurs(text):
            for match in _BARE_LINE.finditer(text):
                yield from _pairs(text, [match.span()])
        if self._characters.occurs(text):
            for matches in _blocks(_CHARACTERS, text, apart=_NEXT_LINE):
                yield from _cells(text, [match.span("cells") for match in matches])


def dump_columns(text: str) -> PiecewiseView | None:
    """The columns of characters beside the bytes of hex dumps, as one text."""
    parts: list[str] = []
    starts: list[int] = []
    offsets: list[int] = []
    length = 0
    for match in _LINE.finditer(text):
        column = _characters(text, *_bytes(match))
        if column is not None:
            parts.append(text[slice(*column)])
            starts.append(length)
            offsets.append(column[0])
            length += len(parts[-1])
    return PiecewiseView("".join(parts), starts=starts, offsets=offsets) if parts else None


def _bytes(line: re.Match[str]) -> tuple[int, int]:
    """Where the pairs of a line stand; as many characters as there are bytes are their column."""
    start, end = line.span("bytes")
    pairs, _, column = line["bytes"].rpartition("  ")
    if column and len(pairs.replace(" ", "")) == 2 * len(column):
        end -= len(column) + 2
    return start, end


def _characters(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the characters beside the pairs of a line stand; a bar may be one of them."""
    column = _COLUMN_OF_CHARACTERS.match(text, end)
    if column is None:
        return None
    first, last = column.span(1)
    whole = first + sum(1 for _ in _PAIR.finditer(text, start, end))
    if text[whole : whole + 1] == "|" and "\n" not in text[first:whole]:
        last = whole
    return first, last


def _blocks(line: re.Pattern[str], text: str, *, apart: int) -> Iterator[list[re.Match[str]]]:
    """Lines that follow each other, at most so many characters ``apart``."""
    block: list[re.Match[str]] = []
    for match in line.finditer(text):
        if block and match.start() > block[-1].end() + apart:
            yield block
            block = []
        block.append(match)
    if block:
        yield block


def _pairs(text: str, stretches: list[tuple[int, int]]) -> Iterator[Decoded]:
    """The pairs in stretches of a text as one, where they say anything."""
    pairs = [pair for stretch in stretches for pair in _PAIR.finditer(text, *stretch)]
    raw = bytes.fromhex("".join(pair.group() for pair in pairs))
    if _PRINTABLE_RUN.search(raw):
        yield Digits(raw.decode("latin-1"), spans=[pair.span() for pair in pairs])


def _cells(text: str, stretches: list[tuple[int, int]]) -> Iterator[Decoded]:
    """The characters in stretches of a text as one, where they say anything."""
    cells = [cell for stretch in stretches for cell in _CELL.finditer(text, *stretch)]
    said = "".join(map(_character, cells))
    if _PRINTABLE_RUN.search(said.encode("latin-1")):
        spans = [cell.span(cell.lastindex or 0) for cell in cells]
        yield Digits(said, spans=spans, form=ESCAPED)


def _character(cell: re.Match[str]) -> str:
    char, name, octal = cell.groups()
    return char or _NAMED.get(name) or chr(int(octal, 8))
