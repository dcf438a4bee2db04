"""Other readings of what a program printed: beside what is elsewhere, struck twice."""

from __future__ import annotations

import pytest

from ptycassette.scrub.views._printed import printed_views
from ptycassette.testing import scrub_chunks

VALUE = "aB3" + "dE6gH9jK2m"


def texts(raw: str) -> list[str]:
    """What is read of it, other than the print stream and its strings."""
    return [view.text for view in printed_views(raw, base=0)[2:]]


@pytest.mark.parametrize("raw", ["\x1b7\x1b[9;1Hstatus\x1b8all", "a\x1b7b", "a\x1b8b", "a\bb", "a"])
def test_there_may_be_no_other_reading(raw: str) -> None:
    """Nothing was torn, or struck twice."""
    assert texts(raw) == []


def test_what_is_struck_twice_is_one_character() -> None:
    """Bold and underlined; each of the two readings leads to one of the two bytes."""
    raw = "so b\bbo\bo_\bl\xc3\xa9\b\xc3\xa9 c"
    seconds, firsts = printed_views(raw, base=7)[2:]

    assert seconds.text == firsts.text == "so bol\xc3\xa9 c"
    assert list(seconds.pieces(3, 6)) == [(3, 1, 12), (4, 1, 15), (5, 1, 18)]
    assert list(firsts.pieces(3, 6)) == [(3, 1, 10), (4, 1, 13), (5, 1, 18)]


def struck(said: str) -> str:
    """Each character of it twice, but for blanks."""
    return "".join(char if char == " " else f"{char}\b{char}" for char in said)


@pytest.mark.parametrize(
    "shown",
    [
        struck(f"password {VALUE}"),
        "password " + "".join(f"_\b{char}" for char in VALUE),
        "\x1b7\x1b[8;1Hso\x1b8".join(f"password {VALUE}"),
    ],
)
def test_a_value_is_masked_so(shown: str) -> None:
    """All of it; a second look finds nothing more."""
    after = scrub_chunks([f"{shown}\r\n".encode()], rows=24, cols=80)

    assert not set(b"".join(after).decode()) & set("B3E6g9jK2m")
    assert scrub_chunks(after, rows=24, cols=80) == after
