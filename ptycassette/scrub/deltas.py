"""Messages that came in pieces, put together the way whoever reads them does.

A streamed answer is many events with a few characters each under the same key. Verification
reads these as one text, too, and asks of what it finds there whether several events hold it:
what one string holds is looked at with that string.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.structured import strings_of

__all__ = ["Deltas", "Message"]

_FULL = 32768
_KEPT = 2048
_MOST_NAMES = 4096


class Message:
    """The strings of one place, in the order of time.

    Attributes:
        length: how many canonical characters there are.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._events: list[tuple[int, int]] = []
        self.length = 0

    def add(self, text: str, number: int, t_us: int) -> None:
        """Append what event ``number`` said."""
        self._parts.append(text)
        self._starts.append(self.length)
        self._events.append((number, t_us))
        self.length += len(text)

    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    def several(self, start: int, end: int) -> bool:
        """Whether characters ``start`` to ``end`` came in more than one event."""
        return self._event(start)[0] != self._event(end - 1)[0]

    def t_us(self, at: int) -> int:
        """When the character at ``at`` was there."""
        return self._event(at)[1]

    def tail(self) -> Message:
        """The last characters, which the next look begins with."""
        rest = Message()
        first = max(0, bisect_right(self._starts, self.length - _KEPT) - 1)
        for part, (number, t_us) in zip(self._parts[first:], self._events[first:], strict=True):
            rest.add(part[-_KEPT:], number, t_us)
        return rest

    def _event(self, at: int) -> tuple[int, int]:
        return self._events[bisect_right(self._starts, at) - 1]


class Deltas:
    """Puts the strings of consecutive payloads together, place by place."""

    def __init__(self) -> None:
        self._messages: dict[str, Message] = {}
        self._number = 0

    def add(self, payload: Any, t_us: int) -> Iterator[Message]:
        """Take one payload; messages that are long enough to be looked at."""
        self._number += 1
        for place, string in strings_of(payload):
            text = canonical(string)
            names = dict.fromkeys((place, place.rsplit(".", 1)[-1]))
            for name in filter(None, names) if text else ():
                if name not in self._messages and len(self._messages) >= _MOST_NAMES:
                    yield from self.rest()
                message = self._messages.setdefault(name, Message())
                message.add(text, self._number, t_us)
                if message.length >= _FULL:
                    yield message
                    self._messages[name] = message.tail()

    def rest(self) -> Iterator[Message]:
        """All others, which are forgotten."""
        yield from self._messages.values()
        self._messages.clear()
