"""Output that the emulator has not seen yet, shortened without changing its final screen.

An emulator renders a few MB a second, programs write hundreds. So output waits
here until the screen is asked for, and output that can no longer affect the
screen is dropped (``shorten``). The rule, and why it is sound:

- Only *plain* output is touched: printable bytes, CR, LF, TAB, BEL, SGR and EL,
  beginning outside of any sequence, with no scroll region set. In it the cursor
  goes right, to column 0, or down, and at the bottom everything scrolls.
- The first lines are kept, as many as the screen has rows: the cursor is at the
  bottom after them. The last lines are kept, as many again: all that was on the
  screen before them has scrolled out. The lines between are visible in no row.
- The last lines begin behind CR LF (the column is 0, no wrap is pending) with a
  visible ASCII character, maybe coloured (it combines with nothing in front of it).
- The only effect of the lines between is the SGR state: their SGR is kept.

Anything else (cursor addressing, modes, character sets, C1 controls) is kept whole.
"""

from __future__ import annotations

from collections import deque

from ptycassette.model.lazy_regex import lazy_pattern

LIMIT_BYTES = 1 << 20
"""How much is kept before ``shorten`` is tried: 200 ms of rendering, about."""

_SLICE = 4096
_PLAIN = bytes([7, 9, 10, 13, *range(0x20, 0x7F), *range(0x80, 0x100)])
_NOT_LOCAL = lazy_pattern(rb"\x1b(?!\[[0-9;:]*m|\[[012]?K)")
_SGR = lazy_pattern(rb"\x1b\[[0-9;:]*m")
_C1 = lazy_pattern(rb"\xc2[\x80-\x9f]")
_RESETS = (b"\x1b[m", b"\x1b[0m", b"\x1b[0;")
_SAFE_CUT = lazy_pattern(rb"\r\n(?=(?:\x1b\[[0-9;:]*m)*[!-~])")


class OutputBacklog:
    """A queue of output. The caller bounds it: see ``full``."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def full(self) -> bool:
        """Whether it is time to ``shorten`` it, or to feed it."""
        return self._size > LIMIT_BYTES

    def append(self, data: bytes) -> None:
        """Append a chunk."""
        self._chunks.append(data)
        self._size += len(data)

    def take(self) -> bytes:
        """Take the first chunk. Raises ``IndexError`` when there is none."""
        data = self._chunks.popleft()
        self._size -= len(data)
        return data

    def shorten(self, rows: int) -> None:
        """Apply ``shorten`` to all of it; the same conditions hold."""
        short = shorten(b"".join(self._chunks), rows)
        self._chunks = deque(short[at : at + _SLICE] for at in range(0, len(short), _SLICE))
        self._size = len(short)


def shorten(data: bytes, rows: int) -> bytes:
    """Output with the same effect on a screen of ``rows`` rows, shortened where that is safe.

    ``data`` begins outside of escape sequences, and no scroll region is set.
    It may end anywhere: the end is kept.
    """
    if not _is_plain(data):
        return data
    head = _end_of_line(data, rows)
    tail = _start_of_last_lines(data, rows)
    if head < 0 or tail <= head:
        return data
    return data[:head] + _styles_left(data, head, tail) + data[tail:]


def _is_plain(data: bytes) -> bool:
    """Whether the data is nothing but text, line ends and SGR."""
    others = data.translate(None, _PLAIN)
    if others and (others.strip(b"\x1b") or _NOT_LOCAL.search(data)):
        return False
    return b"\xc2" not in data or _C1.search(data) is None


def _end_of_line(data: bytes, lines: int) -> int:
    """The offset after the first CR LF that follows ``lines`` line feeds; or -1."""
    at = -1
    for _ in range(lines):
        at = data.find(b"\n", at + 1)
        if at < 0:
            return -1
    end = data.find(b"\r\n", at)
    return -1 if end < 0 else end + 2


def _start_of_last_lines(data: bytes, lines: int) -> int:
    """The offset of a line where a cut is safe, with ``lines`` line feeds after it; or -1."""
    at = len(data)
    for _ in range(lines + 1):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return -1
    while True:  # nearly always at once
        at = data.rfind(b"\r\n", 0, at + 1)
        if at < 0 or _SAFE_CUT.match(data, at):
            return -1 if at < 0 else at + 2


def _styles_left(data: bytes, start: int, end: int) -> bytes:
    """The SGR sequences of a stretch, from the last full reset on."""
    if data.find(b"\x1b", start, end) < 0:
        return b""
    reset = max(data.rfind(one, start, end) for one in _RESETS)
    return b"".join(_SGR.findall(data, max(start, reset), end))
