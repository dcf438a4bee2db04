"""What forms send: words joined by plus signs, other characters as percent escapes.

WHATWG URL, application/x-www-form-urlencoded. A plus sign is one in code and in base64, so
that what is read so is what follows a name and a sign of equality, or holds the name of a
value before a plus sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.patterns import Pattern
from ptycassette.scrub.stretches import unescaped

__all__ = ["Fields"]

_SENT = r"A-Za-z0-9*._%~:/@,!()$\-"
_FIELD = re.compile(rf"(?<=[\w\].-])=(?P<sent>[{_SENT}]*\+[{_SENT}+]*)", re.ASCII)
_NAMED = (
    r"(?:(?i:token|secret|passwords?|passwd|passphrase|api[_-]?key|login|bearer|basic|%3[ad])"
    r"|-----BEGIN)\+"
)
_BEFORE = re.compile(rf"[{_SENT}+=]*")
_AFTER = re.compile(rf"[{_SENT}+]*")
_LONGEST_NAME = 64
_FARTHEST = 1024
_ESCAPE = re.compile(r"%(?P<code>[0-9A-Fa-f]{2})|\+")


class Fields:
    """Finds form fields in canonical text.

    Args:
        fast: as for ``Pattern``.
    """

    def __init__(self, *, fast: bool | None = None) -> None:
        self._named = Pattern(_NAMED, fast=fast)

    def read(self, text: str) -> Iterator[Decoded]:
        """What the fields in ``text`` say, each with its name."""
        if "+" not in text:
            return
        last = 0
        for start, end in sorted(self._spans(text)):
            if start >= last:
                last = end
                escapes = [
                    (*match.span(), chr(int(match["code"], 16)) if match["code"] else " ")
                    for match in _ESCAPE.finditer(text, start, end)
                ]
                yield unescaped(text, escapes, within=(max(0, start - _LONGEST_NAME), end))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where such words begin and end."""
        for match in _FIELD.finditer(text):
            yield match.span("sent")
        for at, end in self._named.spans(text):
            before = _BEFORE.match(text[max(0, at - _FARTHEST) : at][::-1])
            after = _AFTER.match(text, end)
            yield at - len(before.group()) if before else at, after.end() if after else end
