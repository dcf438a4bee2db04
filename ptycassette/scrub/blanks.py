"""Blanks that are none of ASCII (no-break, narrow, wide) between a name and its value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.mask import TEXT
from ptycassette.scrub.stretches import neighbours, unescaped

__all__ = ["blanks"]

# U+00A0, U+2000 to U+200A, U+202F, U+205F, U+3000, written as their UTF-8 bytes.
_OTHER = "(?:\xc2\xa0|\xe2\x80[\x80-\x8a\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
_BLANK = re.compile(_OTHER)
_OF_E2 = re.compile("\xe2(?:\x80[\x80-\x8a\xaf]|\x81\x9f)")
# Programs pad with them; what matters stands behind a name, or before what names are followed by.
_NAMED = re.compile(
    rf"[:=][\"']?{_OTHER}|{_OTHER}[:=]|(?i:token|secret|passwords?|passwd|passphrase|key|login|"
    rf"bearer|basic|auth|cookie|user|-u|pass|-----begin){_OTHER}"
)
_LONGEST_NAME = 16


def blanks(text: str) -> Iterator[Decoded]:
    """Stretches of canonical ``text`` with such blanks, as if they were ordinary ones."""
    if text.isascii() or not ("\xc2\xa0" in text or "\xe3\x80\x80" in text or _OF_E2.search(text)):
        return
    for matches in neighbours(list(_BLANK.finditer(text))):
        start = max(0, matches[0].start() - _LONGEST_NAME)
        if _NAMED.search(text, start, matches[-1].end() + 1):
            yield unescaped(text, [(*match.span(), " ") for match in matches], form=TEXT)
