"""Texts to search, each able to say which bytes of the recording a stretch of it came from.

A *root* view shows bytes of a channel in some order (as written, as printed,
as they stand on the screen, as typed). A *derived* view shows a root view
decoded. A hit in any view leads back to a stretch of a root view, is masked
there in the form in which it stands (text, base64, hex, escapes), and becomes
patches: bytes at offsets of the channel, always as many as there were.

Mapping is done for hits alone; a view without hits costs its text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ptycassette.scrub.canonical import SQUEEZED_AWAY, squeeze
from ptycassette.scrub.mask import SELECTOR, TEXT, mask

__all__ = ["Patch", "PiecewiseView", "SourcedView", "View", "squeezed_stretches"]

_MANY = 32
_DENSE = 200
Patch = tuple[int, bytes]
"""Offset in the channel, and the bytes to put there."""


class View:
    """A root view in which character ``i`` is byte ``base + i`` of the channel.

    Attributes:
        found: whether whoever searched it found anything.
    """

    def __init__(self, text: str, *, base: int = 0) -> None:
        self.text = text
        self.base = base
        self.found = False

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """What to write so that characters ``start`` to ``end`` are gone."""
        # What makes a character wider stands behind it, and has no cell of its own.
        beyond = end + len(SELECTOR) * (form == TEXT and self.text.startswith(SELECTOR, end))
        yield from self._written(start, end, mask(self.text[start:beyond], form))

    def _written(self, start: int, end: int, masked: str) -> Iterator[Patch]:
        """``masked``, to be written where characters ``start`` to ``end`` came from."""
        for at, length, offset in self.pieces(start, end):
            yield offset, masked[at - start : at - start + length].encode("latin-1")

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(position in the text, length, offset in the channel) of what came from the channel."""
        yield start, end - start, self.base + start

    def offset(self, start: int, end: int) -> int | None:
        """Offset in the channel of the first character that has one."""
        for _, _, offset in self.pieces(start, end):
            return offset
        return None


class PiecewiseView(View):
    """A root view made of runs of bytes, with gaps between them.

    Args:
        text: the characters.
        starts: positions in the text where runs start, ascending, the first 0.
        offsets: offsets in the channel of these runs, or -1 for characters without bytes.
    """

    def __init__(self, text: str, *, starts: Sequence[int], offsets: Sequence[int]) -> None:
        super().__init__(text)
        self._starts = starts
        self._offsets = offsets

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        run = max(0, bisect_right(self._starts, start) - 1)
        while start < end and run < len(self._starts):
            run_end = self._starts[run + 1] if run + 1 < len(self._starts) else len(self.text)
            stop = min(end, run_end)
            if self._offsets[run] >= 0 and stop > start:
                yield start, stop - start, self._offsets[run] + start - self._starts[run]
            start = max(start, stop)
            run += 1


class SourcedView(View):
    """A root view whose every character has an offset of its own, or -1 for none."""

    def __init__(self, text: str, *, sources: Sequence[int]) -> None:
        super().__init__(text)
        self._sources = sources

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        sources = self._sources
        at = start
        while at < end:
            stop = at + 1
            while stop < end and sources[stop] == sources[at] + stop - at >= 0:
                stop += 1
            if sources[at] >= 0:
                yield at, stop - at, sources[at]
            at = stop


def squeezed_stretches(text: str, spans: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """For each span of the squeezed form of ``text`` (ascending), its stretches of ``text``."""
    result: list[list[tuple[int, int]]] = [[] for _ in spans]
    first = squeezed_at = text_at = 0
    if len(spans) > _MANY and len(text) < len(spans) * _DENSE:  # on nearly every line
        _in_line(text, spans, result, first=0, at=(0, 0))
        return result
    for line in text.split("\n"):
        if first == len(spans):
            break
        squeezed_end = squeezed_at + len(squeeze(line))
        if spans[first][0] < squeezed_end:
            first = _in_line(line, spans, result, first=first, at=(squeezed_at, text_at))
        squeezed_at = squeezed_end
        text_at += len(line) + 1
    return result


def _in_line(
    line: str,
    spans: Sequence[tuple[int, int]],
    result: list[list[tuple[int, int]]],
    *,
    first: int,
    at: tuple[int, int],
) -> int:
    """Add the stretches of one line; returns the first span that does not end in it.

    ``at`` says where the line begins in the squeezed form and in the text.
    """
    squeezed_at, text_at = at
    base = text_at
    for match in (*SQUEEZED_AWAY.finditer(line), None):
        gap_start, gap_end = match.span() if match else (len(line), len(line))
        shift = text_at - squeezed_at
        stop = base + gap_start - shift
        number = first
        while number < len(spans) and spans[number][0] < stop:
            start, end = max(spans[number][0], squeezed_at), min(spans[number][1], stop)
            if end > start:
                result[number].append((start + shift, end + shift))
            if spans[number][1] > stop:
                break
            number += 1
        first = number
        if first == len(spans):
            break
        squeezed_at, text_at = stop, base + gap_end
    return first
