"""Match the questions of a run against a tape, and rename the answers.

A question is a hit only if one renaming of volatile tokens makes it equal to an unused recorded
question. The renaming is one to one and the same over the whole run. Three conditions:

1. Its key equals that of the recorded question (``question``): all but its tokens is equal.
2. Its tokens agree with existing bindings (``_binding``). Names in answers are bound when they are
   served, so a served name must come back; this tells concurrent conversations apart.
3. Its masked values are the recorded ones, if the tape has digests of them (``_masked``).

If several entries fit, the hit is one with exactly the question's values, else the first in the
recording; it is used once. If they are lookalikes with different answers (``_lookalikes``), there
is no hit. Only a hit serves an answer; a miss serves nothing and uses nothing up.

Use one matcher for one run and one thread.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from http import HTTPStatus

import msgspec

from ptycassette.model.tape import Chunk, TapeEntry
from ptycassette.tape.draws import Draw, draws_digest
from ptycassette.tape.matching._answers import Found, found_in, moved, renamed
from ptycassette.tape.matching._chains import Conversations, links
from ptycassette.tape.matching.misses import (
    MOST_SEARCHED,
    Binding,
    MaskedValues,
    Miss,
    Misses,
    Pair,
    Recorded,
    TapeExchange,
    cuts_of,
    masked_like,
    question_of,
)
from ptycassette.tape.matching.question import (
    DECLARED_TYPES,
    SECRET,
    Question,
    Rules,
    Skeleton,
    Skeletons,
    has_boundaries,
    question_key,
)

# The fingerprint of a run: its questions and answers, with names instead of values.


NEWEST_FINGERPRINT = 2
_FOLLOWS = "content-length"


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it was served.

    Attributes:
        entry: the entry that was served last.
        status: None if no answer began.
        headers: the headers as sent, each with the names in it.
        pieces: the pieces of the body.
        names: the names in the body.
    """

    entry: TapeEntry
    status: int | None
    headers: Sequence[tuple[str, bytes, Sequence[Found]]]
    pieces: Sequence[tuple[Chunk, bytes]]
    names: Sequence[Found]


class Fingerprint:
    """Digests exchanges in the order in which they happened.

    Args:
        recorded: the tape.
        rules: the rules that match it.
        version: 1, or 2 for a tape that was published with it.
    """

    def __init__(self, recorded: Recorded, rules: Rules, *, version: int) -> None:
        self._recorded = recorded
        self._rules = rules
        self._version = version
        self._exchanges: list[tuple[int, bytes]] = []
        self._asked: Counter[str] = Counter()

    def add(
        self, index: int, asked: tuple[str, Skeleton], served: Served, binding: Binding
    ) -> None:
        """Add an exchange: its entry, its question and the answer that was served.

        Args:
            index: the entry.
            asked: key and skeleton of the question.
            served: the answer.
            binding: the values of the names in both.
        """
        key, skeleton = asked
        names = [
            f"{token.type}:{binding.name(token.type, token.value)}" for token in skeleton.tokens
        ]

        def name_of(one: Found) -> bytes | None:
            name = binding.name(one.type, one.value)
            if name is None and self._version > 1:  # served as it was recorded
                name = self._recorded.known_name(one.type, one.value)
                return None if name is None else f"<{one.type}:{name}>".encode()
            return f"<{one.type}:{name}>".encode()

        body = b"".join(data for _, data in served.pieces)
        found = served.names if self._version > 1 else self._found(served, body, binding)
        form = renamed(body, (), found, name_of)[0]
        forms = " ".join(chunk.form or "bytes" for chunk, _ in served.pieces)
        question = f"{key} {' '.join(names)}"
        self._asked[question] += 1
        parts = [question, str(self._asked[question]), str(served.status), forms]
        content = hashlib.sha256("\n".join(parts).encode() + b"\n" + form)
        if self._version > 1:
            answer = served.entry.answer
            cuts = [] if answer is None else [chunk.length for chunk in answer.chunks]
            end = f"{served.entry.outcome} {served.entry.close_code}"
            content.update(f"\n{end} {cuts}".encode())
            for name, value, in_value in served.headers:
                if name != _FOLLOWS:
                    text = renamed(value, (), in_value, name_of)[0]
                    content.update(b"\n%b:%d:%b" % (name.encode(), len(text), text))
        self._exchanges.append((index, content.digest()))

    def _found(self, served: Served, body: bytes, binding: Binding) -> list[Found]:
        """The names in an answer, found as version 1 does."""
        values = self._recorded.live_values(binding)
        if len(body) > MOST_SEARCHED:
            return []
        return found_in(
            body,
            cuts_of(served.pieces),
            self._rules.in_answers(values),
            self._rules.known_names(values),
        )

    def digest(self, draws: Sequence[Draw]) -> str:
        """SHA-256 (hex) of everything that was added, and of draws."""
        continued = links(self._recorded, self._rules)
        chained: dict[int, bytes] = {}
        for index, content in self._exchanges:
            parent = continued[index].parent
            before = b"" if parent is None else chained.get(parent, b"not yet")
            chained[index] = hashlib.sha256(content + before).digest()
        drawn = draws_digest(draws).encode()
        return hashlib.sha256(b"".join((*sorted(chained.values()), drawn))).hexdigest()


# The entries that were not served yet, found by their names instead of one after the other.


Names = tuple[int, ...]
Known = Sequence[int | None]
"""For each token of a question the name of its value; None if it has no name yet."""


def names_of(entry: TapeEntry, rules: Rules) -> Names:
    """The names of an entry's tokens, except those that may differ each time."""
    return tuple(one.name for one in entry.tokens if not rules.type_of(one.type).measured)


def types_of(entry: TapeEntry, rules: Rules) -> tuple[str, ...]:
    """The types of the tokens that ``names_of`` returns."""
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
    """The entries of a tape that were not served yet.

    Args:
        entries: all entries.
        rules: the rules that match them.
        taken: whether a name (type, name) is already bound, so that no other value can take it.
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
        """Mark an entry as served."""
        self._served[index] = 1

    def is_served(self, index: int) -> bool:
        """Whether an entry was served."""
        return bool(self._served[index])

    def left(self) -> list[int]:
        """The entries that were not served."""
        return [index for index, served in enumerate(self._served) if not served]

    def first(self, key: str) -> int | None:
        """The first unserved entry with a key."""
        equal = self._equal.get(key)
        if equal is None:
            return None
        equal.at = self._behind_served(equal.order, equal.at)
        return equal.order[equal.at] if equal.at < len(equal.order) else None

    def count(self, key: str) -> int:
        """How many entries have this key, served or not."""
        equal = self._equal.get(key)
        return 0 if equal is None else len(equal.order)

    def has_others(self, key: str) -> bool:
        """Whether the entries with this key differ in their names."""
        equal = self._equal.get(key)
        return equal is not None and len(equal.alike) > 1

    def fitting(self, key: str, known: Known, values: Sequence[object]) -> Iterator[int]:
        """The entries that fit a question, in order.

        Args:
            key: the key of the question.
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
    """The place in a table of the entries that fit a question."""
    first: dict[object, int] = {}
    return tuple(
        ~first.setdefault(value, number) if name is None else name
        for number, (name, value) in enumerate(zip(known, values, strict=True))
    )


def place_in(names: Names, types: Sequence[str], mask: Sequence[bool]) -> Names:
    """The place of an entry in the table of a mask."""
    values = list(zip(types, names, strict=True))
    known = [name if there else None for name, there in zip(names, mask, strict=True)]
    return place_of(known, values)


# Questions that differ only in a name: their order in another run is chance.


_APART = frozenset((SECRET, *DECLARED_TYPES))
"""Types whose values distinguish questions by themselves."""


class Group:
    """Entries that could be asked and answered in place of each other.

    Attributes:
        entries: their indices, in order.
        look: what their questions have in common.
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
            index: the question.
            known: those of its names that existed before it.
        """
        return self._until >= index or self._known != {known}

    def add(self, index: int, known: Names, until: int) -> None:
        """Add an entry. ``until`` is the last entry that it overlaps."""
        self.entries.append(index)
        self._known.add(known)
        self._until = max(self._until, until)

    def are_mixed(self, mask: tuple[bool, ...], place: Names) -> bool:
        """Whether the entries that fit a question have answers that differ in more than names.

        Args:
            mask: which names of the question are certain.
            place: the place of the entries in the table of that mask.
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
        groups: the group of each entry; an entry without lookalikes has a group of its own.
        brought: the names (type, name) that first appeared in an answer.
    """

    def __init__(self, recorded: Recorded, rules: Rules) -> None:
        self._rules = rules
        self._looks: dict[tuple[str, int], tuple[Group, str, int]] = {}
        """The properties that distinguish a name."""
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
        """The groups of equal questions in which some of these names first appeared."""
        found = (self._looks[pair][0] for pair in pairs if pair in self._looks)
        return dict.fromkeys(group for group in found if group.look[0] == what)

    def _look(
        self, what: object, pairs: list[tuple[str, int]], within: Group | None
    ) -> tuple[tuple[object, object], Names]:
        """The look of a question without its own names, and its other names.

        Names that first appeared in ``within`` count as its own, too.
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
    """For each entry the last one that was asked before it was answered, or the entry itself."""
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
    """Whether ``second`` was asked before ``first`` was answered.

    A client can ask again before the end of the exchange is noted: when it has the whole answer,
    wants no more of it, or has read that it is an error.
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


_MOST_COMPARED = 200
"""Recorded questions whose masks a question is tried with; the nearest in length come first."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question, in the names of this run.

    Attributes:
        entry: the entry that is served.
        status: None if no answer began; ``entry.outcome`` gives the reason.
        headers: the headers of the answer; ``content-length`` is that of the new body.
        pieces: the unpacked body, cut at the recorded places.
    """

    entry: TapeEntry
    status: int | None
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[tuple[Chunk, bytes], ...]


class Renaming(msgspec.Struct, frozen=True):
    """A stored value of the recording, and the value that takes its place in this run."""

    type: str
    recorded: str
    live: str


class Matcher:
    """Answers questions from a tape.

    Attributes:
        recorded: the tape with its names.

    Args:
        exchanges: the tape.
        rules: the rules that it was recorded with.
        key: the key of the cassette.
        declared: values of this run: ``cwd``, ``home``, ``tmp``.
        strict: require the recorded order within a conversation, even if another order would work.
        compare_secrets: require that masked values are the recorded ones.
        fingerprint_version: the version of the tape's own fingerprint; the run's uses the same.
    """

    def __init__(
        self,
        exchanges: Sequence[TapeExchange],
        rules: Rules,
        *,
        key: bytes,
        declared: Mapping[str, str] | None = None,
        strict: bool = False,
        compare_secrets: bool = True,
        fingerprint_version: int = NEWEST_FINGERPRINT,
    ) -> None:
        self._rules = rules
        self._key = key
        self.recorded = Recorded(exchanges, rules)
        entries = [one.entry for one in exchanges]
        self._skeletons = Skeletons(rules, declared or {}, boundaries=has_boundaries(entries))
        self._binding = Binding()
        self._masked = MaskedValues(self.recorded, key=key, compared=compare_secrets)
        self._waiting = Waiting(entries, rules, self._is_taken)
        self._turns = Conversations(self.recorded, rules) if strict else None
        self._uncompared: list[int] = []
        self._misses = Misses(self.recorded)
        self._fingerprint = Fingerprint(self.recorded, rules, version=fingerprint_version)
        self._bind_declared(declared or {})

    def _is_taken(self, type_: str, name: int) -> bool:
        """Whether a name is bound to a value, or can only have its own value."""
        return self._binding.value(type_, name) is not None or self._masked.is_fixed(type_, name)

    def _bind_declared(self, declared: Mapping[str, str]) -> None:
        """Bind the declared values of both runs, so that answers can be renamed from the start."""
        for type_ in DECLARED_TYPES:
            name = self.recorded.only_name(type_)
            if name is not None and type_ in declared:
                value = declared[type_].rstrip("/") or declared[type_]
                pair = Pair(type_, name, value.encode("utf-8", "surrogateescape"))
                if self._binding.conflict([pair]) is None:
                    self._binding.add([pair])

    def ask(self, question: Question) -> Hit | Miss:
        """The answer to the next question."""
        skeleton = self._skeletons.of(question)
        key = question_key(self._key, skeleton)
        if self._waiting.first(key) is not None:
            self._bind_secrets(skeleton)
        return self._ask(question, skeleton, key)

    def masked_as_recorded(self, question: Question) -> Iterator[Question]:
        """Yield an unmasked question with the masks of recorded questions that were not asked yet.

        The recorder may have had secrets that cannot be recognised from one question alone.
        """
        exchanges = self.recorded.exchanges

        def distance(index: int) -> int:
            body = exchanges[index].entry.body
            return abs((0 if body is None else body.bytes) - len(question.body))

        masked = [
            index
            for index in self._waiting.left()
            if any(one.type == SECRET for one in exchanges[index].entry.tokens)
        ]
        tokens = self._skeletons.of(question).tokens if masked else ()
        for index in nsmallest(_MOST_COMPARED, masked, key=distance):
            like = masked_like(question, tokens, exchanges[index])
            if like is not None:
                yield like

    def ask_again(self, index: int, *, proved: bool = True) -> Hit | Miss:
        """The answer to a recorded question, asked in the names of the recording.

        If ``proved``, it is served and counts for the fingerprint; otherwise only the names of the
        answer are read.
        """
        exchange = self.recorded.exchanges[index]
        skeleton = Skeleton(b"", self.recorded.tokens(index))
        self._binding.add(
            Pair(old.type, old.name, token.value)
            for old, token in zip(exchange.entry.tokens, skeleton.tokens, strict=True)
            if self._masked.is_fixed(old.type, old.name)
        )
        names = names_of(exchange.entry, self._rules)
        return self._ask(
            question_of(exchange), skeleton, exchange.entry.key, names=names, proved=proved
        )

    def _bind_secrets(self, skeleton: Skeleton) -> None:
        """Bind the masked values of a question that the tape's digests recognise."""
        for token in skeleton.tokens:
            if token.type == SECRET and self._binding.name(SECRET, token.value) is None:
                name = self._masked.name(SECRET, token.value)
                if name is not None and self._binding.value(SECRET, name) is None:
                    self._binding.add([Pair(SECRET, name, token.value)])

    def _ask(
        self,
        question: Question,
        skeleton: Skeleton,
        key: str,
        *,
        names: Names | None = None,
        proved: bool = True,
    ) -> Hit | Miss:
        obstacle: tuple[int, str] | None = None
        for index in self._candidates(key, skeleton, names):
            pairs = self._pairs(index, skeleton)
            pairs += self._born(self.recorded.found(index), pairs)
            reason = self._obstacle(index, pairs)
            if reason is None:
                hit, served = self._hit(index, pairs, served=proved)
                if proved:
                    self._fingerprint.add(index, (key, skeleton), served, self._binding)
                return hit
            obstacle = obstacle or (index, reason)
        first = self._waiting.first(key)
        if obstacle is None and first is not None:
            obstacle = (first, self._why_not(first, skeleton))
        asked = self._waiting.count(key)
        left = () if obstacle or asked else self._waiting.left()
        return self._misses.of(question, skeleton, left, obstacle, used_up=asked)

    def _candidates(self, key: str, skeleton: Skeleton, names: Names | None) -> Iterator[int]:
        """The entries that can match a question, the most likely first.

        Entries with exactly the question's values come first. Lookalikes with different answers
        yield no candidate, because the question does not show which one it means. ``names`` are the
        names of a recorded question.
        """
        tokens = [one for one in skeleton.tokens if not self._rules.type_of(one.type).measured]
        values = [(one.type, one.value) for one in tokens]
        if names is not None:
            yield from self._waiting.fitting(key, names, values)
            return
        known = [self._binding.name(*value) for value in values]
        if None in known:
            same = [
                self._same(*value) if name is None else name
                for name, value in zip(known, values, strict=True)
            ]
            if same != known:
                yield from self._unmistakable(key, same, values)
        yield from self._unmistakable(key, known, values)

    def _same(self, type_: str, value: bytes) -> int | None:
        """The recorded name of a value, unless that name is bound to another value."""
        name = self.recorded.known_name(type_, value)
        if name is None and type_ != SECRET:
            name = self._masked.name(type_, value)
        taken = name is None or self._binding.value(type_, name) is not None
        return None if taken else name

    def _unmistakable(
        self, key: str, known: list[int | None], values: list[tuple[str, bytes]]
    ) -> Iterator[int]:
        certain: list[int | None] | None = None
        for index in self._waiting.fitting(key, known, values):
            if self._waiting.has_others(key):
                certain = certain or [
                    name if self._is_certain(value, name) else None
                    for name, value in zip(known, values, strict=True)
                ]
                if None in certain:
                    mask = tuple(name is not None for name in certain)
                    place = place_of(certain, values)
                    if self._alike.groups[index].are_mixed(mask, place):
                        return
            yield index

    def _is_certain(self, value: tuple[str, bytes], name: int | None) -> bool:
        """Whether the name of a value follows from the value alone, not from earlier answers."""
        type_, text = value
        if type_ in DECLARED_TYPES or self._masked.is_fixed(type_, name or 0):
            return True
        known = self.recorded.known_name(type_, text)
        if known is None:
            known = self._masked.name(type_, text)
        return name is not None and known == name and (type_, name) not in self._alike.brought

    @cached_property
    def _alike(self) -> Lookalikes:
        return Lookalikes(self.recorded, self._rules)

    def _pairs(self, index: int, skeleton: Skeleton) -> list[Pair]:
        """The bindings that the tokens of a question need if it is this entry."""
        recorded = self.recorded.exchanges[index].entry.tokens
        return [
            Pair(token.type, old.name, token.value)
            for token, old in zip(skeleton.tokens, recorded, strict=False)
            if not self._rules.type_of(token.type).measured
        ]

    def _why_not(self, index: int, skeleton: Skeleton) -> str:
        """Why an entry is not a hit although its key is equal and no name conflicts."""
        pairs = self._pairs(index, skeleton)
        conflict = self._binding.conflict(pairs)
        if conflict is not None and conflict.type != SECRET:
            return self._misses.conflict(conflict, self._binding)
        if any(
            self._masked.is_fixed(pair.type, pair.name)
            and self._binding.value(pair.type, pair.name) != pair.value
            for pair in pairs
        ):
            return (
                "a masked value in it is another one than was recorded"
                " (PTYCASSETTE_SECRETS=any accepts any)"
            )
        if conflict is not None:
            return self._misses.conflict(conflict, self._binding)
        entry = self.recorded.exchanges[index].entry.entry
        return (
            f"it could be entry {entry} or another one that was asked at the same time and answered"
            " otherwise: only their ids tell them apart, and these are others in this run"
        )

    def _born(self, found: list[Found], pairs: list[Pair]) -> list[Pair]:
        """The names of an answer that are not bound yet; they are served unchanged."""
        bound = {(pair.type, pair.name) for pair in pairs}
        born: list[Pair] = []
        for one in found:
            name = self.recorded.name(one.type, one.value)
            if name is None or (one.type, name) in bound or one.type not in self._rules.born_types:
                continue
            if self._binding.value(one.type, name) is None:
                bound.add((one.type, name))
                born.append(Pair(one.type, name, one.value))
        return born

    def _obstacle(self, index: int, pairs: list[Pair]) -> str | None:
        """Why an entry with an equal key is not a hit."""
        conflict = self._binding.conflict(pairs)
        if conflict is not None:
            return self._misses.conflict(conflict, self._binding)
        if self._turns is not None:
            first = self._turns.next(index, self._waiting.is_served)
            if first != index:
                entry = self.recorded.exchanges[first].entry.entry
                return f"in its conversation entry {entry} comes first"
        return None

    def _hit(self, index: int, pairs: list[Pair], *, served: bool) -> tuple[Hit, Served]:
        """Use an entry up and return its answer, which is empty unless ``served``."""
        entry = self.recorded.exchanges[index].entry
        self._binding.add(pairs)
        self._waiting.serve(index)
        if any(
            pair.type == SECRET and not self._masked.is_fixed(SECRET, pair.name) for pair in pairs
        ):
            self._uncompared.append(entry.entry)
        answer, chunks, found = self.recorded.answer(index) if served else (b"", (), [])
        body, lengths = renamed(answer, (chunk.length for chunk in chunks), found, self._live)
        pieces: list[tuple[Chunk, bytes]] = []
        at = 0
        for chunk, length in zip(chunks, lengths, strict=True):
            data = body[at : at + length]
            pieces.append((Chunk(chunk.t_us, length, chunk.form), data))
            at += length
        status = None if entry.answer is None else entry.answer.status
        headers = self._headers(entry, len(body))
        hit = Hit(
            entry=entry,
            status=status,
            headers=tuple(
                (name, value.decode("utf-8", "surrogateescape")) for name, value, _ in headers
            ),
            pieces=tuple(pieces),
        )
        names = moved(body, found, self._live)
        return hit, Served(entry=entry, status=status, headers=headers, pieces=pieces, names=names)

    def _headers(
        self, entry: TapeEntry, length: int
    ) -> tuple[tuple[str, bytes, Sequence[Found]], ...]:
        """The headers of an answer with a body of ``length`` bytes, and the names in them."""
        made: list[tuple[str, bytes, Sequence[Found]]] = []
        for name, value in () if entry.answer is None else entry.answer.headers:
            if name == "content-length":
                made.append((name, _length(entry, value, length).encode(), ()))
                continue
            data = value.encode("utf-8", "surrogateescape")
            found = self.recorded.in_text(data)
            text = renamed(data, (), found, self._live)[0]
            made.append((name, text, moved(text, found, self._live)))
        return tuple(made)

    def _live(self, found: Found) -> bytes | None:
        name = self.recorded.name(found.type, found.value)
        return None if name is None else self._binding.value(found.type, name)

    def unused(self) -> tuple[TapeEntry, ...]:
        """The recorded questions that were not asked."""
        return tuple(self.recorded.exchanges[index].entry for index in self._waiting.left())

    def uncompared(self) -> tuple[int, ...]:
        """The entries that were served although a masked value in them could not be compared.

        This happens if the tape has no digest of the value (it could be guessed, or the recording
        is an old one), or if secrets are not to be compared.
        """
        return tuple(sorted(self._uncompared))

    def renamings(self) -> tuple[Renaming, ...]:
        """The values that differ in this run, in the order in which they were met."""
        changed: list[Renaming] = []
        for pair in self._binding.pairs():
            recorded = self.recorded.text(pair.type, pair.name)
            if recorded is not None and recorded != pair.value and pair.type != SECRET:
                changed.append(
                    Renaming(
                        pair.type,
                        recorded.decode("utf-8", "replace"),
                        pair.value.decode("utf-8", "replace"),
                    )
                )
        return tuple(changed)

    def fingerprint(self, draws: Sequence[Draw] = ()) -> str:
        """The fingerprint of this run's questions, the answers served and the draws served.

        It equals ``tape_fingerprint`` if the run used the whole tape.
        """
        return self._fingerprint.digest(draws)


def _length(entry: TapeEntry, recorded: str, served: int) -> str:
    """The value of ``content-length`` for an answer whose length has changed.

    It is unchanged if the body was not sent. An answer that was broken off stays shorter than its
    header promises.
    """
    status = None if entry.answer is None else entry.answer.status
    if entry.method == "HEAD" or status == HTTPStatus.NOT_MODIFIED:
        return recorded
    return str(served if entry.outcome == "complete" else served + 1)
