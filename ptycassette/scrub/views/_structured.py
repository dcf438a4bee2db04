"""JSON values: every string in them, keys included, and strings that form one text together.

A stream of deltas (``{"delta": {"text": "sk-"}}``, ``{"delta": {"text": "ant-"}}``) carries one
message in many events. The strings at one place of consecutive payloads are therefore also
searched as one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeGuard

from ptycassette.model.lazy_regex import lazy_pattern
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
_HAS_ID = "[id="
_ID = re.compile(r"\[id=[^\]]*\]")  # of the message, or of the event alone


def strings_of(value: Any, *, place: str = "") -> list[tuple[str, str]]:
    """(place, string) for every string in ``value``, in the order in which ``rewrite`` meets them.

    The place is the path of keys, with list positions left out; a key has the place ``""``.
    """
    found: list[tuple[str, str]] = []
    _collect(value, place, found)
    return found


def tells_nothing_apart(value: dict[Any, Any]) -> bool:
    """Whether an object has no key by whose value the places of its strings are told apart."""
    return "id" not in value and _APART.isdisjoint(value)


def _collect(value: Any, place: str, found: list[tuple[str, str]]) -> None:
    if isinstance(value, str):
        found.append((place, value))
    elif isinstance(value, dict):
        label = ""
        if not _APART.isdisjoint(value):  # few have any of these
            label = "".join(
                f"[{value[key]}]" for key in _TELLS_APART if isinstance(value.get(key), (str, int))
            )
        if "id" in value and isinstance(value["id"], (str, int)):
            label += f"[id={value['id']}]"
        for key, item in value.items():
            if isinstance(key, str):
                found.append(("", key))
            if isinstance(item, (str, dict, list, tuple)):
                _collect(item, f"{place}{label}.{key}"[-_LONGEST_PLACE:], found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, f"{place}[]"[-_LONGEST_PLACE:], found)


class Names(NamedTuple):
    """What the names around a text or number in JSON may declare it to be.

    Attributes:
        own: its key; what the object calls it (``{"name": "X", "value": ...}``); the key of the
            list that holds it. Each names this one value.
        above: the keys of the objects around it, which name all that they hold.
    """

    own: tuple[str, ...] = ()
    above: tuple[str, ...] = ()

    def of_member(self, key: str, label: str | None) -> Names:
        """Those of a member of an object in a place with these."""
        if not _is_value(key):
            return Names((key,), (*self.own, *self.above)[:_MOST_NAMES])
        called = (label,) if label is not None else self.own
        return Names((key, *called), self.above)


_VALUE_KEY = lazy_pattern(r"(?i:\w{0,16}(?:value|val)|default|current)")
_NAME_KEY = lazy_pattern(r"(?i:\w{0,16}(?:name|key)|variable|var|env|field|param(?:eter)?|setting)")
_MOST_NAMES = 4
_LONGEST_NAME = 200


@lru_cache(4096)
def _is_value(key: str) -> bool:
    return _VALUE_KEY.fullmatch(key) is not None


@lru_cache(4096)
def _is_name(key: str) -> bool:
    return _NAME_KEY.fullmatch(key) is not None


def _label(value: dict[Any, Any]) -> str | None:
    """What an object with a name and a value calls its value."""
    for key in value:
        if isinstance(key, str) and _is_value(key):
            break
    else:
        return None
    for key, item in value.items():
        if isinstance(key, str) and isinstance(item, str) and _is_name(key):
            return item[:_LONGEST_NAME]
    return None


def members_of(value: Any, names: Names | None = None) -> Iterator[tuple[Names, str | int]]:
    """(names, item) for every text and whole number in ``value`` that has a name."""
    if isinstance(value, dict):
        label = _label(value)
        for key, item in value.items():
            if isinstance(item, (str, int, dict, list, tuple)):
                inner = (names or _NONE).of_member(key, label) if isinstance(key, str) else names
                if inner is not None and _is_scalar(item):
                    yield inner, item
                else:
                    yield from members_of(item, inner)
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, (dict, list, tuple)):
                yield from members_of(item, names)
            elif names is not None and _is_scalar(item):
                yield names, item


def _is_scalar(value: Any) -> TypeGuard[str | int]:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


_NONE = Names()


def rewrite(
    value: Any,
    change: Callable[[str], str],
    member: Callable[[Names, str | int], str | int] | None = None,
    names: Names | None = None,
) -> Any:
    """``value`` with every string in it, keys included, replaced by ``change`` of it.

    What ``members_of`` yields is replaced by ``member`` of names and item instead, if that is
    given.
    """
    if isinstance(value, dict):
        label = None if member is None else _label(value)
        return {
            change(key) if isinstance(key, str) else key: rewrite(
                item,
                change,
                member,
                (names or _NONE).of_member(key, label)
                if member is not None and isinstance(key, str)
                else names,
            )
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(rewrite(item, change, member, names) for item in value)
    if _is_scalar(value) and member is not None and names is not None:
        return member(names, value)
    return change(value) if isinstance(value, str) else value


_Part = tuple[int, str, tuple[int, int, str]]
"""One string or a part of it: its offset (-1: a gap), its text, and what it belongs to.

That is the value, where its list counts the item in it, and its place where calls are told apart.
"""


class _Run:
    """The strings of one name, the number of their characters, and when the last one came."""

    __slots__ = ("length", "parts", "used")

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self.length = self.used = 0


class Joined:
    """Joins the strings of each place over events, and hands them out as views.

    Offsets count the canonical characters of all strings of all events, in order,
    unless whoever puts strings has others.

    Args:
        several: return only texts that are spread over several values, each once.

    Attributes:
        quiet: whether what becomes long enough is dropped, because it need not be searched.
    """

    def __init__(self, *, several: bool = False) -> None:
        self.offset = 0
        self.quiet = False
        self._several = several
        self._given: set[tuple[int, int, int]] = set()
        self._runs: dict[str, _Run] = {}
        self._names: dict[str, tuple[tuple[str, bool], ...]] = {}
        self._only: dict[str, str] = {}
        self._number = self._item = self._uses = 0

    def add(self, strings: Iterable[tuple[str, str]]) -> list[RunsView]:
        """Take the strings of one payload; views that became long enough to be searched."""
        self.begin()
        views: list[RunsView] = []
        for place, string in strings:
            text = canonical(string)
            views += self.put(place, text, self.offset)
            self.offset += len(text)
        return views

    def begin(self) -> None:
        """Begin another value: strings that are put from now on belong to it."""
        self._number += 1

    def put(self, place: str, text: str, offset: int) -> Sequence[RunsView]:
        """Take one string, which is at ``offset``; views that became long enough."""
        if not text:
            return ()
        names = self._names.get(place)
        if names is None:
            names = self._names_of(place)
        if not names:
            return ()
        views: list[RunsView] = []
        if len(self._runs) >= _MOST_PLACES:  # those that got nothing for the longest time go
            views += self._forget(self._by_use()[: _MOST_PLACES // 2])
        self._item += 1
        own = "" if self._several else _anonymous(place)
        for name, of_list in names:
            run = self._runs.get(name)
            if run is None:
                run = self._runs[name] = _Run()
            self._uses += 1
            run.used = self._uses
            # The parts of one message are items of a list.
            value = self._number, self._item if of_list else 0, own
            if self._several and len(text) > 2 * _KEPT:
                # What another one may continue; the rest is searched elsewhere.
                run.parts += (
                    (offset, text[:_KEPT], value),
                    (-1, _GAP, value),
                    (offset + len(text) - _KEPT, text[-_KEPT:], value),
                )
                run.length += 2 * _KEPT + len(_GAP)
            else:
                run.parts.append((offset, text, value))
                run.length += len(text)
            if run.length >= _FLUSH:
                views += self._view(run.parts)
                run.parts = _tail(run.parts)
                run.length = sum(len(part) for _, part, _ in run.parts)
        return views

    def _names_of(self, place: str) -> tuple[tuple[str, bool], ...]:
        """The names under which strings of a place are joined, and whether each is of a list.

        Its last key is one of them as soon as another place ends with it.
        """
        if len(self._names) >= _MOST_PLACES:
            self._names.clear()
        if not place or (self._several and place.endswith(_SAYS_NOTHING)):
            self._names[place] = ()
            return ()
        anonymous = _anonymous(place)
        names = dict.fromkeys((place, anonymous))
        key = place.rsplit(".", 1)[-1]
        only = self._only.setdefault(key, anonymous)
        if only != anonymous:
            if only:  # until now it had what that place has
                self._only[key] = ""
                self._names.clear()
                self._share(only, key)
            names[key] = None
        made = self._names[place] = tuple((name, _ITEMS in name) for name in names)
        return made

    def _share(self, name: str, key: str) -> None:
        """Let a last key have what the only place has that ended with it so far."""
        held = self._runs.get(name)
        if held is None or name == key:
            return
        run = self._runs[key] = _Run()
        run.parts = [(at, text, (value[0], 0, value[2])) for at, text, value in held.parts]
        run.length, run.used = held.length, held.used

    def rest(self) -> Iterator[RunsView]:
        """Return the remaining views, and drop them."""
        yield from self._forget(self._by_use())

    def _by_use(self) -> list[str]:
        """The names, first that which got nothing for the longest time."""
        return sorted(self._runs, key=lambda name: self._runs[name].used)

    def _forget(self, names: list[str]) -> Iterator[RunsView]:
        for name in names:
            run = self._runs.pop(name)
            # One string alone of a message with an id is also in the run without the id.
            if len(run.parts) > 1 or _HAS_ID not in name:
                yield from self._view(run.parts)
            key = name.rsplit(".", 1)[-1]
            if name in (key, self._only.get(key)):
                self._only.pop(key, None)
        self._given.clear()
        self._names.clear()

    def _view(self, run: list[_Part]) -> Iterator[RunsView]:
        """The strings of a place as one, if that is to be handed out."""
        if self.quiet:
            return
        offset, text, value = run[0]
        if self._several:
            last, _, last_value = run[-1]
            if value == last_value or all(part == text for _, part, _ in run):
                return
            # The strings of one name are those of another one, or some of them.
            same = (offset, last, len(run))
            if same in self._given:
                return
            self._given.add(same)
        view = RunsView((part, at) for at, part, _ in run)
        starts = accumulate(len(part) for _, part, _ in run)
        meet = zip(starts, pairwise(run), strict=False)
        view.borders = [at for at, (one, other) in meet if self._meets(one, other)]
        yield view

    def _meets(self, one: _Part, other: _Part) -> bool:
        """Whether the second one of two strings of a name begins something new.

        Two calls with ids of their own, or two entries, are two commands, and no parts of one.
        """
        if self._several:
            return one[2][0] == other[2][0]
        return one[2][2] != other[2][2]


def _anonymous(place: str) -> str:
    return _ID.sub("", place) if "[id=" in place else place


def _tail(run: list[_Part]) -> list[_Part]:
    """The last characters, with which the next view begins."""
    kept: list[_Part] = []
    room = _KEPT
    for at, whole, value in reversed(run):
        text = whole[-room:]
        kept.append((-1 if at < 0 else at + len(whole) - len(text), text, value))
        room -= len(text)
        if room <= 0:
            break
    return kept[::-1]
