"""Reads a player's keys from the bytes of a terminal. Pure.

Answers of the terminal to queries, mouse reports and unknown keys arrive as
control sequences; each is taken whole and dropped, so that no part of one is
mistaken for a key. (ECMA-48 5.4 on CSI, 5.6 on control strings; xterm's SS3.)
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    rb"\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]"  # CSI ... final
    rb"|\x1bO[\x20-\x7e]"  # SS3
    rb"|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC, DCS, APC, PM, SOS
    rb"|\x1b[^\[\]OP_^X\x1b]"  # alt and a key
    rb"|[^\x1b]"
)
_INCOMPLETE = re.compile(rb"\x1b(?:\[[\x30-\x3f]*[\x20-\x2f]*|O|[\]P_^X][^\x07\x1b]*\x1b?)?\Z")
_NAMES = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1bOC": "right",
    b"\x1bOD": "left",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1bOH": "home",
    b"\x1bOF": "end",
    b"\x1b[1~": "home",  # VT220, as tmux, screen and the Linux console send it
    b"\x1b[4~": "end",
    b"\x1b[7~": "home",  # rxvt
    b"\x1b[8~": "end",
    b"\x03": "ctrl-c",
    b"\x04": "ctrl-d",
    b"\x1a": "ctrl-z",
    b" ": "space",
    b"\r": "enter",
    b"\n": "enter",
}
MAX_PENDING = 65_536
"""A control string that never ends is dropped after this many bytes."""


class PlayerKeyReader:
    """Splits a stream of bytes into names of keys, whatever the chunks are."""

    def __init__(self) -> None:
        self._pending = b""

    @property
    def incomplete(self) -> bool:
        """Whether the bytes so far end inside a sequence; a lone escape may be the start of one."""
        return bool(self._pending)

    def feed(self, data: bytes) -> list[str]:
        """The keys completed by ``data``: a printable ASCII character or a name (``left``)."""
        data = self._pending + data
        self._pending = b""
        keys: list[str] = []
        at = 0
        while at < len(data):
            match = _TOKEN.match(data, at)
            if match is None:
                if _INCOMPLETE.match(data, at) and len(data) - at <= MAX_PENDING:
                    self._pending = data[at:]
                    break
                at += 1  # an escape that starts nothing
                continue
            at = match.end()
            token = match.group()
            name = _NAMES.get(token) or (token.decode() if 0x21 <= token[0] < 0x7F else None)
            if name is not None:
                keys.append(name)
        return keys

    def flush(self) -> list[str]:
        """Decide after a pause: a lone escape was the escape key."""
        alone = self._pending == b"\x1b"
        self._pending = b""
        return ["escape"] if alone else []
