"""JSON values: every string in them, keys included, and strings that form one text together.

A stream of deltas (``{"delta": {"text": "sk-"}}``, ``{"delta": {"text": "ant-"}}``) carries one
message in many events. The strings at one place of consecutive payloads are therefore also
searched as one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
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
    *("parent_tool_use_id", "type"),
)
_APART = frozenset(_TELLS_APART)
_SAYS_NOTHING = (".type", ".uuid")
_ID = re.compile(r"\[id=[^\]]*\]")  # of the message, or of the event alone


def strings_of(value: Any) -> list[tuple[str, str]]:
    """(place, string) for every string in ``value``, in the order in which ``rewrite`` meets them.

    The place is the path of keys, with list positions left out; a key has the place ``""``.
    """
    strings: list[tuple[str, str]] = []
    _collect(value, "", strings)
    return strings


def _collect(value: Any, place: str, strings: list[tuple[str, str]]) -> None:
    if isinstance(value, str):
        strings.append((place, value))
    elif isinstance(value, dict):
        start = f"{place}{_label(value)}."
        for key, item in value.items():
            if isinstance(key, str):
                strings.append(("", key))
            if isinstance(item, (str, dict, list, tuple)):
                _collect(item, f"{start}{key}"[-_LONGEST_PLACE:], strings)
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, (str, dict, list, tuple)):
                _collect(item, f"{place}[]"[-_LONGEST_PLACE:], strings)


def _label(value: dict[Any, Any]) -> str:
    """What tells an object apart from others at its place."""
    label = ""
    if not _APART.isdisjoint(value):
        for key in _TELLS_APART:
            if key in value and isinstance(value[key], (str, int)):
                label += f"[{value[key]}]"
    if "id" in value and isinstance(value["id"], (str, int)):
        label += f"[id={value['id']}]"
    return label


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
    """One string or a part of it: its offset (-1: a gap), its text, and what it belongs to.

    That is the value, and where its list counts the item in it.
    """

    offset: int
    text: str
    value: tuple[int, int]


class _Run:
    """The strings of a place, and when the last one was put."""

    __slots__ = ("last", "length", "strings")

    def __init__(self) -> None:
        self.strings: list[_String] = []
        self.length = self.last = 0


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
        self._runs: dict[str, _Run] = {}
        self._names: dict[str, list[str]] = {}
        self._number = self._item = self._turn = 0

    def add(self, strings: Iterable[tuple[str, str]]) -> list[RunsView]:
        """Take the strings of one payload; views that became long enough to be searched."""
        self.begin()
        views: list[RunsView] = []
        for place, string in strings:
            text = canonical(string)
            if text and place:
                views += self.put(place, text, self.offset)
            self.offset += len(text)
        return views

    def begin(self) -> None:
        """Begin another value: strings that are put from now on belong to it."""
        self._number += 1

    def put(self, place: str, text: str, offset: int) -> list[RunsView]:
        """Take one string, which is at ``offset``; views that became long enough."""
        if not (text and place) or (self._several and place.endswith(_SAYS_NOTHING)):
            return []
        views: list[RunsView] = []
        if len(self._runs) >= _MOST_PLACES:  # those that got nothing for the longest time go
            oldest = sorted(self._runs, key=lambda name: self._runs[name].last)
            views += self._forget(oldest[: _MOST_PLACES // 2])
        self._item += 1
        names = self._names.get(place)
        if names is None:
            names = self._named(place)
        for name in names:
            run = self._runs.get(name)
            if run is None:
                run = self._runs[name] = _Run()
            self._turn += 1
            run.last = self._turn
            # The parts of one message are items of a list.
            item = self._item if _ITEMS in name else 0
            string = _String(offset, text, (self._number, item))
            if self._several and len(text) > 2 * _KEPT:
                run.strings += _ends(string)
                run.length += 2 * _KEPT + len(_GAP)
            else:
                run.strings.append(string)
                run.length += len(text)
            if run.length >= _FLUSH:
                views += self._view(run)
                run.strings = _tail(run.strings)
                run.length = sum(len(part.text) for part in run.strings)
        return views

    def _named(self, place: str) -> list[str]:
        """The names of the runs that the strings of a place belong to."""
        if len(self._names) >= _MOST_PLACES:
            self._names.clear()
        anonymous = _ID.sub("", place) if "[id=" in place else place
        names = [*dict.fromkeys((place, anonymous, place.rsplit(".", 1)[-1]))]
        self._names[place] = names
        return names

    def rest(self) -> list[RunsView]:
        """Return the remaining views, and drop them."""
        return self._forget(sorted(self._runs, key=lambda name: self._runs[name].last))

    def _forget(self, names: list[str]) -> list[RunsView]:
        views = [view for name in names for view in self._view(self._runs.pop(name))]
        self._given.clear()
        return views

    def _view(self, gathered: _Run) -> list[RunsView]:
        """The strings of a place as one, if that is to be handed out."""
        run = gathered.strings
        if self._several:
            if run[0].value == run[-1].value or all(part.text == run[0].text for part in run):
                return []
            # The strings of one name are those of another one, or some of them.
            same = (run[0].offset, run[-1].offset, len(run))
            if same in self._given:
                return []
            self._given.add(same)
        view = RunsView((part.text, part.offset) for part in run)
        if self._several:
            starts = accumulate(len(part.text) for part in run)
            meet = zip(starts, pairwise(run), strict=False)
            view.borders = [at for at, (one, other) in meet if one.value[0] == other.value[0]]
        return [view]


def _ends(string: _String) -> list[_String]:
    """Of a long string what another one may continue; the rest is searched elsewhere."""
    text = string.text
    last = string._replace(offset=string.offset + len(text) - _KEPT, text=text[-_KEPT:])
    return [string._replace(text=text[:_KEPT]), string._replace(offset=-1, text=_GAP), last]


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
