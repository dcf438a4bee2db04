"""The watched terminal whose cells know which bytes painted them.

``ptycassette.screen.TracedEmulator`` looks at every character on its own. Here runs of text are
painted by whole slices and complete control functions are looked up, as the ordinary emulator
does. Everything else goes the slow way; both ways give the same cells.

For most cells ``origins`` holds the offset of the first byte alone, not a pair: pairs cost a
third of the time.
"""

from __future__ import annotations

from itertools import compress, count
from typing import Any

from ptycassette.screen.grammar import GROUND, SPLIT, STARTERS
from ptycassette.screen.trace import TracedParser, TracedTerminal
from ptycassette.screen.trace import _byte_length as byte_length
from ptycassette.screen.widths import NO_JOIN, PLAIN
from ptycassette.scrub.views._watching import WatchedTerminal

__all__ = ["FastTracedParser", "TracedWatchedTerminal"]

_BLOCK = 1 << 14
_SLOW_LIMIT = 8
"""As in ``ptycassette.screen.parser``."""


_BEGINS = bytes(code & 0xC0 != 0x80 for code in range(256))
"""Which bytes begin a character of UTF-8 (RFC 3629)."""


class _FastTracedTerminal(TracedTerminal):
    """Paints runs of text at once."""

    _next = -1

    def draw(self, data: str) -> None:
        """Paint text."""
        if self.charset_map is not None or self._repeated is not None:
            super().draw(data)
            return
        self._next = self.at
        if self.insert_mode:
            for char in data:
                self._step(char)
        elif self.kind > PLAIN:
            self._paint_mixed(data)
        elif data.isascii():
            self.kind, self.width = PLAIN, 1
            self._paint_narrow(data)
        elif self.width_mode.narrow.fullmatch(data):
            self.kind, self.width = self.width_mode.classify(data[-1])[0], 1
            self._paint_narrow(data)
        else:
            self._paint_mixed(data)
        self._next = -1

    def _paint_narrow(self, data: str) -> None:
        cols, buf = self.columns, self.buf
        total, at = len(data), self._next
        self._next = at + total
        starts = self.starts[at : at + total]
        x = buf.x
        end = x + total
        if end <= cols:
            row = buf.rows[buf.y]
            chars = row.chars
            if chars[x] and (end == len(chars) or chars[end]):
                # What nearly all text is: it fits in the row and cuts no wide character.
                chars[x:end] = data
                row.styles[x:end] = [self.pen.style] * total
                if row.origins is not None:
                    row.origins[x:end] = starts  # type: ignore[assignment]
                row.view = None
                buf.x = end
                return
        done = 0
        while done < total:
            count = min(total - done, cols - buf.x or cols) if self.autowrap else 1
            super()._paint_narrow(data[done : done + count] if count < total else data)
            row, end = buf.rows[buf.y], buf.x
            if row.origins is not None:
                row.origins[end - count : end] = starts[done : done + count]  # type: ignore[assignment]
            done += count

    def _paint_wide(self, data: str) -> None:
        for char in data:
            self._begin(char)
            self._put(char, 2)

    def _step(self, char: str) -> None:
        if self._next >= 0:
            self._begin(char)
        super()._step(char)

    def _join(self, char: str, width: int, before: int) -> None:
        row, x = self.row, self.buf.x - 1
        origins: list[Any] = row.origins or []
        for at in (x - 1, x) if x > 0 and row.chars[x] == "" else (x,):
            if at >= 0 and isinstance(origins[at], int):
                origins[at] = (origins[at], origins[at] + len(row.chars[at].encode()))
        super()._join(char, width, before)

    def _begin(self, char: str) -> None:
        """Note where the next character stands."""
        start = self.starts[self._next]
        self._origin = (start, start + byte_length(char))
        self._next += 1


class TracedWatchedTerminal(WatchedTerminal, _FastTracedTerminal):
    """Watched and traced."""


class FastTracedParser(TracedParser):
    """Takes whole control functions from a table, and tells the terminal where it is."""

    screen: TracedWatchedTerminal

    def skip(self, count: int) -> None:
        """So many bytes are left out."""
        self._fed += count

    def _run(self, text: str) -> int | None:
        chunk = self._chunk
        if len(text) == len(chunk) and text.isascii():
            self.screen.starts = range(self._chunk_start, self._chunk_start + len(chunk))
        elif chunk.startswith(text.encode()):
            begins = chunk.translate(_BEGINS)
            self.screen.starts = list(compress(count(self._chunk_start), begins))
        else:
            self.screen.starts = self._starts(text)  # malformed bytes were dropped
        began: int | None = None
        at, length = 0, len(text)
        while at < length:
            stop = min(at + _BLOCK, length)
            slow = 0
            while at < stop:
                if self._state == GROUND and slow < _SLOW_LIMIT:
                    at += self._take(text[at:stop], at)
                    if at == stop:
                        break
                    slow += 1
                    began = at
                at, began = self._machine(text, at, stop, began, whole=slow >= _SLOW_LIMIT)
        return began

    def _take(self, block: str, base: int) -> int:
        """What ``Parser._fast`` does, with positions."""
        screen = self.screen
        known = self._actions.get
        parts = iter(SPLIT.split(block))
        at = base
        for text in parts:
            if text:
                screen.at = at
                screen.draw(text)
                at += len(text)
            control = next(parts, None)
            if control is None:
                break
            start, at = at, at + len(control)
            pen = screen.pen.next.get(control)
            if pen is not None:
                screen.pen = pen
                screen.kind = NO_JOIN
                continue
            action = known(control)
            if action is None:
                if control in STARTERS:
                    return start - base
                if control in "\x7f\x9c":
                    continue
                action = self._learn(control)
            action[0](*action[1])
            screen.kind = NO_JOIN
        return len(block)
