"""Every line that was ever shown, once, in the order in which the lines first appeared.

The screen is looked at when the page does so (``moments``), and before it is erased or exchanged.
Its lines, with those that scrolled off since, are compared with those of the last look:

- a line that is still there, wherever it moved, is the same line;
- a line that became longer, or of which only a spinner or a clock changed, is the same line as it
  looks last;
- a line that comes back after it was covered or erased is the same line, while one that is on the
  screen or scrolled off is another one with the same text.

So a text is written as often as it could be read at once. What was erased within
``STRETCH_US`` after it was printed is not in it, unless the whole screen was erased.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import msgspec

from ptycassette.export.moments import MOST_FED, STRETCH_US, moments
from ptycassette.export.registry import ExportSource
from ptycassette.model.geometry import Size
from ptycassette.scenario.normalise import normaliser_of
from ptycassette.terminal.emulator import PyteEmulator

_MOST_REPLACED = 400
"""Of so many lines in a row that were replaced it is looked which ones came back further down."""


class _Line(msgspec.Struct, eq=False):
    """A line of the result; ``after_blank``: there was a blank one above."""

    text: str
    after_blank: bool = False
    is_shown: bool = True
    is_written: bool = False


_Seen = list[tuple[str, _Line | None]]
"""The lines of a screen, as they look now; blank ones are no line of the result."""


def shown_lines(source: ExportSource) -> Iterator[str]:
    """The lines; a blank one where there was one above a new line."""
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
    """What was seen so far."""

    def __init__(self) -> None:
        self._lines: deque[_Line] = deque()
        self._screens: dict[bool, _Seen] = {False: [], True: []}
        self._gone: dict[str, list[_Line]] = {}
        self._same = normaliser_of(("spinner", "duration", "clock"))
        self._is_first = True

    def look(self, lines: Sequence[str], on_screen: int, *, alternate: bool) -> None:
        """Compare with the last look.

        Args:
            lines: those that scrolled off since, and those of the screen.
            on_screen: how many of them, at the end, are still there.
            alternate: which screen.
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
        """Whether a line that was replaced in its place is the same one, changed; it is noted."""
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
        """The lines that nothing can change any more, each once."""
        while self._lines and not self._lines[0].is_shown:
            yield from self._written(self._lines.popleft())

    def rest(self) -> Iterator[str]:
        """All others."""
        while self._lines:
            yield from self._written(self._lines.popleft())

    def _written(self, line: _Line) -> Iterator[str]:
        if line.after_blank and not self._is_first:
            yield ""
        self._is_first = False
        line.is_written = True
        yield line.text


def _continued(old: tuple[str, _Line | None], first: str) -> str | None:
    """The line whose end is the first row of the screen: its beginning scrolled off."""
    text = old[0]
    return text if first and len(text) > len(first) and text.endswith(first) else None


def _ranges(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Whether they are equal, and ranges of lines that belong together, in order."""
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
