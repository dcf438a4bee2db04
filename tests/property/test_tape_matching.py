"""Laws of matching: one renaming over the whole run is a hit and is served; all else is a miss."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ptycassette.tape.matching._answers import (
    Finder,
    NoJsonError,
    Span,
    Text,
    _stands_alone,
    parse_json,
)
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss
from ptycassette.tape.matching.question import Skeletons
from tests.examples import examples
from tests.tapes import asked, matcher, rules, tape

NAME = re.compile(r"\bid-[a-z0-9]{4,}")
NAMES = [f"id-{letter * 4}" for letter in "abcdef"]
FRESH = [f"id-{letter * size}" for letter, size in zip("uvwxyz", (4, 5, 9, 4, 7, 4), strict=True)]
WORDS = st.sampled_from(["x", "y", "1", "id-", 'a"b', "é\n", "\\", "😀", " ", "id_aaaa", "<id>"])
TEXTS = st.lists(WORDS | st.sampled_from(NAMES), max_size=4).map(" ".join)
NUMBERS = st.sampled_from(["0", "1", "1.0", "1e0", "-0", "10", "1E0"])
LEAVES = TEXTS | st.none() | st.booleans() | st.integers(-9, 9) | st.floats(0, 9, width=16)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abcde") | WORDS, inner, max_size=3)
    ),
    max_leaves=10,
)


class Number(str):
    """A number as it was written."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and str.__eq__(self, other)

    __hash__ = str.__hash__


def written(text: str) -> Any:
    """A document whose numbers are as they were written; the oracle's own reading."""
    return json.loads(text, parse_int=Number, parse_float=Number)


def nameless(value: Any, names: list[str]) -> Any:
    """A document with its names taken out, in the order of sorted members."""
    if isinstance(value, Number) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        names += NAME.findall(value)
        return NAME.split(value)
    if isinstance(value, list):
        return [0, [nameless(item, names) for item in value]]
    return {key: nameless(item, names) for key, item in sorted(value.items())}


def same_but_for_names(one: str, other: str) -> bool:
    """Whether a renaming, one to one, makes two documents equal."""
    left: list[str] = []
    right: list[str] = []
    if repr(nameless(written(one), left)) != repr(nameless(written(other), right)):
        return False
    return len(set(zip(left, right, strict=True))) == len(set(left)) == len(set(right))


@st.composite
def changed(draw: st.DrawFn, text: str) -> str:
    """A document with one of its tokens changed, taken out, or written twice."""
    pieces = re.findall(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|[a-z]+|[][{},:]|\s+', text)
    at = draw(st.integers(0, len(pieces) - 1))
    other = draw(st.sampled_from(["", pieces[at] * 2]) | NUMBERS | TEXTS.map(json.dumps))
    return "".join((*pieces[:at], other, *pieces[at + 1 :]))


@given(st.data())
def test_any_change_of_a_token_is_a_miss(data: st.DataObject) -> None:
    """Unless the oracle, which reads JSON in its own way, finds that only names differ."""
    text = json.dumps(data.draw(JSON), ensure_ascii=data.draw(st.booleans()))
    other = data.draw(changed(text))
    answer = matcher(tape((text.encode(), {}))).ask(asked(other.encode()))
    try:
        written(other)
    except ValueError:  # no JSON any more
        assert isinstance(answer, Miss)
        return

    if isinstance(answer, Hit):
        assert same_but_for_names(text, other)
    elif not re.search(r'(?s)[{,]\s*"(?:[^"\\]|\\.)*id-\w{4}(?:[^"\\]|\\.)*"\s*:', text + other):
        assert not same_but_for_names(text, other)


@given(st.data())
def test_a_document_matches_itself_in_any_spelling(data: st.DataObject) -> None:
    """Members in another order, other escapes, other blanks, other names."""
    value = data.draw(st.dictionaries(st.sampled_from("abcde"), JSON, max_size=4))
    shuffled = dict(data.draw(st.permutations(list(value.items()))))
    new = dict(zip(NAMES, data.draw(st.permutations(FRESH)), strict=True))
    live = json.dumps(shuffled, ensure_ascii=True, indent=data.draw(st.sampled_from([None, 1])))
    live = NAME.sub(lambda match: new.get(match[0], match[0]), live)
    assume(not any(NAME.search(key) for key in re.findall(r'"((?:[^"\\]|\\.)*)"\s*:', live)))
    run = matcher(tape((json.dumps(value, ensure_ascii=False).encode(), {})))

    assert isinstance(run.ask(asked(live.encode())), Hit)


@given(st.lists(JSON, min_size=1, max_size=8))
def test_what_earlier_questions_had_changes_no_skeleton(values: list[Any]) -> None:
    """Short texts are remembered from question to question; each is as if it were the first."""
    questions = [asked(json.dumps({"messages": value, "model": "x"}).encode()) for value in values]
    kept = Skeletons(rules(), {})

    assert [kept.of(one) for one in questions] == [
        Skeletons(rules(), {}).of(one) for one in questions
    ]


def test_texts_that_every_question_has_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that differs in one text from those before costs a look at that text."""
    looked: list[bytes] = []
    find = Finder.find

    def counted(finder: Finder, text: bytes) -> Iterator[Span]:
        looked.append(text)
        return find(finder, text)

    monkeypatch.setattr(Finder, "find", counted)
    kept = Skeletons(rules(), {})
    for number in range(50):
        body = {"model": "x", "messages": [{"role": "user", "content": f"question {number}"}]}
        kept.of(asked(json.dumps(body).encode()))

    assert [text for text in set(looked) if looked.count(text) > 1] == []


RUNS = st.lists(
    st.tuples(st.lists(st.sampled_from(NAMES), max_size=4), TEXTS), min_size=1, max_size=6
)


def exchanges_of(run: list[tuple[list[str], str]]) -> list[tuple[Any, Any]]:
    """Questions that hold names, each followed by an answer that holds some of them, too."""
    known: set[str] = set()
    made: list[tuple[Any, Any]] = []
    for number, (names, said) in enumerate(run):
        known.update(names)
        unknown = {name: "y" for name in NAMES if name not in known}
        made.append(({"n": number, "names": names}, {"said": renamed(said, unknown)}))
    return made


def renamed(value: Any, new: dict[str, str]) -> Any:
    """A document in other names."""
    text = json.dumps(value)
    return json.loads(NAME.sub(lambda match: new.get(match[0], match[0]), text))


@given(RUNS, st.permutations(FRESH))
def test_a_renamed_run_is_a_hit_and_is_served_in_its_names(
    run: list[tuple[list[str], str]], fresh: list[str]
) -> None:
    """Whatever the names are called, as long as it is one to one."""
    new = dict(zip(NAMES, fresh, strict=True))
    exchanges = exchanges_of(run)
    live = matcher(tape(*exchanges))
    for question, answer in exchanges:
        hit = live.ask(asked(renamed(question, new)))
        assert isinstance(hit, Hit)
        assert json.loads(b"".join(data for _, data in hit.pieces)) == renamed(answer, new)

    assert live.unused() == ()


@pytest.mark.slow
@given(RUNS, st.permutations(NAMES), st.booleans())
def test_names_that_are_merged_or_split_are_a_miss(
    run: list[tuple[list[str], str]], order: list[str], merged: bool
) -> None:
    """Two names become one, or one becomes two: some question of the run is a miss."""
    exchanges = exchanges_of(run)
    uses = [name for question, _ in exchanges for name in question["names"]]
    one, other = order[0], order[1]
    assume(one in uses and (other in uses if merged else uses.count(one) > 1))
    split_at = uses.index(one)
    seen = -1

    def called(name: str) -> str:
        nonlocal seen
        seen += 1
        if merged:
            return one if name == other else name
        return "id-zzzz" if name == one and seen > split_at else name

    live = matcher(tape(*exchanges))
    answers = [
        live.ask(asked({**question, "names": [called(name) for name in question["names"]]}))
        for question, _ in exchanges
    ]

    assert any(isinstance(answer, Miss) for answer in answers)


@given(st.text("id-abxy \n\"'\\é", max_size=30), st.data())
def test_a_name_is_served_however_the_model_wrote_it(tail: str, data: st.DataObject) -> None:
    """In events of a stream that are cut anywhere, and pieces of bytes that are cut anywhere."""
    said = f"see id-aaaabbbb, {tail} id-aaaabbbb."
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=5)))
    parts = [said[start:end] for start, end in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    events = "".join(f"data: {json.dumps({'type': 'd', 'text': part})}\n\n" for part in parts)
    body = events.encode()
    ends = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=5)))
    pieces = [body[start:end] for start, end in zip([0, *ends], [*ends, len(body)], strict=True)]
    new = data.draw(st.sampled_from(["id-w", "id-x1y2", "id-long0long0long0"])) + "zzzz"
    hit = matcher(tape(({"id": "id-aaaabbbb"}, pieces))).ask(asked({"id": new}))

    assert isinstance(hit, Hit)
    assert [chunk.length for chunk, _ in hit.pieces] == [len(part) for _, part in hit.pieces]
    assert len(hit.pieces) == len(pieces)
    served = b"".join(part for _, part in hit.pieces).decode()
    lines = [line.removeprefix("data: ") for line in served.split("\n\n") if line]
    assert "".join(json.loads(line)["text"] for line in lines) == NAME.sub(
        lambda match: new if match[0] == "id-aaaabbbb" else match[0], said
    )


@given(JSON, st.data())
def test_places_are_those_of_json(value: Any, data: st.DataObject) -> None:
    """What Python reads is read, string by string; what it refuses is refused."""
    text = data.draw(changed(json.dumps(value, ensure_ascii=data.draw(st.booleans()))))

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(members)) != len(members):
            raise ValueError("a key stands twice")
        return dict(members)

    try:
        expected: Any = json.loads(text, object_pairs_hook=pairs)
    except ValueError:
        expected = ValueError
    try:
        tree = parse_json(text.encode())
    except NoJsonError:
        assert expected is ValueError
        return
    assert expected is not ValueError
    if isinstance(expected, str):
        found = Text.of(text.encode(), tree)
        assert found.data.decode() == expected
        start, length = found.place(0, len(found.data))
        assert found.stretch(start, start + length) == (0, len(found.data))


def test_a_key_that_stands_twice_in_two_spellings_is_found() -> None:
    """A reader of JSON would keep one of them, so the body is compared by its bytes."""
    with pytest.raises(NoJsonError, match="twice"):
        parse_json(b'{"a": 1, "\\u0061": 2}')

    assert parse_json(b'{"a": 1, "\\u0062": 2}').kind == "object"


@given(st.binary(max_size=40) | st.text('{}[]":\\u01ad, \x01\x7f', max_size=30).map(str.encode))
def test_any_answer_is_read(body: bytes) -> None:
    """Whatever a provider sent, also in events, is served as it was."""
    for answer in (body, b"data: " + body + b"\n\n", b'{"a":"\x01\\n"}' + body):
        hit = matcher(tape(({"id": "id-aaaa"}, [answer[:3], answer[3:]]))).ask(
            asked({"id": "id-bbbb"})
        )
        assert isinstance(hit, Hit)
        assert b"".join(part for _, part in hit.pieces) == answer


_PIECES = st.sampled_from(["id-a", "id-ab", "ab", "a/b", "/", ".", " ", "é", "-", "x1", "\n"])


@examples(300)
@given(text=st.lists(_PIECES, max_size=12).map("".join), values=st.sets(_PIECES, max_size=5))
def test_values_are_found_as_one_expression_would_find_them(text: str, values: set[str]) -> None:
    """Whether they are words that are looked up, or parts of a regular expression."""
    wanted = sorted(((one, one.encode()) for one in values), key=lambda one: (-len(one[1]), one))
    data = text.encode()
    found: list[tuple[int, int, str]] = []
    at = 0
    while at < len(data):
        here = next(
            (
                Span(at, at + len(value), type_)
                for type_, value in wanted
                if len(value) > 1
                and data.startswith(value, at)
                and _stands_alone(data, Span(at, at + len(value), type_))
            ),
            None,
        )
        if here is not None:
            found.append((here.start, here.end, here.type))
        at += 1 if here is None else here.end - here.start

    assert [(one.start, one.end, one.type) for one in Finder((), wanted).find(data)] == found
