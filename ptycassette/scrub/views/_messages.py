"""Messages that arrive in pieces: lines of JSON or server-sent events, each with one delta.

The strings at one place of consecutive JSON objects are searched as one text, as those
of service events are. Only whole objects that stand in whole lines are read, with what a
program prints before and behind them; an object may also be spread over lines. Output
in which nothing looks like the key of an object costs one look for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub.views._channels import Blocks
from ptycassette.scrub.views._printed import PrintedView
from ptycassette.scrub.views._structured import Joined, strings_of, tells_nothing_apart
from ptycassette.scrub.views._view import View

_KEY = lazy_pattern(r'"(?:[ \t]|\x1b\[[0-9;]*m)*:')
# Up to the last line that neither goes on nor ends what the one before began.
_WHOLE = lazy_pattern(r".*\n(?=(?:\x1b\[[0-9;]*m)*[^\s}\],\x1b])", re.DOTALL)
_OPENS = lazy_pattern(r'\{\s*+"')
_STRING = lazy_pattern(r'"([^"\\]*+(?:\\[\s\S][^"\\]*+)*)"(\s*+:)?')
_CHARACTERS = r'[^"\\]*+(?:\\[\s\S][^"\\]*+)*'
_PAIR = lazy_pattern(rf'"({_CHARACTERS})"\s*+:\s*+(?:"({_CHARACTERS})")?')
_DECODER = JSONDecoder(strict=False)
_LONGEST = 1 << 18
_TOO_DEEP = 2048
_MOST_BROKEN = 8


class Messages(Blocks):
    """The messages that consecutive JSON objects in the output form together.

    Args:
        wanted: whether the bytes between two offsets are to be read; None for all. Of a block
            that is not, the strings are kept only for messages that go on behind it.
    """

    def __init__(self, wanted: Callable[[int, int], bool] | None = None) -> None:
        super().__init__(self._messages)
        self._wanted = wanted
        self._joined = Joined(several=True)

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        yield from super().rest()
        self._joined.quiet = False
        yield from self._joined.rest()

    def _cut(self, raw: str) -> tuple[int, int]:
        """Read the complete lines, and keep the rest."""
        lines = _WHOLE.match(raw)
        whole = lines.end() if lines else 0
        whole = whole if len(raw) - whole <= _LONGEST else len(raw)
        return whole, whole

    def _messages(self, raw: str, base: int) -> Iterator[View]:
        """Join the strings of the objects in ``raw``."""
        if not _KEY.search(raw):
            return
        joined = self._joined
        joined.quiet = self._wanted is not None and not self._wanted(base, base + len(raw))
        view = PrintedView(raw, base=base) if "\x1b" in raw else None
        text = raw if view is None else view.text
        for strings in _objects(text):
            joined.begin()
            for place, start, end in strings:
                if view is None:
                    yield from joined.put(place, text[start:end], base + start)
                    continue
                for at, length, offset in view.pieces(start, end):
                    yield from joined.put(place, text[at : at + length], offset)


def _objects(text: str) -> Iterator[list[tuple[str, int, int]]]:
    """The strings of each object in ``text``: their key paths and their positions."""
    at = line_end = broken = 0
    while opens := _OPENS.search(text, at):
        try:
            value, end = _DECODER.raw_decode(text, opens.start())
            strings = _strings(value, text, opens.start(), end)
        except JSONDecodeError as exc:
            at = max(opens.end(), exc.pos)
            if at >= line_end:
                line_end, broken = (text.find("\n", at) + 1) or len(text), 0
            broken += 1
            if broken > _MOST_BROKEN:  # an error costs time that grows with the text before it
                at = line_end
        except (ValueError, RecursionError):  # a number of thousands of digits; too deep
            at = opens.end() + _TOO_DEEP
        else:
            yield strings
            at = end


def _strings(value: Any, text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """(place, start, end) of the strings of ``value``, which was parsed from ``text``."""
    if (
        text.find("{", start + 1, end) < 0
        and text.find("[", start, end) < 0
        and isinstance(value, dict)
        and tells_nothing_apart(value)
    ):
        # As most objects of a log: their strings go by their keys.
        pairs = [*_PAIR.finditer(text, start, end)]
        if not any("\\" in pair[1] for pair in pairs):
            return [(f".{pair[1]}", *pair.span(2)) for pair in pairs if pair[2]]
    found = list(_STRING.finditer(text, start, end))
    places = [place for place, _ in strings_of(value)]
    if len(places) != len(found):  # a key that is there twice: its strings go by the key alone
        places = []
        key = ""
        for match in found:
            key = match[1] if match[2] else key
            places.append("" if match[2] else f".{key}")
    return [(place, *match.span(1)) for place, match in zip(places, found, strict=True) if place]
