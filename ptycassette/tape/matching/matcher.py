"""Matches the questions of a run against a tape, and renames the answers.

A question is a hit only if one renaming of volatile tokens, one to one and the same over the whole
run, makes it equal to a recorded question that was not used yet:

1. its key is that of the recorded question (``question``), so all but its tokens is equal;
2. its tokens fit to what is bound (``_binding``). Names in answers are bound when they are served,
   so what was served must come back, which tells concurrent conversations apart;
3. its masked values are the recorded ones, as far as the tape has digests of them (``_masked``).

Of several that fit, one with the very values of the question is the hit, else the first recorded
one, and it is used once. If these are lookalikes with different answers (``_lookalikes``) there is
no hit. Nothing else ever serves an answer. A miss serves nothing and uses nothing up.

One matcher is for one run and one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from http import HTTPStatus

import msgspec

from ptycassette.model.tape import Chunk, TapeEntry
from ptycassette.tape.draws import Draw
from ptycassette.tape.matching._answers import Found, moved, renamed
from ptycassette.tape.matching._binding import Binding, Pair
from ptycassette.tape.matching._chains import Conversations
from ptycassette.tape.matching._fingerprint import NEWEST_FINGERPRINT, Fingerprint, Served
from ptycassette.tape.matching._lookalikes import Lookalikes
from ptycassette.tape.matching._masked import MaskedValues, masked_like
from ptycassette.tape.matching._misses import Miss, Misses
from ptycassette.tape.matching._recorded import Recorded, TapeExchange, question_of
from ptycassette.tape.matching._waiting import Names, Waiting, names_of, place_of
from ptycassette.tape.matching.question import Question, Skeleton, Skeletons, question_key
from ptycassette.tape.matching.rules import DECLARED_TYPES, SECRET, Rules

_MOST_COMPARED = 200
"""Recorded questions whose masks a question is tried with; the nearest in length come first."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question, in the names of this run.

    Attributes:
        entry: what is served.
        status: None where no answer began; ``entry.outcome`` says what happened instead.
        headers: of the answer; ``content-length`` is that of the new body.
        pieces: of the body, unpacked, cut where they were cut.
    """

    entry: TapeEntry
    status: int | None
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[tuple[Chunk, bytes], ...]


class Renaming(msgspec.Struct, frozen=True):
    """A value of the recording, as it is stored, and what stands for it in this run."""

    type: str
    recorded: str
    live: str


class Matcher:
    """Answers from a tape.

    Attributes:
        recorded: what is known of it.

    Args:
        exchanges: the tape.
        rules: those that it was recorded with.
        key: of the cassette.
        declared: values of this run: ``cwd``, ``home``, ``tmp``.
        strict: whether the questions of one conversation come in their recorded order, also
            where another order would do.
        compare_secrets: whether masked values must be the recorded ones.
        fingerprint_version: of the tape's own fingerprint, which that of the run is to be.
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
        self._skeletons = Skeletons(rules, declared or {})
        self._binding = Binding()
        self._masked = MaskedValues(self.recorded, key=key, compared=compare_secrets)
        self._waiting = Waiting([one.entry for one in exchanges], rules, self._is_taken)
        self._turns = Conversations(self.recorded, rules) if strict else None
        self._uncompared: list[int] = []
        self._misses = Misses(self.recorded)
        self._fingerprint = Fingerprint(self.recorded, rules, version=fingerprint_version)
        self._bind_declared(declared or {})

    def _is_taken(self, type_: str, name: int) -> bool:
        """Whether a name stands for a value, or can stand for none but its own."""
        return self._binding.value(type_, name) is not None or self._masked.is_fixed(type_, name)

    def _bind_declared(self, declared: Mapping[str, str]) -> None:
        """Bind what both runs have one of, so that answers can be renamed from the start."""
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
        """A question without masks, masked where recorded ones are that were not asked for yet.

        The recorder may have known secrets that nothing in one question gives away.
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

        ``proved``: whether it is served and counts for the fingerprint; without that no answer is
        read, but for names.
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
        """Bind the masked values of a question that the digests of the tape recognise."""
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
        """The entries that a question may be, the most likely first.

        One with the very values of the question comes before others. Of lookalikes with different
        answers there is none: nothing shows which one is meant. ``names`` are those of a recorded
        question.
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
        """The name of a value that is the recorded one, unless that stands for another."""
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
        """Whether a value has its name by itself, and not because of what was served before."""
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
        """What the tokens of a question stand for, if it is the entry."""
        recorded = self.recorded.exchanges[index].entry.tokens
        return [
            Pair(token.type, old.name, token.value)
            for token, old in zip(skeleton.tokens, recorded, strict=False)
            if not self._rules.type_of(token.type).measured
        ]

    def _why_not(self, index: int, skeleton: Skeleton) -> str:
        """Why an entry with an equal key, of which no name is bound otherwise, is no hit."""
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
        """The names of an answer that stand for nothing yet: they are served as they are."""
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
        """Why an entry with an equal key is no hit."""
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
        """Use an entry up. Its answer, empty unless it is ``served``."""
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
        """The headers of an answer of this length, and the names in them."""
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

        The tape has no digest of it: it could be guessed, the recording is an old one, or
        secrets are not to be compared.
        """
        return tuple(sorted(self._uncompared))

    def renamings(self) -> tuple[Renaming, ...]:
        """What is called otherwise in this run, in the order in which it was met."""
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
        """What this run asked and was served, and the draws that it was served.

        It is equal to ``tape_fingerprint`` if it was all of the tape.
        """
        return self._fingerprint.digest(draws)


def _length(entry: TapeEntry, recorded: str, served: int) -> str:
    """What ``content-length`` is for an answer of another length.

    It stays where it is about a body that was not sent, and an answer that was broken off stays
    shorter than it says.
    """
    status = None if entry.answer is None else entry.answer.status
    if entry.method == "HEAD" or status == HTTPStatus.NOT_MODIFIED:
        return recorded
    return str(served if entry.outcome == "complete" else served + 1)
