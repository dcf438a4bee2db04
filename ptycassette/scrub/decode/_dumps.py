"""Hex and character dumps, whose lines are decoded as one text.

As ``xxd``, ``xxd -p``, ``hexdump -C``, ``od -tx1``, ``od -c`` and ``hexdump -c`` print them. A
single line is read elsewhere too; what makes a dump is that it continues on the next line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub._mask import ESCAPED
from ptycassette.scrub.decode._decoded import Decoded, is_readable, of_digits
from ptycassette.scrub.decode._plug import Spans
from ptycassette.scrub.views import PiecewiseView

__all__ = ["DUMP", "dump_columns", "dumps"]

_OFFSET = r"^[ \t]*(?:0x)?[0-9A-Fa-f]{4,16}:?[ \t]{1,3}"
_BYTE = "[0-9A-Fa-f]{2}"
# Pairs of printable ASCII, tabs and line ends: next to no line of random bytes is all such.
_TEXT_PAIR = "(?:[2-7][0-9A-Fa-f]|0[9ADad])"
_LINE = re.compile(
    rf"{_OFFSET}(?P<bytes>(?:{_BYTE}){{1,2}}(?: {{1,2}}(?:{_BYTE}){{1,4}}){{0,31}})(?= |$)",
    re.MULTILINE,
)
_BARE = re.compile(
    rf"^[ \t]*{_TEXT_PAIR}{{16,64}}[ \t\r]*$(?:\n[ \t]*{_TEXT_PAIR}{{1,64}}[ \t\r]*$)+",
    re.MULTILINE,
)
# A cell is three wide behind a blank: a character, the name of one that has no picture, or its
# octal digits (POSIX, od: -t c).
_CELLS = re.compile(
    r"^(?:[0-9A-Fa-f]{6,8})?(?P<cells>(?: {3}[ -~]| {2,3}\\[0abefnrtv]| [0-3][0-7]{2}){1,32})"
    r"[ \r]*$",
    re.MULTILINE,
)
_PAIR = re.compile(_BYTE)
_CELL = re.compile(r" {3}([ -~])| {2,3}\\([0abefnrtv])| ([0-3][0-7]{2})")
_NAMED = dict(zip("0abefnrtv", "\0\a\b\x1b\f\n\r\t\v", strict=True))
_COLUMN = 80  # characters that may stand beside the bytes of a line
_LINE_END = 8
_COLUMN_OF_CHARACTERS = re.compile(r" {1,60}\|?([^\r\n|]{1,32})")


DUMP = rf"(?m:{_OFFSET}{_BYTE}|^[ \t]*{_TEXT_PAIR}{{16}})|(?: {{3}}[!-~]){{4}}"
"""The beginning of a line of any dump."""


def dumps(text: str, _spans: Spans) -> Iterator[Decoded]:
    """The bytes of each dump as one text."""
    for lines in _blocks(_LINE, text, apart=_COLUMN):
        if len(lines) > 1:
            yield from _pairs(text, [_bytes(line) for line in lines])
    for block in _BARE.finditer(text):
        yield from _pairs(text, [block.span()])
    for lines in _blocks(_CELLS, text, apart=_LINE_END):
        spans = [line.span("cells") for line in lines]
        cells = [cell for span in spans for cell in _CELL.finditer(text, *span)]
        raw = "".join(map(_character, cells)).encode("latin-1")
        if is_readable(raw):
            yield of_digits(raw, [cell.span(cell.lastindex or 0) for cell in cells], form=ESCAPED)


def dump_columns(text: str) -> PiecewiseView | None:
    """The columns of characters beside the bytes of hex dumps, as one text."""
    parts: list[str] = []
    starts: list[int] = []
    offsets: list[int] = []
    length = 0
    for line in _LINE.finditer(text):
        column = _beside(text, *_bytes(line))
        if column is not None:
            parts.append(text[slice(*column)])
            starts.append(length)
            offsets.append(column[0])
            length += len(parts[-1])
    return PiecewiseView("".join(parts), starts=starts, offsets=offsets) if parts else None


def _bytes(line: re.Match[str]) -> tuple[int, int]:
    """The places of the hexadecimal pairs in a line, without the column of characters."""
    start, end = line.span("bytes")
    pairs, _, column = line["bytes"].rpartition("  ")
    if column and len(pairs.replace(" ", "")) == 2 * len(column):
        end -= len(column) + 2
    return start, end


def _beside(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The places of the characters beside the pairs of a line. A bar may be one of them."""
    column = _COLUMN_OF_CHARACTERS.match(text, end)
    if column is None:
        return None
    first, last = column.span(1)
    whole = first + sum(1 for _ in _PAIR.finditer(text, start, end))
    if text[whole : whole + 1] == "|" and "\n" not in text[first:whole]:
        last = whole
    return first, last


def _blocks(line: re.Pattern[str], text: str, *, apart: int) -> Iterator[list[re.Match[str]]]:
    """Groups of consecutive lines, at most ``apart`` characters from each other."""
    block: list[re.Match[str]] = []
    for match in line.finditer(text):
        if block and match.start() > block[-1].end() + apart:
            yield block
            block = []
        block.append(match)
    if block:
        yield block


def _pairs(text: str, stretches: list[tuple[int, int]]) -> Iterator[Decoded]:
    pairs = [pair for stretch in stretches for pair in _PAIR.finditer(text, *stretch)]
    raw = bytes.fromhex("".join([pair.group() for pair in pairs]))
    if is_readable(raw):
        yield of_digits(raw, [pair.span() for pair in pairs])


def _character(cell: re.Match[str]) -> str:
    char, name, octal = cell.groups()
    return char or _NAMED.get(name) or chr(int(octal, 8))
