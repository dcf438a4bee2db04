"""The trail: whether what was searched before a value was learnt holds it."""

from __future__ import annotations

import pytest

from ptycassette.model import JournalEvent, Noted, Output, SessionMeta
from ptycassette.scrub import default_scrubber
from ptycassette.scrub.known import KnownValue, KnownValues, Lesson
from ptycassette.scrub.rules import RuleSet
from ptycassette.scrub.search import Searcher
from ptycassette.scrub.trail import Searched, Trail

VALUE = KnownValue("qP7xR2mK9vT4nB8sL3wZ")


def lesson(value: KnownValue = VALUE) -> Lesson:
    """What there is to be learnt of a value that nobody knew."""
    return KnownValues().learn([value])


def searched(*texts: str) -> list[Searched]:
    """Texts in which nothing was found."""
    return [Searched(text) for text in texts]


def test_nothing_learnt_is_nothing_to_look_for() -> None:
    """One pass was enough."""
    trail = Trail()
    trail.add(0, searched(VALUE.text))

    assert trail.again() is None


def test_what_came_before_is_looked_over_again() -> None:
    """Up to the last place that holds a piece of the value."""
    trail = Trail()
    trail.add(0, searched("x"))
    trail.add(3, searched("y", VALUE.text[5:15]))
    trail.learn(7, lesson())
    trail.add(7, searched(VALUE.text))

    assert trail.again() == 3


@pytest.mark.parametrize(("found", "again"), [((0, 20), None), ((0, 11), 3), ((6, 20), 3)])
def test_where_something_was_found_nobody_looks_again(
    found: tuple[int, int], again: int | None
) -> None:
    """Unless a piece goes over its end."""
    trail = Trail()
    trail.add(3, [Searched("y"), Searched(f"yy{VALUE.text[5:15]}yyyyyyyy", [found])])
    trail.learn(7, lesson())

    assert trail.again() == again


@pytest.mark.parametrize(("text", "found"), [("frox", []), ("fro", [(3, 19)])])
def test_what_stays_by_chance_was_not_found(text: str, found: list[tuple[int, int]]) -> None:
    """The letters of a word beside a value may be another value's yet."""
    searcher = Searcher(rules=RuleSet(()), known=KnownValues([VALUE]))
    searcher.searched = []
    list(searcher.search(f"{text}\n{VALUE.text[4:]}"))

    assert searcher.searched[0].found == found


def test_a_piece_that_goes_over_the_end_of_what_was_found_is_overlooked() -> None:
    """However many pieces there are, and whatever else stands inside."""
    trail = Trail()
    trail.add(3, [Searched("xxabcdefgh", [(0, 9)])])
    many = [f"{number:08}" for number in range(9000)]
    trail.learn(7, Lesson([], [*many, "xxabcdef", "abcdefgh"], []))

    assert trail.again() == 3


def test_what_was_found_side_by_side_is_one() -> None:
    """Not over the end of a text."""
    ends = [(0, 5), (5, 20)]
    alone, together = Trail(), Trail()
    together.add(3, [Searched(VALUE.text, ends)])
    together.learn(7, lesson())
    alone.add(3, [Searched(VALUE.text[:10], [(0, 10)]), Searched(VALUE.text[4:], [(1, 16)])])
    alone.learn(7, lesson())

    assert together.again() is None
    assert alone.again() == 3


def test_what_comes_after_was_looked_for() -> None:
    """A value that was never there before costs no second pass."""
    trail = Trail()
    trail.add(0, searched("nothing of it"))
    trail.learn(1, lesson())
    trail.add(2, searched(VALUE.text) * 10_000)

    assert trail.again() is None


def test_words_are_looked_over_again_where_they_may_be() -> None:
    """Also where they turn out to be no word: their text with its blanks is not kept."""
    trail = Trail()
    trail.add(0, searched("bigbob7s"))
    trail.learn(4, lesson(KnownValue("bob7")))

    assert trail.again() == 0


def test_words_that_were_nowhere_cost_nothing() -> None:
    """Neither before they were learnt nor, for they were looked for then, afterwards."""
    trail = Trail()
    trail.add(0, searched("nobody"))
    trail.learn(4, lesson(KnownValue("bob7")))
    trail.add(5, searched("bob7"))

    assert trail.again() is None


def test_words_with_letters_of_several_bytes_are_looked_for_everywhere() -> None:
    """Without its blanks a text may show their bytes otherwise."""
    trail = Trail()
    trail.learn(4, lesson(KnownValue("j\xf6rg")))

    assert trail.again() == 4


def test_memory_is_bounded() -> None:
    """What does not fit is looked over whole."""
    trail = Trail(most_bytes=10)
    trail.add(0, searched("some text that takes more than ten bytes when compressed"))
    trail.learn(5, lesson())
    trail.add(6, searched("more"))

    assert trail.again() == 5


def test_a_session_is_swept_for_what_is_learnt_late(meta: SessionMeta, key: str) -> None:
    """A piece shown long before the whole, in other blocks and channels, goes too."""
    filler = Output(0, b"nothing to see here, move along\r\n" * 3000)
    events: list[JournalEvent] = [
        Output(0, f"\x1b[5;10H{key[20:40]}\r\n".encode()),
        filler,
        filler,
        Noted(1, {"text": key}),
        filler,
    ]
    first, *_ = default_scrubber().events(meta, lambda: iter(events))

    assert isinstance(first, Output)
    assert first.data == b"\x1b[5;10H" + b"x" * 20 + b"\r\n"


def test_what_only_the_print_stream_shows_is_swept_there(meta: SessionMeta, key: str) -> None:
    """Characters painted over one another go, although no screen ever showed two of them."""
    filler = Output(0, b"nothing to see here, move along\r\n" * 3000)
    flicker = Output(0, "\r".join(key[20:40]).encode())
    events: list[JournalEvent] = [flicker, filler, Noted(1, {"text": key}), filler]
    first, *_ = default_scrubber().events(meta, lambda: iter(events))

    assert isinstance(first, Output)
    assert first.data == b"\r".join([b"x"] * 20)


def test_what_was_left_out_may_have_stood_anywhere() -> None:
    """Then everything up to the last lesson is looked over again."""
    trail = Trail()
    trail.add(3, searched(VALUE.text[5:15]))
    trail.learn(7, lesson())
    trail.repeats = True

    assert trail.again() == 7


def test_only_what_is_new_about_a_value_is_looked_for() -> None:
    """A piece of one that was known cannot have been overlooked."""
    known = KnownValues([VALUE])
    trail = Trail()
    trail.add(3, searched(VALUE.text))
    trail.learn(7, known.learn([KnownValue(VALUE.text[2:])]))

    assert trail.again() is None
