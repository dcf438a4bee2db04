"""The entries that were not served yet, found by their names instead of one after the other.

Questions with one key have tokens of the same types in the same order. Where a value of this run
has a name, an entry must have that name there; where it has none, the entry's name must not stand
for anything yet, and equal values must be equal names. So for each way in which tokens are known or
not, one table leads from the names to the entries. An entry of which a name was bound meanwhile
never comes into question again in a table where that name must be free, so it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ptycassette.model.tape import TapeEntry
from ptycassette.tape.matching.rules import Rules

Names = tuple[int, ...]
Known = Sequence[int | None]
"""For each token of a question the name of its value; None for one that stands for nothing yet."""


def names_of(entry: TapeEntry, rules: Rules) -> Names:
    """The names of an entry's tokens, without those that may differ each time."""
    return tuple(one.name for one in entry.tokens if not rules.type_of(one.type).measured)


def types_of(entry: TapeEntry, rules: Rules) -> tuple[str, ...]:
    """The types of these tokens."""
    return tuple(one.type for one in entry.tokens if not rules.type_of(one.type).measured)


class _Alike:
    """Entries with equal names, and how many of them were served."""

    def __init__(self, names: Names, types: tuple[str, ...]) -> None:
        self.names = names
        self.types = types
        self.entries: list[int] = []
        self.at = 0


class _Equal:
    """Entries with one key."""

    def __init__(self) -> None:
        self.alike: dict[tuple[Names, tuple[str, ...]], _Alike] = {}
        self.order: list[int] = []
        self.at = 0
        self.tables: dict[tuple[bool, ...], dict[Names, tuple[list[_Alike], list[int]]]] = {}


class Waiting:
    """What a tape has left.

    Args:
        entries: all of it.
        rules: by which it is matched.
        taken: whether a name (type, name) stands for something, so that no other value can.
    """

    def __init__(
        self, entries: Sequence[TapeEntry], rules: Rules, taken: Callable[[str, int], bool]
    ) -> None:
        self._taken = taken
        self._equal: dict[str, _Equal] = {}
        self._served = bytearray(len(entries))
        for index, entry in enumerate(entries):
            equal = self._equal.setdefault(entry.key, _Equal())
            names, types = names_of(entry, rules), types_of(entry, rules)
            alike = equal.alike.get((names, types))
            if alike is None:
                alike = equal.alike[names, types] = _Alike(names, types)
            alike.entries.append(index)
            equal.order.append(index)

    def serve(self, index: int) -> None:
        """Use an entry up."""
        self._served[index] = 1

    def is_served(self, index: int) -> bool:
        """Whether it was."""
        return bool(self._served[index])

    def left(self) -> list[int]:
        """The entries that were not served."""
        return [index for index, served in enumerate(self._served) if not served]

    def first(self, key: str) -> int | None:
        """The first entry with a key that was not served."""
        equal = self._equal.get(key)
        if equal is None:
            return None
        equal.at = self._behind_served(equal.order, equal.at)
        return equal.order[equal.at] if equal.at < len(equal.order) else None

    def count(self, key: str) -> int:
        """How many entries with a key there are, served or not."""
        equal = self._equal.get(key)
        return 0 if equal is None else len(equal.order)

    def has_others(self, key: str) -> bool:
        """Whether entries with a key differ in their names."""
        equal = self._equal.get(key)
        return equal is not None and len(equal.alike) > 1

    def fitting(self, key: str, known: Known, values: Sequence[object]) -> Iterator[int]:
        """The entries that fit to a question, in order.

        Args:
            key: of the question.
            known: the names of its values.
            values: the values, with their types.
        """
        equal = self._equal.get(key)
        if equal is None:
            return
        mask = tuple(name is not None for name in known)
        if mask not in equal.tables:
            equal.tables[mask] = self._table(equal, mask)
        found = equal.tables[mask].get(place_of(known, values))
        if found is None:
            return
        queue, at = found
        while at[0] < len(queue) and not self._fits(queue[at[0]], mask):
            at[0] += 1
        for number in range(at[0], len(queue)):
            alike = queue[number]
            if self._fits(alike, mask):
                for place in range(alike.at, len(alike.entries)):
                    if not self._served[alike.entries[place]]:
                        yield alike.entries[place]

    def _table(
        self, equal: _Equal, mask: tuple[bool, ...]
    ) -> dict[Names, tuple[list[_Alike], list[int]]]:
        table: dict[Names, tuple[list[_Alike], list[int]]] = {}
        for alike in equal.alike.values():
            if len(alike.names) == len(mask):
                table.setdefault(place_in(alike.names, alike.types, mask), ([], [0]))[0].append(
                    alike
                )
        return table

    def _fits(self, alike: _Alike, mask: tuple[bool, ...]) -> bool:
        alike.at = self._behind_served(alike.entries, alike.at)
        return alike.at < len(alike.entries) and not any(
            self._taken(type_, name)
            for type_, name, known in zip(alike.types, alike.names, mask, strict=True)
            if not known
        )

    def _behind_served(self, entries: list[int], at: int) -> int:
        while at < len(entries) and self._served[entries[at]]:
            at += 1
        return at


def place_of(known: Known, values: Sequence[object]) -> Names:
    """Where the entries that fit to a question are in a table."""
    first: dict[object, int] = {}
    return tuple(
        ~first.setdefault(value, number) if name is None else name
        for number, (name, value) in enumerate(zip(known, values, strict=True))
    )


def place_in(names: Names, types: Sequence[str], mask: Sequence[bool]) -> Names:
    """Where an entry is in the table of a mask."""
    values = list(zip(types, names, strict=True))
    known = [name if there else None for name, there in zip(names, mask, strict=True)]
    return place_of(known, values)
