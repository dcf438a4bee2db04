"""Whether a tape can be trusted to answer: it is played to itself once before it is published.

A *blocking* finding means that the tape could answer wrongly, or cannot be played at all. Others
are for people: what looks as if it would be another value in another run, and is not declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Literal

import msgspec

from ptycassette.model import TapeEntry
from ptycassette.tape.draws import Draw
from ptycassette.tape.matching._chains import Link, links
from ptycassette.tape.matching._misses import Miss
from ptycassette.tape.matching._recorded import (
    MOST_SEARCHED,
    Recorded,
    TapeExchange,
    answer_length,
    question_of,
)
from ptycassette.tape.matching._undeclared import undeclared
from ptycassette.tape.matching.matcher import Matcher
from ptycassette.tape.matching.question import Skeletons, question_key
from ptycassette.tape.matching.rules import Rules

Kind = Literal["changed", "unplayable", "ambiguous", "too-early", "stray", "undeclared"]


class TapeFinding(msgspec.Struct, frozen=True):
    """Something about an entry.

    ``kind`` is

    - ``changed``: the question is not the one that its key was made of;
    - ``unplayable``: played to itself, the tape does not answer this question;
    - ``ambiguous``: another question, asked at the same time, is equal and has another answer;
    - ``too-early``: it holds a name that only a later answer brings;
    - ``stray``: it continues an answer that another conversation was given;
    - ``undeclared``: a value looks volatile, and no rule says so.
    """

    kind: Kind
    entry: int
    message: str
    blocking: bool


class TapeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check.

    Attributes:
        findings: what is wrong, and what may be.
        unchecked: why it was not checked to its end; empty if it was.
        fingerprint: that of the tape; empty if it was not checked.
    """

    findings: tuple[TapeFinding, ...] = ()
    unchecked: str = ""
    fingerprint: str = ""


def check_tape(
    exchanges: Sequence[TapeExchange],
    rules: Rules,
    *,
    key: bytes,
    day: str | None = None,
    in_time: Callable[[], bool] = lambda: True,
) -> TapeCheck:
    """What is wrong with a tape, and what may be.

    Memory is bounded by the largest question, and by the names in the answers.

    Args:
        exchanges: the tape, in order.
        rules: those that it was recorded with.
        key: of the cassette.
        day: of the recording (``2026-11-24``), to find dates that are not declared.
        in_time: asked now and then; the check ends early when it says no.
    """
    large = [one.entry for one in exchanges if answer_length(one) > MOST_SEARCHED]
    found: list[TapeFinding] = []
    matcher = Matcher(exchanges, rules, key=key)
    for finding in _findings(matcher, exchanges, rules, key=key, day=day, proved=not large):
        if finding is not None:
            found.append(finding)
        elif not in_time():
            blocking = tuple(one for one in found if one.blocking)
            return TapeCheck(findings=blocking, unchecked="it took too long")
    if large:
        said = f"the answer of entry {large[0].entry} is larger than {MOST_SEARCHED} bytes"
        return TapeCheck(findings=tuple(found), unchecked=f"{said}: names in it are not looked for")
    return TapeCheck(findings=tuple(found), fingerprint=matcher.fingerprint())


def changed_questions(
    exchanges: Sequence[TapeExchange], rules: Rules, *, key: bytes
) -> Iterator[TapeFinding]:
    """The questions that are not those that their keys were made of."""
    yield from filter(None, _changed(Recorded(exchanges, rules), rules, key))


def _findings(
    matcher: Matcher,
    exchanges: Sequence[TapeExchange],
    rules: Rules,
    *,
    key: bytes,
    day: str | None,
    proved: bool,
) -> Iterator[TapeFinding | None]:
    """The findings, and None now and then in between."""
    recorded = matcher.recorded
    for index in range(len(exchanges)):  # the slow part: names in answers are looked for once
        recorded.found(index)
        yield None
    chain = links(recorded, rules)
    yield from _changed(recorded, rules, key)
    yield from _played(matcher, proved=proved)
    yield from _ambiguous(recorded, rules)
    yield from _too_early(recorded, chain)
    yield from _stray(recorded, chain)
    for entry, message in undeclared(recorded, day):
        yield TapeFinding("undeclared", entry, message, blocking=False)


def tape_fingerprint(
    exchanges: Sequence[TapeExchange], rules: Rules, *, key: bytes, draws: Sequence[Draw] = ()
) -> str:
    """The fingerprint of a run that asks all that was recorded and is served all of it."""
    matcher = Matcher(exchanges, rules, key=key)
    for index in range(len(exchanges)):
        matcher.ask_again(index)
    return matcher.fingerprint(draws)


def _changed(recorded: Recorded, rules: Rules, key: bytes) -> Iterator[TapeFinding | None]:
    skeletons = Skeletons(rules, {})
    for exchange in recorded.exchanges:
        yield None
        entry = exchange.entry
        skeleton = skeletons.of(question_of(exchange))
        same = [(one.where, one.offset, one.length, one.type) for one in skeleton.tokens] == [
            (one.where, one.offset, one.length, one.type) for one in entry.tokens
        ]
        if not same or question_key(key, skeleton) != entry.key:
            message = "its question, or the rules, are not those that its key was made of"
            yield TapeFinding("changed", entry.entry, message, blocking=True)


def _played(matcher: Matcher, *, proved: bool) -> Iterator[TapeFinding | None]:
    for index, exchange in enumerate(matcher.recorded.exchanges):
        yield None
        answer = matcher.ask_again(index, proved=proved)
        number = exchange.entry.entry
        if isinstance(answer, Miss):
            yield TapeFinding("unplayable", number, answer.reason, blocking=True)
        elif answer.entry.entry != number:
            message = f"played to itself, the tape answers it as entry {answer.entry.entry}"
            yield TapeFinding("unplayable", number, message, blocking=True)


def _ambiguous(recorded: Recorded, rules: Rules) -> Iterator[TapeFinding | None]:
    """Equal questions that overlap in time; of others the order says which is which."""
    equal: dict[object, list[int]] = {}
    for index, exchange in enumerate(recorded.exchanges):
        yield None
        entry = exchange.entry
        names = tuple(
            (token.type, token.name)
            for token in entry.tokens
            if not rules.type_of(token.type).measured
        )
        before = equal.setdefault((entry.key, names), [])
        for other in before:
            first = recorded.exchanges[other].entry
            if not _overlaps(first, entry):
                continue
            if recorded.answer_form(other) != recorded.answer_form(index):
                message = (
                    f"entry {first.entry} asks the same at the same time, and is answered otherwise"
                )
                yield TapeFinding("ambiguous", entry.entry, message, blocking=True)
        before.append(index)


def _overlaps(first: TapeEntry, second: TapeEntry) -> bool:
    """Whether a question was asked before an equal one was answered.

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


def _too_early(recorded: Recorded, chain: list[Link]) -> Iterator[TapeFinding]:
    asked: dict[tuple[str, int], int] = {}
    for index, link in enumerate(chain):
        for name in link.names:
            asked.setdefault(name, index)
        for name in sorted(link.born & asked.keys()):
            if asked[name] < index:
                number = recorded.exchanges[asked[name]].entry.entry
                brings = recorded.exchanges[index].entry.entry
                message = f"it holds the {name[0]} that the answer of entry {brings} brings"
                yield TapeFinding("too-early", number, message, blocking=True)


def _stray(recorded: Recorded, chain: list[Link]) -> Iterator[TapeFinding]:
    for index, link in enumerate(chain):
        entry = recorded.exchanges[index].entry
        known = {name for before in link.prefixes for name in chain[before].names}
        new = {name: where for name, where in link.returned.items() if name not in known}
        parent = link.parent
        if link.prefixes and new and not set(new.values()) & set(link.prefixes):
            other = recorded.exchanges[max(new.values())].entry.entry
            own = recorded.exchanges[link.prefixes[-1]].entry.entry
            message = f"it goes on with the answer of entry {other}, its turns with entry {own}"
            yield TapeFinding("stray", entry.entry, message, blocking=True)
        elif entry.kind == "message" and parent is not None and not link.prefixes:
            before_it = recorded.exchanges[parent].entry
            if before_it.within != entry.within:
                message = f"it continues entry {before_it.entry}, which came over another WebSocket"
                yield TapeFinding("stray", entry.entry, message, blocking=False)
