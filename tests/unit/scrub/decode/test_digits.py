"""Bytes as digits: where each of them stands, dumps with their columns, and lists."""

from __future__ import annotations

import hashlib

import pytest

from ptycassette.scrub._mask import HEX
from ptycassette.scrub.decode import Decoded, Decoder, dump_columns
from ptycassette.scrub.decode._dumps import dumps

SAID = "token=q7Kz"


def views(text: str) -> list[Decoded]:
    """What is read in hexadecimal."""
    return [view for view in Decoder().views(text) if view.form == HEX]


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("00000000: 6b65 792d 3334 3131  key-3411\n00000008: 3330 6166  30af", "key-341130af"),
        ("00000000  61 7c 62 7c  |a|b||\n00000004  63 7c 64  |c|d|\n00000007  65  e", "a|b|c|de"),
    ],
)
def test_characters_beside_a_dump_are_not_bytes(text: str, shown: str) -> None:
    """As many as there are bytes, also where they look like digits or are bars."""
    columns = dump_columns(text)

    assert columns is not None
    assert columns.text == shown


def test_bytes_of_a_dump_end_before_its_characters() -> None:
    """Which could be digits, too."""
    text = "00000000: 6b65 792d 3334 3131  key-3411\n00000008: 3330 6166  30af"

    assert [view.text for view in dumps(text, iter(()))] == ["key-341130af"]


def test_text_without_a_dump_has_no_columns() -> None:
    """Nor is there a view of nothing."""
    assert dump_columns("some words") is None


def test_dumps_far_apart_are_two() -> None:
    """And one that says nothing is none."""
    one = "0000: 7468 6520 7265\n0006: 6164 6162 6c65"
    none = "0000: 0001 0203\n0004: 0405 0607"
    text = f"\n{'-' * 100}\n".join((one, one, none))

    assert [view.text for view in dumps(text, iter(()))] == ["the readable", "the readable"]


def test_digests_in_lines_are_not_a_dump() -> None:
    """Next to none of them is made of printable characters alone."""
    lines = "\n".join(hashlib.sha1(bytes([n])).hexdigest() for n in range(200))  # noqa: S324

    assert list(dumps(lines, iter(()))) == []


@pytest.mark.parametrize("text", ["a\n\tthe readable words", "\xe9\0the words and\nmore of it"])
def test_a_dump_of_characters_names_what_has_no_picture(text: str) -> None:
    """By a letter, or in octal digits."""
    names = {"\n": "\\n", "\t": "\\t", "\0": "\\0", "\xe9": "351"}
    cells = [f"{names.get(char, char):>4}" for char in text]
    dump = "\n".join(f"{at:07o}{''.join(cells[at : at + 16])}" for at in range(0, len(cells), 16))

    assert [view.text for view in dumps(dump, iter(()))] == [text]
