"""Counting the incomplete end of a stream, for emulators that do not say it themselves."""

from __future__ import annotations

from typing import Final

from ptycassette.screen.parser import Parser
from ptycassette.screen.terminal import Terminal
from ptycassette.screen.widths import width_mode

__all__ = ["PendingCounter"]

_LONG: Final = 1 << 16
_STARTERS: Final = (
    b"\x1b",
    *(b"\xc2" + bytes([code]) for code in (0x90, 0x98, 0x9B, 0x9D, 0x9E, 0x9F)),
)


class PendingCounter:
    """Knows how many bytes at the end of what it was fed are an incomplete sequence or character.

    Only the bytes since the last one that starts a sequence matter, because
    starting one ends whatever was open. They are parsed when somebody asks.
    """

    def __init__(self) -> None:
        self._start_over()

    def _start_over(self) -> None:
        self._parser = Parser(Terminal(2, 1, width_mode=width_mode("cluster"), scrollback=0))
        self._unread = b""

    def feed(self, data: bytes) -> None:
        """Take note of ``data``."""
        joined = self._unread[-1:] + data
        start = max(joined.rfind(starter) for starter in _STARTERS)
        if start >= 0:
            self._start_over()
            self._unread = joined[start:]
        else:
            self._unread += data
        if len(self._unread) > _LONG:
            self._read()

    def _read(self) -> None:
        self._parser.feed(self._unread)
        self._unread = b""

    def count(self) -> int:
        """How many bytes are pending."""
        self._read()
        return self._parser.pending
