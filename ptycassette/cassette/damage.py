r"""How git and other tools damage the files of a cassette, how to detect it, and how to repair it.

=====================  =====================================================  ================
damage                 how it is detected                                     repair
=====================  =====================================================  ================
CRs removed            the digest fits with CRs put back                      the same
CRs added              the digest fits without them                           the same
last newline           the digest fits with one more, or one fewer            the same
byte order mark,       the digest fits in UTF-8                               the same
UTF-16
``$Id$`` expanded      the digest fits without the expansion                  the same
pointer of Git LFS,    its first bytes                                        fetch the file
of git-annex
conflict markers       its lines                                              take one side
=====================  =====================================================  ================

Nothing is guessed: bytes count as restored only if they have the pinned digest. Line ends of
``output.raw`` may be mixed, so that each could have had a CR or not; there the chunks are matched
with their digests one after the other.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import combinations, pairwise, product

import msgspec

from ptycassette.model.records import OutputRecord

LINE_ENDS_REMOVED = "CRs of its line ends were removed"
LINE_ENDS_ADDED = "CRs were added to its line ends"
LINE_ENDS_MIXED = "CRs of some line ends were removed or added"
NEWLINE_ADDED = "newlines were added at its end"
NEWLINE_REMOVED = "the newline at its end was removed"
ENCODED = "its encoding was changed"
EXPANDED = "$Id$ in it was expanded"

HEAD_BYTES = 1024
"""So much of a file shows whether it is a pointer."""

_BOM = b"\xef\xbb\xbf"
_UTF16 = {b"\xff\xfe": codecs.utf_16_le_decode, b"\xfe\xff": codecs.utf_16_be_decode}
_EXPANDED = re.compile(rb"\$Id: [0-9a-f]{40,64} ?\$")
_MARKERS = re.compile(rb"^(?:<{7} |>{7} |\|{7} |={7}\r?$)", re.MULTILINE)
_SIDES = tuple(
    re.compile(pattern, re.MULTILINE) for pattern in (rb"^<{7} ", rb"^={7}\r?$", rb"^>{7} ")
)
_MAX_POINTER_BYTES = 1024

Fits = Callable[[bytes], bool]


class Unfetched(msgspec.Struct, frozen=True):
    """A pointer in place of the file: its kind, and the command that fetches the file."""

    what: str
    command: str


def unfetched(head: bytes, *, size: int) -> Unfetched | None:
    """The pointer in a file; None if the file is no pointer.

    The forms are those of git-lfs (docs/spec.md: a first line ``version URL``) and of git-annex
    (unlocked files: a path with ``/annex/objects/``).

    Args:
        head: the first bytes of the file.
        size: the length of the file.
    """
    if size > _MAX_POINTER_BYTES:
        return None
    if re.match(rb"version https?://[^\s/]+/spec/v\d+\r?\n(?:.*\n)*oid sha256:", head):
        return Unfetched("a pointer of Git LFS", "git lfs install --local && git lfs pull")
    if re.match(rb"/annex/objects/\S+\r?\n?\Z", head):
        return Unfetched("a pointer of git-annex", "git annex get .")
    return None


def conflict_line(data: bytes, *, is_json: bool) -> int | None:
    """The number of the first line with a marker of a merge conflict, from 1; None without one.

    Args:
        data: the bytes of the file.
        is_json: no line of it can begin with a marker unless git put it there. Otherwise a
            program may have printed some, so that all three must be there.
    """
    if is_json:
        found = _MARKERS.search(data)
        at = None if found is None else found.start()
    else:
        at, end = None, 0
        for side in _SIDES:
            found = side.search(data, end)
            if found is None:
                return None
            at, end = (found.start() if at is None else at), found.end()
    return None if at is None else data.count(b"\n", 0, at) + 1


def undone(data: bytes, *, size: int | None, fits: Fits) -> tuple[bytes, str] | None:
    """The original bytes of a file, and the change; None if no known change explains it.

    Args:
        data: the current bytes of the file.
        size: the original length, None if that is not known.
        fits: whether bytes are the recorded ones.
    """
    for encoded, first in _encodings(data):
        for ended, second in _line_ends(encoded, size):
            for whole, third in _ends(ended):
                causes = [cause for cause in (first, second, third) if cause]
                if causes and (size is None or len(whole) == size) and fits(whole):
                    return whole, " and ".join(causes)
    return None


def _encodings(data: bytes) -> Iterator[tuple[bytes, str]]:
    yield data, ""
    if data.startswith(_BOM):
        yield data[len(_BOM) :], ENCODED
    decode = _UTF16.get(data[:2])
    if decode is None and len(data) > 1 and 0 in data[:2]:
        decode = codecs.utf_16_le_decode if data[1] == 0 else codecs.utf_16_be_decode
    if decode is not None:
        with suppress(UnicodeError):
            yield decode(data, "strict", True)[0].removeprefix("\ufeff").encode(), ENCODED
    if _EXPANDED.search(data):
        yield _EXPANDED.sub(b"$Id$", data), EXPANDED


def _line_ends(data: bytes, size: int | None) -> Iterator[tuple[bytes, str]]:
    """``data`` with its line ends in each way, if that can make ``size`` bytes."""
    yield data, ""
    lf, crlf = data.count(b"\n"), data.count(b"\r\n")
    ways: tuple[tuple[int, Callable[[], bytes], str], ...] = (
        (lf - crlf, lambda: re.sub(rb"(?<!\r)\n", b"\r\n", data), LINE_ENDS_REMOVED),
        (lf, lambda: data.replace(b"\n", b"\r\n"), LINE_ENDS_REMOVED),
        (-crlf, lambda: data.replace(b"\r\n", b"\n"), LINE_ENDS_ADDED),
    )
    for more, changed, cause in ways:
        if more and (size is None or abs(len(data) + more - size) <= _MOST_NEWLINES):
            yield changed(), cause


_MOST_NEWLINES = 4
"""Editors add one newline, or cut those that are too many, of which terminals print few."""


def _ends(data: bytes) -> Iterator[tuple[bytes, str]]:
    yield data, ""
    for newlines in (b"\n", b"\r\n", b"\n\n", b"\r\n\r\n"):
        yield data + newlines, NEWLINE_REMOVED
    for newlines in (b"\r\n", b"\n"):
        if data.endswith(newlines):
            yield data[: -len(newlines)], NEWLINE_ADDED


def undone_output(
    data: bytes, chunks: Sequence[OutputRecord], *, sha256_hex: str, effort: int
) -> tuple[bytes, str] | None:
    """The bytes that ``output.raw`` had, as ``undone`` does, by the digests of its chunks, too.

    Args:
        data: what the file is now.
        chunks: the output records, in order.
        sha256_hex: the digest of the whole file.
        effort: how much to try at most, in lines and KiB of all ways to put the chunks together;
            a million is about a second.
    """

    def fits(whole: bytes) -> bool:
        return sha256(whole).hexdigest() == sha256_hex

    if fits(data):
        return None
    size = max((record.offset + record.length for record in chunks), default=0)
    found = undone(data, size=size, fits=fits)
    if found is not None:
        return found
    pinned = all(record.sha256 for record in chunks if record.length)
    if not pinned or not all(
        one.offset + one.length == other.offset for one, other in pairwise(chunks)
    ):
        return None
    # One CR is taken from each line end. Each then had none, one, or two (CR CR LF: a program wrote
    # CR LF to a terminal that adds a CR).
    whole = _Pieces(data.replace(b"\r\n", b"\n"), effort).put_together(chunks)
    return (whole, LINE_ENDS_MIXED) if whole is not None and fits(whole) else None


_LIKELY = (1, 0, 2)
"""How many CRs a line end had, the likely numbers first."""


class _Pieces:
    """Puts chunks together from ``base``, in which each LF may lack CRs before it."""

    def __init__(self, base: bytes, effort: int) -> None:
        self._base = base
        self._effort = effort

    def put_together(self, chunks: Sequence[OutputRecord]) -> bytes | None:
        """All chunks, or None: one cannot be found, or only with more effort."""
        made: list[bytes] = []
        at, cut = 0, False  # cut: the last chunk ended with a CR of the LF that is next
        for record in chunks:
            if not record.length:
                continue
            for piece, end, split in self._ways(at, record.length, cut=cut):
                if sha256(piece).hexdigest() == record.sha256:
                    made.append(piece)
                    at, cut = end, split
                    break
            else:
                return None
        return b"".join(made) if at == len(self._base) and not cut else None

    def _ways(self, at: int, length: int, *, cut: bool) -> Iterator[tuple[bytes, int, bool]]:
        """Each way to make ``length`` bytes from ``at``: the bytes, where they end, and ``cut``.

        The likely ones come first: all line ends alike, then few exceptions.
        """
        lines = self._base[at : at + length].split(b"\n")
        for exceptions in range(len(lines) + 1):
            for chosen in combinations(range(len(lines)), exceptions):
                for usual in _LIKELY:
                    others = [number for number in _LIKELY if number != usual]
                    for numbers in product(others, repeat=exceptions):
                        self._effort -= 1 + len(lines) + (length >> 10)
                        if self._effort < 0:
                            return
                        crs = [usual] * len(lines)
                        if cut:
                            crs[0] = 0
                        for line, number in zip(chosen, numbers, strict=True):
                            crs[line] = number
                        way = self._way(lines, at, length, crs)
                        if way is not None:
                            yield way

    def _way(
        self, lines: list[bytes], at: int, length: int, crs: list[int]
    ) -> tuple[bytes, int, bool] | None:
        """``length`` bytes, with ``crs`` CRs at the end of each line; None if there are fewer."""
        parts: list[bytes] = []
        left = length
        for line, number in zip(lines, crs, strict=True):
            if len(line) >= left:
                parts.append(line[:left])
                return b"".join(parts), at + left, False
            left -= len(line)
            at += len(line)
            if self._base[at : at + 1] != b"\n":
                return None
            if number >= left:
                parts += (line, b"\r" * left)
                return b"".join(parts), at, True
            parts += (line, b"\r" * number, b"\n")
            left -= number + 1
            at += 1
            if not left:
                return b"".join(parts), at, False
        return None
