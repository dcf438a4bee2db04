"""The fingerprint of a run: what was asked and what was served, by names instead of values.

It is computed from the questions as they came and from the answers as they were served. Each
exchange counts together with the one that it continues, so their order is in it; exchanges that do
not continue each other may come in any order, as in matching. Equal questions are counted, because
they are answered in their order.

Version 1 covers questions, status and bodies. Version 2 covers the headers of answers, too, where
their bodies are cut, how each exchange ended, and by which code a WebSocket was closed. Of the
headers ``content-length`` is left out: it follows from the body.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import msgspec

from ptycassette.model.tape import Chunk, TapeEntry
from ptycassette.tape.draws import Draw, draws_digest
from ptycassette.tape.matching._answers import Found, found_in, renamed
from ptycassette.tape.matching._binding import Binding
from ptycassette.tape.matching._chains import links
from ptycassette.tape.matching._recorded import MOST_SEARCHED, Recorded, cuts_of
from ptycassette.tape.matching.question import Skeleton
from ptycassette.tape.matching.rules import Rules

NEWEST_FINGERPRINT = 2
_FOLLOWS = "content-length"


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it was served.

    Attributes:
        entry: whose end it has.
        status: None where no answer began.
        headers: as they were sent, each with the names in it.
        pieces: of the body.
        names: in the body.
    """

    entry: TapeEntry
    status: int | None
    headers: Sequence[tuple[str, bytes, Sequence[Found]]]
    pieces: Sequence[tuple[Chunk, bytes]]
    names: Sequence[Found]


class Fingerprint:
    """Adds up exchanges in the order in which they happened.

    Args:
        recorded: the tape.
        rules: by which it is matched.
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
        """Note an exchange: which entry it was, what was asked, what was served.

        Args:
            index: of the entry.
            asked: key and skeleton of the question.
            served: the answer.
            binding: what the names in both stand for.
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
        """The names in an answer, as version 1 looks for them."""
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
        """SHA-256 (hex) of all that was added, and of draws."""
        continued = links(self._recorded, self._rules)
        chained: dict[int, bytes] = {}
        for index, content in self._exchanges:
            parent = continued[index].parent
            before = b"" if parent is None else chained.get(parent, b"not yet")
            chained[index] = hashlib.sha256(content + before).digest()
        drawn = draws_digest(draws).encode()
        return hashlib.sha256(b"".join((*sorted(chained.values()), drawn))).hexdigest()
