"""How large, long and deep a cassette may be. Checked before the bytes are used.

A cassette is untrusted input. Every limit is far above what a recording of a
terminal program needs, and low enough that refusing a hostile directory costs
neither a second nor 256 MB. The writer holds itself to the same limits, so
that nothing which was written is refused later.
"""

from __future__ import annotations

import re

import msgspec

from ptycassette.errors import LimitError

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
UINT16_MAX = 2**16 - 1

_MAX_EXTREME = 10_000
"""Numbers beyond 1e99 or below 1e-99 in one piece of JSON: msgspec takes 10 us for each, and
0.02 us for others."""
_EXTREME = re.compile(rb"[0-9][eE][+-]?[0-9]{3}")
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*"', re.DOTALL)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a reader. Lengths are in bytes unless the name has another unit."""

    max_document_bytes: int = 4 << 20
    """``manifest.json`` and each other ``.json`` file."""
    max_line_bytes: int = 16 << 20
    """One line of a ``.jsonl`` file, its newline not counted."""
    max_stream_bytes: int = 4 << 30
    """One ``.jsonl`` file."""
    max_output_bytes: int = 8 << 30
    """``output.raw``, and each file that only ``optional.artifacts`` knows."""
    max_chunk_bytes: int = 64 << 20
    """The bytes of one output record."""
    max_body_bytes: int = 4 << 30
    """One body of the tape, unpacked."""
    max_uncovered_bytes: int = 64 << 20
    """Bytes of ``output.raw`` behind the last chunk, where that is allowed at all."""
    max_values: int = 100_000
    """JSON values in one document: commas and opening brackets and braces outside of texts."""
    max_line_values: int = 500_000
    """The same in one line of a ``.jsonl`` file."""
    max_depth: int = 64
    """How deep arrays and objects nest in one document or line."""
    max_entries: int = 256
    """Entries in the directory."""
    max_name_bytes: int = 255
    """The length of an artifact's name."""


DEFAULT_LIMITS = Limits()


def check_density(data: bytes, max_values: int, where: str) -> None:
    """Refuse JSON that would decode into too many values, before decoding it.

    Each value but the first follows a comma, a bracket or a brace, so their
    number bounds the number of values. Those in texts do not count; they are
    left out only when it matters, because that takes longer.

    Raises:
        LimitError: more values than ``max_values``, or too many extreme numbers.
    """
    _check_extremes(data, where)
    if len(data) < max_values or _punctuation(data) <= max_values:
        return
    count = end = 0
    # Text by text, and no further than to the limit: megabytes of short ones take memory, too.
    # A value has at most two, its key and itself; a text with more is not JSON.
    for number, text in enumerate(_TEXT.finditer(data)):
        count = max(count + _punctuation(data[end : text.start()]), number // 2)
        end = text.end()
        if count > max_values:
            break
    else:
        count += _punctuation(data[end:])
    if count > max_values:
        raise LimitError(
            f"about {count} JSON values or more, and a reader accepts {max_values}", where=where
        )


def check_line_density(lines: bytes, max_values: int, place: str, first_line: int) -> None:
    """The same for each of many lines; usually one look at all of them is enough.

    Raises:
        LimitError: a line holds more values than ``max_values``, or all of them too many
            extreme numbers.
    """
    _check_extremes(lines, f"{place} from line {first_line}")
    if len(lines) < max_values or _punctuation(lines) <= max_values:
        return
    for number, line in enumerate(lines.split(b"\n"), first_line):
        check_density(line, max_values, f"{place} line {number}")


def _check_extremes(data: bytes, where: str) -> None:
    if len(data) < 5 * _MAX_EXTREME or _punctuation(data) <= _MAX_EXTREME:
        return
    if len(_EXTREME.findall(data)) > _MAX_EXTREME:
        count = len(_EXTREME.findall(_TEXT.sub(b"", data)))
        if count > _MAX_EXTREME:
            raise LimitError(
                f"{count} numbers with an exponent of three digits, and a reader accepts "
                f"{_MAX_EXTREME}",
                where=where,
            )


def _punctuation(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")
