"""Input of the driver that was not compared yet: keys, signals, the size.

Input may come early, late, split into single bytes or several exchanges at once.
It waits here, as in a kernel buffer, until the recording expects input.
"""

from __future__ import annotations

from collections import deque

from ptycassette.keys.reader import Key, KeyReader
from ptycassette.model.answers import AnswerExpectation
from ptycassette.model.geometry import Size

ESCAPE_US = 50_000
"""How long bytes that may become a longer sequence wait for the rest of it."""

SIGNAL_KEYS = {
    "int": ("ctrl-c", b"\x03"),
    "quit": ("ctrl-\\", b"\x1c"),
    "tstp": ("ctrl-z", b"\x1a"),
}
"""What a line discipline makes of a key (POSIX termios ISIG), both ways round."""


class DriverInput:
    """Waiting input of the driver, without answers of the terminal."""

    def __init__(self, size: Size | None) -> None:
        self.keys: deque[Key] = deque()
        self.signals: deque[str] = deque()
        self.size = size
        self.size_changed_us: int | None = None
        self.ended = False
        self.last_us = 0
        self._reader = KeyReader()
        self._answers = AnswerExpectation()

    def output(self, data: bytes) -> None:
        """Note played output, which may contain queries."""
        self._answers.output(data)

    def feed(self, data: bytes, now_us: int, *, cooked: bool) -> None:
        """Take input."""
        self.last_us = now_us
        self._queue(self._reader.feed(data, cooked=cooked))

    def settle(self, now_us: int, wanted: bytes | None = None) -> int | None:
        """Decide about an unfinished sequence.

        Args:
            now_us: the time.
            wanted: the bytes that the recording expects. If these are pending, there is no
                need to wait, unless they could be the terminal's answer to a query.

        Returns:
            When to call again, or None when nothing is pending.
        """
        if not self._reader.ambiguous:
            return None  # only more bytes, or the end, decide about half a character or paste
        pending = self._reader.pending
        if len(pending) > 1 and self._may_go_on(pending, wanted):
            return None
        due = self.last_us + ESCAPE_US
        if now_us >= due or (pending == wanted and not self._answers.asked):
            self._queue(self._reader.settle())
            return None
        return due

    def _may_go_on(self, pending: bytes, wanted: bytes | None) -> bool:
        """Whether these bytes begin the recorded key, or an answer that the terminal was asked for.

        Slow drivers and connections may send them one by one.
        """
        wanted = wanted or b""
        begins = wanted != pending and wanted.startswith(pending)
        return begins or (self._answers.asked and pending[1] in b"[]P_")

    def flush(self) -> bool:
        """Take pending bytes as they are, as no more come; whether there were any."""
        keys = self._reader.flush()
        self._queue(keys)
        return bool(keys)

    def end(self) -> None:
        """Note the end of input."""
        self.ended = True
        self._queue(self._reader.flush())

    def take_signal_key(self, name: str) -> bool:
        """Take the first key when it is what signal ``name`` is typed as."""
        named = SIGNAL_KEYS.get(name)
        if named and self.keys and self.keys[0].name == named[0]:
            self.keys.popleft()
            return True
        return False

    def _queue(self, keys: list[Key]) -> None:
        for key in keys:
            if key.kind == "focus" or self._answers.takes(key.raw):
                continue
            if key.kind == "answer":
                self._answers.answered(key.raw)
            else:
                self.keys.append(key)
