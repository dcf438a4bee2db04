"""Looks at a scrubbed session with other eyes: nothing may be left.

It shares rules and known values with the scrubber, and nothing of its way to
the text: sequences are cut out of the bytes by one expression, screens come
from the ordinary emulator as a viewer would see them, after every few hundred
bytes and every chunk. A finding says channel, time and rule, never the value.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from ptycassette.model import (
    EmulatorFactory,
    EventSource,
    Finished,
    Noted,
    Output,
    Probed,
    Resized,
    SessionMeta,
    Size,
    Typed,
)
from ptycassette.screen import PyteEmulator
from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.deltas import Deltas, Message
from ptycassette.scrub.edited import edited_view
from ptycassette.scrub.joins import follows
from ptycassette.scrub.panes import may_have_panes, pane_texts
from ptycassette.scrub.paragraphs import unwrapped
from ptycassette.scrub.rows import RowCopy, joined_rows, line_of
from ptycassette.scrub.search import Match, Searcher
from ptycassette.scrub.structured import strings_of
from ptycassette.scrub.told import KeysTold, LinesTold, Told
from ptycassette.scrub.typed import typed_view
from ptycassette.scrub.views import View

__all__ = ["Texts", "Verification"]

# What moves the cursor, or begins a string (DCS up to its final byte, APC, PM, SOS). U+009B
# (C2 9B) is a CSI, too.
_CSI = r"(?:\x1b\[|\xc2\x9b)[0-?]*"
_MOVE = re.compile(rf"{_CSI}[A-KST`adef]|\x08|\x1b[78DEM]|\x1bP(?:[0-?]*[ -/]*[@-~])?|\x1b[X^_]")
_SEQUENCE = re.compile(
    rf"{_CSI}[ -/]*[@-~]|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ`-~\\=>]|[\x00\x07\x0e\x0f]"
)
_STEP = 512
# Between two looks at the screen. No value goes over it, as it would over a line: the sign of an
# assignment may stand at the end of the one, and anything at the start of the other.
_NEXT_LOOK = "\x00"
_BATCH = 32768
_TAIL = 2048
_AROUND = 3
_BY_CHANCE = 12
_MOST_REMEMBERED = 1 << 20
_MOST_GROUPS = 512
_MOST_CUT = 1 << 14
_Reader = Callable[[Sequence[RowCopy], int], tuple[str, ...]]


class Texts(Noted, frozen=True):
    """Texts of a cassette that are no event (a frame, the manifest): each is looked at alone."""


class _Batch:
    """Texts with their times, searched together."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._times: list[int] = []
        self.length = 0

    def add(self, text: str, t_us: int) -> None:
        """Append a text; nothing is put between it and the one before."""
        self._parts.append(text)
        self._starts.append(self.length)
        self._times.append(t_us)
        self.length += len(text)

    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    def time_at(self, position: int) -> int:
        """When the text at ``position`` was there."""
        return self._times[max(0, bisect_right(self._starts, position) - 1)]

    def keep(self, length: int) -> None:
        """Forget all but (at least) the last ``length`` characters."""
        first = max(0, bisect_right(self._starts, self.length - length) - 1)
        parts, times = self._parts[first:], self._times[first:]
        parts[0] = parts[0][-4 * length :]
        self._parts, self._starts, self._times, self.length = [], [], [], 0
        for part, time in zip(parts, times, strict=True):
            self.add(part, time)


class Verification:
    """One look at one session.

    Args:
        searcher: rules and known values.
        emulator: makes the screens.
    """

    def __init__(self, searcher: Searcher, emulator: EmulatorFactory) -> None:
        self._searcher = searcher
        self._emulator = emulator
        self._found: dict[tuple[str, str], tuple[int, int]] = {}
        self._cut: dict[tuple[str, str, str], tuple[int, int]] = {}

    def run(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:
        """The findings; empty when nothing is left."""
        self._searcher.forget()
        screen = _Shown(self._emulator, meta.size)
        printed, shown, keys = _Batch(), _Batch(), _Batch()
        lines, told, deltas = LinesTold(), KeysTold(), Deltas()
        for event in source():
            match event:
                case Output(t_us, data):
                    printed.add(data.decode("latin-1"), t_us)
                    self._told("output", lines.feed(data, t_us))
                    for text in screen.feed(data):
                        shown.add(text, t_us)
                case Resized(t_us, size):
                    shown.add(screen.resize(size), t_us)
                case Typed(t_us, data):
                    keys.add(data.decode("latin-1"), t_us)
                    self._told("input", told.feed(data, event.key, t_us))
                    self._batch("input", keys, full=True)
                case Noted(t_us, payload):
                    self._strings("service-events", payload, t_us)
                    if not isinstance(event, Texts):
                        self._messages(deltas.add(payload, t_us))
                case Probed() | Finished():
                    self._strings("final", msgspec.to_builtins(event), event.t_us)
                case _:
                    pass
            self._batch("output", printed)
            self._batch("screen", shown)
        self._batch("output", printed, last=True)
        self._batch("screen", shown, last=True)
        self._batch("input", keys, last=True)
        self._told("output", lines.rest())
        self._told("input", told.rest())
        self._messages(deltas.rest())
        return tuple(self._lines())

    def look(self, text: str, channel: str, *, t_us: int = 0) -> None:
        """Search one text of a channel."""
        for match in self._searcher.search(canonical(text)):
            self._keep(channel, match, t_us)

    def _batch(
        self, channel: str, batch: _Batch, *, last: bool = False, full: bool = False
    ) -> None:
        """Search a batch when it is full."""
        if batch.length < _BATCH and not last and not full:
            return
        if full and batch.length < _BATCH:
            return
        for text, origin in _texts(channel, batch.text()):
            for match in self._searcher.search(text):
                if _by_chance(match):
                    continue
                position = match.stretches[0][0] if match.stretches else 0
                self._keep(channel, match, batch.time_at(origin(position)))
        if not last:
            batch.keep(_TAIL)

    def _told(self, channel: str, texts: Iterable[Told]) -> None:
        """Search texts that know when each of their characters was there."""
        for text, time_at in texts:
            for match in self._searcher.search(text):
                if not _by_chance(match):
                    position = match.stretches[0][0] if match.stretches else 0
                    self._keep(channel, match, time_at(position))

    def _strings(self, channel: str, value: Any, t_us: int) -> None:
        for _, text in strings_of(value):
            self.look(text, channel, t_us=t_us)

    def _messages(self, messages: Iterable[Message]) -> None:
        """Search what came in several events."""
        for message in messages:
            for match in self._searcher.search(message.text()):
                start, end = match.stretches[0][0], match.stretches[-1][1]
                if message.several(start, end) and not _by_chance(match):
                    self._keep("service-events", match, message.t_us(start))

    def _note(self, channel: str, rule: str, t_us: int, times: int = 1) -> None:
        first, number = self._found.get((channel, rule), (t_us, 0))
        self._found[channel, rule] = (min(first, t_us), number + times)

    def _keep(self, channel: str, match: Match, t_us: int) -> None:
        """What may be the beginning of more is kept until all was searched."""
        what = channel, match.rule, match.value
        if not match.value or (what not in self._cut and len(self._cut) >= _MOST_CUT):
            self._note(channel, match.rule, t_us)
            return
        first, number = self._cut.get(what, (t_us, 0))
        self._cut[what] = min(first, t_us), number + 1

    def _decide(self) -> None:
        """Note of what was kept all but the beginnings of what was let stand as a whole."""
        for (channel, rule, value), (t_us, number) in self._cut.items():
            if not self._searcher.rules.declined.begins(rule, value):
                self._note(channel, rule, t_us, number)
        self._cut.clear()

    def _lines(self) -> Iterator[str]:
        self._decide()
        for (channel, rule), (t_us, number) in sorted(self._found.items()):
            times = "once" if number == 1 else f"{number} times"
            yield f"{channel}: {t_us // 1000} ms: rule {rule} matches ({times})"


def _texts(channel: str, raw: str) -> Iterator[tuple[str, Callable[[int], int]]]:
    """What to search of a batch, each with the way from its positions to those of the batch."""
    if channel == "output":
        moved = _Cut(_MOVE, raw, "\n")
        shown = _Cut(_SEQUENCE, moved.text, "")
        yield shown.text, lambda at: moved.origin(shown.origin(at))
        return
    yield raw, lambda at: at
    if channel == "input":
        for view in (typed_view(raw, base=0), edited_view(raw, base=0)):
            if view is not None and view.text != raw:
                yield view.text, partial(_first, view)


def _first(view: View, at: int) -> int:
    """The offset of what is at ``at``."""
    return view.offset(at, at + 1) or 0


class _Cut:
    """A text with something else in the place of each match, and the way back to the text."""

    def __init__(self, cut: re.Pattern[str], raw: str, put: str) -> None:
        self.text = cut.sub(put, raw)
        self._cut = cut
        self._raw = raw
        self._width = len(put)
        self._behind: list[int] = []
        self._gone: list[int] = []

    def origin(self, at: int) -> int:
        """Where in the raw text stands what is at ``at`` now."""
        if not self._gone:
            gone = 0
            self._gone.append(gone)
            for match in self._cut.finditer(self._raw):
                self._behind.append(match.start() - gone + self._width)
                gone += match.end() - match.start() - self._width
                self._gone.append(gone)
        return at + self._gone[bisect_right(self._behind, at)]


def _by_chance(match: Match) -> bool:
    """Whether a few characters that are a piece of a value only stand together by chance.

    Rows and lines stand in another order here than they did for the scrubber.
    """
    length = sum(end - start for start, end in match.stretches)
    return len(match.stretches) > 1 and length < _BY_CHANCE


class _Shown:
    """What comes to stand on the screen, as text, each picture of it once.

    Args:
        emulator: makes the screens.
        size: of the terminal at the start.
    """

    def __init__(self, emulator: EmulatorFactory, size: Size) -> None:
        self._screen = emulator(size)
        self._cols = size.cols
        self._rows: Sequence[str] = ()
        self._seen: set[tuple[str, ...]] = set()
        self._seen_length = 0
        self._groups: dict[tuple[_Reader, tuple[str, ...]], tuple[str, ...]] = {}

    def feed(self, data: bytes) -> Iterator[str]:
        """Rows that changed after every few hundred bytes, and their neighbours."""
        for start in range(0, len(data), _STEP):
            self._screen.feed(data[start : start + _STEP])
            before, self._rows = self._rows, self._read()
            text = self._changed(before, self._rows)
            if text:
                yield text

    def resize(self, size: Size) -> str:
        """The terminal takes another size: rows part, come together and come back."""
        self._screen.resize(size)
        self._cols = size.cols
        self._groups.clear()
        self._rows = self._read()
        return self._changed((), self._rows)

    def _read(self) -> Sequence[str]:
        if isinstance(self._screen, PyteEmulator):
            return self._screen.text()  # what a snapshot says, without its styles
        return self._screen.snapshot().rows

    def _changed(self, before: Sequence[str], after: Sequence[str]) -> str:
        came = _scrolled(before, after)
        stood = before[came:]
        differ = [
            number
            for number, row in enumerate(after)
            if number >= len(stood) or stood[number] != row
        ]
        if not differ:
            return ""
        first, last = max(0, differ[0] - _AROUND), differ[-1]
        while came and first and follows(after[first - 1], after[first], self._cols):
            first -= 1
        rows = tuple(after[first : last + 1 + _AROUND])
        if rows in self._seen:
            return ""
        self._seen_length += sum(map(len, rows))
        if self._seen_length > _MOST_REMEMBERED:
            self._seen.clear()
            self._seen_length = 0
        self._seen.add(rows)
        return "\n".join([*map(canonical, rows), *self._joined(rows), _NEXT_LOOK])

    def _joined(self, rows: Sequence[str]) -> Iterator[str]:
        """Rows that seem broken, joined."""
        first = 0
        for number in range(1, len(rows) + 1):
            if number < len(rows) and follows(rows[number - 1], rows[number], self._cols):
                continue
            if number - first > 1:
                yield from self._kept(_group, tuple(rows[first:number]))
            first = number
        if may_have_panes(rows):
            yield from self._kept(_in_panes, tuple(rows))
        for pieces in unwrapped(rows, self._cols):
            yield canonical(
                "".join(rows[row].ljust(self._cols)[start:end] for row, start, end in pieces)
            )

    def _kept(self, read: _Reader, rows: tuple[str, ...]) -> tuple[str, ...]:
        """What a reader makes of rows; most of these stay for some pictures."""
        texts = self._groups.get((read, rows))
        if texts is None:
            copies = [RowCopy(row.ljust(self._cols), (), wrapped=False) for row in rows]
            texts = read(copies, self._cols)
            if len(self._groups) >= _MOST_GROUPS:
                self._groups.clear()
            self._groups[read, rows] = texts
        return texts


def _in_panes(rows: Sequence[RowCopy], cols: int) -> tuple[str, ...]:
    """The texts that go on in panes of the rows."""
    return tuple(text for text, _ in pane_texts(rows, cols))


def _group(rows: Sequence[RowCopy], _cols: int) -> tuple[str, ...]:
    """The texts that rows give when they are joined."""
    return tuple(text for text, parts in joined_rows(list(map(line_of, rows))) if len(parts) > 1)


def _scrolled(before: Sequence[str], after: Sequence[str]) -> int:
    """By how many rows the top of the screen seems to have moved up; 0 when it did not."""
    if before[:1] == after[:1]:
        return 0
    for came in range(1, min(len(before), len(after)) - 1):
        if before[came] == after[0] and before[came + 1] == after[1]:
            return came
    return 0
