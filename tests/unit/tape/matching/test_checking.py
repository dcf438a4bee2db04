"""A tape is played to itself; what is wrong with it is found."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ptycassette.model.tape import BodyPlace, Chunk
from ptycassette.tape.draws import Draw
from ptycassette.tape.matching import checking
from ptycassette.tape.matching import matcher as _fingerprint
from ptycassette.tape.matching import misses as _recorded
from ptycassette.tape.matching.checking import (
    TapeFinding,
    check_tape,
    tape_damage,
    tape_fingerprint,
)
from ptycassette.tape.matching.matcher import Hit, Waiting
from tests.tapes import KEY, MemoryExchange, asked, cli_rules, matcher, rules, tape


def two_turns(name: str, prompt: str) -> list[tuple[Any, Any]]:
    """A question, and one that returns the result of a call that was answered."""
    call = f"id-call{name}"
    first = {"messages": [{"user": prompt}], "session": f"id-ses{name}"}
    second = {**first, "messages": [{"user": prompt}, {"call": call}, {"result": call}]}
    return [(first, {"call": call}), (second, {"said": f"done {name}"})]


def found(exchanges: list[MemoryExchange], **more: Any) -> list[TapeFinding]:
    """What a check finds."""
    return list(check_tape(exchanges, rules(), key=KEY, **more).findings)


def test_nothing_is_wrong_with_a_good_tape() -> None:
    """Two conversations beside each other, and a question that was asked twice."""
    one, two = two_turns("1", "hello"), two_turns("2", "hello")

    assert found(tape(*one[:1], *two, *one[1:], ({"q": 1}, {"a": 1}), ({"q": 1}, {"a": 2}))) == []


def test_a_tampered_question_is_found() -> None:
    """Its key is that of another."""
    exchanges = tape(*two_turns("1", "hello"))
    exchanges[0]._question = exchanges[0]._question.replace(b"hello", b"jello")

    assert [(one.kind, one.entry) for one in found(exchanges)] == [("changed", 1)]


def test_a_tampered_token_is_found() -> None:
    """A name that does not fit to the others."""
    exchanges = tape(*two_turns("1", "hello"))
    entry = exchanges[1].entry
    wrong = [msgspec.structs.replace(token, name=9) for token in entry.tokens]
    exchanges[1].entry = msgspec.structs.replace(entry, tokens=tuple(wrong))

    assert "unplayable" in {one.kind for one in found(exchanges)}


def test_swapped_answers_of_conversations_are_found() -> None:
    """Each goes on with what the other was given."""
    one, two = two_turns("1", "hello"), two_turns("2", "good day")
    exchanges = tape((one[0][0], two[0][1]), (two[0][0], one[0][1]), one[1], two[1])

    assert [(one.kind, one.entry) for one in found(exchanges)] == [("stray", 3), ("stray", 4)]


def test_a_tampered_order_is_found() -> None:
    """A call is answered before it was made."""
    first, second = two_turns("1", "hello")

    assert ("too-early", 1) in {(one.kind, one.entry) for one in found(tape(second, first))}


def test_a_check_says_whether_it_came_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fingerprint of a run then; else with the reason: the time, or a huge answer."""
    exchanges = tape(*two_turns("1", "hello"))
    expected = tape_fingerprint(exchanges, rules(), key=KEY)
    whole = check_tape(exchanges, rules(), key=KEY)
    late = check_tape(exchanges, rules(), key=KEY, in_time=lambda: False)
    body = BodyPlace(sha256="0" * 64, bytes=9, at=0, packed=9)
    entry = exchanges[1].entry
    answer = msgspec.structs.replace(entry.answer, body=body)
    exchanges[1].entry = msgspec.structs.replace(entry, answer=answer)
    for module in (checking, _recorded, _fingerprint):
        monkeypatch.setattr(module, "MOST_SEARCHED", 8)
    large = check_tape(exchanges, rules(), key=KEY)

    assert (whole.unchecked, whole.fingerprint) == ("", expected)
    assert (late.unchecked, late.fingerprint) == ("it took too long", "")
    assert "the answer of entry 2 is larger than 8 bytes" in large.unchecked
    assert (large.findings, large.fingerprint) == ((), "")


def test_equal_questions_at_the_same_time_are_found() -> None:
    """Nothing says which answer belongs to which, unless they are equal but for ids."""
    exchanges = tape(({"q": 1}, {"a": "yes", "id": "id-0001"}), ({"q": 1}, {"a": "no"}))
    exchanges[0].entry = msgspec.structs.replace(exchanges[0].entry, end_seq=9)
    alike = tape(({"q": 1}, {"id": "id-0001"}), ({"q": 1}, {"id": "id-0002"}))
    alike[0].entry = msgspec.structs.replace(alike[0].entry, end_seq=9)

    assert [(one.kind, one.entry) for one in found(exchanges)] == [("ambiguous", 2)]
    assert found(alike) == []


@pytest.mark.parametrize(
    ("status", "outcome", "last_us", "ambiguous"),
    [
        (200, "complete", 7, False),  # only the note of its end comes later
        (200, "client-gone", 7, False),  # it wanted no more
        (200, "complete", 9, True),
        (200, "provider-gone", 7, True),
        (429, "complete", 9, False),  # of an error, many read the status alone
    ],
)
def test_a_question_behind_an_answer_is_not_at_the_same_time(
    status: int, outcome: Any, last_us: int, *, ambiguous: bool
) -> None:
    """A client can ask again before the end of the exchange is noted."""
    exchanges = tape(({"q": 1}, {"error": "busy"}), ({"q": 1}, {"a": "yes"}))
    first, second = (one.entry for one in exchanges)
    assert first.answer is not None
    answer = msgspec.structs.replace(
        first.answer, status=status, chunks=(Chunk(5, 2), Chunk(last_us, 2))
    )
    exchanges[0].entry = msgspec.structs.replace(
        first, answer=answer, outcome=outcome, end_seq=second.seq + 1
    )
    exchanges[1].entry = msgspec.structs.replace(second, t_us=8)

    assert ["ambiguous" in one.kind for one in found(exchanges)] == [True] * ambiguous


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("today is 2026-11-24.", "a[*].b: the date '2026-11-24'"),
        ("Nov 24 2026", "a[*].b: the date 'Nov 24 2026'"),
        (1795517404.126, "a[*].b: a time '1795517404.126'"),
        ("run a1b2C3d4E5f6g7H8i9J0k", "a[*].b: an id 'a1b2C3d4E5f6g7H8i9J0k'"),
        ("in /tmp/run-1/x", "a[*].b: a temporary path '/tmp/run-1/x'"),
        ("f" * 12 + "0" * 12, "a[*].b: an id 'ffffffffffff000000000000'"),
    ],
)
def test_what_looks_volatile_is_named(value: object, message: str) -> None:
    """Each place once, whatever the index; it blocks nothing."""
    body = {"a": [{"b": value}, {"b": value}], "id": "id-abcd"}

    assert found(tape((body, {})), day="2026-11-24") == [
        TapeFinding("undeclared", 1, message, blocking=False)
    ]


def test_what_was_served_is_not_volatile() -> None:
    """An id that an answer brought comes back as it is."""
    served = "a1b2C3d4E5f6g7H8i9J0k"

    assert found(tape(({"q": 1}, {"x": served}), ({"x": served}, {}))) == []


def test_a_run_has_the_fingerprint_of_its_tape() -> None:
    """In other names, and in another order where nothing binds it."""
    one, two = two_turns("1", "hello"), two_turns("2", "hi")
    exchanges = tape(*one, *two)
    run = matcher(exchanges)
    for question, _ in (two[0], one[0], two[1], one[1]):
        live = json.loads(json.dumps(question).replace("id-ses", "id-live"))
        run.ask(asked(live))

    assert run.fingerprint() == tape_fingerprint(exchanges, rules(), key=KEY)


def test_a_race_does_not_change_a_fingerprint() -> None:
    """Also where the answers bring ids that no question returns."""
    questions = [{"messages": [{"user": name}]} for name in ("a", "b")]
    exchanges = tape((questions[0], {"id": "id-aaaa"}), (questions[1], {"id": "id-bbbb"}))
    run = matcher(exchanges)
    for question in reversed(questions):
        run.ask(asked(question))

    assert run.fingerprint() == tape_fingerprint(exchanges, rules(), key=KEY)


def test_a_fingerprint_tells_runs_apart() -> None:
    """A missing exchange, another answer, a changed status, another order of what is bound."""
    first, second = two_turns("1", "hello")
    whole = tape_fingerprint(tape(first, second), rules(), key=KEY)
    other_status = tape(first, second)
    entry = other_status[1].entry
    assert entry.answer is not None
    answer = msgspec.structs.replace(entry.answer, status=500)
    other_status[1].entry = msgspec.structs.replace(entry, answer=answer)
    tapes = [
        tape(first),
        tape(first, (second[0], {"said": "no"})),
        other_status,
        tape(second, first),
        tape(first, first, (first[0], {"call": "id-other"})),
        tape(first, (first[0], {"call": "id-other"}), first),
    ]
    prints = {tape_fingerprint(one, rules(), key=KEY) for one in tapes}
    draws = [Draw("random", "0x1p-1"), Draw("random", "0x1p-2")]
    for drawn in (draws, draws[:1], draws[::-1]):
        prints.add(tape_fingerprint(tapes[0], rules(), key=KEY, draws=drawn))

    assert len(prints | {whole}) == 10


def test_a_cli_without_its_rules_is_told_what_to_declare() -> None:
    """What the rules of Codex declare is found as undeclared without them."""
    text = (
        "<environment_context>\n  <current_date>2026-11-24</current_date>\n</environment_context>"
    )
    body = {"input": [{"content": [{"type": "input_text", "text": text}]}]}
    without = check_tape(tape((body, {}), by=cli_rules()), cli_rules(), key=KEY, day="2026-11-24")
    with_them = cli_rules("codex")

    declared = check_tape(tape((body, {}), by=with_them), with_them, key=KEY, day="2026-11-24")

    assert [one.kind for one in without.findings] == ["undeclared"]
    assert declared.findings == ()


@pytest.mark.parametrize(
    ("cli", "body"),
    [
        ("codex", {"input": [{"content": [{"type": "input_text", "text": "<shell>{}</shell>"}]}]}),
        (
            "aider",
            {"messages": [{"role": "user", "content": "- Shell: SHELL=/bin/{}\n-"}]},
        ),
    ],
)
def test_another_shell_of_the_user_is_no_difference(cli: str, body: Any) -> None:
    """A tape from a machine with zsh is replayed where the user has bash."""
    found = {
        tape_fingerprint(
            tape((json.loads(json.dumps(body).replace("{}", shell)), {}), by=cli_rules(cli)),
            cli_rules(cli),
            key=KEY,
        )
        for shell in ("zsh", "bash")
    }

    assert len(found) == 1


def with_answer(exchange: MemoryExchange, **changes: Any) -> None:
    """Change the head of an answer."""
    assert exchange.entry.answer is not None
    answer = msgspec.structs.replace(exchange.entry.answer, **changes)
    exchange.entry = msgspec.structs.replace(exchange.entry, answer=answer)


@pytest.mark.parametrize(
    "change",
    [
        {"headers": (("retry-after", "2"),)},
        {"headers": (("retry-after", "1"), ("content-type", "text/html"))},
        {"headers": ()},
        {"chunks": (Chunk(0, 1), Chunk(0, 14))},
        {"outcome": "provider-gone"},
        {"close_code": 1011},
    ],
)
def test_a_fingerprint_covers_how_it_was_answered(change: dict[str, Any]) -> None:
    """A header, a cut, an end. The first version did not, and is still known."""
    exchanges = tape(({"q": 1}, {"said": "yes"}))
    with_answer(exchanges[0], headers=(("retry-after", "1"),), chunks=(Chunk(0, 15),))
    before = [tape_fingerprint(exchanges, rules(), key=KEY, version=one) for one in (1, 2)]
    if change.keys() & {"outcome", "close_code"}:
        exchanges[0].entry = msgspec.structs.replace(exchanges[0].entry, **change)
    else:
        with_answer(exchanges[0], **change)
    after = [tape_fingerprint(exchanges, rules(), key=KEY, version=one) for one in (1, 2)]

    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False]


def test_a_fingerprint_is_checked_as_the_version_that_it_is() -> None:
    """One of a newer version, of other rules, or none is not known."""
    exchanges = tape(*two_turns("1", "hello"))
    digest = rules().digest
    published = {
        version: tape_fingerprint(exchanges, rules(), key=KEY, version=version)
        for version in (1, 2)
    }
    old: dict[str, Any] = {"rules_digest": digest, "fingerprint": published[1]}
    new = {"rules_digest": digest, "fingerprint": published[2], "fingerprint_version": 2}
    unknown: list[dict[str, Any]] = [
        {},
        {**new, "fingerprint_version": 3},
        {**new, "fingerprint_version": "2"},
        {**new, "rules_digest": "0" * 64},
        {"rules_digest": digest},
    ]

    for facts in (old, new):
        assert tape_damage(exchanges, rules(), key=KEY, facts=facts) == []
        assert tape_damage(exchanges[:1], rules(), key=KEY, facts=facts) != []
    for facts in unknown:
        assert tape_damage(exchanges, rules(), key=KEY, facts=facts) is None


def test_names_in_headers_count_by_what_they_are() -> None:
    """A run with another id is served it in the header, and has the fingerprint of the tape."""
    exchanges = tape(({"q": "id-aaaa"}, {"of": "id-aaaa"}))
    with_answer(exchanges[0], headers=(("location", "/jobs/id-aaaa"),))
    run = matcher(exchanges)
    answer = run.ask(asked({"q": "id-live"}))

    assert isinstance(answer, Hit)
    assert answer.headers == (("location", "/jobs/id-live"),)
    assert run.fingerprint() == tape_fingerprint(exchanges, rules(), key=KEY)


@pytest.mark.parametrize("each", [1, 10])
def test_a_long_tape_is_not_searched_entry_by_entry(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with other ids looks at a few entries for each of its questions."""
    exchanges = tape(*(({"of": f"id-rec{n // each:05}"}, {"n": 1}) for n in range(500)))
    looks = 0
    fits = Waiting._fits

    def counted(*given: Any) -> bool:
        nonlocal looks
        looks += 1
        return fits(*given)

    monkeypatch.setattr(Waiting, "_fits", counted)
    run = matcher(exchanges)
    hits = [run.ask(asked({"of": f"id-run{n // each:05}"})) for n in range(500)]

    assert all(isinstance(one, Hit) for one in hits)
    assert looks < 4 * len(exchanges)
