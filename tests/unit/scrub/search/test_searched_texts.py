"""Whether a value that is learnt late was in what was searched before."""

from __future__ import annotations

import pytest

from ptycassette.scrub.search import Lesson, SearchedTexts, _learning


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

    assert past.may_hold(Lesson([], pieces, words), but_last=but_last) is held
    assert past.count == 3


def test_of_much_text_the_answer_is_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not kept: then all is read once more, but not for nothing."""
    monkeypatch.setattr(_learning, "_MOST_KEPT", 10)
    past = SearchedTexts()
    for _ in range(3):
        past.add("12345678")

    assert past.count == 0
    assert past.may_hold(Lesson([], ["x"], []))
    assert not past.may_hold(Lesson([], [], []))
