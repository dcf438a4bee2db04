"""Whether a value that is learnt late was in what was searched before."""

from __future__ import annotations

import pytest

from ptycassette.scrub.search import known as _learning
from ptycassette.scrub.search.known import Lesson, SearchedTexts


@pytest.mark.parametrize(
    ("pieces", "words", "but_last", "held"),
    [
        (["needle"], [], 0, True),
        ([], ["needle"], 0, True),
        (["other"], [], 0, False),
        ([], [], 0, False),
        (["last"], [], 1, False),
        (["last"], [], 0, True),
    ],
)
def test_pieces_and_words_are_asked_for(
    pieces: list[str], words: list[str], but_last: int, held: bool
) -> None:
    """In all texts but the last ones, which were searched again."""
    past = SearchedTexts()
    for text in ("hay", "hayneedlehay", "last"):
        past.add(text)

    past.ask(Lesson([], pieces, words), but_last=but_last)

    assert past.held() is held
    assert past.count == 3


def test_of_much_text_the_answer_is_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not kept: then all is read once more, but not for nothing."""
    monkeypatch.setattr(_learning, "_MOST_KEPT", 10)
    past = SearchedTexts()
    for _ in range(3):
        past.add("12345678")

    assert past.count == 0
    past.ask(Lesson([], [], []))
    assert not past.held()
    past.ask(Lesson([], ["x"], []))
    assert past.held()


def test_many_lessons_are_looked_for_at_once_each_in_what_came_before_it() -> None:
    """A value in the text that taught it, or in a later one, was masked there."""
    past = SearchedTexts()
    for number in range(40):
        past.add(f"-{number:08}-")
        past.ask(Lesson([], [f"{number:08}"], []), but_last=1)
    past.add("".join(f"-{number:08}-" for number in range(40)))

    assert not past.held()
    past.ask(Lesson([], ["00000007"], []))
    assert past.held()
    assert past.held()  # until all is read anew


def test_what_was_asked_is_answered_before_the_texts_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a long session would be read once more for nothing."""
    monkeypatch.setattr(_learning, "_MOST_KEPT", 10)
    past = SearchedTexts()
    past.add("12345678")
    past.ask(Lesson([], ["90"], []))
    past.add("12345678")

    assert not past.held()
