"""Where values stand in a text that were found in its squeezed form."""

from __future__ import annotations

import pytest

from ptycassette.scrub.match import spread, squeeze
from ptycassette.scrub.search.known import KnownValue, KnownValues

VALUE = "vMYbnprykVjiRyY5dF1W"


def parts(text: str, value: str = VALUE) -> list[list[str]]:
    """The stretches of each hit."""
    hits = KnownValues([KnownValue(value)]).in_squeezed(squeeze(text))
    found = spread(text, [(hit.start, hit.end) for hit in hits])
    return [[text[start:end] for start, end in one] for one in found]


def test_stretches_of_squeezed_text_are_found_in_the_text() -> None:
    """A span of the squeezed form may be several stretches."""
    spans = [(0, 2), (2, 5)]

    assert [*spread("a b|cd  e", spans)] == [[(0, 3)], [(4, 9)]]
    assert [*spread("a|b|cd\ne", spans)] == [[(0, 1), (2, 3)], [(4, 6), (7, 8)]]
    assert [*spread("abc", [])] == []


@pytest.mark.parametrize(
    ("text", "stretches"),
    [
        (f"a {VALUE} b", [[VALUE]]),
        (f"{VALUE[:9]}\n| {VALUE[9:]} {VALUE}", [[VALUE[:9], VALUE[9:]], [VALUE]]),
    ],
)
def test_a_value_that_is_torn_has_a_stretch_on_each_side(
    text: str, stretches: list[list[str]]
) -> None:
    """Borders and ends of lines are none of it."""
    assert parts(text) == stretches


def test_a_phrase_is_one_stretch() -> None:
    """The blanks in it go, too."""
    assert parts("say correct horse battery", "correct horse battery") == [
        ["correct horse battery"]
    ]


def test_what_is_right_behind_escape_is_no_part_of_a_value() -> None:
    """It introduces a sequence, and goes on with the value by chance."""
    assert parts(f"{VALUE[:9]}\x1b{VALUE[9]}>|term\x1b\\{VALUE[9:]}") == [[VALUE[:9]], [VALUE[9:]]]
    assert parts(f"so \x1b{VALUE}") == [[VALUE[1:]]]
