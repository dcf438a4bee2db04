"""JSON values: every string in them, keys included, and strings that only together say something.

A stream of deltas (``{"delta": {"text": "sk-"}}``, ``{"delta": {"text":
"ant-"}}``) carries one message in many events. The strings at one place of
consecutive payloads are therefore also searched as one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

from ptycassette.scrub.canonical import canonical
from ptycassette.scrub.views import PiecewiseView

__all__ = ["Joined", "rewrite", "strings_of"]

_KEPT = 4096
_FLUSH = 32768
_MOST_PLACES = 4096
_LONGEST_PLACE = 512
_TELLS_APART = (
    *("index", "output_index", "content_index", "outputIndex", "contentIndex"),
    *("item_id", "itemId", "call_id", "callId", "message_id", "messageId"),
    *("parent_tool_use_id", "type"),
)
_SAYS_NOTHING = (".type", ".uuid")
_ID = re.compile(r"\[id=[^\]]*\]")  # of the message, or of the event alone


def strings_of(value: Any, *, place: str = "") -> Iterator[tuple[str, str]]:
    """(place, string) for every string in ``value``, in the order in which ``rewrite`` meets them.

    The place is the path of keys, with list positions left out; a key has the place ``""``.
    """
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        told = "".join(
            f"[{value[key]}]" for key in _TELLS_APART if isinstance(value.get(key), (str, int))
        )
        if isinstance(value.get("id"), (str, int)):
            told += f"[id={value['id']}]"
        for key, item in value.items():
            if isinstance(key, str):
                yield "", key
            yield from strings_of(item, place=f"{place}{told}.{key}"[-_LONGEST_PLACE:])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings_of(item, place=f"{place}[]"[-_LONGEST_PLACE:])


def rewrite(value: Any, change: Callable[[str], str]) -> Any:
    """``value`` with every string in it, keys included, replaced by ``change`` of it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            change(key) if isinstance(key, str) else key: rewrite(item, change)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(rewrite(item, change) for item in value)
    return value


class _String(NamedTuple):
    """One string, or a stretch of it: where it stands, what it says, of which value it is."""

    offset: int
    text: str
    value: int


class Joined:
    """Joins the strings of each place over events, and hands them out as views.

    Offsets count the canonical characters of all strings of all events, in order,
    unless whoever puts strings has others.

    Args:
        several: hand out only what several values say together, each such text once.
    """

    def __init__(self, *, several: bool = False) -> None:
        self.offset = 0
        self._several = several
        self._given: set[tuple[int, int, int]] = set()
        self._runs: dict[str, list[_String]] = {}
        self._lengths: dict[str, int] = {}
        self._number = 0

    def add(self, value: Any) -> Iterator[PiecewiseView]:
        """Take one payload; views that became long enough to be searched."""
        self.begin()
        for place, string in strings_of(value):
            text = canonical(string)
            yield from self.put(place, text, self.offset)
            self.offset += len(text)

    def begin(self) -> None:
        """What is put from now on belongs to another value."""
        self._number += 1

    def put(self, place: str, text: str, offset: int) -> Iterator[PiecewiseView]:
        """Take one string, which stands at ``offset``."""
        if text and place and not (self._several and place.endswith(_SAYS_NOTHING)):
            string = _String(offset, text, self._number)
            for name in dict.fromkeys((place, _ID.sub("", place), place.rsplit(".", 1)[-1])):
                yield from self._append(name, string)

    def _append(self, place: str, string: _String) -> Iterator[PiecewiseView]:
        run = self._runs.pop(place, None)
        if run is None:
            run = []
            if len(self._runs) >= _MOST_PLACES:
                yield from self._take(list(self._runs)[: _MOST_PLACES // 2])
        self._runs[place] = run  # the last one now
        run.append(string)
        self._lengths[place] = self._lengths.get(place, 0) + len(string.text)
        if self._lengths[place] >= _FLUSH:
            yield from self._view(place)
            self._keep_tail(place)

    def rest(self) -> Iterator[PiecewiseView]:
        """Everything that is left, and forget it."""
        yield from self._take(list(self._runs))

    def _take(self, places: list[str]) -> Iterator[PiecewiseView]:
        for place in places:
            yield from self._view(place)
            del self._runs[place], self._lengths[place]

    def _view(self, place: str) -> Iterator[PiecewiseView]:
        """The strings of a place as one, if that is to be handed out."""
        run = self._runs[place]
        if self._several:
            if run[0].value == run[-1].value or all(part.text == run[0].text for part in run):
                return
            # The strings of one name are those of another one, or some of them.
            same = (run[0].offset, run[-1].offset, len(run))
            if same in self._given:
                return
            if len(self._given) >= _MOST_PLACES:
                self._given.clear()
            self._given.add(same)
        starts = list(accumulate((len(part.text) for part in run), initial=0))
        yield PiecewiseView(
            "".join([part.text for part in run]),
            starts=starts[:-1],
            offsets=[part.offset for part in run],
        )

    def _keep_tail(self, place: str) -> None:
        """Forget all but the last characters, which the next view begins with."""
        kept: list[_String] = []
        length = 0
        for part in reversed(self._runs[place]):
            if length >= _KEPT:
                break
            kept.append(part)
            length += len(part.text)
        if length >= _FLUSH:  # one huge string: searched, and nothing to carry on but its end
            first = kept[-1]
            if len(first.text) > _KEPT:
                offset = first.offset + len(first.text) - _KEPT
                kept[-1] = first._replace(offset=offset, text=first.text[-_KEPT:])
            length = sum(len(part.text) for part in kept)
        self._runs[place] = kept[::-1]
        self._lengths[place] = length
