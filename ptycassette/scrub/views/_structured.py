"""JSON values: every string in them, keys included, and strings that form one text together.

A stream of deltas (``{"delta": {"text": "sk-"}}``, ``{"delta": {"text": "ant-"}}``) carries one
message in many events. The strings at one place of consecutive payloads are therefore also
searched as one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from ptycassette.scrub.match import canonical
from ptycassette.scrub.views._view import RunsView

_KEPT = 4096
_FLUSH = 32768
_ITEMS = "[]"
_GAP = "\n\0\n"
"""No value goes over NUL."""
_MOST_PLACES = 4096
_LONGEST_PLACE = 512
_TELLS_APART = (
    *("index", "output_index", "content_index", "outputIndex", "contentIndex"),
    *("item_id", "itemId", "call_id", "callId", "message_id", "messageId"),
    *("parent_tool_use_id", "entry", "type"),
)
_APART = frozenset(_TELLS_APART)
_SAYS_NOTHING = (".type", ".uuid")
_ID = re.compile(r"\[id=[^\]]*\]")  # of the message, or of the event alone


def strings_of(value: Any, *, place: str = "") -> Iterator[tuple[str, str]]:
    """(place, string) for every string in ``value``, in the order in which ``rewrite`` meets them.

    The place is the path of keys, with list positions left out; a key has the place ``""``.
    """
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        label = ""
        if not _APART.isdisjoint(value):  # few have any of these
            label = "".join(
                f"[{value[key]}]" for key in _TELLS_APART if isinstance(value.get(key), (str, int))
            )
        if isinstance(value.get("id"), (str, int)):
            label += f"[id={value['id']}]"
        for key, item in value.items():
            if isinstance(key, str):
                yield "", key
            yield from strings_of(item, place=f"{place}{label}.{key}"[-_LONGEST_PLACE:])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings_of(item, place=f"{place}[]"[-_LONGEST_PLACE:])


def members_of(value: Any) -> Iterator[tuple[str, str | int]]:
    """(key, item) for every text and whole number that an object in ``value`` holds by a name."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and _is_scalar(item):
                yield key, item
            else:
                yield from members_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from members_of(item)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def rewrite(
    value: Any,
    change: Callable[[str], str],
    member: Callable[[str, str | int], str | int] | None = None,
) -> Any:
    """``value`` with every string in it, keys included, replaced by ``change`` of it.

    What ``members_of`` yields is replaced by ``member`` of key and item instead, if that is given.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            change(key) if isinstance(key, str) else key: (
                member(key, item)
                if member is not None and isinstance(key, str) and _is_scalar(item)
                else rewrite(item, change, member)
            )
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(rewrite(item, change, member) for item in value)
    return value


class _String(NamedTuple):
    """One string or a part of it: its offset (-1: a gap), its text, and what it belongs to.

    That is the value, and where its list counts the item in it. ``place`` is its place in there.
    """

    offset: int
    text: str
    value: tuple[int, int]
    place: str


class Joined:
    """Joins the strings of each place over events, and hands them out as views.

    Offsets count the canonical characters of all strings of all events, in order,
    unless whoever puts strings has others.

    Args:
        several: return only texts that are spread over several values, each once.
    """

    def __init__(self, *, several: bool = False) -> None:
        self.offset = 0
        self._several = several
        self._given: set[tuple[int, int, int]] = set()
        self._runs: dict[str, list[_String]] = {}
        self._lengths: dict[str, int] = {}
        self._number = self._item = 0

    def add(self, value: Any) -> Iterator[RunsView]:
        """Take one payload; views that became long enough to be searched."""
        self.begin()
        for place, string in strings_of(value):
            text = canonical(string)
            yield from self.put(place, text, self.offset)
            self.offset += len(text)

    def begin(self) -> None:
        """Begin another value: strings that are put from now on belong to it."""
        self._number += 1

    def put(self, place: str, text: str, offset: int) -> Iterator[RunsView]:
        """Take one string, which is at ``offset``."""
        if not (text and place) or (self._several and place.endswith(_SAYS_NOTHING)):
            return
        if len(self._runs) >= _MOST_PLACES:  # those that got nothing for the longest time go
            yield from self._forget([*self._runs][: _MOST_PLACES // 2])
        self._item += 1
        for name in dict.fromkeys((place, _anonymous(place), place.rsplit(".", 1)[-1])):
            run = self._runs[name] = self._runs.pop(name, [])
            # The parts of one message are items of a list.
            item = self._item if _ITEMS in name else 0
            ends = self._ends(_String(offset, text, (self._number, item), place))
            run += ends
            self._lengths[name] = self._lengths.get(name, 0) + sum(len(one.text) for one in ends)
            if self._lengths[name] >= _FLUSH:
                yield from self._view(run)
                run[:] = _tail(run)
                self._lengths[name] = sum(len(part.text) for part in run)

    def _ends(self, string: _String) -> list[_String]:
        """Of a long string what another one may continue; the rest is searched elsewhere."""
        text = string.text
        if not self._several or len(text) <= 2 * _KEPT:
            return [string]
        last = string._replace(offset=string.offset + len(text) - _KEPT, text=text[-_KEPT:])
        return [string._replace(text=text[:_KEPT]), string._replace(offset=-1, text=_GAP), last]

    def rest(self) -> Iterator[RunsView]:
        """Return the remaining views, and drop them."""
        yield from self._forget([*self._runs])

    def _forget(self, names: list[str]) -> Iterator[RunsView]:
        for name in names:
            yield from self._view(self._runs.pop(name))
            del self._lengths[name]
        self._given.clear()

    def _view(self, run: list[_String]) -> Iterator[RunsView]:
        """The strings of a place as one, if that is to be handed out."""
        if self._several:
            if run[0].value == run[-1].value or all(part.text == run[0].text for part in run):
                return
            # The strings of one name are those of another one, or some of them.
            same = (run[0].offset, run[-1].offset, len(run))
            if same in self._given:
                return
            self._given.add(same)
        view = RunsView((part.text, part.offset) for part in run)
        starts = accumulate(len(part.text) for part in run)
        meet = zip(starts, pairwise(run), strict=False)
        view.borders = [at for at, (one, other) in meet if self._meets(one, other)]
        yield view

    def _meets(self, one: _String, other: _String) -> bool:
        """Whether the second one of two strings of a name begins something new.

        Two calls with ids of their own, or two entries, are two commands, and no parts of one.
        """
        if self._several:
            return one.value[0] == other.value[0]
        return one.place != other.place and _anonymous(one.place) != _anonymous(other.place)


def _anonymous(place: str) -> str:
    return _ID.sub("", place) if "[id=" in place else place


def _tail(run: list[_String]) -> list[_String]:
    """The last characters, with which the next view begins."""
    kept: list[_String] = []
    room = _KEPT
    for part in reversed(run):
        text = part.text[-room:]
        offset = -1 if part.offset < 0 else part.offset + len(part.text) - len(text)
        kept.append(part._replace(offset=offset, text=text))
        room -= len(text)
        if room <= 0:
            break
    return kept[::-1]
