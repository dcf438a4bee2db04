"""What words at the ends of rows tell about the rows beside them."""

from __future__ import annotations

import pytest

from ptycassette.scrub.joins import Line, continues, follows
from ptycassette.scrub.rows import RowCopy, line_of
from ptycassette.scrub.words import (
    halves_of_an_address,
    is_a_digest_beside,
    looks_torn_off,
    stands_alone,
)
from ptycassette.testing import scrub_chunks

VALUE = "qP7xR2mK9vT4"


def row(text: str) -> Line:
    """A row of 60 columns."""
    return line_of(RowCopy(text.ljust(60), (), wrapped=False))


@pytest.mark.parametrize(
    ("word", "torn"),
    [
        ("_uQZwajwnoNAA", True), ("bcD-efgH", True), ("a1b2", True), ("ogSxyZ", True),
        ("Content-Type", False), ("snake_case_name", False), ("--no-cache", False), ("1234", False),
        ("iOS", False), ("what's", False), ('xdJiDhDXea"', True), ("isvsmc_Z", True),
        ("\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57", False),
        ("\u0437\u041f\u0434\u0416\u0439\u042f", True),
    ],
)  # fmt: skip
def test_a_piece_of_a_token_is_told_by_its_capitals_and_digits(word: str, torn: bool) -> None:
    """Though marks stand in it too; words with capitals only at their beginnings are none."""
    assert looks_torn_off(word) is torn


@pytest.mark.parametrize(
    "word",
    [
        f"password={VALUE}", f"AWS_SECRET_ACCESS_KEY={VALUE}", f'{{"token":"{VALUE}"}}',
        f"token%3D{VALUE}", f"db-password:{VALUE}", f"session_key='{VALUE}'",
    ],
)  # fmt: skip
def test_a_row_that_names_its_value_is_no_rest_of_the_row_above(word: str) -> None:
    """Both say the same: which rows are read together, and which are joined."""
    above = f"token={VALUE}{VALUE}"

    assert stands_alone(above, word)
    assert not continues(row(above), row(word))
    assert not follows(above, word, 60)


@pytest.mark.parametrize("behind", ["", ",", ";"])
def test_addresses_below_each_other_are_no_halves_of_one(behind: str) -> None:
    """Though both look generated."""
    above, word = f"kFi4nQ@pmgEvT.org{behind}", f"zVBLW9@sGEHuf.org{behind}"

    assert stands_alone(above, word)
    assert not continues(row(above), row(word))
    assert not follows(above, word, 60)
    assert not stands_alone(above[:12], word)


@pytest.mark.parametrize(
    ("above", "word"),
    [
        (f"Cookie: sid={VALUE};{VALUE}z;", f"token={VALUE}"),
        (f"https://h/?{VALUE}{VALUE}&", f"token={VALUE}"),
        (f"token={VALUE}{VALUE}", f"R2{VALUE}"),
        (f"token={VALUE}{VALUE}", f"ken={VALUE}"),
        ("> login bob password", f"> {VALUE}{VALUE}"),
    ],
)
def test_what_may_go_on_is_joined(above: str, word: str) -> None:
    """A cookie, a query, and what has no name of its own."""
    assert not stands_alone(above, word)
    assert continues(row(above), row(word))
    assert follows(above, word, 60)


@pytest.mark.parametrize(
    ("last", "word", "beside"),
    [
        (VALUE, "fc82334f1bb4", True),
        (VALUE, "a1" * 20, True),
        (VALUE, "fc8233z", False),
        (VALUE, "2334561", False),
        (f"{VALUE}_", "fc82334f1bb4", False),
        (f"{VALUE}064b6f54b594ea", "fc82334f1bb4", False),
        (VALUE.lower(), "fc82334f1bb4", False),
    ],
)
def test_a_digest_that_begins_a_row_is_no_rest_of_a_token(
    last: str, word: str, beside: bool
) -> None:
    """Unless nothing else stands in the row; what has the digits of one may go on with one."""
    above = f"the agent shows {last}"

    assert is_a_digest_beside(last, word) is beside
    if beside:
        assert not continues(row(above), row(f"{word} of main"))
        assert not follows(above, f"{word} of main", 60)
        assert continues(row(above), row(word))


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "credential", "session_key"])
def test_names_stay_in_a_list_of_short_values(name: str) -> None:
    """None of them is taken for the rest of the value above it."""
    (after,) = scrub_chunks([f"{name}=aB3$x9\r\n".encode() * 400], rows=24, cols=80)

    assert after == f"{name}=xxxxxx\r\n".encode() * 400


@pytest.mark.parametrize(
    ("last", "word", "halves"),
    [
        ("bob@trdux.", "com", True),
        ("bob@trdux.", "company", False),
        ("bob@trdux.c", "om", True),
        ("bob@trdux.c", "at", False),
        ("email=bob@trdux.c", "om", True),
        ("bob@mail.tr", "dux.org", True),
        ("bob@trdux", "over", False),
        ("trdux.", "com", False),
    ],
)
def test_the_halves_of_an_address_are_told(last: str, word: str, halves: bool) -> None:
    """Where it may be broken in its host, or its last label."""
    assert halves_of_an_address(last, word) is halves
