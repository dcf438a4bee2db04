"""Lines, entries and comparison strategies."""

from __future__ import annotations

import pytest

from ptycassette.model import InputRecord, Size
from ptycassette.timeline._match_line import Line
from ptycassette.timeline.match import Matching, nearest_entry
from ptycassette.timeline.match_entries import Entry, read_entries
from ptycassette.timeline.match_keys import Key, read_keys
from ptycassette.timeline.match_text import embedding_scorer, lexical_score, semantic_match


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


def test_an_entry_ends_behind_the_key_that_sends_it() -> None:
    """Single keys are joined, and what was merged in one record is cut."""
    entries = read_entries(typed(b"h", b"i", b"\r", b"one\rtwo\r", b"q"))

    assert [entry.shown for entry in entries] == ["hi<enter>", "one<enter>", "two<enter>", "q"]
    assert [entry.number for entry in entries] == [1, 2, 3, 4]
    assert (entries[0].seq, entries[0].last_seq) == (1, 5)


def test_answers_and_focus_belong_to_no_entry() -> None:
    """Neither by their source nor by their shape."""
    records = [*typed(b"a", b"\x1b[?62c", b"\x1b[I", b"b")]
    records[0] = InputRecord(seq=1, t_ms=0, kind="input", bytes=b"zzz", source="terminal")
    (entry,) = read_entries(records)

    assert entry.text == "b"


def test_a_resize_a_signal_and_masking_cut_an_entry() -> None:
    """What is around them is compared on its own."""
    records = [
        *typed(b"a"),
        InputRecord(seq=2, t_ms=5, kind="resize", size=Size(rows=2, cols=2)),
        InputRecord(seq=3, t_ms=6, kind="input", bytes=b"b"),
        InputRecord(seq=4, t_ms=6, kind="input", bytes=b"***\r", masked=True),
    ]

    entries = read_entries(records)

    assert [(entry.text, entry.masked) for entry in entries] == [
        ("a", False),
        ("b", False),
        ("***", True),
    ]


def test_a_slow_escape_is_a_key_of_its_own() -> None:
    """Nobody takes 60 ms within a sequence."""
    fast = read_entries(typed(b"\x1b", b"[A", gap_ms=1))
    slow = read_entries(typed(b"\x1b", b"[A", gap_ms=60))

    assert [entry.shown for entry in fast] == ["<up>"]
    assert [entry.shown for entry in slow] == ["<escape>", "[A"]


def test_a_record_marked_as_paste_is_text() -> None:
    """Also when its brackets were not recorded."""
    (entry,) = read_entries(typed(b"a\rb", paste=True))

    assert (entry.text, entry.action) == ("a\nb", "")


def outcome(entry: Entry, data: bytes, strategy: str = "prompt", **options: object) -> str:
    """What a matcher says after ``data``."""
    matcher = Matching(strategy, **options).matcher(entry)  # type: ignore[arg-type]
    for key in read_keys(data):
        if matcher.state == "open":
            matcher.feed(key)
    if matcher.state == "open" and matcher.patience_us:
        matcher.quiet()
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
        ("prompt", b"hex", "mismatch"),
        ("normalised", b"  hello \r", "matched"),
        ("normalised", b"hallo\r", "mismatch"),
        ("normalised", b"hal", "open"),
        ("semantic", b"hello!\r", "matched"),
        ("semantic", b"goodbye\r", "mismatch"),
        ("any", b"whatever\x03", "matched"),
        ("any", b"what", "matched"),
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
        ("normalised", b"x", "mismatch"),
        ("any", b"x", "matched"),
    ],
)
def test_an_entry_without_an_action_key_is_decided_when_it_is_quiet(
    strategy: str, sent: bytes, state: str
) -> None:
    """Each strategy against the recorded ``q`` of a pager."""
    assert outcome(entry_of(b"q"), sent, strategy) == state


def test_a_normaliser_and_a_scorer_can_be_given() -> None:
    """The caller's functions decide."""
    entry = entry_of(b"run 17\r")

    assert outcome(entry, b"run 23\r", "normalised", normalise=lambda text: text[:3]) == "matched"
    assert outcome(entry, b"x\r", "semantic", scorer=lambda got, want: 1.0) == "matched"
    assert outcome(entry, b"run\r", "semantic", threshold=0.99) == "mismatch"


def test_typing_that_differs_on_the_way_satisfies_the_keys_in_effect() -> None:
    """Recorded ``hex<backspace>l``: the driver's ``hel`` is all of it."""
    matcher = Matching().matcher(entry_of(b"h", b"e", b"x", b"\x7f", b"l", b"\r"))
    seen = []
    for key in read_keys(b"hel"):
        matcher.feed(key)
        seen.append(matcher.satisfied)

    assert seen == [1, 2, 5]
    assert matcher.waiting is not None
    assert matcher.waiting.key.name == "enter"


def test_typing_that_leads_nowhere_satisfies_nothing() -> None:
    """Until it is corrected."""
    matcher = Matching().matcher(entry_of(b"a", b"\r"))
    matcher.feed(read_keys(b"x")[0])

    assert (matcher.satisfied, matcher.state) == (0, "open")


def test_exact_counts_the_keys_that_were_sent() -> None:
    """Echo between recorded keys can be played key by key."""
    matcher = Matching("exact").matcher(entry_of(b"a", b"b", b"\r"))
    matcher.feed(read_keys(b"a")[0])

    assert (matcher.satisfied, matcher.state) == (1, "open")


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


def test_an_unknown_strategy_is_an_error_that_lists_them() -> None:
    """A typo is not a strategy."""
    with pytest.raises(ValueError, match="exact, normalised, prompt, semantic, any"):
        Matching("promt")


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


@pytest.mark.parametrize("threshold", [0, -1, 1.5])
def test_a_threshold_out_of_range_is_an_error(threshold: float) -> None:
    """It would match everything or nothing."""
    with pytest.raises(ValueError, match="threshold"):
        semantic_match("a", "a", threshold)


def test_a_scorer_out_of_range_is_an_error() -> None:
    """A distance is no score."""
    with pytest.raises(ValueError, match="at most 1"):
        semantic_match("a", "b", 0.5, lambda got, want: 7.0)


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
    with pytest.raises(ValueError, match="zip"):
        embedding_scorer(lambda text: [1.0] * len(text))("a", "ab")
