"""Lines, entries and comparison strategies."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ptycassette.cassette.timeline.match import (
    Entry,
    Matching,
    embedding_scorer,
    lexical_score,
    nearest_entry,
    read_entries,
    semantic_match,
)
from ptycassette.keys.reader import Key, Line, read_keys
from ptycassette.model.records import InputRecord
from ptycassette.model.screen import Size


def typed(*chunks: bytes, gap_ms: int = 10, **fields: object) -> list[InputRecord]:
    """One input record per chunk."""
    return [
        InputRecord(seq=n * 2 + 1, t_ms=n * gap_ms, kind="input", bytes=chunk, **fields)  # type: ignore[arg-type]
        for n, chunk in enumerate(chunks)
    ]


def entry_of(*chunks: bytes) -> Entry:
    """The one entry of the chunks."""
    (entry,) = read_entries(typed(*chunks))
    return entry


def line_after(data: bytes) -> str:
    """The line after all keys of ``data``."""
    line = Line()
    for key in read_keys(data):
        line.apply(key)
    return line.text


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (b"helo\x7flo", "hello"),
        (b"one two\x17", "one "),
        (b"one two\x1b\x7f", "one "),
        (b"gone\x15here", "here"),
        (b"ab\x01c", "cab"),
        (b"ab\x01c\x05d", "cabd"),
        (b"ab\x1b[D\x1b[3~", "a"),
        (b"ab\x1b[D\x04", "a"),
        (b"ab\x01\x0b", ""),
        (b"ab\x15cd \x19", "cd ab"),
        (b"ab\x15\x19", "ab"),
        (b"one two\x1b[1;5D\x1b[1;5D+", "+one two"),
        (b"one two\x01\x1b[1;5C+", "one+ two"),
        (b"one two\x01\x1b[1;5C\x1b[1;5C+", "one two+"),
        (b"ab\x02x\x06y", "axby"),
        (b"\x1b[200~pasted\ntext\x1b[201~!", "pasted\ntext!"),
    ],
)
def test_editing_keys_are_applied(keys: bytes, text: str) -> None:
    """The line is what readline would show."""
    assert line_after(keys) == text


@pytest.mark.parametrize("data", [b"\x7f", b"\x1b[D", b"\x15", b"\x19", b"\x04"])
def test_an_editing_key_on_an_empty_line_is_an_action(data: bytes) -> None:
    """There it moves a menu or ends a program."""
    (key,) = read_keys(data)

    assert not Line().apply(key)


def test_ctrl_d_at_the_end_of_a_line_is_an_action() -> None:
    """It deletes only what stands to its right."""
    line = Line()
    line.apply(Key("text", b"a", text="a"))

    assert not line.apply(Key("key", b"\x04", name="ctrl-d"))


MASKED = InputRecord(seq=4, t_ms=6, kind="input", bytes=b"***\r", masked=True)
RESIZE = InputRecord(seq=2, t_ms=5, kind="resize", size=Size(rows=2, cols=2))
ENTRIES: dict[str, tuple[list[InputRecord], list[str]]] = {
    # Records of input, and the entries that are read from them.
    "an entry ends behind the key that sends it, wherever records were cut": (
        typed(b"h", b"i", b"\r", b"one\rtwo\r", b"q"),
        ["hi<enter>", "one<enter>", "two<enter>", "q"]),
    "answers and focus belong to none, neither by source nor by shape": (
        [*typed(b"zzz", source="terminal"), *typed(b"\x1b[?62c", b"\x1b[I", b"b")], ["b"]),
    "a resize and masking cut": (
        [*typed(b"a"), RESIZE, *typed(b"b"), MASKED], ["a", "b", "***<enter>"]),
    "a sequence is fast": (typed(b"\x1b", b"[A", gap_ms=1), ["<up>"]),
    "a slow escape is a key: nobody takes 60 ms within a sequence": (
        typed(b"\x1b", b"[A", gap_ms=60), ["<escape>", "[A"]),
    "what is marked as paste is text, also without its brackets": (
        typed(b"a\rb", paste=True), ["a\nb"]),
}  # fmt: skip


@pytest.mark.parametrize("case", ENTRIES)
def test_input_is_read_as_entries(case: str) -> None:
    """Each of which is compared on its own."""
    records, shown = ENTRIES[case]
    entries = read_entries(records)

    assert [entry.shown for entry in entries] == shown
    assert [entry.number for entry in entries] == list(range(1, len(shown) + 1))
    assert [entry.masked for entry in entries] == ["***" in one for one in shown]


def test_an_entry_knows_where_it_was_recorded() -> None:
    """From the first of its records to the last."""
    entry = entry_of(b"h", b"i", b"\r")

    assert (entry.seq, entry.last_seq) == (1, 5)


def outcome(entry: Entry, data: bytes, strategy: str = "prompt", **options: object) -> str:
    """What a matcher says after ``data``."""
    matcher = Matching(strategy, **options).matcher(entry)  # type: ignore[arg-type]
    for key in read_keys(data):
        if matcher.state == "open":
            matcher.feed(key)
    if matcher.state == "open" and matcher.patience_us:
        matcher.settle()
    return matcher.state


@pytest.mark.parametrize(
    ("strategy", "sent", "state"),
    [
        ("exact", b"hello\r", "matched"),
        ("exact", b"hello\n", "mismatch"),
        ("exact", b"hel", "open"),
        ("prompt", b"hello\r", "matched"),
        ("prompt", b"hello\n", "matched"),
        ("prompt", b"helo\x7flo\r", "matched"),
        ("prompt", b"\x1b[200~hello\x1b[201~\r", "matched"),
        ("prompt", b"hello \r", "mismatch"),
        ("prompt", b"hello\x03", "mismatch"),
        ("prompt", b"hel", "open"),
        ("prompt", b"hex", "open"),
        ("prompt", b"hello", "open"),
        ("normalised", b"  hello \r", "matched"),
        ("normalised", b"hallo\r", "mismatch"),
        ("normalised", b"hal", "open"),
        ("semantic", b"hello!\r", "matched"),
        ("semantic", b"goodbye\r", "mismatch"),
        ("any", b"whatever\x03", "matched"),
        ("any", b"what", "open"),
    ],
)
def test_a_strategy_decides(strategy: str, sent: bytes, state: str) -> None:
    """Each strategy against the recorded ``hello<enter>``."""
    assert outcome(entry_of(b"hello\r"), sent, strategy) == state


@pytest.mark.parametrize(
    ("strategy", "sent", "state"),
    [
        ("prompt", b"q", "matched"),
        ("prompt", b"x", "mismatch"),
        ("prompt", b"\x1b", "mismatch"),
        ("normalised", b" q", "matched"),
        ("normalised", b"x", "open"),
        ("any", b"x", "matched"),
    ],
)
def test_an_entry_without_an_action_key_is_decided_when_it_is_quiet(
    strategy: str, sent: bytes, state: str
) -> None:
    """Each strategy against the recorded ``q`` of a pager."""
    assert outcome(entry_of(b"q"), sent, strategy) == state


@pytest.mark.parametrize(
    ("strategy", "recorded", "sent", "state"),
    [
        ("prompt", b"hello\r", b"hello", "mismatch"),
        ("normalised", b"hello\r", b" hello", "mismatch"),
        ("any", b"hello\r", b"what", "matched"),
        ("normalised", b"j q", b"j  ", "mismatch"),
        ("any", b"jjq", b"j", "matched"),
        ("exact", b"jjq", b"jj", "mismatch"),
    ],
)
def test_what_came_is_judged_when_no_more_comes(
    strategy: str, recorded: bytes, sent: bytes, state: str
) -> None:
    """At the end of the input, or when its time is up."""
    matcher = Matching(strategy).matcher(entry_of(recorded))
    for key in read_keys(sent):
        matcher.feed(key)
    assert matcher.state == "open"
    matcher.settle()

    assert matcher.state == state


def test_keys_without_enter_are_waited_for_under_every_strategy() -> None:
    """Also where a part of them is alike already, or anything will do."""
    for strategy in ("exact", "prompt", "normalised", "semantic", "any"):
        matcher = Matching(strategy).matcher(entry_of(b"hello w", b"orld"))
        states = []
        for key in read_keys(b"hello world"):
            matcher.feed(key)
            states.append(matcher.state)

        assert states == ["open"] * 10 + ["matched"]


def test_a_normaliser_and_a_scorer_can_be_given() -> None:
    """The caller's functions decide."""
    entry = entry_of(b"run 17\r")

    assert outcome(entry, b"run 23\r", "normalised", normalise=lambda text: text[:3]) == "matched"
    assert outcome(entry, b"x\r", "semantic", scorer=lambda got, want: 1.0) == "matched"
    assert outcome(entry, b"run\r", "semantic", threshold=0.99) == "mismatch"


@pytest.mark.parametrize(
    ("strategy", "recorded", "sent", "satisfied"),
    [
        # Recorded ``hex<backspace>l``: the driver's ``hel`` is all of it.
        ("prompt", (b"h", b"e", b"x", b"\x7f", b"l", b"\r"), b"hel", [1, 2, 5]),
        # Typing that leads nowhere satisfies nothing, until it is corrected.
        ("prompt", (b"a", b"\r"), b"x", [0]),
        # Echo between recorded keys can be played key by key.
        ("exact", (b"a", b"b", b"\r"), b"a", [1]),
    ],
)
def test_keys_that_were_typed_satisfy_those_that_were_recorded(
    strategy: str, recorded: tuple[bytes, ...], sent: bytes, satisfied: list[int]
) -> None:
    """In effect, not one by one; the key that sends is waited for."""
    matcher = Matching(strategy).matcher(entry_of(*recorded))
    seen = []
    for key in read_keys(sent):
        matcher.feed(key)
        seen.append(matcher.satisfied)

    assert (seen, matcher.state) == (satisfied, "open")
    if satisfied[-1] == len(recorded) - 1:
        assert matcher.waiting is not None
        assert matcher.waiting.key.name == "enter"


def test_a_line_feed_for_a_return_is_noted() -> None:
    """It matches, but a raw-mode program may tell them apart."""
    matcher = Matching().matcher(entry_of(b"a\r"))
    for key in read_keys(b"a\n"):
        matcher.feed(key)

    assert matcher.state == "matched"
    assert matcher.line_feed_for_return


def test_a_line_feed_from_a_line_discipline_is_the_return_it_was() -> None:
    """Input that came before raw mode was set has its CR turned into LF."""
    matcher = Matching("exact").matcher(entry_of(b"\r"))
    matcher.feed(Key("key", b"\n", name="enter", cooked=True))

    assert matcher.state == "matched"


def test_masked_input_matches_whatever_is_sent_with_the_same_patience() -> None:
    """Its bytes are not what was typed; only its end counts."""
    (entry,) = read_entries(typed(b"****\r", masked=True))
    matcher = Matching("exact").matcher(entry)
    for key in read_keys(b"sesam"):
        matcher.feed(key)

    assert matcher.patience_us is None
    assert outcome(entry, b"sesam\r", "exact") == "matched"


def test_one_entry_can_have_its_own_strategy() -> None:
    """By its number."""
    matching = Matching("exact", per_entry={2: "any"})
    entries = read_entries(typed(b"a\r", b"b\r"))

    assert [matching.strategy_for(entry) for entry in entries] == ["exact", "any"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Matching("promt"), "exact, normalised, prompt, semantic, any"),
        *((lambda threshold=threshold: semantic_match("a", "a", threshold), "threshold")
          for threshold in (0, -1, 1.5)),
        # A distance is no score.
        (lambda: semantic_match("a", "b", 0.5, lambda got, want: 7.0), "at most 1"),
        (lambda: embedding_scorer(lambda text: [1.0] * len(text))("a", "ab"), "zip"),
    ],
)  # fmt: skip
def test_what_would_match_everything_or_nothing_is_an_error(
    make: Callable[[], object], says: str
) -> None:
    """A typo is no strategy, and a number out of range no measure."""
    with pytest.raises(ValueError, match=says):
        make()


def test_the_nearest_entry_is_found() -> None:
    """The one most like what came; masked ones never."""
    entries = read_entries(typed(b"list files\r", b"delete everything\r"))

    found = nearest_entry(entries, "delete every thing<enter>")

    assert found is not None
    assert found[0].number == 2
    assert nearest_entry([], "x") is None
    assert nearest_entry(read_entries(typed(b"x", masked=True)), "x") is None


@pytest.mark.parametrize(
    ("actual", "expected", "matched"),
    [
        ("The answer is 42.", "the answer is 42", True),
        ("Straße gesperrt", "STRASSE gesperrt", True),
        ("今日は天気がいいです", "今日は天気がいいですね", True),
        ("今日は天気がいいです", "明日会議があります", False),
        ("привет мир", "Привет, мир!", True),
        ("สวัสดีครับ", "ลาก่อนนะ", False),
        ("😀", "😀", True),
        ("yes", "no", False),
        ("a", "a b c d e f", False),
    ],
)
def test_texts_of_any_language_are_scored(actual: str, expected: str, *, matched: bool) -> None:
    """Alike enough, or not."""
    assert bool(semantic_match(actual, expected)) is matched


def test_an_empty_expectation_matches_nothing() -> None:
    """Not even an empty text: such a test could not fail."""
    match = semantic_match("", "  \n")

    assert not match
    assert match.reason == "the expectation is empty"


def test_a_single_character_has_a_score() -> None:
    """There is no pair in it."""
    assert lexical_score("あ", "い") == 0.0
    assert lexical_score("!", "?") == 0.0


def test_an_embedding_model_can_score() -> None:
    """By the cosine of its vectors."""
    vectors = {"cat": (1.0, 0.0), "kitten": (0.9, 0.1), "car": (0.0, 2.0), "": (0.0, 0.0)}
    scorer = embedding_scorer(lambda text: vectors[text])

    assert semantic_match("kitten", "cat", 0.9, scorer)
    assert not semantic_match("car", "cat", 0.9, scorer)
    assert scorer("", "cat") == 0.0
