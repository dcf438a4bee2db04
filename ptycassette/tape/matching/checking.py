"""Check before publishing whether a tape can be trusted: play it to itself once.

A *blocking* finding means that the tape could give a wrong answer or cannot be played at all. The
other findings are for people: undeclared values that look as if they change from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ptycassette.tape.draws import Draw
from ptycassette.tape.matching._chains import Link, links
from ptycassette.tape.matching.matcher import (
    NEWEST_FINGERPRINT,
    Lookalikes,
    Matcher,
    last_overlaps,
    names_of,
)
from ptycassette.tape.matching.misses import (
    MOST_SEARCHED,
    Miss,
    Recorded,
    TapeExchange,
    answer_length,
    question_of,
    undeclared,
)
from ptycassette.tape.matching.question import (
    Rules,
    Skeletons,
    has_boundaries,
    question_key,
)

Kind = Literal[
    "changed", "unplayable", "ambiguous", "lookalike", "too-early", "stray", "undeclared"
]


class TapeFinding(msgspec.Struct, frozen=True):
    """A problem with one entry.

    ``kind`` is

    - ``changed``: the question no longer matches its key;
    - ``unplayable``: the tape does not answer this question when it is played to itself;
    - ``ambiguous``: a concurrent question is equal but has a different answer;
    - ``lookalike``: a concurrent question differs only in its own names and has a different answer;
      if these names change, neither is answered;
    - ``too-early``: the question holds a name that only a later answer brings;
    - ``stray``: the question continues an answer that belongs to another conversation;
    - ``undeclared``: a value looks volatile, and no rule declares it.
    """

    kind: Kind
    entry: int
    message: str
    blocking: bool


class TapeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check.

    Attributes:
        findings: certain and possible problems.
        unchecked: why the check did not finish; empty if it did.
        fingerprint: the fingerprint of the tape; empty if the check did not finish.
        fingerprint_version: the scheme of the fingerprint (``_fingerprint``).
    """

    findings: tuple[TapeFinding, ...] = ()
    unchecked: str = ""
    fingerprint: str = ""
    fingerprint_version: int = NEWEST_FINGERPRINT


def check_tape(
    exchanges: Sequence[TapeExchange],
    rules: Rules,
    *,
    key: bytes,
    day: str | None = None,
    in_time: Callable[[], bool] = lambda: True,
) -> TapeCheck:
    """Check a tape for certain and possible problems.

    Memory is bounded by the largest question and by the names in the answers.

    Args:
        exchanges: the tape, in order.
        rules: the rules that it was recorded with.
        key: the key of the cassette.
        day: the date of the recording (``2026-11-24``), to find undeclared dates.
        in_time: called now and then; the check ends early when it returns False.
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


def published_fingerprint(facts: Mapping[str, Any], rules: Rules) -> tuple[str, int]:
    """The fingerprint and its version that a manifest has for its tape under these rules.

    Args:
        facts: ``optional.tape`` of the manifest.
        rules: the rules that match the tape now.

    Returns:
        An empty text and the newest version if there is no usable fingerprint: the check did not
        finish, other rules were used, or the version is newer than this code.
    """
    version = facts.get("fingerprint_version", 1)
    known = facts.get("rules_digest") == rules.digest and version in range(
        1, NEWEST_FINGERPRINT + 1
    )
    text = facts.get("fingerprint")
    return (text, version) if known and isinstance(text, str) and text else ("", NEWEST_FINGERPRINT)


def tape_damage(
    exchanges: Sequence[TapeExchange],
    rules: Rules,
    *,
    key: bytes,
    facts: Mapping[str, Any],
    fingerprint: str = "",
) -> list[str] | None:
    """Describe how a tape differs from what was published; None if its fingerprint is unknown.

    ``fingerprint`` is the fingerprint of the tape in the version of ``facts``, without draws, if
    the caller has already computed it.
    """
    published, version = published_fingerprint(facts, rules)
    if not published:
        return None
    damage = [
        f"entry {one.entry}: {one.message}" for one in changed_questions(exchanges, rules, key=key)
    ]
    fingerprint = fingerprint or tape_fingerprint(exchanges, rules, key=key, version=version)
    if published != fingerprint:
        damage.append("it is not the one that was published: its fingerprint differs")
    return damage


def changed_questions(
    exchanges: Sequence[TapeExchange], rules: Rules, *, key: bytes
) -> Iterator[TapeFinding]:
    """A finding for each question that no longer matches its key."""
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
    """Yields None now and then, so that the caller can stop the check."""
    recorded = matcher.recorded
    for index in range(len(exchanges)):  # the slow part: names in answers are looked for once
        recorded.found(index)
        yield None
    chain = links(recorded, rules)
    yield from _changed(recorded, rules, key)
    yield from _played(matcher, proved=proved)
    yield from _ambiguous(recorded, rules)
    yield from _lookalike(recorded, rules)
    yield from _too_early(recorded, chain)
    yield from _stray(recorded, chain)
    for entry, message in undeclared(recorded, day):
        yield TapeFinding("undeclared", entry, message, blocking=False)


def tape_fingerprint(
    exchanges: Sequence[TapeExchange],
    rules: Rules,
    *,
    key: bytes,
    draws: Sequence[Draw] = (),
    version: int = NEWEST_FINGERPRINT,
) -> str:
    """The fingerprint of a run that asks every recorded question and gets every recorded answer."""
    matcher = Matcher(exchanges, rules, key=key, fingerprint_version=version)
    for index in range(len(exchanges)):
        matcher.ask_again(index)
    return matcher.fingerprint(draws)


def _changed(recorded: Recorded, rules: Rules, key: bytes) -> Iterator[TapeFinding | None]:
    boundaries = has_boundaries(exchange.entry for exchange in recorded.exchanges)
    skeletons = Skeletons(rules, {}, boundaries=boundaries)
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
    """Equal questions that overlap in time. Without an overlap their order tells them apart."""
    until = last_overlaps([exchange.entry for exchange in recorded.exchanges])
    under_way: dict[object, _UnderWay] = {}
    for index, exchange in enumerate(recorded.exchanges):
        yield None
        entry = exchange.entry
        asked = (entry.key, names_of(entry, rules))
        before = under_way.get(asked)
        if before is None or before.until < index:
            under_way[asked] = _UnderWay(index, until[index])
            continue
        other = before.add(index, until[index], recorded)
        if other is not None:
            number = recorded.exchanges[other].entry.entry
            message = f"entry {number} asks the same at the same time, and is answered otherwise"
            yield TapeFinding("ambiguous", entry.entry, message, blocking=True)


class _UnderWay:
    """Among equal questions, the one that ends last, and the last one with a different answer."""

    def __init__(self, index: int, until: int) -> None:
        self.index, self.until = index, until
        self._other: tuple[int, int] | None = None

    def add(self, index: int, until: int, recorded: Recorded) -> int | None:
        """Add a question; return one that overlaps it and has a different answer."""
        alike = recorded.answer_form(index) == recorded.answer_form(self.index)
        found: int | None = self.index
        if alike:
            other = self._other
            found = None if other is None or other[0] < index else other[1]
        if until > self.until:
            if not alike:
                self._other = (self.until, self.index)
            self.index, self.until = index, until
        elif not alike and (self._other is None or self._other[0] < until):
            self._other = (until, index)
        return found


def _lookalike(recorded: Recorded, rules: Rules) -> Iterator[TapeFinding | None]:
    """Overlapping questions that differ only in their own names and have different answers."""
    for one in dict.fromkeys(Lookalikes(recorded, rules).groups):
        yield None
        for index in one.differing():
            first, entry = (recorded.exchanges[at].entry.entry for at in (one.entries[0], index))
            message = (
                f"only its ids tell it from entry {first}, which was asked at the same time and is"
                " answered otherwise: a rerun with other ids gets neither answer"
            )
            yield TapeFinding("lookalike", entry, message, blocking=False)


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
        parent = link.parent
        if link.stray is not None and link.before is not None:
            other, own = (recorded.exchanges[at].entry.entry for at in (link.stray, link.before))
            message = f"it goes on with the answer of entry {other}, its turns with entry {own}"
            yield TapeFinding("stray", entry.entry, message, blocking=True)
        elif entry.kind == "message" and parent is not None and link.before is None:
            before_it = recorded.exchanges[parent].entry
            if before_it.within != entry.within:
                message = f"it continues entry {before_it.entry}, which came over another WebSocket"
                yield TapeFinding("stray", entry.entry, message, blocking=False)
