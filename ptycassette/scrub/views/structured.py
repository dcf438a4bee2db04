"""JSON values: every string in them, keys included, and strings that form one text together.

A stream carries one message in many events (``{"add": "sk-"}``, ``{"add": "ant-"}``). The strings
at one place of consecutive payloads are therefore also searched as one text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from json import JSONDecodeError, JSONDecoder
from typing import Any, NamedTuple, TypeGuard

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.scrub.match import canonical
from ptycassette.scrub.views.view import (
    Patch,
    PrintedView,
    RunsView,
    ScreenReader,
    View,
    printed_views,
)

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
    """Whether an object has no key whose value distinguishes the places of its strings."""
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
    """The names around a text or number in JSON, which may declare what it is.

    Attributes:
        own: its key; the object's name for it (``{"name": "X", "value": ...}``); the key of the
            list that holds it. Each names this one value.
        above: the keys of the objects around it, which name all values inside.
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
    """The name of the value, from an object with a name and a value."""
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
    """``value`` with ``change`` applied to every string in it, keys included.

    If ``member`` is given, it replaces the items that ``members_of`` yields; it gets names and
    item.
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
    """The strings of one name, their length in characters, and the time of the last one."""

    __slots__ = ("length", "parts", "used")

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self.length = self.used = 0


class Joined:
    """Joins the strings of each place over events, and hands them out as views.

    Offsets count the canonical characters of all strings of all events, in order,
    unless the caller gives others with the strings.

    Args:
        several: return only texts that are spread over several values, each once.

    Attributes:
        quiet: whether texts that become long enough are dropped, because they need no search.
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
            if only:  # until now it shared that place's text
                self._only[key] = ""
                self._names.clear()
                self._share(only, key)
            names[key] = None
        made = self._names[place] = tuple((name, _ITEMS in name) for name in names)
        return made

    def _share(self, name: str, key: str) -> None:
        """Give a last key the text so far of the only place that ends with it."""
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
        """The names, least recently used first."""
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
        """The strings of a place as one text, if it is due."""
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
    """The last characters, which begin the next view."""
    kept: list[_Part] = []
    room = _KEPT
    for at, whole, value in reversed(run):
        text = whole[-room:]
        kept.append((-1 if at < 0 else at + len(whole) - len(text), text, value))
        room -= len(text)
        if room <= 0:
            break
    return kept[::-1]


# A channel of a session, turned into views as its bytes stream by, in bounded memory.


BLOCK = 65536
_BREAKS = "\n\x1b\r "
_OVERLAP = 4096
BESIDE = 2048
"""No rule reaches further over the ends of lines, but for those of key files, whose lines are found
one by one."""
_STEP = 512
"""So many bytes are asked for at once: the smaller, the less is read around what is wanted."""


class Blocks:
    """A channel whose blocks end with the last whole word, and overlap the block before.

    Args:
        views: makes the views of a block (canonical) that begins at an offset of the channel.
        block: how many bytes; blocks end at multiples of it.
        overlap: how many bytes at most are read again.
    """

    def __init__(
        self,
        views: Callable[[str, int], Iterable[View]],
        block: int = BLOCK,
        overlap: int = _OVERLAP,
    ) -> None:
        self._views = views
        self._block = self._next = block
        self._overlap = overlap
        self._held = bytearray()
        self._base = 0

    def feed(self, data: bytes) -> Iterator[View]:
        """Take bytes; returns views whenever a block is full."""
        while self._base + len(self._held) + len(data) >= self._next:
            take = self._next - self._base - len(self._held)
            self._held += data[:take]
            data = data[take:]
            self._next += self._block
            raw = self._held.decode("latin-1")
            end, begin = self._cut(raw)
            yield from self._views(raw[:end], self._base)
            del self._held[:begin]
            self._base += begin
        self._held += data

    def skip(self, length: int) -> None:
        """Begin ``length`` bytes after the beginning of the channel.

        Call it before any ``feed``.
        """
        self._base = length
        self._next = (length // self._block + 1) * self._block

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        yield from self._views(self._held.decode("latin-1"), self._base)

    def _cut(self, raw: str) -> tuple[int, int]:
        """The end of the searched part of a full block, and the start of the next block in it."""
        floor = max(0, len(raw) - self._overlap)
        return _last_break(raw, len(raw), self._overlap), _first_break(raw, floor, self._overlap)


def around(raw: str, wanted: Callable[[int, int], bool]) -> Iterator[tuple[int, int]]:
    """Stretches of a block with the parts that are wanted, each with the text around it.

    That is ``BESIDE`` characters on each side, and the rest of the line that they end in, but at
    most as much as two blocks have in common. The stretches are cut as blocks are.
    """
    begin = end = 0
    for at in range(0, len(raw) or 1, _STEP):
        if not wanted(at, min(len(raw), at + _STEP)):
            continue
        furthest = max(0, at - _OVERLAP)
        line = raw.rfind("\n", furthest, max(0, at - BESIDE))
        first = line if line >= 0 else furthest
        if first > end:
            if end:
                yield begin, _last_break(raw, end, _OVERLAP)
            begin = _first_break(raw, first, _OVERLAP)
        furthest = at + _STEP + _OVERLAP
        line = raw.find("\n", at + _STEP + BESIDE, furthest)
        end = line + 1 if line >= 0 else furthest
    if end:
        yield begin, _last_break(raw, end, _OVERLAP) if end < len(raw) else len(raw)


def _last_break(raw: str, end: int, overlap: int) -> int:
    """The end of the last word before ``end``; ``end`` itself if no word is near."""
    at = max(raw.rfind(char, end - min(end, overlap // 2), end) for char in _BREAKS)
    return at if at >= 0 else end


def _first_break(raw: str, start: int, overlap: int) -> int:
    """The end of the first word after ``start``; ``start`` itself if no word is near."""
    found = (raw.find(char, start, start + overlap // 2) for char in _BREAKS)
    return min((at for at in found if at >= 0), default=start)


# Messages that arrive in pieces: lines of JSON or server-sent events, each with one delta.


_KEY = lazy_pattern(r'"(?:[ \t]|\x1b\[[0-9;]*m)*:')
# Up to the last line that neither continues nor ends the object of the line before.
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
        wanted: whether to read the bytes between two offsets; None reads all. The strings of a
            block that is not read are kept only for messages that continue after it.
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


# The output of a program to one place: the terminal, or a pipe or a file of its own.


_BODY_BLOCK, _BODY_OVERLAP = 1 << 20, 1 << 16
_REREAD = 1 << 13
"""So many bytes before the end of what two bodies share are read again, twice as many as at the
cuts of other texts."""
_MOST_SHARED, _MOST_FOUND = 8 << 20, 4096


class _Places:
    """The place of each run of a stream in its channel."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._offsets: list[int] = []
        self.length = 0

    def add(self, length: int, offset: int) -> None:
        """Note that the stream continues at ``offset`` of the channel."""
        if not self._starts or offset - self._offsets[-1] != self.length - self._starts[-1]:
            self._starts.append(self.length)
            self._offsets.append(offset)
        self.length += length

    def placed(self, at: int, data: bytes) -> Iterator[Patch]:
        """Bytes from ``at`` in the stream on, as patches of the channel."""
        run = max(0, bisect_right(self._starts, at) - 1)
        while data and run < len(self._starts):
            end = self._starts[run + 1] if run + 1 < len(self._starts) else self.length
            part = data[: max(0, end - at)]
            if part:
                yield self._offsets[run] + at - self._starts[run], part
            data = data[len(part) :]
            at += len(part)
            run += 1


class StreamView(View):
    """A view of a stream, whose places are those of the channel."""

    def __init__(self, inner: View, name: str, places: _Places) -> None:
        super().__init__(inner.text)
        self.name = name
        self._inner, self._places = inner, places
        self.kind = (name, *inner.kind)
        self.borders = inner.borders

    def patches(self, start: int, end: int, form: str) -> Iterator[Patch]:
        """See ``View.patches``."""
        for offset, data in self._inner.patches(start, end, form):
            yield from self._places.placed(offset, data)

    def within(self, stretches: Iterable[tuple[int, int]], form: str) -> list[Patch]:
        """The patches that mask several stretches, with offsets in the stream."""
        return [*self._inner.masks(stretches, form)]

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        for at, length, offset in self._inner.pieces(start, end):
            for place, part in self._places.placed(offset, bytes(length)):
                yield at, len(part), place
                at += len(part)  # noqa: PLW2901 - the piece goes on there


class StreamText:
    """One stream: its print stream, its strings, its messages and its screen.

    Args:
        name: the stream's name; "" for one that is its whole channel.
        block: the number of bytes after which a view is made.
        screen: the screen that it paints; None for input.
        wanted: whether to read the bytes between two offsets; None reads all.
    """

    def __init__(
        self,
        name: str = "",
        block: int = BLOCK,
        *,
        screen: ScreenReader | None = None,
        wanted: Callable[[int, int], bool] | None = None,
    ) -> None:
        self.name = name
        self.screen = screen
        self._wanted, self._block = wanted or (lambda *_: True), block
        self._text, self._messages = Blocks(self._printed, block), Messages(wanted)
        self._places = _Places()
        self._length = 0

    def feed(self, data: bytes, offset: int) -> Iterator[Iterable[View]]:
        """Take bytes that are at ``offset`` of the channel; returns views that belong together."""
        if self.name:
            self._places.add(len(data), offset)
        while data:
            part = data[: self._block - self._length % self._block]
            data = data[len(part) :]
            self._length += len(part)
            if self.screen is not None:
                self.screen.feed(part)
            whole = [*self._text.feed(part), *self._messages.feed(part)]
            if whole or (self.screen is not None and self.screen.full):
                yield self._placed_views(whole)

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        if self.screen is not None:
            self.screen.rest()
        return self._placed_views([*self._text.rest(), *self._messages.rest()])

    def _printed(self, raw: str, base: int) -> Iterable[View]:
        stretches = around(raw, lambda start, end: self._wanted(base + start, base + end))
        return chain.from_iterable(
            printed_views(raw[start:end], base + start) for start, end in stretches
        )

    def _placed_views(self, views: Iterable[View]) -> Iterator[View]:
        for view in chain(views, () if self.screen is None else self.screen.take()):
            yield StreamView(view, self.name, self._places) if self.name else view


class FoundInBody(NamedTuple):
    """The findings in a body: the patches that mask it (offsets in the body), and the reasons."""

    patches: list[Patch]
    rule: str
    form: str
    length: int


class TrafficText:
    """One body of the tape among others in its channel.

    An agent sends the whole conversation with each question. The part of a body that repeats the
    beginning of an earlier one is not read again: it has the same findings.

    Args:
        name: the name of the body.
        earlier: bodies that were read to their ends; None if no other body begins like this one.

    Attributes:
        found: the findings in it.
        repeated: the findings in the part that is not read, until they are taken from here.
    """

    def __init__(self, name: str, earlier: Sequence[TrafficText] | None = None) -> None:
        self.name = name
        self.found: list[FoundInBody] = []
        self.repeated: list[FoundInBody] = []
        bodies = Blocks(lambda raw, base: (View(raw, base=base),), _BODY_BLOCK, _BODY_OVERLAP)
        self._readers = (bodies, Messages())
        self._places = _Places()
        self._keeps = earlier is not None
        self._earlier = [*(earlier or ())]
        self._like: TrafficText | None = None
        self._data = bytearray()

    @property
    def can_be_repeated(self) -> bool:
        """Whether it is short enough to be kept for bodies that begin as it does."""
        return 2 * _REREAD <= len(self._data) <= _MOST_SHARED and len(self.found) <= _MOST_FOUND

    @property
    def length(self) -> int:
        """How many bytes of it are kept."""
        return len(self._data)

    def placed(self, patches: Iterable[Patch]) -> Iterator[Patch]:
        """Patches of the body, with their offsets in the channel."""
        for offset, data in patches:
            yield from self._places.placed(offset, data)

    def feed(self, data: bytes, offset: int) -> Iterator[View]:
        """Take bytes that are at ``offset`` of the channel; returns views whenever there are."""
        self._places.add(len(data), offset)
        if not self._data and self._earlier:
            self._like = max(self._earlier, key=lambda one: one.shares(data))
            self._earlier.clear()
        at = len(self._data)
        if self._keeps and at <= _MOST_SHARED:
            self._data += data
        if self._like is None:
            yield from self._read(data)
        elif (shared := self._like.shares(data, at)) < len(data):
            yield from self._read_from(at + shared)

    def shares(self, data: bytes, at: int = 0) -> int:
        """How many bytes of ``data`` are also here, at ``at``."""
        low, high = 0, min(len(data), max(0, len(self._data) - at))
        while low < high:
            middle = (low + high + 1) // 2
            if self._data[at + low : at + middle] == data[low:middle]:
                low = middle
            else:
                high = middle - 1
        return low

    def rest(self) -> Iterator[View]:
        """The remaining views, at the end."""
        if self._like is not None:
            yield from self._read_from(len(self._data))
        for reader in self._readers:
            yield from self._placed_views(reader.rest())

    def _read_from(self, shared: int) -> Iterator[View]:
        """Continue reading a little before the end of the shared part."""
        assert self._like is not None  # noqa: S101 - the caller asked
        begin = max(0, shared - _REREAD)
        until = begin + _REREAD // 2 if begin else 0  # later text is found again
        self.repeated = [
            one
            for one in self._like.found
            if all(offset + len(data) <= until for offset, data in one.patches)
        ]
        self._like = None
        for reader in self._readers:
            reader.skip(begin)
        yield from self._read(bytes(self._data[begin:]))

    def _read(self, data: bytes) -> Iterator[View]:
        for reader in self._readers:
            yield from self._placed_views(reader.feed(data))

    def _placed_views(self, views: Iterator[View]) -> Iterator[View]:
        for view in views:
            yield StreamView(view, self.name, self._places)
