"""Questions that only a name tells apart: which of them came first in another run is chance.

Two equal questions that overlap, each with a name of its own (a session id, a WebSocket), are
*lookalikes*: in another run, with other values for these names, nothing shows which is which. So
are later questions that differ only in such names, the first of each with the first, the second
with the second, and what their answers bring. Names that are told apart by anything else (another
question, an earlier place in the order) are no lookalikes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus

from ptycassette.model.tape import TapeEntry
from ptycassette.tape.matching._recorded import Recorded
from ptycassette.tape.matching._waiting import Names, names_of, place_in, types_of
from ptycassette.tape.matching.rules import DECLARED_TYPES, SECRET, Rules

_APART = frozenset((SECRET, *DECLARED_TYPES))
"""Types whose values tell questions apart by themselves."""


class Group:
    """Entries of which each could be asked, and answered, in the place of the others.

    Attributes:
        entries: their indices, in order.
        look: what is equal in them.
    """

    def __init__(self, recorded: Recorded, rules: Rules, look: tuple[object, object]) -> None:
        self._recorded = recorded
        self._rules = rules
        self.look = look
        self.entries: list[int] = []
        self._known: set[Names] = set()
        self._until = -1
        self._mixed: dict[tuple[bool, ...], dict[Names, bool]] = {}

    def takes(self, index: int, known: Names) -> bool:
        """Whether a question that looks like these could be in the place of one of them.

        Args:
            index: of the question.
            known: those of its names that were there before it.
        """
        return self._until >= index or self._known != {known}

    def add(self, index: int, known: Names, until: int) -> None:
        """Count one in. ``until`` is the last entry that it overlaps."""
        self.entries.append(index)
        self._known.add(known)
        self._until = max(self._until, until)

    def are_mixed(self, mask: tuple[bool, ...], place: Names) -> bool:
        """Whether those that fit to a question have answers that differ in more than names.

        Args:
            mask: which names of the question are certain.
            place: where it is in the table of that mask.
        """
        if len(self.entries) == 1:
            return False
        if mask not in self._mixed:
            forms: dict[Names, set[bytes]] = {}
            for index in self.entries:
                entry = self._recorded.exchanges[index].entry
                names, types = names_of(entry, self._rules), types_of(entry, self._rules)
                if len(names) == len(mask):
                    at = place_in(names, types, mask)
                    forms.setdefault(at, set()).add(self._recorded.answer_form(index))
            self._mixed[mask] = {at: len(one) > 1 for at, one in forms.items()}
        return self._mixed[mask].get(place, False)

    def differing(self) -> Iterator[int]:
        """The entries that are answered otherwise than the first one."""
        if len(self.entries) > 1:
            first = self._recorded.answer_form(self.entries[0])
            for index in self.entries[1:]:
                if self._recorded.answer_form(index) != first:
                    yield index


class Lookalikes:
    """The lookalikes of a tape.

    Attributes:
        groups: for each entry the group that it is in; alone where nothing looks like it.
        brought: the names (type, name) that an answer had first.
    """

    def __init__(self, recorded: Recorded, rules: Rules) -> None:
        self._rules = rules
        self._looks: dict[tuple[str, int], tuple[Group, str, int]] = {}
        """What tells a name apart."""
        self._asked: Counter[tuple[str, Names]] = Counter()
        self.groups: list[Group] = []
        self.brought: set[tuple[str, int]] = set()
        until = last_overlaps([exchange.entry for exchange in recorded.exchanges])
        groups: dict[object, Group] = {}
        for index, exchange in enumerate(recorded.exchanges):
            names, types = names_of(exchange.entry, rules), types_of(exchange.entry, rules)
            pairs = list(zip(types, names, strict=True))
            self._asked[exchange.entry.key, names] += 1
            what = (exchange.entry.key, self._asked[exchange.entry.key, names])
            look, known = self._look(what, pairs, None)
            group = groups.get(look)
            if group is None or not group.takes(index, known):
                group = None
                for other in self._beginnings(what, pairs):
                    its_look, known = self._look(what, pairs, other)
                    if its_look == other.look and other.takes(index, known):
                        group = other
                        break
            if group is None:
                look, known = self._look(what, pairs, None)
                group = groups[look] = Group(recorded, rules, look)
            group.add(index, known, until[index])
            self.groups.append(group)
            for number, pair in enumerate(pairs):
                self._looks.setdefault(pair, (group, "", number))
            self._answer(recorded, index, group)

    def _beginnings(self, what: object, pairs: list[tuple[str, int]]) -> Iterable[Group]:
        """The groups of equal questions that had some of these names first."""
        found = (self._looks[pair][0] for pair in pairs if pair in self._looks)
        return dict.fromkeys(group for group in found if group.look[0] == what)

    def _look(
        self, what: object, pairs: list[tuple[str, int]], within: Group | None
    ) -> tuple[tuple[object, object], Names]:
        """What tells a question apart, without the names that are its own, and the other names.

        Names that ``within`` had first are its own, too.
        """
        first: dict[tuple[str, int], int] = {}
        look: list[object] = []
        known: list[int] = []
        for number, pair in enumerate(pairs):
            own = self._looks.get(pair)
            if pair[0] in _APART:
                look.append(pair)
            elif own is None or own[0] is within:
                look.append(first.setdefault(pair, number))
            else:
                look.append(own)
                known.append(pair[1])
        return (what, tuple(look)), tuple(known)

    def _answer(self, recorded: Recorded, index: int, group: Group) -> None:
        for number, one in enumerate(recorded.found(index)):
            if one.type not in self._rules.born_types:
                continue
            name = recorded.name(one.type, one.value)
            if name is not None and (one.type, name) not in self._looks:
                self._looks[one.type, name] = (group, "answer", number)
                self.brought.add((one.type, name))


def last_overlaps(entries: Sequence[TapeEntry]) -> list[int]:
    """For each entry the last one that was asked before it was answered; its own where none was."""
    found: list[int] = []
    for index, entry in enumerate(entries):
        low, high = index, len(entries) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if _overlaps(entry, entries[middle]):
                low = middle
            else:
                high = middle - 1
        found.append(low)
    return found


def _overlaps(first: TapeEntry, second: TapeEntry) -> bool:
    """Whether a question was asked before one in front of it was answered.

    A client that has all of an answer, wants no more of it, or has read that it is an error, can
    ask again before the end of the exchange is noted.
    """
    if first.end_seq is not None and first.end_seq <= second.seq:
        return False
    answer = first.answer
    if answer is None:
        return True
    if (answer.status or 0) >= HTTPStatus.BAD_REQUEST:
        return answer.seq > second.seq
    if first.outcome not in {"complete", "client-gone"}:
        return True
    last_us = answer.chunks[-1].t_us if answer.chunks else answer.t_us
    return last_us >= second.t_us
