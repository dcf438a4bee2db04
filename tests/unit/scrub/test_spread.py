"""Where values stand in a text that were found in its squeezed form."""

from __future__ import annotations

import pytest

from ptycassette.scrub.canonical import squeeze
from ptycassette.scrub.known import Hit, KnownValue, KnownValues
from ptycassette.scrub.spread import spread

VALUE = "vMYbnprykVjiRyY5dF1W"


def hits(text: str, value: str = VALUE) -> list[Hit]:
    """Where the value is in the squeezed text."""
    return KnownValues([KnownValue(value)]).in_squeezed(squeeze(text))


def parts(text: str, value: str = VALUE) -> list[list[str]]:
    """The stretches of each hit."""
    found = spread(text, hits(text, value))
    return [[text[start:end] for start, end in one.parts] for one in found]


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


@pytest.mark.parametrize(
    ("text", "stretch"),
    [
        (f"frob\n{VALUE[4:]}", VALUE[4:]),
        (f"{VALUE[:16]}\ndone", VALUE[:16]),
        (f"frob\n{VALUE[4:16]}\ndone", VALUE[4:16]),
    ],
)
def test_a_letter_of_the_word_on_another_line_stays(text: str, stretch: str) -> None:
    """The value goes on with it by chance."""
    assert parts(text) == [[stretch]]
    assert not any(one.whole for one in spread(text, hits(text)))


@pytest.mark.parametrize(
    ("text", "stretches"),
    [
        (f"a{VALUE[:2]}\n{VALUE[2:]}", [VALUE[:2], VALUE[2:]]),
        (f"{VALUE[:-2]}\n{VALUE[-2:]}a", [VALUE[:-2], VALUE[-2:]]),
        (f"frob | {VALUE[4:]}", ["b", VALUE[4:]]),
        (f"{VALUE[:16]} | done", [VALUE[:16], "d"]),
        (f". b\n{VALUE[4:]}", ["b", VALUE[4:]]),
        (f"{VALUE[:16]}\nd .", [VALUE[:16], "d"]),
    ],
)
def test_a_few_letters_go_where_they_are_no_part_of_a_word(text: str, stretches: list[str]) -> None:
    """Or are an end of the value, or stand on the same line as the rest of it."""
    assert parts(text) == [stretches]
    assert all(one.whole for one in spread(text, hits(text)))


def test_what_is_right_behind_escape_is_no_part_of_a_value() -> None:
    """It introduces a sequence, and goes on with the value by chance."""
    assert parts(f"{VALUE[:9]}\x1b{VALUE[9]}>|term\x1b\\{VALUE[9:]}") == [[VALUE[:9]], [VALUE[9:]]]
    assert parts(f"so \x1b{VALUE}") == [[VALUE[1:]]]


def test_a_letter_of_another_column_is_no_part_of_a_value() -> None:
    """The digits of a dump end as the value goes on beside them."""
    assert parts(f"2061 676{VALUE[1]}  {VALUE[2:]} aga") == [[VALUE[2:]]]
