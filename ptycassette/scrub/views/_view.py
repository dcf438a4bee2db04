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
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from ptycassette.scrub._mask import SELECTOR, TEXT, mask

Patch = tuple[int, bytes]
"""Offset in the channel, and the bytes to put there."""


class View:
    """A root view in which character ``i`` is byte ``base + i`` of the channel.

    Attributes:
        kind: texts of one channel and one kind continue each other.
        borders: where strings of one value meet. Only a token of a known shape goes on there.
    """

    borders: Sequence[int] = ()

    def __init__(self, text: str, *, base: int = 0) -> None:
        self.kind: tuple[str, ...] = (type(self).__name__,)
        self.text = text
        self.base = base

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """The patches that mask characters ``start`` to ``end``."""
        # What makes a character wider stands behind it, and has no cell of its own.
        beyond = end + len(SELECTOR) * (form == TEXT and self.text.startswith(SELECTOR, end))
        yield from self._written(start, end, mask(self.text[start:beyond], form))

    def masks(self, stretches: Iterable[tuple[int, int]], form: str) -> Iterator[Patch]:
        """The patches that mask several stretches."""
        for start, end in stretches:
            yield from self.patches(start, end, form)

    def _written(self, start: int, end: int, masked: str) -> Iterator[Patch]:
        """The patches that write ``masked`` to the bytes of characters ``start`` to ``end``."""
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


class RunsView(View):
    """A view made of runs of another text, with gaps between them.

    Args:
        parts: the texts of the runs, each with its offset; -1 for one that has no bytes.
        parent: the view that the offsets are positions in; None if they are those of the channel.
    """

    def __init__(self, parts: Iterable[tuple[str, int]], parent: View | None = None) -> None:
        texts = [*parts]
        super().__init__("".join([text for text, _ in texts]))
        self._starts = [*accumulate((len(text) for text, _ in texts), initial=0)]
        self._offsets = [offset for _, offset in texts]
        self._parent = parent

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        run = max(0, bisect_right(self._starts, start) - 1)
        while run < len(self._offsets) and self._starts[run] < end:
            here, there = self._starts[run], self._offsets[run]
            first, last = max(start, here), min(end, self._starts[run + 1])
            run += 1
            if there < 0 or first >= last:
                continue
            shift = there - here
            if self._parent is None:
                yield first, last - first, first + shift
            else:
                for at, count, offset in self._parent.pieces(first + shift, last + shift):
                    yield at - shift, count, offset
