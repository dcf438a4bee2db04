"""Base64 in both alphabets (RFC 4648), at every alignment, in one line or in lines; base32.

A run of digits is read from each of its first four: nobody knows where the encoded text begins.
Lines of digits below each other (RFC 2045 6.8, RFC 7468) are moreover read as one.
"""

from __future__ import annotations

from base64 import b32decode, b64decode
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub._mask import BASE32, BASE64
from ptycassette.scrub.decode._decoded import Decoded, Spans, is_readable
from ptycassette.scrub.match import Pattern

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

    Of its bytes every other one is zero, so three are a character, zero and a character, and the
    next three zero, a character and zero.
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
    """What the digits in ``spans`` say, read from each of their first four; if it is readable."""
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
    """Where in the text the digits of each byte are, of digits that stand in lines."""
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
