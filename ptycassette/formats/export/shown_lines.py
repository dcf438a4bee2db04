"""Export every line that was ever shown, once, in the order in which the lines first appeared.

The screen is compared with the previous look at certain moments (``moments``), and before it is
erased or exchanged. The comparison includes lines that scrolled off since:

- a line that is still there is the same line, wherever it moved;
- a line that became longer, or in which only a spinner or a clock changed, is the same line, with
  its latest text;
- a line that comes back after it was covered or erased is the same line, but two lines with the
  same text that are on the screen or scrolled off at one time are different.

So a text is written as often as it could be read at once. Text that was erased within
``STRETCH_US`` is missing, unless the whole screen was erased.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

import msgspec

from ptycassette.errors import UsageError
from ptycassette.formats.export.registry import ExportSource
from ptycassette.model.records import Event, FrameRecord, InputRecord, painted_bytes
from ptycassette.model.screen import Screen, Size
from ptycassette.model.stored_screen import screen_of
from ptycassette.model.visible_text import printable
from ptycassette.replaying.paint import ansi_lines, cells_of_row
from ptycassette.replaying.scenario.predicate import normaliser_of
from ptycassette.terminal.emulator import PyteEmulator

# When to look at a screen that is painted from a recording.


STRETCH_US = 40_000
"""At most 25 moments a second."""
MOST_FED = 1 << 16
"""The most bytes between two moments with ``erased``; this limits the rows that scroll off."""

_ERASES = re.compile(rb"\x1b(?:\[[23]J|\[\?(?:\d+;)*(?:47|1047|1049)(?:;\d+)*[hl]|c)")
"""ED 2 and 3, the alternate screen, RIS."""


def moments(
    events: Iterable[Event],
    emulator: PyteEmulator,
    stretch_us: Callable[[], int],
    *,
    erased: bool = False,
) -> Iterator[int]:
    """Paint events, and yield whenever the caller should look at the emulator.

    Args:
        events: in order.
        emulator: paints them.
        stretch_us: gives the length of a stretch, in microseconds; it may change.
        erased: also yield before the whole screen is erased or exchanged.

    Yields:
        The time in microseconds of the emulator's present screen.
    """
    unseen: int | None = None  # the time of the output that was not looked at yet
    for event in events:
        record = event.record
        if unseen is not None and not emulator.synchronized:
            stretch_ends = event.t_us // stretch_us() != unseen // stretch_us()
            if stretch_ends or isinstance(record, InputRecord):
                yield unseen
                unseen = None
        if event.kind == "output":
            data = painted_bytes(event)
            for piece in _pieces(data) if erased else (data,):
                if (
                    erased
                    and unseen is not None
                    and (len(data) > MOST_FED or (piece is not data and not emulator.synchronized))
                ):
                    yield unseen
                emulator.feed(piece)
                unseen = event.t_us
        elif isinstance(record, InputRecord) and record.size is not None:
            emulator.resize(record.size)
            unseen = event.t_us
    if unseen is not None:
        yield unseen


def _pieces(data: bytes) -> Iterator[bytes]:
    """Output to paint without a look in between."""
    cuts = [0, *(found.start() for found in _ERASES.finditer(data) if found.start()), len(data)]
    if len(cuts) == 2 and len(data) <= MOST_FED:
        yield data
        return
    for begin, end in pairwise(cuts):
        for at in range(begin, end, MOST_FED):
            yield data[at : min(end, at + MOST_FED)]


_MOST_REPLACED = 400
"""The most replaced lines in a row that are searched for lines that moved further down."""


class _Line(msgspec.Struct, eq=False):
    """A line of the result; ``after_blank``: there was a blank line above."""

    text: str
    after_blank: bool = False
    is_shown: bool = True
    is_written: bool = False


_Seen = list[tuple[str, _Line | None]]
"""The lines of a screen, as they look now; blank ones are not part of the result."""


def shown_lines(source: ExportSource) -> Iterator[str]:
    """The lines, with a blank line where there was one above a new line."""
    terminal = source.manifest.terminal
    size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    emulator = PyteEmulator(size, scrollback=MOST_FED + 2000)
    found = _Found()
    for _ in moments(source.events(), emulator, lambda: STRETCH_US, erased=True):
        alternate = emulator.terminal.alt is not None
        if alternate:
            lines = [row.rstrip() for row in emulator.text()]
            found.look(lines, len(lines), alternate=True)
        else:
            lines = list(emulator.main_lines())
            emulator.forget_scrollback()
            found.look(lines, len(emulator.main_lines()), alternate=False)
        yield from found.settled()
    yield from found.rest()


class _Found:
    """The lines that were seen so far."""

    def __init__(self) -> None:
        self._lines: deque[_Line] = deque()
        self._screens: dict[bool, _Seen] = {False: [], True: []}
        self._gone: dict[str, list[_Line]] = {}
        self._same = normaliser_of(("spinner", "duration", "clock"))
        self._is_first = True

    def look(self, lines: Sequence[str], on_screen: int, *, alternate: bool) -> None:
        """Compare with the previous look.

        Args:
            lines: the lines that scrolled off since, and those of the screen.
            on_screen: how many of them, at the end, are on the screen.
            alternate: whether it is the alternate screen.
        """
        if not alternate:
            self._leave(self._screens[True])
            self._screens[True] = []
        seen = self._compared(self._screens[alternate], lines)
        for at, (text, line) in enumerate(seen):
            if text and line is None:
                seen[at] = (text, self._line(text, after_blank=at > 0 and not lines[at - 1]))
        cut = len(lines) - on_screen
        for _, line in seen[:cut]:
            if line is not None:
                line.is_shown = False
        self._screens[alternate] = seen[cut:]

    def _compared(self, old: _Seen, lines: Sequence[str]) -> _Seen:
        if old and lines and (first := _continued(old[0], lines[0])):
            lines = [first, *lines[1:]]
        seen: _Seen = [(text, None) for text in lines]
        left: _Seen = []
        for is_equal, i1, i2, j1, j2 in _ranges([text for text, _ in old], lines):
            paired = min(i2 - i1, j2 - j1)
            for (text, line), at in zip(old[i1:i2], range(j1, j1 + paired), strict=False):
                now = lines[at]
                if line is not None and (is_equal or self._becomes(line, text, now)):
                    seen[at] = (now, line)
                elif line is not None:
                    left.append((text, line))
            left += old[i1 + paired : i2]
        self._leave(left)
        return seen

    def _becomes(self, line: _Line, old: str, new: str) -> bool:
        """Whether a line was changed in its place and is still the same line; notes the change."""
        if not old or not new:
            return False
        if line.text.startswith(new):
            return True
        changed = new.startswith(old) or self._same(new) == self._same(old)
        if not changed or line.is_written:
            return False
        line.text = new
        return True

    def _line(self, text: str, *, after_blank: bool) -> _Line:
        back = self._gone.get(text)
        if back:
            line = back.pop()
            line.is_shown = True
            return line
        line = _Line(text, after_blank)
        self._lines.append(line)
        return line

    def _leave(self, seen: _Seen) -> None:
        for _, line in seen:
            if line is not None:
                line.is_shown = False
                self._gone.setdefault(line.text, []).append(line)

    def settled(self) -> Iterator[str]:
        """The lines that can no longer change, each once."""
        while self._lines and not self._lines[0].is_shown:
            yield from self._written(self._lines.popleft())

    def rest(self) -> Iterator[str]:
        """All other lines."""
        while self._lines:
            yield from self._written(self._lines.popleft())

    def _written(self, line: _Line) -> Iterator[str]:
        if line.after_blank and not self._is_first:
            yield ""
        self._is_first = False
        line.is_written = True
        yield line.text


def _continued(old: tuple[str, _Line | None], first: str) -> str | None:
    """The line whose end is the first row of the screen, because its beginning scrolled off."""
    text = old[0]
    return text if first and len(text) > len(first) and text.endswith(first) else None


def _ranges(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Pairs of ranges of lines that belong together, in order, and whether they are equal."""
    begin, most = 0, min(len(old), len(new))
    while begin < most and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < most - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    yield True, 0, begin, 0, begin
    i2, j2 = len(old) - end, len(new) - end
    if max(i2 - begin, j2 - begin) <= _MOST_REPLACED:
        matcher = SequenceMatcher(None, old[begin:i2], new[begin:j2], autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            yield tag == "equal", begin + a, begin + b, begin + c, begin + d
    else:
        yield False, begin, i2, begin, j2
    yield True, i2, len(old), j2, len(new)


# Screens as text: a session, all its frames, or one screen with its colours.


SCROLLBACK_ROWS = 10_000
MAX_VISITS = 100
"""The most full-screen programs whose last screen is kept; each costs a look at all lines."""
_MOST_UNFED = 1 << 16

_TO_ALTERNATE = re.compile(rb"\x1b\[\?(?:\d+;)*(?:47|1047|1049)(?:;\d+)*h")


def recording_text(
    source: ExportSource,
    *,
    scrollback: int | None = None,
    frames: bool = False,
    all: bool = False,  # noqa: A002 - the name of the option
) -> Iterator[bytes]:
    """The session as text: as copied from a terminal at its end, or every line or frame.

    Args:
        source: the recording.
        scrollback: how many rows that scrolled off the main screen are kept; 10000 when None.
        frames: instead, each frame below its time.
        all: instead, every line that was ever shown, once (``shown_lines``).

    Raises:
        UsageError: two of ``scrollback``, ``frames`` and ``all``.
    """
    asked = {"--scrollback": scrollback is not None, "--frames": frames, "--all": all}
    given = [flag for flag, is_given in asked.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} do not go together", hint="leave one out")
    if all:
        return map(_line, shown_lines(source))
    if frames:
        return _frames(source)
    return _session(source, SCROLLBACK_ROWS if scrollback is None else scrollback)


def _frames(source: ExportSource) -> Iterator[bytes]:
    for frame in source.frames():
        yield f"--- {_t_us(frame) / 1_000_000:.3f} s\n".encode()
        for row in screen_of(frame).text.split("\n"):
            yield _line(row)


class _Visit(msgspec.Struct):
    """A visit to the alternate screen: the line before it, its last screen and time."""

    line: int
    rows: tuple[str, ...] = ()
    t_us: int = 0


def _session(source: ExportSource, scrollback: int) -> Iterator[bytes]:
    """The main screen and its scrollback, with the last screens of full-screen programs in between.

    These screens are stored frames, which exist for each pause of the program, and before each key,
    including the key that ended the program.
    """
    terminal = source.manifest.terminal
    size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    emulator = PyteEmulator(size, scrollback=scrollback)
    visits: list[_Visit] = []
    unfed = bytearray()  # one long piece is much cheaper than many short ones

    def feed() -> None:
        emulator.feed(bytes(unfed))
        unfed.clear()

    for event in source.events():
        match event.record:
            case InputRecord(kind="resize", size=now) if now is not None:
                feed()
                emulator.resize(now)
            case FrameRecord(alt_screen=True) as frame if any(frame.text) and visits:
                visits[-1].rows, visits[-1].t_us = frame.text, _t_us(frame)
            case _ if event.kind == "output":
                if len(visits) < MAX_VISITS and _TO_ALTERNATE.search(event.data):
                    feed()
                    visits.append(_Visit(len(_trimmed(emulator.main_lines()))))
                unfed += painted_bytes(event)
                if len(unfed) >= _MOST_UNFED:
                    feed()
    feed()
    lines = _trimmed(emulator.main_lines())
    at = 0
    for visit in visits:
        if visit.rows:
            yield from map(_line, lines[at : visit.line])
            at = max(at, visit.line)
            yield f"--- full screen, {visit.t_us / 1_000_000:.3f} s\n".encode()
            yield from map(_line, _trimmed(visit.rows))
            yield b"---\n"
    yield from map(_line, lines[at:])


def _trimmed(rows: Sequence[str]) -> list[str]:
    """The rows without the empty ones at the end."""
    kept = list(rows)
    while kept and not kept[-1]:
        kept.pop()
    return kept


def _line(row: str) -> bytes:
    return printable(row, limit=len(row)).encode() + b"\n"


def _t_us(frame: FrameRecord) -> int:
    return frame.t_ms * 1000 if frame.t_us is None else frame.t_us


def screen_text(screen: Screen) -> bytes:
    """All rows of a screen, UTF-8, each with its newline."""
    rows = (cells_of_row(screen, row) for row in range(screen.size.rows))
    return b"".join(_line("".join(cell.text for cell in row).rstrip()) for row in rows)


def screen_ansi(screen: Screen) -> bytes:
    """All rows of a screen with SGR sequences, UTF-8, each with its newline."""
    return b"".join(f"{line}\n".encode("utf-8", "replace") for line in ansi_lines(screen))
