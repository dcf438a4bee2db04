"""Counts the incomplete end of a stream, for emulators without such a count."""

from __future__ import annotations

import re
from typing import Final

from ptycassette.terminal.emulator import Parser, Terminal
from ptycassette.terminal.widths import width_mode

_LONG: Final = 1 << 16
_C1_STARTER: Final = re.compile(b"\xc2[\x90\x98\x9b\x9d-\x9f]")
_LONGEST_CHARACTER: Final = 4


class PendingCounter:
    """Counts the bytes of an incomplete sequence or character at the end of a stream.

    Only the bytes since the last ESC matter, because an ESC ends whatever was
    open before it, and of plain text only the last few. They are parsed on
    demand.
    """

    def __init__(self) -> None:
        self._parser: Parser | None = None
        self._unread = b""

    def feed(self, data: bytes) -> None:
        """Take ``data``."""
        escape = data.rfind(b"\x1b")
        if escape >= 0:
            self._parser = None
            self._unread = data[escape:]
        elif self._parser is None and not self._unread.startswith(b"\x1b"):
            joined = self._unread + data
            starter = _C1_STARTER.search(joined)
            self._unread = joined[starter.start() :] if starter else joined[-_LONGEST_CHARACTER:]
        else:
            self._unread += data
        if len(self._unread) > _LONG:
            self.count()

    def count(self) -> int:
        """The number of pending bytes."""
        if self._parser is None:
            self._parser = Parser(Terminal(2, 1, width_mode=width_mode("cluster"), scrollback=0))
        if self._unread:
            self._parser.feed(self._unread)
        pending = self._parser.pending
        if pending < _LONGEST_CHARACTER and not self._parser.in_sequence:
            self._parser = None
            self._unread = self._unread[len(self._unread) - pending :] if pending else b""
        else:
            self._unread = b""
        return pending
