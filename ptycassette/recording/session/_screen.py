"""The screen of a live session, and the program's terminal signals.

Output waits in a backlog until the screen is asked for, or until a query in it needs an
answer (see ``_output_backlog`` on floods). One thread
puts output in; rendering may be asked for from others once the session is over.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import msgspec

from ptycassette.keys.names import Keyboard
from ptycassette.model.ports import Emulator
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import ExitStatus
from ptycassette.model.screen import Screen, Size
from ptycassette.terminal.core import Signal, Turn, turn_after

# Output that the emulator has not seen yet, shortened without changing its final screen.


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
        """Take the first chunk.

        Raises:
            IndexError: the backlog is empty.
        """
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


# Scans output for the modes that the program set, and for queries to the terminal.


# Queries (xterm, "Control Sequences"): DA CSI c, DSR CSI n, DECREQTPARM CSI x,
# DECRQM CSI $p, window reports CSI t, XTVERSION CSI > q, keyboard CSI ? u, DECID ESC Z, colours
# OSC 4;1;?, XTGETTCAP DCS + q, DECRQSS DCS $ q, kitty graphics APC G. ENQ is searched separately.
_QUERY = lazy_pattern(rb"\x1b(?:\[[0-9;?>=]*(?:[cntxqu]|\$p)|\][0-9;]*\?|P[0-9;]*[+$]q|_G|Z)")
# SGR and EL, which are frequent and irrelevant here, are skipped in one go.
_OTHER = lazy_pattern(rb"\x1b(?!\[[0-9;:]*[mK])")
_MODES = lazy_pattern(
    rb"\x1b(?:\[\?([0-9;]+)([hl])|(c)|\[(!)p|\[([0-9;]*)[rs]|\[([<>=])([0-9;]*)u)"
)
# A possible beginning of one of them.
_BEGUN = lazy_pattern(rb"\x1b(?:\[[0-9;?<>=$!]{0,48}|\][0-9;]{0,48}|P[0-9;+$]{0,48}|_)?\Z")
_TAIL = 52
_ALT_SCREENS = (b"47", b"1047", b"1049")


class OutputScan:
    """The state of one output stream."""

    def __init__(self) -> None:
        self.application_cursor = False
        """DECCKM (DECSET 1): arrows, Home and End are sent as SS3."""
        self.bracketed_paste = False
        """DECSET 2004: pasted text is put between ``CSI 200 ~`` and ``CSI 201 ~``."""
        self.margins = False
        """DECSTBM or DECSLRM with parameters: maybe not everything scrolls."""
        self.keyboard = Keyboard()
        """Kitty's keyboard protocol: its flags on either screen."""
        self.alt_screen = False
        """DECSET 47, 1047, 1049: the alternate screen is shown."""
        self.focus_reports = False
        """DECSET 1004: the program is told when its terminal gets and loses the focus."""
        self._tail = b""

    def feed(self, data: bytes) -> bool:
        """Take a chunk; returns whether it may contain a query that a terminal answers."""
        asked = b"\x05" in data
        if not self._tail and b"\x1b" not in data:
            return asked
        text = self._tail + data
        if _OTHER.search(text) is None:
            self._tail = b""
            return asked
        for match in _MODES.finditer(text):
            self._set(match)
        begun = _BEGUN.search(text, max(0, len(text) - _TAIL))
        self._tail = begun.group() if begun else b""
        return asked or _QUERY.search(text) is not None

    def _set(self, match: re.Match[bytes]) -> None:
        """Apply DECSET, DECRST, margins; RIS resets everything, DECSTR all but the paste mode."""
        modes, final, reset, soft, margins, keyboard, numbers = match.groups()
        if keyboard is not None:
            # A missing number means 0 for the flags, and 1 for the operation on them.
            words = [int(n[:9]) for n in numbers.split(b";") if n] or [0]
            self.keyboard.change(keyboard.decode(), *words)
            return
        if margins is not None:
            # CSI r without parameters resets; CSI s without them saves the cursor.
            self.margins = bool(margins) or (self.margins and match.group().endswith(b"s"))
            return
        if reset or soft:
            self.margins = False
            self.application_cursor = False
            self.bracketed_paste = self.bracketed_paste and not reset
            self.focus_reports = self.focus_reports and not reset
            self.alt_screen = self.alt_screen and not reset
            self.keyboard = Keyboard()
            return
        for mode in modes.split(b";"):
            if mode == b"1":
                self.application_cursor = final == b"h"
            elif mode == b"1004":
                self.focus_reports = final == b"h"
            elif mode == b"2004":
                self.bracketed_paste = final == b"h"
            elif mode in _ALT_SCREENS and self.alt_screen != (final == b"h"):
                self.alt_screen = not self.alt_screen
                self.keyboard.switch()


_WORTH_SHORTENING = 1 << 15


@runtime_checkable
class SignalSource(Protocol):
    """An emulator that also reports terminal signals; this is optional."""

    def signals(self) -> tuple[Signal, ...]:
        """The signals since the last call."""
        ...


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """The state that a wait condition checks. Times are microseconds since the session's start.

    ``turn`` is the side whose turn it is after the program's last signal, ``turn_us`` its time;
    ``input_us`` is when a driver or user last sent something.
    """

    screen: Screen
    changed_us: int
    turn: Turn = "unknown"
    turn_us: int = 0
    input_us: int = 0
    exit: ExitStatus | None = None
    finished: bool = False


class SessionScreen:
    """Takes output, renders it when asked to.

    Args:
        emulator: renders, answers queries, and may report signals.

    Attributes:
        scan: modes and queries in the output, known before it is rendered.
        output_bytes: how many bytes there were so far.
        unpublished: whether the last snapshot may be out of date.
    """

    @property
    def confirms_keyboard(self) -> bool:
        """Whether the emulator answers that it has kitty's keyboard protocol."""
        emulator = getattr(self._emulator, "terminal", self._emulator)
        profile = getattr(emulator, "profile", None)
        return "kitty-keyboard" in getattr(profile, "answers", ())

    def __init__(self, emulator: Emulator) -> None:
        self.scan = OutputScan()
        self.output_bytes = 0
        self.unpublished = True
        self._emulator = emulator
        self._backlog = OutputBacklog()
        self._asked = False
        self._rendering = threading.Lock()
        self._screen = emulator.snapshot()
        self._changed_us = 0
        self._output_us = 0
        self._turn: Turn = "unknown"
        self._turn_us = 0

    @property
    def behind(self) -> bool:
        """Whether there is output that the emulator has not seen."""
        return len(self._backlog) > 0

    def view(self, *, input_us: int, ended: ExitStatus | None, finished: bool) -> SessionView:
        """The session as last published."""
        return SessionView(
            screen=self._screen,
            changed_us=self._changed_us,
            turn=self._turn,
            turn_us=self._turn_us,
            input_us=input_us,
            exit=ended,
            finished=finished,
        )

    def take(self, t_us: int, data: bytes) -> bool:
        """Add output to the backlog; returns whether ``answer_or_shorten`` is due."""
        self.unpublished = True
        self._output_us = t_us
        self.output_bytes += len(data)
        if self.scan.feed(data):
            self._asked = True
        self._backlog.append(data)
        return self._asked or self._backlog.full

    def answer_or_shorten(self) -> bytes:
        """Answer a query, or make room in the backlog. Returns the answers."""
        if not self._asked:
            self._shorten()
            if len(self._backlog) <= LIMIT_BYTES // 2:
                return b""
        self._asked = False
        return self.catch_up()

    def catch_up(self, interrupted: Callable[[], bool] = lambda: False) -> bytes:
        """Feed the emulator, slice by slice. Returns its answers to queries.

        ``interrupted`` is asked after each slice, a millisecond of work or so.
        """
        with self._rendering:
            if len(self._backlog) > _WORTH_SHORTENING:
                self._shorten()
            while self._backlog:
                self._emulator.feed(self._backlog.take())
                if self._backlog and interrupted():
                    break
            answers = self._emulator.answers()
            self._take_signals()
        return answers

    def publish(self) -> None:
        """Take a snapshot."""
        self.unpublished = False
        screen = self._emulator.snapshot()
        if screen != self._screen:
            self._screen = screen
            self._changed_us = self._output_us

    def resize(self, size: Size, t_us: int) -> None:
        """Take another size. Output for the old size must have been rendered before."""
        with self._rendering:
            self._emulator.resize(size)
        self._output_us = t_us

    def _take_signals(self) -> None:
        """Take the program's signals, and update the turn."""
        if isinstance(self._emulator, SignalSource):
            turn = turn_after(self._emulator.signals())
            if turn is not None:
                self._turn, self._turn_us = turn, self._output_us

    def _shorten(self) -> None:
        """Drop output that will never be visible, if emulator and margins allow it."""
        if self._emulator.pending == 0 and not self.scan.margins:
            self._backlog.shorten(self._emulator.size.rows)
