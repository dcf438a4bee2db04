"""What a miss says: the recorded question that is nearest, and where it differs.

This is for people. Nothing here decides what is served, and all texts are scrubbed: volatile tokens
and secrets are shown by their types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Any

import msgspec

from ptycassette.model.json_values import NOT_JSON
from ptycassette.model.tape import VolatileToken
from ptycassette.model.visible_text import visible
from ptycassette.tape.matching._binding import Binding, Pair
from ptycassette.tape.matching._canonical import Token
from ptycassette.tape.matching._json_places import Node, parse_json
from ptycassette.tape.matching._paths import shown_path
from ptycassette.tape.matching._recorded import Recorded, question_of
from ptycassette.tape.matching.question import Question, Skeleton
from ptycassette.tape.matching.rules import SECRET

_MOST_COMPARED = 50
"""Recorded questions that are compared with one that is a miss."""
_MOST_DIFFERENCES = 20
_SHOWN_CHARS = 100
_BEFORE_CHARS = 20


class Difference(msgspec.Struct, frozen=True):
    """A place at which two questions differ; None where one of them has nothing."""

    path: str
    recorded: str | None
    live: str | None

    def __str__(self) -> str:
        recorded = "nothing" if self.recorded is None else f"'{self.recorded}'"
        live = "nothing" if self.live is None else f"'{self.live}'"
        return f"{self.path}: recorded {recorded}, asked {live}"


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """No recorded question is equal.

    Attributes:
        asked: what was asked, on one line.
        reason: why nothing is served.
        nearest: the number of the entry that is most like the question; for people.
        differences: where the two differ, at most twenty.
        more: how many differences are left out.
    """

    asked: str
    reason: str
    nearest: int | None = None
    differences: tuple[Difference, ...] = ()
    more: int = 0

    def text(self) -> str:
        """All of it, line by line."""
        lines = [f"{self.asked}: {self.reason}"]
        if self.nearest is not None:
            lines.append(f"  nearest is entry {self.nearest}")
        lines += [f"  {difference}" for difference in self.differences]
        if self.more:
            lines.append(f"  and {self.more} more")
        return "\n".join(lines)


_Leaves = dict[str, str]


class Misses:
    """Explains misses."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._leaves: dict[int, _Leaves] = {}

    def conflict(self, pair: Pair, binding: Binding) -> str:
        """Why a pair does not fit to what is bound."""
        text = self._recorded.text(pair.type, pair.name)
        recorded = "one of them" if text is None or pair.type == SECRET else _quoted(text)
        value = "another" if pair.type == SECRET else _quoted(pair.value)
        stands = binding.value(pair.type, pair.name)
        if stands is not None and pair.type != SECRET:
            return f"the {pair.type} {recorded} is {_quoted(stands)} in this run, not {value}"
        return f"the {pair.type} {value} stands for two that are different in the recording"

    def of(
        self,
        question: Question,
        skeleton: Skeleton,
        unused: Sequence[int],
        obstacle: tuple[int, str] | None,
        *,
        used_up: int,
    ) -> Miss:
        """The explanation of a question that nothing answers.

        Args:
            question: what was asked.
            skeleton: of it.
            unused: the entries that were not asked for.
            obstacle: an entry with an equal key, and why it does not fit.
            used_up: how many entries with an equal key there are, if all were served before.
        """
        asked = _asked(question)
        if obstacle is not None:
            index, reason = obstacle
            return Miss(asked=asked, reason=reason, nearest=self._number(index))
        if used_up:
            times = "once" if used_up == 1 else f"{used_up} times"
            return Miss(asked=asked, reason=f"it was asked {times} in the recording, and now again")
        live = leaves(question, skeleton.tokens, self._recorded.compared)
        ranked = [
            (_likeness(self._of(index), live), index) for index in self._like(question, unused)
        ]
        if not ranked:
            return Miss(asked=asked, reason="every recorded question of its kind was asked before")
        nearest = max(ranked, key=lambda one: (one[0], -one[1]))[1]
        differences = list(_differences(self._of(nearest), live))
        return Miss(
            asked=asked,
            reason="no recorded question is equal",
            nearest=self._number(nearest),
            differences=tuple(differences[:_MOST_DIFFERENCES]),
            more=max(0, len(differences) - _MOST_DIFFERENCES),
        )

    def _number(self, index: int) -> int:
        return self._recorded.exchanges[index].entry.entry

    def _like(self, question: Question, unused: Sequence[int]) -> list[int]:
        """The entries that are worth comparing."""

        def distance(index: int) -> tuple[bool, int]:
            entry = self._recorded.exchanges[index].entry
            length = 0 if entry.body is None else entry.body.bytes
            return entry.target != question.target, abs(length - len(question.body))

        exchanges = self._recorded.exchanges
        alike = [one for one in unused if exchanges[one].entry.kind == question.kind]
        return nsmallest(_MOST_COMPARED, alike, key=distance)

    def _of(self, index: int) -> _Leaves:
        if index not in self._leaves:
            exchange = self._recorded.exchanges[index]
            self._leaves[index] = leaves(
                question_of(exchange), exchange.entry.tokens, self._recorded.compared
            )
        return self._leaves[index]


def _asked(question: Question) -> str:
    if question.kind == "message":
        return f"a message of {len(question.body)} bytes"
    path = question.target.partition("?")[0]
    return visible(f"{question.method} {path}", limit=200)


def _quoted(value: bytes) -> str:
    return f"'{visible(value.decode('utf-8', 'replace'), limit=_SHOWN_CHARS)}'"


def leaves(
    question: Question, tokens: Iterable[Token | VolatileToken], compared: Collection[str]
) -> _Leaves:
    """Every value of a question by its place, tokens shown by their types.

    ``compared`` are the names of the headers that count.
    """
    places: dict[str, list[tuple[int, int, str]]] = {}
    for token in tokens:
        places.setdefault(token.where, []).append((token.offset, token.length, token.type))
    found = {"kind": question.kind, "method": question.method}
    headers = [(name, value) for name, value in question.headers if name in compared]
    for name, text in (("upstream", question.upstream), ("target", question.target), *headers):
        data = text.encode("utf-8", "surrogateescape")
        found[name] = _shown(data, places.get(name, [])).decode("utf-8", "replace")
    in_body = places.get("", [])
    try:
        numbers = frozenset(_numbers(parse_json(question.body)))
        document = msgspec.json.decode(_shown(question.body, in_body, numbers))
    except NOT_JSON:
        found["body"] = _shown(question.body, in_body).decode("utf-8", "replace")
    else:
        found |= {shown_path(path): value for path, value in _walk(document, ())}
    return found


def _shown(
    text: bytes, places: list[tuple[int, int, str]], numbers: frozenset[int] = frozenset()
) -> bytes:
    """A text with tokens shown by their types; what starts at one of ``numbers`` as a string."""
    parts: list[bytes] = []
    at = 0
    for offset, length, type_ in sorted(places):
        if offset < at:
            continue
        shown = f"<{type_}>".encode()
        parts += (text[at:offset], b'"%b"' % shown if offset in numbers else shown)
        at = offset + length
    parts.append(text[at:])
    return b"".join(parts)


def _numbers(node: Node) -> Iterator[int]:
    if node.kind == "number":
        yield node.start
    for item in node.items:
        yield from _numbers(item)


def _walk(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _walk(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _walk(item, (*path, index))
    else:
        yield path, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _likeness(recorded: _Leaves, live: _Leaves) -> float:
    equal = sum(1 for path, value in live.items() if recorded.get(path) == value)
    return 2 * equal / (len(recorded) + len(live))


def _differences(recorded: _Leaves, live: _Leaves) -> Iterator[Difference]:
    for path in dict.fromkeys((*recorded, *live)):
        old, new = recorded.get(path), live.get(path)
        if old != new:
            start = _first_difference(old or "", new or "")
            yield Difference(path, _window(old, start), _window(new, start))


def _first_difference(old: str, new: str) -> int:
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return at
    return min(len(old), len(new))


def _window(text: str | None, start: int) -> str | None:
    if text is None:
        return None
    first = max(0, start - _BEFORE_CHARS)
    shown = visible(text[first : first + _SHOWN_CHARS])
    return f"{'…' if first else ''}{shown}{'…' if first + _SHOWN_CHARS < len(text) else ''}"
