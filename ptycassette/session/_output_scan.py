"""Scans output for the modes that the program set, and for queries to the terminal.

Cheap enough for every byte (one search for ESC in most chunks), and independent
of the emulator, which is fed later. A sequence split over chunks is found,
because the tail of a chunk that may be a beginning is kept.
"""

from __future__ import annotations

import re

from ptycassette.keys.names import Keyboard
from ptycassette.model.lazy_regex import lazy_pattern

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
            # No number is 0 for the flags, and 1 for what to do with them.
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
