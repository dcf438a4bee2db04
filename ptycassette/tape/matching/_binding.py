"""The renaming: which live value stands for which recorded one, one to one, over the whole run."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Pair(msgspec.Struct, frozen=True):
    """A name of the recording (see ``VolatileToken``), and the value that stands for it live."""

    type: str
    name: int
    value: bytes


class Binding:
    """Pairs, no two of which have the same name, or the same value, in one type."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, int], bytes] = {}
        self._names: dict[tuple[str, bytes], int] = {}

    def conflict(self, pairs: Iterable[Pair]) -> Pair | None:
        """The first pair that does not fit to those there are, or to those before it."""
        values: dict[tuple[str, int], bytes] = {}
        names: dict[tuple[str, bytes], int] = {}
        for pair in pairs:
            by_name, by_value = (pair.type, pair.name), (pair.type, pair.value)
            value = self._values.get(by_name, values.get(by_name))
            name = self._names.get(by_value, names.get(by_value))
            if (value is not None or name is not None) and (value, name) != (pair.value, pair.name):
                return pair
            values[by_name] = pair.value
            names[by_value] = pair.name
        return None

    def add(self, pairs: Iterable[Pair]) -> None:
        """Bind pairs that have no conflict."""
        for pair in pairs:
            self._values[pair.type, pair.name] = pair.value
            self._names[pair.type, pair.value] = pair.name

    def value(self, type_: str, name: int) -> bytes | None:
        """What stands for a name."""
        return self._values.get((type_, name))

    def name(self, type_: str, value: bytes) -> int | None:
        """What a value stands for."""
        return self._names.get((type_, value))

    def pairs(self) -> list[Pair]:
        """All pairs, in the order in which they were bound."""
        return [Pair(type_, name, value) for (type_, name), value in self._values.items()]
