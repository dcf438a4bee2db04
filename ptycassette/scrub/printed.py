"""The print stream: what a program wrote, in the order of time, without what only steers.

Colours and other attributes vanish, so that a coloured secret is in one piece.
Whatever moves the cursor or starts a line ends a word, and so does the end of
a string sequence. Erased and overwritten text is still there. Strings (OSC,
DCS, APC: titles, links, clipboards) are searched as they stand.
"""

from __future__ import annotations

import re

from ptycassette.scrub.views import PiecewiseView

__all__ = ["printed_views"]

# ECMA-48 5.4: parameter bytes 30-3F, intermediate bytes 20-2F, a final byte 40-7E.
_MOVING = r"\x1b\[[\x20-\x3f]*[A-LPSTXZ`a-gr-uhl@]"
_QUIET = (
    r"\x1b\[[\x20-\x3f]*[\x40-\x7e]"  # the rest of CSI: SGR, modes, reports
    r"|\x1b[\x20-\x2f]+[\x30-\x7e]"  # charsets
    r"|\x1b[78=>\\]"  # save, restore, keypad modes, string terminator
    r"|[\x00\x07\x0e\x0f\x7f]"
)
_STRING = r"(?P<head>\x1bP[0-?]*[ -/]*[@-~]|\x1b[\]PX^_])[^\x07\x1b\x18\x1a]*(?:\x07|\x1b\\)?"
_TOKEN = re.compile(
    rf"(?P<moving>{_MOVING}|[\r\n\x08\x0b\x0c]+)|(?P<string>{_STRING})|(?P<quiet>{_QUIET}|\x1b)"
)


class _Runs:
    """Collects runs of raw text into a view."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._offsets: list[int] = []
        self._length = 0

    def add(self, text: str, offset: int) -> None:
        """Append ``text``, which begins at ``offset`` (-1: it came from nowhere)."""
        self._parts.append(text)
        self._starts.append(self._length)
        self._offsets.append(offset)
        self._length += len(text)

    def view(self) -> PiecewiseView:
        """All of it."""
        text = "".join(self._parts)
        return PiecewiseView(text, starts=self._starts, offsets=self._offsets)


def printed_views(raw: str, *, base: int) -> tuple[PiecewiseView, PiecewiseView]:
    """The print stream of canonical ``raw``, and its string sequences, one a line.

    ``base`` is the offset of the first byte of ``raw`` in the channel.
    """
    printed, strings = _Runs(), _Runs()
    at = 0
    for match in _TOKEN.finditer(raw):
        start = match.start()
        if start > at:
            printed.add(raw[at:start], base + at)
        at = match.end()
        kind = match.lastgroup
        if kind == "quiet":
            continue
        printed.add("\n", -1)
        if kind == "string":
            head = match.end("head")
            strings.add(raw[head:at], base + head)
            strings.add("\n", -1)
    printed.add(raw[at:], base + at)
    return printed.view(), strings.view()
