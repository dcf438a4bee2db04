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
        self._start = start
        self._end = end
        self._escaped = raw if escaped and b"\\" in raw else b""
        self._stretches: tuple[list[int], list[int]] | None = None
        self.data = _unescaped(raw) if self._escaped else raw

    @property
    def _map(self) -> tuple[list[int], list[int]]:
        """Where in the text, and where in the body, an escape begins or ends."""
        if self._stretches is None:
            texts, raws = [0], [self._start]
            shift = 0  # how much longer the body is, up to here
            for escape in _ESCAPE.finditer(self._escaped):
                at, length = escape.start() - shift, len(escape[0])
                meant = 1 if length == 2 else len(_unescaped(escape[0]))
                shift += length - meant
                texts += (at, at + meant)
                raws += (self._start + escape.start(), self._start + escape.end())
            self._stretches = (texts, raws)
        return self._stretches

    @classmethod
    def of(cls, body: bytes, node: Node) -> Text:
        """That of a string."""
        return cls(body, node.start, node.end)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the text is in the body: offset and length."""
        first, last = self._raw(start), self._raw(end)
        return first, last - first

    def _raw(self, at: int) -> int:
        if at == len(self.data):
            return self._end
        texts, raws = self._map
        index = bisect_right(texts, at) - 1
        return raws[index] + at - texts[index]

    def stretch(self, start: int, end: int) -> tuple[int, int]:
        """Which stretch of the text holds these places of the body; an escape counts as a whole."""
        return self._text(start, ends=False), self._text(end, ends=True)

    def _text(self, raw: int, *, ends: bool) -> int:
        if raw >= self._end:
            return len(self.data)
        texts, raws = self._map
        index = max(0, bisect_right(raws, raw) - 1)
        within = max(0, raw - raws[index])
        if index % 2 and within:  # behind the first byte of an escape
            return texts[index + ends]
        return texts[index] + within


def _unescaped(raw: bytes) -> bytes:
    text: str = json.loads(b'"%b"' % raw)
    return text.encode("utf-8", "surrogatepass")


def unspelt(text: bytes) -> bytes:
    """What stands within the quotes of a JSON string, as a text; other bytes as they are."""
    if b"\\" not in text:
        return text
    try:
        return _unescaped(text)
    except ValueError:
        return text


def spelt(text: bytes) -> bytes:
    """A text as it stands within the quotes of a JSON string."""
    return json.dumps(text.decode("utf-8", "surrogatepass"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )[1:-1]
