r"""The text of a JSON string, and where each of its bytes stands in the body.

Two spellings of one text (``"\u0041"`` and ``"A"``) are equal, so patterns look at the text. Tokens
are places in the body, so each place in the text is traced back.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right

from ptycassette.tape.matching._json_places import Node

_ESCAPE = re.compile(
    rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[0-9a-fA-F]{4}|\\."
)


class Text:
    """The text of a string, in UTF-8 (lone surrogates as Python's ``surrogatepass`` has them).

    Attributes:
        data: the bytes of the text.
    """

    def __init__(self, body: bytes, start: int, end: int, *, escaped: bool = True) -> None:
        raw = body[start:end]
        self._texts: list[int] = [0]
        """Where in the text a stretch without escapes begins, or an escape."""
        self._raws: list[int] = [start]
        """The same places in the body."""
        self._end = end
        if not escaped or b"\\" not in raw:
            self.data = raw
            return
        parts: list[bytes] = []
        at = length = 0
        for escape in _ESCAPE.finditer(raw):
            before = raw[at : escape.start()]
            meant = json.loads(b'"%b"' % escape[0]).encode("utf-8", "surrogatepass")
            self._mark(length + len(before), start + escape.start())
            length += len(before) + len(meant)
            self._mark(length, start + escape.end())
            parts += (before, meant)
            at = escape.end()
        parts.append(raw[at:])
        self.data = b"".join(parts)

    @classmethod
    def of(cls, body: bytes, node: Node) -> Text:
        """That of a string."""
        return cls(body, node.start, node.end)

    def _mark(self, text: int, raw: int) -> None:
        if self._texts[-1] == text:
            self._raws[-1] = raw
        else:
            self._texts.append(text)
            self._raws.append(raw)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the text is in the body: offset and length."""
        first, last = self._raw(start), self._raw(end)
        return first, last - first

    def _raw(self, at: int) -> int:
        if at == len(self.data):
            return self._end
        index = bisect_right(self._texts, at) - 1
        return self._raws[index] + at - self._texts[index]

    def stretch(self, start: int, end: int) -> tuple[int, int]:
        """Which stretch of the text holds these places of the body."""
        return self._text(start), self._text(end)

    def _text(self, raw: int) -> int:
        if raw >= self._end:
            return len(self.data)
        index = max(0, bisect_right(self._raws, raw) - 1)
        at = self._texts[index] + max(0, raw - self._raws[index])
        following = self._texts[index + 1] if index + 1 < len(self._texts) else len(self.data)
        return min(at, following)


def spelt(text: bytes) -> bytes:
    """A text as it stands within the quotes of a JSON string."""
    return json.dumps(text.decode("utf-8", "surrogatepass"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )[1:-1]
