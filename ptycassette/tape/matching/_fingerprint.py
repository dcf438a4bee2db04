"""The fingerprint of a run: what was asked and what was served, by names instead of values.

It is computed from the questions as they came and from the answers as they were served. Each
exchange counts together with the one that it continues, so their order is in it; exchanges that do
not continue each other may come in any order, as in matching. Equal questions are counted, because
they are answered in their order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from ptycassette.model import Chunk
from ptycassette.tape.draws import Draw, draws_digest
from ptycassette.tape.matching._answers import Found, found_in, renamed
from ptycassette.tape.matching._binding import Binding
from ptycassette.tape.matching._chains import links
from ptycassette.tape.matching._recorded import MOST_SEARCHED, Recorded, cuts_of
from ptycassette.tape.matching.question import Skeleton
from ptycassette.tape.matching.rules import Rules

Served = tuple[int | None, Sequence[tuple[Chunk, bytes]]]


class Fingerprint:
    """Adds up exchanges in the order in which they happened."""

    def __init__(self, recorded: Recorded, rules: Rules) -> None:
        self._recorded = recorded
        self._rules = rules
        self._exchanges: list[tuple[int, bytes]] = []
        self._asked: Counter[str] = Counter()

    def add(
        self, index: int, asked: tuple[str, Skeleton], served: Served, binding: Binding
    ) -> None:
        """Note an exchange: which entry it was, what was asked, what was served.

        Args:
            index: of the entry.
            asked: key and skeleton of the question.
            served: status and pieces of the answer.
            binding: what the names in both stand for.
        """
        key, skeleton = asked
        status, pieces = served
        names = [
            f"{token.type}:{binding.name(token.type, token.value)}" for token in skeleton.tokens
        ]
        body = b"".join(data for _, data in pieces)
        values = self._recorded.live_values(binding)
        found: list[Found] = []
        if len(body) <= MOST_SEARCHED:
            found = found_in(
                body,
                cuts_of(pieces),
                self._rules.in_answers(values),
                self._rules.known_names(values),
            )

        def name_of(one: Found) -> bytes:
            return f"<{one.type}:{binding.name(one.type, one.value)}>".encode()

        form = renamed(body, (), found, name_of)[0]
        forms = " ".join(chunk.form or "bytes" for chunk, _ in pieces)
        question = f"{key} {' '.join(names)}"
        self._asked[question] += 1
        parts = [question, str(self._asked[question]), str(status), forms]
        content = "\n".join(parts).encode() + b"\n" + form
        self._exchanges.append((index, hashlib.sha256(content).digest()))

    def digest(self, draws: Sequence[Draw]) -> str:
        """SHA-256 (hex) of all that was added, and of draws."""
        continued = links(self._recorded, self._rules)
        chained: dict[int, bytes] = {}
        for index, content in self._exchanges:
            parent = continued[index].parent
            before = b"" if parent is None else chained.get(parent, b"not yet")
            chained[index] = hashlib.sha256(content + before).digest()
        drawn = draws_digest(draws).encode()
        return hashlib.sha256(b"".join((*sorted(chained.values()), drawn))).hexdigest()
