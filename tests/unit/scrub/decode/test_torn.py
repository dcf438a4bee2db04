"""Words with something in them: what is left out, and where nothing is torn."""

from __future__ import annotations

import pytest

from ptycassette.scrub.decode import Decoder
from ptycassette.scrub.match import canonical


def said(text: str) -> list[str]:
    """What ``text`` decodes to."""
    return [view.text for view in Decoder().views(canonical(text))]


@pytest.mark.parametrize("star", ["*", "\u2022"])
def test_characters_shown_for_a_moment_are_one_text(star: str) -> None:
    """With the last of them, behind which the line goes on."""
    shown = "".join(f"{char}\n{star}" for char in "aB3dE5")

    assert said(f"//me:{shown}@host.example") == ["//me:aB3dE5@host.example"]


def test_text_typed_behind_a_cursor_is_one_text() -> None:
    """The cursor stands behind each character until the next one takes its place."""
    shown = "".join(f"{char}\u258b\n" for char in "token=aB3dE5")

    assert said(f"{shown} ")[0].startswith("token=aB3dE5")
    assert said("\u2588\n\u2588\u2588\n50%\u258b\nend") == []


def test_changed_words_are_read_as_they_were_and_as_they_are() -> None:
    """As git shows them in a line."""
    text = "the [-old-]{+new+} words, [-gone -]and {+some +}more"
    old, new = Decoder().views(text)

    assert old.text == "the old words, gone and more"
    assert new.text == "the new words, and some more"
    assert old.sources(4, 9) == ((6, 9), (18, 20))
    assert said("behind a {+b+} c") == ["behind a b c"]


@pytest.mark.parametrize(
    "mark", ["\u00ad", "\u034f", "\u200b", "\ufe00", "\u200d", "\u2060", "\ufeff", "\U000e0041"]
)
def test_invisible_characters_tear_words_alone(mark: str) -> None:
    """Between words, and in what is no ASCII, they do what they are there for."""
    assert said(f"the tok{mark}en is abc{mark}{mark}def") == ["the token is abcdef"]
    assert said(f"the token {mark} is \u26a0{mark} here") == []
