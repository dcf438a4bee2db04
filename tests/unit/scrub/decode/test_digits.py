"""Bytes as digits: where each of them stands, and dumps of them."""

from __future__ import annotations

import hashlib

import pytest

from ptycassette.scrub.decode.decoder import Decoded, decoded_views
from ptycassette.scrub.mask import HEX

SAID = "token=q7Kz"


def views(text: str) -> list[Decoded]:
    """What is read in hexadecimal."""
    return [view for view in decoded_views(text) if view.form == HEX]


@pytest.mark.parametrize("before", ["", "- ", "- 7", "- 7f"])
@pytest.mark.parametrize("behind", ["", " ", "4", "4 ", "41"])
def test_digits_without_gaps_are_read_at_both_places(before: str, behind: str) -> None:
    """As pairs with something between them are; where each character stands is worked out."""
    (view,) = [
        view for view in views(f"{before}{SAID.encode().hex()}{behind}") if SAID in view.text
    ]
    at = view.text.index("q7")
    place = len(before) + 12

    assert view.source(at, at + 2) == (place, place + 4)
    assert view.sources(at, at + 2) == ((place, place + 4),)


@pytest.mark.parametrize("between", [" ", ":", " 0x"])
def test_pairs_with_something_between_them_have_places_of_their_own(between: str) -> None:
    """What is between them is not part of them."""
    text = f"- {SAID.encode().hex(' ').replace(' ', between)}"
    (view,) = [view for view in views(text) if view.text == SAID]

    assert view.source(0, 1) == (2, 4)
    assert text[slice(*view.source(1, 2))] == "6f"


@pytest.mark.parametrize("text", ["4a6f686e20446f65", "70 77 64 3d 61 62 63 31 32", "0123" * 40])
def test_what_is_too_short_or_says_nothing_is_not_read(text: str) -> None:
    """The shortest text in which a rule finds anything has ten characters."""
    assert views(text) == []


@pytest.mark.parametrize("width", [8, 32, 60])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n  "])
def test_digits_in_lines_are_one_text(end: str, width: int) -> None:
    """As ``xxd -p`` prints them."""
    digits = f"see {SAID} and more of it".encode().hex()
    text = end.join(digits[at : at + width] for at in range(0, len(digits), width))

    assert any(SAID in view.text for view in views(f"{text}\n"))


@pytest.mark.parametrize(
    "text",
    [
        "00000000: 6b65 792d 3334 3131  key-3411\n00000008: 333a 6166 2d  3:af-",
        "00000000  6b 65 79 2d 33 34 31 31  |key-3411|\n00000008  33 3a 61 66 2d  |3:af-|",
        "0000000 6b 65 79 2d 33 34 31 31\n0000010 33 3a 61 66 2d\n0000015",
    ],
)
def test_the_lines_of_a_dump_are_one_text(text: str) -> None:
    """Without the offsets and the characters beside them, whose places stay."""
    view = views(text)[0]
    at = view.text.index("3:af")

    assert view.text.startswith("key-34113:af-")
    assert {text[slice(*place)] for place in view.sources(at, at + 2)} <= {"33 3a", "333a"}


def test_digests_in_lines_are_not_a_text() -> None:
    """Next to none of them holds ten printable characters in a row."""
    lines = "\n".join(hashlib.sha1(bytes([n])).hexdigest() for n in range(200))  # noqa: S324

    assert views(lines) == []
