"""Matches the questions of a run against a tape, and renames the answers.

A question is a hit only if one renaming of volatile tokens, one to one and the same over the whole
run, makes it equal to a recorded question that was not used yet:

1. its key is that of the recorded question (``question``), so all but its tokens is equal;
2. its tokens fit to what is bound (``_binding``). Names in answers are bound when they are served,
   so what was served must come back, which tells concurrent conversations apart.

Of several that fit the first recorded one is the hit, and it is used once. Nothing else ever serves
an answer. A miss changes nothing.

One matcher is for one run and one thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import msgspec

from ptycassette.model import Chunk, TapeEntry
from ptycassette.tape.draws import Draw
from ptycassette.tape.matching._answers import Found, renamed
from ptycassette.tape.matching._binding import Binding, Pair
from ptycassette.tape.matching._chains import conversations
from ptycassette.tape.matching._fingerprint import Fingerprint
from ptycassette.tape.matching._misses import Miss, Misses
from ptycassette.tape.matching._recorded import Recorded, TapeExchange, question_of
from ptycassette.tape.matching.question import Question, Skeleton, Skeletons, question_key
from ptycassette.tape.matching.rules import DECLARED_TYPES, SECRET, Rules


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
    """

    def __init__(
        self,
        exchanges: Sequence[TapeExchange],
        rules: Rules,
        *,
        key: bytes,
        declared: Mapping[str, str] | None = None,
        strict: bool = False,
    ) -> None:
        self._rules = rules
        self._key = key
        self.recorded = Recorded(exchanges, rules)
        self._skeletons = Skeletons(rules, declared or {})
        self._binding = Binding()
        self._unused = list(range(len(exchanges)))
        self._waiting: dict[str, list[int]] = {}
        self._served: dict[str, int] = {}
        for index, exchange in enumerate(exchanges):
            self._waiting.setdefault(exchange.entry.key, []).append(index)
        self._conversations = conversations(self.recorded, rules) if strict else None
        self._misses = Misses(self.recorded)
        self._fingerprint = Fingerprint(self.recorded, rules)
        self._bind_declared(declared or {})

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
        return self._ask(question, skeleton, question_key(self._key, skeleton))

    def ask_again(self, index: int, *, proved: bool = True) -> Hit | Miss:
        """The answer to a recorded question, asked in the names of the recording.

        ``proved``: whether it is served and counts for the fingerprint; without that no answer is
        read, but for names.
        """
        exchange = self.recorded.exchanges[index]
        skeleton = Skeleton(b"", self.recorded.tokens(index))
        return self._ask(question_of(exchange), skeleton, exchange.entry.key, proved=proved)

    def _ask(
        self, question: Question, skeleton: Skeleton, key: str, *, proved: bool = True
    ) -> Hit | Miss:
        obstacles: list[tuple[int, str]] = []
        for index in self._waiting.get(key, ()):
            pairs = self._pairs(index, skeleton)
            found = self.recorded.found(index)
            pairs += self._born(found, pairs)
            obstacle = self._obstacle(index, pairs)
            if obstacle is None:
                hit = self._hit(index, pairs, served=proved)
                if proved:
                    served = (hit.status, hit.pieces)
                    self._fingerprint.add(index, (key, skeleton), served, self._binding)
                return hit
            obstacles.append((index, obstacle))
        used_up = self._served.get(key, 0)
        return self._misses.of(question, skeleton, self._unused, obstacles, used_up=used_up)

    def _pairs(self, index: int, skeleton: Skeleton) -> list[Pair]:
        """What the tokens of a question stand for, if it is the entry."""
        recorded = self.recorded.exchanges[index].entry.tokens
        return [
            Pair(token.type, old.name, token.value)
            for token, old in zip(skeleton.tokens, recorded, strict=False)
            if not self._rules.type_of(token.type).measured
        ]

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
        if self._conversations is not None:
            first = next(
                one
                for one in self._unused
                if self._conversations[one] == self._conversations[index]
            )
            if first != index:
                entry = self.recorded.exchanges[first].entry.entry
                return f"in its conversation entry {entry} comes first"
        return None

    def _hit(self, index: int, pairs: list[Pair], *, served: bool) -> Hit:
        """Use an entry up. Its answer, empty unless it is ``served``."""
        entry = self.recorded.exchanges[index].entry
        self._binding.add(pairs)
        self._waiting[entry.key].remove(index)
        self._unused.remove(index)
        self._served[entry.key] = self._served.get(entry.key, 0) + 1
        answer, chunks, found = self.recorded.answer(index) if served else (b"", (), [])
        body, lengths = renamed(answer, (chunk.length for chunk in chunks), found, self._live)
        pieces: list[tuple[Chunk, bytes]] = []
        at = 0
        for chunk, length in zip(chunks, lengths, strict=True):
            data = body[at : at + length]
            pieces.append((Chunk(chunk.t_us, length, chunk.form), data))
            at += length
        return Hit(
            entry=entry,
            status=None if entry.answer is None else entry.answer.status,
            headers=self._headers(entry, len(body)),
            pieces=tuple(pieces),
        )

    def _headers(self, entry: TapeEntry, length: int) -> tuple[tuple[str, str], ...]:
        if entry.answer is None:
            return ()
        return tuple(
            (name, _length(entry, value, length))
            if name == "content-length"
            else (name, self._renamed_header(value))
            for name, value in entry.answer.headers
        )

    def _renamed_header(self, value: str) -> str:
        data = value.encode("utf-8", "surrogateescape")
        found = self.recorded.in_text(data)
        return renamed(data, (), found, self._live)[0].decode("utf-8", "surrogateescape")

    def _live(self, found: Found) -> bytes | None:
        name = self.recorded.name(found.type, found.value)
        return None if name is None else self._binding.value(found.type, name)

    def unused(self) -> tuple[TapeEntry, ...]:
        """The recorded questions that were not asked."""
        return tuple(self.recorded.exchanges[index].entry for index in self._unused)

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
