"""The output of a program to one place: the terminal, or a pipe or a file of its own.

Where several go into one channel, each is a text of its own. A secret that was written in two
pieces with a line of the other stream between them is found, and lines are as long as they were
written. What of it only a screen shows is read from a screen of its own, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from ptycassette.scrub.views._channels import BLOCK, Blocks, around
from ptycassette.scrub.views._messages import Messages
from ptycassette.scrub.views._printed import printed_views
from ptycassette.scrub.views._screen import ScreenReader
from ptycassette.scrub.views._view import Patch, View

_BODY_BLOCK, _BODY_OVERLAP = 1 << 20, 1 << 16


class _Places:
    """Where in its channel each run of a stream is."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._offsets: list[int] = []
        self.length = 0

    def add(self, length: int, offset: int) -> None:
        """Note that the stream goes on at ``offset`` of the channel."""
        if not self._starts or offset - self._offsets[-1] != self.length - self._starts[-1]:
            self._starts.append(self.length)
            self._offsets.append(offset)
        self.length += length

    def placed(self, at: int, data: bytes) -> Iterator[Patch]:
        """Bytes from ``at`` in the stream on, as patches of the channel."""
        run = max(0, bisect_right(self._starts, at) - 1)
        while data and run < len(self._starts):
            end = self._starts[run + 1] if run + 1 < len(self._starts) else self.length
            part = data[: max(0, end - at)]
            if part:
                yield self._offsets[run] + at - self._starts[run], part
            data = data[len(part) :]
            at += len(part)
            run += 1


class StreamView(View):
    """A view of a stream, whose places are those of the channel."""

    def __init__(self, inner: View, name: str, places: _Places) -> None:
        super().__init__(inner.text)
        self._inner, self._places = inner, places
        self.kind = (name, *inner.kind)

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """See ``View.patches``."""
        for offset, data in self._inner.patches(start, end, form):
            yield from self._places.placed(offset, data)

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        for at, length, offset in self._inner.pieces(start, end):
            for place, part in self._places.placed(offset, bytes(length)):
                yield at, len(part), place
                at += len(part)  # noqa: PLW2901 - the piece goes on there


class StreamText:
    """One stream: its print stream, its strings, its messages and its screen.

    Args:
        name: of the stream; "" for one that is all of its channel.
        block: after how many bytes a view is made.
        screen: what it paints; None for input.
        wanted: whether the bytes between two offsets are to be read; None for all.
    """

    def __init__(
        self,
        name: str = "",
        block: int = BLOCK,
        *,
        screen: ScreenReader | None = None,
        wanted: Callable[[int, int], bool] | None = None,
    ) -> None:
        self.name = name
        self.screen = screen
        self._wanted, self._block = wanted or (lambda *_: True), block
        self._text, self._messages = Blocks(self._printed, block), Messages()
        self._places = _Places()
        self._length = 0

    def feed(self, data: bytes, offset: int) -> Iterator[Iterable[View]]:
        """Take bytes that are at ``offset`` of the channel; returns views that belong together."""
        if self.name:
            self._places.add(len(data), offset)
        while data:
            part = data[: self._block - self._length % self._block]
            data = data[len(part) :]
            self._length += len(part)
            if self.screen is not None:
                self.screen.feed(part)
            whole = [*self._text.feed(part)]
            messages = [*self._messages.feed(part)]
            if self._wanted(self._length - len(part), self._length):
                whole += messages
            if whole or (self.screen is not None and self.screen.full):
                yield self._placed_views(whole)

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        if self.screen is not None:
            self.screen.rest()
        return self._placed_views([*self._text.rest(), *self._messages.rest()])

    def _printed(self, raw: str, base: int) -> Iterable[View]:
        stretches = around(raw, lambda start, end: self._wanted(base + start, base + end))
        return chain.from_iterable(
            printed_views(raw[start:end], base + start) for start, end in stretches
        )

    def _placed_views(self, views: Iterable[View]) -> Iterator[View]:
        for view in chain(views, () if self.screen is None else self.screen.take()):
            yield StreamView(view, self.name, self._places) if self.name else view


class TrafficText:
    """One body of the tape among others in its channel.

    Args:
        name: of the body.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        bodies = Blocks(lambda raw, base: (View(raw, base=base),), _BODY_BLOCK, _BODY_OVERLAP)
        self._readers = (bodies, Messages())
        self._places = _Places()

    def feed(self, data: bytes, offset: int) -> Iterator[View]:
        """Take bytes that are at ``offset`` of the channel; returns views whenever there are."""
        self._places.add(len(data), offset)
        for reader in self._readers:
            yield from self._placed_views(reader.feed(data))

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        for reader in self._readers:
            yield from self._placed_views(reader.rest())

    def _placed_views(self, views: Iterator[View]) -> Iterator[View]:
        for view in views:
            yield StreamView(view, self.name, self._places)
