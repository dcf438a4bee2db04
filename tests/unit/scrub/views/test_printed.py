"""Other readings of what a program printed: beside what is elsewhere, struck twice."""

from __future__ import annotations

import pytest

from ptycassette.scrub.views.view import printed_views
from ptycassette.testing import scrub_chunks

VALUE = "aB3" + "dE6gH9jK2m"


def texts(raw: str) -> list[str]:
    """What is read of it, other than the print stream and its strings."""
    return [view.text for view in printed_views(raw, base=0)[2:]]


@pytest.mark.parametrize("raw", ["\x1b7\x1b[9;1Hstatus\x1b8all", "a\x1b7b", "a\x1b8b", "a\bb", "a"])
def test_there_may_be_no_other_reading(raw: str) -> None:
    """Nothing was torn, or struck twice."""
    assert texts(raw) == []


def test_what_is_struck_over_is_one_character() -> None:
    """Bold and underlined; a mask covers each of the bytes, but no low line."""
    raw = "so b\bb\bbo\bo_\bl\xc3\xa9\b\xc3\xa9 c"
    printed, _ = printed_views(raw, base=7)

    assert printed.text == "so bol\xc3\xa9 c"
    assert list(printed.pieces(3, 6)) == [(3, 1, 10), (4, 1, 15), (5, 1, 20)]
    masked = dict(printed.patches(3, 6, "text"))
    assert sorted(masked) == [10, 12, 14, 15, 17, 20]


@pytest.mark.parametrize("raw", ["a\b\ba", "a\r\ba", "a\b \ba", "\x1b[m\bm", "\b", "_\b _"])
def test_what_is_struck_over_nothing_stays(raw: str) -> None:
    """Nothing of the text is dropped, and going back ends a word."""
    printed, _ = printed_views(raw, base=0)

    letters = [char for char in raw.removeprefix("\x1b[m") if char.isprintable()]
    assert [char for char in printed.text if char != "\n"] == letters
    assert "\n" in printed.text


def test_text_that_ends_with_a_low_line_is_read_as_it_was_written() -> None:
    """What is struck over that line is not its end."""
    *_, before = printed_views("x abc_\bd_\be", base=7)

    assert before.text == "x abc_\n"
    assert list(before.pieces(2, 6)) == [(2, 4, 9)]


def struck(said: str, times: int = 2, below: str = "") -> str:
    """Each character of it so many times, over low lines or not, but for blanks."""
    return "".join(char if char == " " else "\b".join((*below, *[char] * times)) for char in said)


@pytest.mark.parametrize(
    "shown",
    [
        *(
            struck(f"password {VALUE}", times, below)
            for times in (1, 2, 3, 4)
            for below in ("", "_", "__")
        ),
        struck(f"password {VALUE}").replace("\b", "\0\b\x1b[J"),
        "password " + "".join(f"_\b{char}" for char in VALUE),
        "\x1b7\x1b[8;1Hso\x1b8".join(f"password {VALUE}"),
    ],
)
def test_a_value_is_masked_so(shown: str) -> None:
    """All of it; a second look finds nothing more."""
    after = scrub_chunks([f"{shown}\r\n".encode()], rows=24, cols=80)

    assert not set(b"".join(after).decode()) & set("B3E6g9jK2m")
    assert scrub_chunks(after, rows=24, cols=80) == after
