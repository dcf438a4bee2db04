"""Input as views: the bytes as they were sent, and the text that its keys typed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from ptycassette.keys.lines import TypedText, edited_text, typed_text
from ptycassette.scrub._mask import decimal_mask, mask
from ptycassette.scrub.views._view import Patch, View

_CURSOR_KEY = re.compile(r"\x1b(?:\[M[\s\S]{3}|\[[\x20-\x3f]{0,60}[\x40-\x7e]|O.)")
_LONGEST_KEY = 64


class _SentView(View):
    """Bytes as they were sent. Those of cursor keys are never masked."""

    def __init__(self, text: str, *, base: int) -> None:
        super().__init__(text, base=base)
        self._kept = [key.span() for key in _CURSOR_KEY.finditer(text)]

    def _written(self, start: int, end: int, masked: str) -> Iterator[Patch]:
        for first, last in self._kept[bisect_left(self._kept, (start - _LONGEST_KEY, 0)) :]:
            if first >= end:
                break
            left, right = max(first, start), min(last, end)
            if left < right:
                kept = self.text[left:right]
                masked = masked[: left - start] + kept + masked[right - start :]
        yield from super()._written(start, end, masked)


class TypedView(View):
    """Typed text. Each character has the places in which its keys name it, if any do."""

    def __init__(self, typed: TypedText) -> None:
        super().__init__(typed.text)
        self._sources = typed.sources

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """See ``View.patches``."""
        masked = mask(self.text[start:end], form)
        for places, char in zip(self._sources[start:end], masked, strict=True):
            for offset, digits in places:
                if not digits:
                    yield offset, char.encode("latin-1")
                elif char > " ":
                    yield offset, decimal_mask(digits).encode()

    def offset(self, start: int, end: int) -> int | None:
        """See ``View.offset``."""
        return next((places[0][0] for places in self._sources[start:end] if places), None)


def input_views(raw: str, base: int) -> Iterator[View]:
    """Input (canonical) at offset ``base``: as sent, its keys, and the text after editing."""
    yield _SentView(raw, base=base)
    if "\x1b" in raw:
        yield TypedView(typed_text(raw, base=base, editing=False))
    if any(key in raw for key in "\x1b\x7f\x08\x15\x17"):
        yield TypedView(typed_text(raw, base=base))
    edited = edited_text(raw, base=base)
    if edited is not None:
        yield TypedView(edited)
