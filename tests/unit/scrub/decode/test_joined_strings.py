"""String literals side by side: which of them are one, and which are a list."""

from __future__ import annotations

import pytest

from ptycassette.scrub.decode import Decoded
from ptycassette.scrub.decode._torn import joined_strings
from ptycassette.testing import scrub_chunks

TOKEN = "np" + "m_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def joined(text: str) -> list[Decoded]:
    """What the strings in a text are as one."""
    return list(joined_strings(text, iter(())))


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize(
    "seam",
    [
        "Q Q", "QQ", "Q bQ", "Q\n   Q", "Q \\\nQ", "Q\n\tfQ", "Q +\nQ", "Q\n  + Q", "Q . Q",
        "Q .. Q", "Q &\n Q", "Q || Q", "Q <> Q", "Q\n+    Q", "Q\n  14   Q", "Q\n  14 |  Q",
        "Q +\n14:Q", "Q + Q",
    ],
)  # fmt: skip
def test_literals_side_by_side_are_one(seam: str, quote: str) -> None:
    """As a compiler, an interpreter or a shell joins them, in listings and diffs too."""
    seam = seam.replace("Q", quote)
    (view,) = joined(f"a {quote}one{seam}two{seam}three{quote} b")

    assert view.text == f"a {quote}onetwothree{quote} b"


def test_letters_outside_of_ascii_go_on_too() -> None:
    """As bytes of UTF-8, which canonical text is made of."""
    (view,) = joined('x = ("one\xc3\xa4" "\xc3\xb6two")')

    assert view.text == 'x = ("one\xc3\xa4\xc3\xb6two")'


@pytest.mark.parametrize(("one", "two"), [("key = ", "'a1b2"), ("://root:a!", "?b@c"), ("{", "}")])
def test_on_the_next_line_they_may_begin_and_end_with_anything(one: str, two: str) -> None:
    """Side by side these would be two arguments."""
    (view,) = joined(f'f("{one}"\n     "{two}")')

    assert view.text == f'f("{one}{two}")'
    assert joined(f'f "{one}" "{two}"') == []


@pytest.mark.parametrize(
    "text",
    ['["a", "b"]', '"a"\n"b"\n', '{"a": "b"}', 'f(" ", "")', "\"a\" 'b'", 'x="" y="b"', "it's 'a'"],
)
def test_lists_and_others_are_not(text: str) -> None:
    """What stands between them parts them."""
    assert joined(text) == []


@pytest.mark.parametrize("seam", ['" "', '"\r\n     "', '" \\\r\n     "', '"\r\n   + "'])
def test_a_token_in_several_literals_is_masked(seam: str) -> None:
    """By rules alone; quotes and line ends stay."""
    shown = f'x = ("GITHUB_TOKEN={TOKEN[:15]}{seam}{TOKEN[15:]}")\r\n'.encode()
    (after,) = scrub_chunks([shown], rows=24, cols=80)

    assert after.decode() == f'x = ("GITHUB_TOKEN={"x" * 15}{seam}{"x" * (len(TOKEN) - 15)}")\r\n'
    assert scrub_chunks([after], rows=24, cols=80) == [after]


def test_a_string_in_quotes_of_its_own_may_end_before_a_seam() -> None:
    """Where nobody escaped what is quoted; an empty literal ends nothing."""
    (view,) = joined('x = ("{"key""\n     ": "one"\n     "two")')

    assert view.text == 'x = ("{"key": "onetwo")'
    assert joined('x = ""\n    "two"') == []
