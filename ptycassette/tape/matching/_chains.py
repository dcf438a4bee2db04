"""Decide which question continues which, to tell conversations apart.

An answer can bring a new name (its own id, the id of a tool call). A question that
holds such a name continues the last entry that brought one of them. Without such a name it
continues the longest earlier question whose turns are its own first turns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import msgspec

from ptycassette.tape.matching._answers import Node, NoJsonError, parse_json
from ptycassette.tape.matching.misses import Recorded
from ptycassette.tape.matching.question import Rules, Step

_MARKS = frozenset({b"cache_control"})
"""Members that move from turn to turn while the conversation grows."""

Name = tuple[str, int]


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """How an entry is connected with earlier ones; entries are indices.

    Attributes:
        names: names in its question.
        born: names that its answer brought.
        returned: names in its question that came from answers, each with the entry that brought it.
        before: the last entry whose turns are the longest first turns of this one.
        stray: the entry whose answer it continues, if that entry's turns are not among its own.
    """

    names: frozenset[Name]
    born: frozenset[Name]
    returned: dict[Name, int]
    before: int | None
    stray: int | None

    @property
    def parent(self) -> int | None:
        """The entry that this one continues."""
        return max(self.returned.values()) if self.returned else self.before


class _SameTurns:
    """Entries with the same turns, and all names in their questions."""

    def __init__(self) -> None:
        self.entries: set[int] = set()
        self.names: set[Name] = set()
        self.last = -1


def links(recorded: Recorded, rules: Rules) -> list[Link]:
    """The links of all entries, in order."""
    born_in: dict[Name, int] = {}
    by_turns: dict[tuple[str, str, bytes], _SameTurns] = {}
    found: list[Link] = []
    for index, exchange in enumerate(recorded.exchanges):
        entry = exchange.entry
        names = frozenset((token.type, token.name) for token in entry.tokens)
        turns = [(entry.method, entry.target, one) for one in _prefixes(exchange.question(), rules)]
        before = next((by_turns[one] for one in reversed(turns[:-1]) if one in by_turns), None)
        born = frozenset(
            (one.type, name)
            for one in recorded.found(index)
            if one.type in rules.born_types
            and (name := recorded.name(one.type, one.value)) is not None
        )
        returned = {name: born_in[name] for name in names if name in born_in}
        found.append(
            Link(
                names=names,
                born=born - names,
                returned=returned,
                before=None if before is None else before.last,
                stray=None if before is None else _stray(returned, before),
            )
        )
        if turns:
            same = by_turns.setdefault(turns[-1], _SameTurns())
            same.entries.add(index)
            same.names |= names
            same.last = index
        for one in born - names:
            born_in.setdefault(one, index)
    return found


def _stray(returned: dict[Name, int], before: _SameTurns) -> int | None:
    new = {where for name, where in returned.items() if name not in before.names}
    return max(new) if new and new.isdisjoint(before.entries) else None


class Conversations:
    """Finds the next entry of a conversation."""

    def __init__(self, recorded: Recorded, rules: Rules) -> None:
        self._first: list[int] = []
        self._entries: dict[int, list[int]] = {}
        self._at: dict[int, int] = {}
        for index, link in enumerate(links(recorded, rules)):
            first = index if link.parent is None else self._first[link.parent]
            self._first.append(first)
            self._entries.setdefault(first, []).append(index)

    def next(self, index: int, is_served: Callable[[int], bool]) -> int:
        """The first unserved entry of the conversation of ``index``, which is itself unserved."""
        first = self._first[index]
        at = self._at.get(first, 0)
        while is_served(self._entries[first][at]):
            at += 1
        self._at[first] = at
        return self._entries[first][at]


def _prefixes(body: bytes, rules: Rules) -> list[bytes]:
    """Digests of the first turn, of the first two turns, and so on."""
    digest = hashlib.sha256()
    prefixes: list[bytes] = []
    for turn in _turns(body, rules):
        for part in _unmarked(body, turn):
            digest.update(part)
        digest.update(b"\0")
        prefixes.append(digest.digest())
    return prefixes


def _turns(body: bytes, rules: Rules) -> tuple[Node, ...]:
    try:
        tree = parse_json(body)
    except NoJsonError:
        return ()
    for path in rules.turns:
        node: Node | None = tree
        for step in path:
            node = _member(body, node, step)
        if node is not None and node.kind == "array":
            return node.items
    return ()


def _member(body: bytes, node: Node | None, step: Step) -> Node | None:
    if node is not None and isinstance(step, tuple):
        for key, item in zip(node.keys, node.items, strict=False):
            if body[key.start : key.end] == step[0].encode():
                return item
    return None


def _unmarked(body: bytes, node: Node) -> Iterator[bytes]:
    if not any(mark in body[node.start : node.end] for mark in _MARKS):
        yield body[node.start : node.end]
    elif node.kind == "object":
        for key, item in zip(node.keys, node.items, strict=True):
            if body[key.start : key.end] not in _MARKS:
                yield body[key.start : key.end]
                yield from _unmarked(body, item)
    elif node.kind == "array":
        for item in node.items:
            yield from _unmarked(body, item)
    else:
        yield body[node.start : node.end]
