"""Two questions that differ are never answered as if they were one: masked values, lookalikes."""

from __future__ import annotations

import random
import string
import uuid
from typing import Any

import msgspec
import pytest

from ptycassette.tape.matching import question
from ptycassette.tape.matching.checking import check_tape, tape_fingerprint
from ptycassette.tape.matching.matcher import Hit, Matcher
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Question, QuestionKeys
from tests.tapes import (
    KEY,
    MemoryExchange,
    answered,
    asked,
    at_once,
    cli_rules,
    matcher,
    rules,
    tape,
    with_secrets,
)


def secret(seed: int) -> str:
    """A token that nobody can guess, made when the test runs."""
    source = random.Random(seed)
    return "".join(source.choices(string.ascii_letters + string.digits, k=36))


A, B, C = secret(1), secret(2), secret(3)
UUIDS = [str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4)) for seed in range(9)]


def of(key: str, **head: Any) -> Question:
    """A question about the account of a key, which the scrubber masks."""
    return with_secrets({"messages": [f"look at {key}, please"]}, key, **head)


@pytest.mark.parametrize("head", [{}, {"kind": "message", "form": "text", "within": 1}])
@pytest.mark.parametrize(
    "ask", [of, lambda key, **head: with_secrets(f"key={key}&n=1".encode(), key, **head)]
)
def test_a_masked_value_finds_its_own_answer(ask: Any, head: dict[str, Any]) -> None:
    """In whatever order: each question gets the answer that was recorded for its secret."""
    exchanges = tape((ask(A, **head), {"of": "a"}), (ask(B, **head), {"of": "b"}))
    run = matcher(exchanges)

    assert [answered(run.ask(ask(key, **head))) for key in (B, A)] == [{"of": "b"}, {"of": "a"}]
    assert run.fingerprint() == tape_fingerprint(exchanges, rules(), key=KEY)
    assert run.uncompared() == ()


def test_another_secret_is_a_miss_that_says_so_and_shows_nothing() -> None:
    """Unless any secret is to pass; then the entry is named as not compared."""
    exchanges = tape((of(A), {"of": "a"}))
    miss = matcher(exchanges).ask(of(C))
    lenient = matcher(exchanges, compare_secrets=False)

    assert isinstance(miss, Miss)
    assert "masked value" in miss.reason
    assert C not in miss.text()
    assert isinstance(lenient.ask(of(C)), Hit)
    assert lenient.uncompared() == (1,)


def test_the_same_secret_at_two_places_is_one() -> None:
    """And two secrets that change places are two others."""
    both = with_secrets({"a": A, "b": B}, A, B)
    exchanges = tape((both, {"of": "ab"}))

    assert isinstance(matcher(exchanges).ask(with_secrets({"a": B, "b": A}, A, B)), Miss)
    assert isinstance(matcher(exchanges).ask(with_secrets({"a": A, "b": A}, A, B)), Miss)
    assert isinstance(matcher(exchanges).ask(both), Hit)


def test_a_conversation_goes_on_with_its_own_secret() -> None:
    """Its later questions hold the secret again."""
    first = {key: {"messages": [f"use {key}"]} for key in (A, B)}
    second = {key: {"messages": [f"use {key}", {"call": f"id-call{n}"}]}
              for n, key in enumerate((A, B))}  # fmt: skip
    exchanges = tape(
        *((with_secrets(first[key], key), {"id": f"id-call{n}"}) for n, key in enumerate((A, B))),
        *((with_secrets(second[key], key), {"end": n}) for n, key in enumerate((A, B))),
    )
    run = matcher(exchanges)

    for key, end in ((B, 1), (A, 0)):
        assert isinstance(run.ask(with_secrets(first[key], key)), Hit)
        assert answered(run.ask(with_secrets(second[key], key))) == {"end": end}


@pytest.mark.parametrize("value", ["482913", "letmein", "correct-horse-battery", "ada@example.org"])
def test_what_could_be_guessed_has_no_digest_and_is_named(value: str) -> None:
    """It stands for one value over the whole run, and the run says that it was not compared."""
    exchanges = tape((of(value), {}), (of(value), {}))
    run = matcher(exchanges)

    assert all(one.entry.digests == () for one in exchanges)
    assert isinstance(run.ask(of("other")), Hit)
    assert isinstance(run.ask(of("third")), Miss)
    assert run.uncompared() == (1,)


def test_a_digest_is_short_and_another_in_each_cassette() -> None:
    """Eight digits; whoever reads two cassettes cannot see that they hold one secret."""
    keyed = [QuestionKeys(rules(), {}, key=key).of(of(A)) for key in (KEY, bytes(32))]
    digests = [one.digest for each in keyed for one in each.digests]

    assert [len(one) for one in digests] == [8, 8]
    assert len(set(digests)) == 2


def test_only_so_many_digests_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a recorder for one tape; values beyond are not compared."""
    monkeypatch.setattr(question, "MOST_DIGESTS", 2)
    exchanges = tape(*((of(secret(seed)), {}) for seed in range(4)))

    assert [len(one.entry.digests) for one in exchanges] == [1, 1, 0, 0]


def test_a_tape_without_digests_is_matched_as_ever() -> None:
    """One to one over the whole run, and the entries are named."""
    exchanges = tape((of(A), {"of": "a"}), (of(B), {"of": "b"}))
    for one in exchanges:
        one.entry = msgspec.structs.replace(one.entry, digests=())
    run = matcher(exchanges)

    assert [answered(run.ask(of(key))) for key in (C, A)] == [{"of": "a"}, {"of": "b"}]
    assert run.uncompared() == (1, 2)


def test_a_masked_id_is_preferred_and_may_be_another() -> None:
    """A rule says that a uuid may be another one; the recorded one finds its own answer."""
    one, two, other = UUIDS[:3]
    by = cli_rules()
    exchanges = tape((of(one), {"of": 1}), (of(two), {"of": 2}), by=by)

    run = matcher(exchanges, by)
    assert [answered(run.ask(of(key))) for key in (two, one)] == [{"of": 2}, {"of": 1}]
    assert answered(matcher(exchanges, by).ask(of(other))) == {"of": 1}


def opener(name: str, **more: Any) -> Question:
    """A question that only its id tells from another."""
    return asked({"messages": ["hello"], "session": name, "project": "id-shared", **more})


def pair(first: Any = None, second: Any = None) -> list[MemoryExchange]:
    """Two equal openers at once, each with an id of its own."""
    one, two = first or {"said": "yes"}, second or {"said": "no"}
    return list(at_once(tape((opener("id-aaaa"), one), (opener("id-bbbb"), two))))


def test_lookalikes_with_different_answers_are_marked() -> None:
    """They are published, since a run with the very ids can be answered."""
    findings = check_tape(pair(), rules(), key=KEY).findings

    assert [(one.kind, one.entry, one.blocking) for one in findings] == [("lookalike", 2, False)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_lookalike_is_never_answered_by_chance(order: tuple[int, int]) -> None:
    """With other ids neither answer is served; with the recorded ones each its own."""
    same = [("id-aaaa", {"said": "yes"}), ("id-bbbb", {"said": "no"})]
    run, other = matcher(pair()), matcher(pair())

    for number in order:
        assert answered(run.ask(opener(same[number][0]))) == same[number][1]
        miss = other.ask(opener(f"id-live{number}"))
        assert isinstance(miss, Miss)
        assert "asked at the same time" in miss.reason


def test_lookalikes_with_equal_answers_are_served_in_their_order() -> None:
    """It makes no difference which is which, also where each answer brings an id."""
    exchanges = pair({"call": "id-c001"}, {"call": "id-c002"})
    run = matcher(exchanges)

    assert check_tape(exchanges, rules(), key=KEY).findings == ()
    assert all(isinstance(run.ask(opener(name)), Hit) for name in ("id-live2", "id-live1"))


def test_a_later_answer_makes_lookalikes_differ() -> None:
    """Their openers were answered alike, so which one is which was chance."""
    later = [
        (opener("id-aaaa", n=2), {"said": "yes"}),
        (opener("id-bbbb", n=2), {"said": "no"}),
    ]
    exchanges = tape((opener("id-aaaa"), {"ok": 1}), (opener("id-bbbb"), {"ok": 1}), *later)
    at_once(exchanges[:2])
    for one in exchanges[2:]:
        entry = one.entry
        assert entry.answer is not None
        one.entry = msgspec.structs.replace(
            entry,
            seq=entry.seq + 9,
            end_seq=(entry.end_seq or 0) + 9,
            answer=msgspec.structs.replace(entry.answer, seq=entry.answer.seq + 9),
        )
    findings = check_tape(exchanges, rules(), key=KEY).findings
    run = matcher(exchanges)

    assert [(one.kind, one.entry) for one in findings] == [("lookalike", 4)]
    assert isinstance(run.ask(opener("id-live")), Hit)
    assert isinstance(run.ask(opener("id-live", n=2)), Miss)


def test_an_id_that_an_answer_brought_proves_nothing() -> None:
    """Which of two equal questions was told which id was chance, so what follows is, too."""
    exchanges = tape(
        (asked({"start": 1, "session": "id-aaaa"}), {"job": "id-job1"}),
        (asked({"start": 1, "session": "id-bbbb"}), {"job": "id-job2"}),
        (asked({"job": "id-job1"}), {"said": "yes"}),
        (asked({"job": "id-job2"}), {"said": "no"}),
    )
    at_once(exchanges)
    run = matcher(exchanges)
    jobs = [answered(run.ask(asked({"start": 1, "session": f"id-live{n}"}))) for n in (1, 2)]

    assert jobs == [{"job": "id-job1"}, {"job": "id-job2"}]
    assert [one.entry for one in check_tape(exchanges, rules(), key=KEY).findings] == [4]
    assert all(isinstance(run.ask(asked(job)), Miss) for job in jobs)


def test_one_after_the_other_is_told_apart_by_the_order() -> None:
    """The first had its answer before the second was asked."""
    exchanges = tape((opener("id-aaaa"), {"said": 1}), (opener("id-bbbb"), {"said": 2}))
    run = matcher(exchanges)

    assert check_tape(exchanges, rules(), key=KEY).findings == ()
    assert [answered(run.ask(opener(f"id-live{n}"))) for n in (1, 2)] == [{"said": 1}, {"said": 2}]


def test_an_id_that_something_else_tells_apart_is_no_lookalike() -> None:
    """A question before it names the id beside something of its own."""
    starts = [asked({"start": name, "session": f"id-{name * 4}"}) for name in "ab"]
    exchanges = tape(
        *((start, {}) for start in starts),
        (opener("id-aaaa"), {"said": "yes"}),
        (opener("id-bbbb"), {"said": "no"}),
    )
    at_once(exchanges[2:])
    run = matcher(exchanges)
    for name in "ba":
        run.ask(asked({"start": name, "session": f"id-live{name}"}))

    assert check_tape(exchanges, rules(), key=KEY).findings == ()
    assert answered(run.ask(opener("id-liveb"))) == {"said": "no"}
    assert answered(run.ask(opener("id-livea"))) == {"said": "yes"}


def test_two_sockets_that_differ_in_nothing_are_lookalikes() -> None:
    """A connection is a name, too."""
    questions = [
        (asked(b"", kind="websocket", within=number), {"open": 1}) for number in (1, 2)
    ] + [(asked({"n": 1}, kind="message", within=number), {"of": number}) for number in (1, 2)]
    exchanges = tape(*questions)
    at_once(exchanges)
    for index, one in enumerate(exchanges):
        if index > 1:
            one.entry = msgspec.structs.replace(one.entry, within=index - 1)
    run = Matcher(exchanges, rules(), key=KEY)
    for number in ("x", "y"):
        assert isinstance(run.ask(asked(b"", kind="websocket", within=number)), Hit)

    assert [one.kind for one in check_tape(exchanges, rules(), key=KEY).findings] == ["lookalike"]
    assert isinstance(run.ask(asked({"n": 1}, kind="message", within="y")), Miss)
