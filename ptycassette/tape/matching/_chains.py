"""Which question continues which: what binds the questions of a conversation together.

A question continues the last entry of whose answer it holds a name that this answer brought
(``previous_response_id``, the id of a tool call); without such a name the longest question before
it whose turns are the first turns of its own.
"""

from __future__ import annotations

import hashlib

from ptycassette.tape.matching._recorded import Recorded, question_of
from ptycassette.tape.matching.question import Skeletons
from ptycassette.tape.matching.rules import Rules


def conversations(recorded: Recorded, rules: Rules) -> list[int]:
    """For each entry the first one of its conversation, as indices."""
    first: list[int] = []
    for index, parent in enumerate(parents(recorded, rules)):
        first.append(index if parent is None else first[parent])
    return first


def parents(recorded: Recorded, rules: Rules) -> list[int | None]:
    """For each entry the one that it continues, as indices."""
    skeletons = Skeletons(rules, {})
    born: dict[tuple[str, int], int] = {}
    by_turns: dict[tuple[str, str, bytes], int] = {}
    found: list[int | None] = []
    for index, exchange in enumerate(recorded.exchanges):
        entry = exchange.entry
        names = {(token.type, token.name) for token in entry.tokens}
        parent = max((born[name] for name in names if name in born), default=None)
        prefixes = _prefixes(skeletons.of(question_of(exchange)).turns)
        for prefix in reversed(prefixes[:-1]):
            if parent is not None:
                break
            parent = by_turns.get((entry.method, entry.target, prefix))
        found.append(parent)
        if prefixes:
            by_turns[entry.method, entry.target, prefixes[-1]] = index
        for one in recorded.answer(index)[2]:
            name = recorded.name(one.type, one.value)
            if name is not None and one.type in rules.born_types and (one.type, name) not in names:
                born.setdefault((one.type, name), index)
    return found


def _prefixes(turns: tuple[bytes, ...]) -> list[bytes]:
    digest = hashlib.sha256()
    prefixes: list[bytes] = []
    for turn in turns:
        digest.update(turn)
        prefixes.append(digest.digest())
    return prefixes
