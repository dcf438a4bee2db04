"""Tokens in a text: what declared values and patterns find, from left to right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ptycassette.model.file_patterns import FilePattern
from ptycassette.model.re2_engine import compile_re2

_MEMORY_BYTES = 64 << 20
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") | frozenset(
    range(0x80, 0x100)
)
_SHORTEST = 2
"""Of a declared value: a root directory (``/``) is in every path."""


_RUN = re.compile(rb"[A-Za-z0-9_\x80-\xff-]+")
"""The longest stretches of ``_WORD``: where a word is one of them, it stands alone."""


class Span(msgspec.Struct, frozen=True, order=True, gc=False):
    """A token in a text: from ``start`` to ``end``."""

    start: int
    end: int
    type: str


class Finder:
    """Finds declared values, the longest first, and what patterns match.

    A declared value counts only as a whole: ``/home/me`` is not in ``/home/me2``, and is in
    ``/home/me/x``. In a pattern with groups the first that took part is the token.

    Values that are one word are looked up word by word, so that a tape may have any number of them;
    the others and the patterns are one regular expression.

    Args:
        patterns: type and pattern, in order of preference.
        values: type and value.
    """

    def __init__(
        self,
        patterns: Iterable[tuple[str, FilePattern]],
        values: Iterable[tuple[str, bytes]] = (),
    ) -> None:
        parts: list[str] = []
        self._ways: dict[int, tuple[int, str, bool]] = {}
        """Ways to match by their group: how many groups are within, the type, if it is a value."""
        group = 1
        wanted = {(type_, value) for type_, value in values if len(value) >= _SHORTEST}
        self._words: dict[bytes, str] = {}
        for type_, value in sorted(wanted, key=lambda one: (-len(one[1]), one)):
            if _RUN.fullmatch(value):
                self._words.setdefault(value, type_)
                continue
            parts.append(f"({_literal(value)})")
            self._ways[group] = (0, type_, True)
            group += 1
        for type_, pattern in patterns:
            parts.append(f"({pattern.translated})")
            self._ways[group] = (pattern.group_count, type_, False)
            group += 1 + pattern.group_count
        self._engine = (
            compile_re2("|".join(parts), latin1=False, max_bytes=_MEMORY_BYTES) if parts else None
        )

    def find(self, text: bytes) -> Iterator[Span]:
        """The tokens of a text; they do not overlap."""
        at = 0
        matched = self._matched(text, 0)
        other = next(matched, None)
        for run in _RUN.finditer(text) if self._words else ():
            type_ = self._words.get(run[0])
            if type_ is None or not _stands_alone(text, Span(*run.span(), type_)):
                continue
            while other is not None and other.start < run.start():
                yield other
                at = other.end
                other = next(matched, None)
            if run.start() < at:
                continue
            at = run.end()
            yield Span(run.start(), at, type_)
            if other is not None and other.start < at:
                matched = self._matched(text, at)
                other = next(matched, None)
        if other is not None:
            yield other
            yield from matched

    def _matched(self, text: bytes, at: int) -> Iterator[Span]:
        """What the regular expression finds, from a place on."""
        while self._engine is not None and at <= len(text):
            match = self._engine.search(text, at)
            if match is None:
                return
            span, whole = self._span(match)
            if whole and not _stands_alone(text, span):
                at = match.start() + 1
            else:
                if span.end > span.start:
                    yield span
                at = max(span.end, match.start() + 1)

    def _span(self, match: re.Match[bytes]) -> tuple[Span, bool]:
        way = match.lastindex  # the group that ends last is the one around all others
        assert way is not None  # noqa: S101 - each way is a group
        within, type_, whole = self._ways[way]
        for group in range(way + 1, way + within + 1):
            if match.start(group) >= 0:
                return Span(*match.span(group), type_), whole
        return Span(*match.span(), type_), whole


def _literal(value: bytes) -> str:
    return re.escape(value.decode("utf-8", "replace"))


def _stands_alone(text: bytes, span: Span) -> bool:
    before, after = text[max(0, span.start - 1) : span.start], text[span.end : span.end + 2]
    if before and before[0] in _WORD and text[span.start] in _WORD:
        return False
    if after[:1] == b".":  # the end of a sentence, or of a name
        after = after[1:]
    return not (after and after[0] in _WORD)


def values_of(declared: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """Declared values as ``Finder`` takes them; of a path its form without a slash at the end."""
    return [
        (type_, (value.rstrip("/") or value).encode("utf-8", "surrogateescape"))
        for type_, value in declared.items()
    ]
