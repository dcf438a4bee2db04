"""Where decoded texts stand in the text that they came from."""

from __future__ import annotations

import pytest

from ptycassette.scrub.decode import Decoder
from ptycassette.scrub.decoded import Decoded, Digits, HexRun
from ptycassette.scrub.mask import HEX

SAID = "token=q7Kz"


def views(text: str) -> list[Decoded]:
    """What is read in hexadecimal."""
    return [view for view in Decoder().views(text) if view.form == HEX]


@pytest.mark.parametrize("before", ["", "- ", "- 7", "- 7f"])
@pytest.mark.parametrize("behind", ["", " ", "4", "4 ", "41"])
def test_digits_that_follow_each_other_are_read_at_both_places(before: str, behind: str) -> None:
    """As those with something between them are; where each character stands is worked out."""
    (view,) = [
        view for view in views(f"{before}{SAID.encode().hex()}{behind}") if SAID in view.text
    ]
    at = view.text.index("q7")
    place = len(before) + 12

    assert isinstance(view, HexRun)
    assert view.source(at, at + 2) == (place, place + 4)
    assert view.sources(at, at + 2) == ((place, place + 4),)


@pytest.mark.parametrize("between", [" ", ":", " 0x"])
def test_pairs_with_something_between_them_have_places_of_their_own(between: str) -> None:
    """What is between them is none of them."""
    text = f"- {SAID.encode().hex(' ').replace(' ', between)}"
    (view,) = [view for view in views(text) if view.text == SAID]

    assert isinstance(view, Digits)
    assert view.source(0, 1) == (2, 4)
    assert text[slice(*view.source(1, 2))] == "6f"
