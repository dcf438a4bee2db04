"""The output of a program to one place: the terminal, or a pipe or a file of its own.

Where several go into one channel, each is a text of its own. A secret that was written in two
pieces with a line of the other stream between them is found, and lines are as long as they were
written. What of it only a screen shows is read from a screen of its own, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from ptycassette.scrub.views._channels import BLOCK, Blocks, around
from ptycassette.scrub.views._messages import Messages
from ptycassette.scrub.views._printed import printed_views
from ptycassette.scrub.views._screen import ScreenReader
from ptycassette.scrub.views._view import Patch, View

_BODY_BLOCK, _BODY_OVERLAP = 1 << 20, 1 << 16
_REREAD = 1 << 13
"""So many bytes before the end of what two bodies share are read again, twice as many as at the
cuts of other texts."""
_MOST_SHARED, _MOST_FOUND = 8 << 20, 4096


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
        self.name = name
        self._inner, self._places = inner, places
        self.kind = (name, *inner.kind)
        self.borders = inner.borders

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """See ``View.patches``."""
        for offset, data in self._inner.patches(start, end, form):
            yield from self._places.placed(offset, data)

    def within(self, stretches: Iterable[tuple[int, int]], form: str) -> list[Patch]:
        """The patches that mask several stretches, with offsets in the stream."""
        return [*self._inner.masks(stretches, form)]

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
        self._text, self._messages = Blocks(self._printed, block), Messages(wanted)
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
            whole = [*self._text.feed(part), *self._messages.feed(part)]
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


class FoundInBody(NamedTuple):
    """What was found in a body: the patches that mask it, with offsets in the body, and why."""

    patches: list[Patch]
    rule: str
    form: str
    length: int


class TrafficText:
    """One body of the tape among others in its channel.

    An agent sends the whole conversation with each question. What a body repeats of the beginning
    of an earlier one is not read again: what was found there is found here, too.

    Args:
        name: of the body.
        earlier: bodies that were read to their ends; None where no other body begins as this one.

    Attributes:
        found: what was found in it.
        repeated: what was found in the part that is not read, until it is taken from here.
    """

    def __init__(self, name: str, earlier: Sequence[TrafficText] | None = None) -> None:
        self.name = name
        self.found: list[FoundInBody] = []
        self.repeated: list[FoundInBody] = []
        bodies = Blocks(lambda raw, base: (View(raw, base=base),), _BODY_BLOCK, _BODY_OVERLAP)
        self._readers = (bodies, Messages())
        self._places = _Places()
        self._keeps = earlier is not None
        self._earlier = [*(earlier or ())]
        self._like: TrafficText | None = None
        self._data = bytearray()

    @property
    def can_be_repeated(self) -> bool:
        """Whether it is short enough to be kept for bodies that begin as it does."""
        return 2 * _REREAD <= len(self._data) <= _MOST_SHARED and len(self.found) <= _MOST_FOUND

    @property
    def length(self) -> int:
        """How many bytes of it are kept."""
        return len(self._data)

    def placed(self, patches: Iterable[Patch]) -> Iterator[Patch]:
        """Patches of the body, with their offsets in the channel."""
        for offset, data in patches:
            yield from self._places.placed(offset, data)

    def feed(self, data: bytes, offset: int) -> Iterator[View]:
        """Take bytes that are at ``offset`` of the channel; returns views whenever there are."""
        self._places.add(len(data), offset)
        if not self._data and self._earlier:
            self._like = max(self._earlier, key=lambda one: one.shares(data))
            self._earlier.clear()
        at = len(self._data)
        if self._keeps and at <= _MOST_SHARED:
            self._data += data
        if self._like is None:
            yield from self._read(data)
        elif (shared := self._like.shares(data, at)) < len(data):
            yield from self._read_from(at + shared)

    def shares(self, data: bytes, at: int = 0) -> int:
        """How many bytes of ``data`` are also here, at ``at``."""
        low, high = 0, min(len(data), max(0, len(self._data) - at))
        while low < high:
            middle = (low + high + 1) // 2
            if self._data[at + low : at + middle] == data[low:middle]:
                low = middle
            else:
                high = middle - 1
        return low

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        if self._like is not None:
            yield from self._read_from(len(self._data))
        for reader in self._readers:
            yield from self._placed_views(reader.rest())

    def _read_from(self, shared: int) -> Iterator[View]:
        """Go on by reading, from a little before the end of what is shared."""
        assert self._like is not None  # noqa: S101 - the caller asked
        begin = max(0, shared - _REREAD)
        until = begin + _REREAD // 2 if begin else 0  # what is behind is found again
        self.repeated = [
            one
            for one in self._like.found
            if all(offset + len(data) <= until for offset, data in one.patches)
        ]
        self._like = None
        for reader in self._readers:
            reader.skip(begin)
        yield from self._read(bytes(self._data[begin:]))

    def _read(self, data: bytes) -> Iterator[View]:
        for reader in self._readers:
            yield from self._placed_views(reader.feed(data))

    def _placed_views(self, views: Iterator[View]) -> Iterator[View]:
        for view in views:
            yield StreamView(view, self.name, self._places)
