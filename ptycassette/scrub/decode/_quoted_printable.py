"""Quoted-printable text (RFC 2045 6.7): bytes as =XX; a line that ends in = continues below.

Most equals signs mean something else. They are decoded only with evidence nearby: a sign of
equality that is escaped itself (=3D), a character of several bytes, two escapes in one word, or
the end of a line that is as long as encoders make it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from ptycassette.scrub._mask import QUOTED
from ptycassette.scrub.decode._decoded import Decoded, Edit, neighbours, rewritten
from ptycassette.scrub.decode._plug import Spans

__all__ = ["quoted_printable"]

_PRINTABLE = "(?:[2-6][0-9A-F]|7[0-9A-E])"
_EVIDENCE = re.compile(
    "=(?:3D|[C-F][0-9A-F]=[89AB][0-9A-F]"
    rf"|{_PRINTABLE}[A-Za-z0-9_.+/-]{{0,24}}={_PRINTABLE}|\r?(?P<line_end>\n))"
)
_ESCAPE = re.compile(r"=(?:(?P<code>[0-9A-F]{2})|\r?\n)")
# Where base64 ends with its padding, the next line is another text.
_PADDED = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{4}){5,}[A-Za-z0-9+/]{3}\Z")
_LONG = 87
_LONG_LINES = range(70, _LONG)  # of at most 76 characters, behind what a mail program may show


def quoted_printable(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Decode stretches of quoted-printable text, together with the text around them."""
    evidence = [at for at in map(_evident, _EVIDENCE.finditer(text)) if at >= 0]
    for edits in neighbours(_escapes(text)) if evidence else ():
        first = bisect_left(evidence, edits[0][0])
        if first < len(evidence) and evidence[first] < edits[-1][1]:
            yield rewritten(text, edits, form=QUOTED)


def _evident(escape: re.Match[str]) -> int:
    """The place of an escape that is evidence; -1 for the end of a short line."""
    at = escape.start()
    return at if not escape["line_end"] or _ends_long_line(escape.string, at) else -1


def _ends_long_line(text: str, at: int) -> bool:
    return at - text.rfind("\n", max(0, at - _LONG), at) in _LONG_LINES


def _escapes(text: str) -> Iterator[Edit]:
    """What may be an escape, or the end of a line that continues."""
    for escape in _ESCAPE.finditer(text):
        code, (start, end) = escape["code"], escape.span()
        if code:
            yield start, end, chr(int(code, 16))
        elif _ends_long_line(text, start) or not _PADDED.search(text, max(0, start - _LONG), start):
            yield start, end, ""
