"""Answers of a terminal to queries, recognised by their shape.

Another terminal than the recorded one answers differently, later, or not at all. As the driver
does not send these bytes, a comparison leaves them out.

Sources: xterm's ctlseqs (DA1-DA3, DSR, CPR, DECRPM, DECRQSS, XTVERSION, XTGETTCAP,
window reports, OSC colour reports), the kitty keyboard protocol (``CSI ? flags u``),
ECMA-48 8.3.35 (DSR). The only shape that is also a key is ``CSI 1 ; m R``, Shift-F3
and its like: xterm sends it for the key, and for a cursor in the first row.
"""

from __future__ import annotations

import re

from ptycassette.model import lazy_pattern

_ANSWER = lazy_pattern(
    rb"\x1b\[(?:"
    rb"[?>=][0-9;:]*c"  # DA1, DA2, DA3
    rb"|\??[0-9]+;[0-9]+(?:;[0-9]+)?R"  # CPR, DECXCPR
    rb"|\??[0-9]+(?:;[0-9]+)*n"  # DSR
    rb"|\??[0-9]+;[0-9]+\$y"  # DECRPM
    rb"|\?[0-9]+u"  # kitty flags
    rb"|[1-9](?:;[0-9]+){0,2}t"  # window reports
    rb"|\?[0-9;]+S"  # XTSMGRAPHICS
    rb")|\x1b[\]P_].*",  # OSC, DCS, APC: no key is sent as one
    re.DOTALL,
)
_AMBIGUOUS = lazy_pattern(rb"\x1b\[1;(?:[2-9]|1[0-6])R")
_CPR_QUERY = lazy_pattern(rb"\x1b\[\??6n")
_QUERY = lazy_pattern(
    rb"\x1b\[(?:[?>=]?[0-9;]*[cn]|\??[0-9;]*\$p|\?u|>[0-9]*q|1[3-9]t|2[01]t|\?[0-9;]+S)"
    rb"|\x1b\][0-9;]*;\?|\x1bP[+$]q|\x1b_G"
)


def is_answer(raw: bytes) -> bool:
    """Whether one complete sequence is an answer that only a terminal sends."""
    return _ANSWER.fullmatch(raw) is not None and _AMBIGUOUS.fullmatch(raw) is None


class AnswerExpectation:
    """Follows the queries in the output. ``asked`` is true once there was any.

    Counts those for the cursor position, to settle the one ambiguous shape.
    """

    def __init__(self) -> None:
        self.asked = False
        self._tail = b""
        self._open = 0

    def output(self, data: bytes) -> None:
        """Look at output that was played."""
        window = self._tail + data
        self.asked = self.asked or _QUERY.search(window) is not None
        self._open += len(_CPR_QUERY.findall(window))
        # Keep what could be the beginning of a query that the next chunk completes.
        cut = window.rfind(b"\x1b", max(0, len(window) - 16))
        self._tail = window[cut:] if cut >= 0 and not _CPR_QUERY.match(window, cut) else b""

    def takes(self, raw: bytes) -> bool:
        """Whether ``raw``, which looks like Shift-F3, answers a query that is open."""
        if self._open > 0 and _AMBIGUOUS.fullmatch(raw):
            self._open -= 1
            return True
        return False

    def answered(self, raw: bytes) -> None:
        """Count an answer that cannot be a key."""
        if self._open > 0 and raw.endswith(b"R"):
            self._open -= 1
