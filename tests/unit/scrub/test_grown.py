"""Lines that are painted again with more or less at their end: all of them lose a value."""

from __future__ import annotations

import time

import pytest

from ptycassette.scrub.grown import grown
from ptycassette.testing import scrub_chunks

LINE = "Signed in as somebody who types"
ADDRESS = "wq" + "rtzp.hnklbvcx" + "@" + "mailbox-of-nobody.com"


def places(text: str, said: str) -> list[str]:
    """What the lines of ``text`` show of ``said``."""
    (view,) = grown(text)
    start = view.text.index(said)
    return [text[first:last] for first, last in view.sources(start, start + len(said))]


@pytest.mark.parametrize("lengths", [(20, 25, 31), (31, 25, 20), (25, 31, 20)])
@pytest.mark.parametrize(
    ("left", "right"), [("", ""), ("| ", "  |"), ("\xe2\x94\x82 ", " \xe2\x94\x82"), ("", "...")]
)
def test_a_line_that_grows_or_shrinks_is_one(
    lengths: tuple[int, ...], left: str, right: str
) -> None:
    """Its longest form is read, and leads to what each form shows of it."""
    text = "\n\n".join(f"{left}{LINE[:length]}{right}" for length in lengths)
    (view,) = grown(text)

    assert view.text == LINE
    assert places(text, "body who types") == [LINE[17:length] for length in lengths]


def test_several_such_lines_are_kept_apart() -> None:
    """No value goes from one to the other, and one that does is found in both."""
    (view,) = grown("first of\nother 1\nfirst of all\nother 12\nfirst")

    assert view.text == "first of all\x1bother 12"
    assert view.sources(9, 15) == ((26, 29), (9, 11), (30, 32))
    assert view.source(0, 5) == (17, 22)


@pytest.mark.parametrize("end", ["\x15", "\r", "\x03"])
def test_a_line_that_is_typed_again_is_one(end: str) -> None:
    """Whatever ended it the first time."""
    assert places(f"first of{end}other{end}first of all", "of all") == ["of", "of all"]


@pytest.mark.parametrize(
    "text", ["", "one line", "the same\nthe same\n", "one of two\nanother of them", "abc\nabcd"]
)
def test_other_lines_are_left_alone(text: str) -> None:
    """Those that only come again, and those that are too short to tell."""
    assert list(grown(text)) == []


@pytest.mark.parametrize("begins", ["\x1b[H\x1b[2J", "\r\x1b[K", "\x1b]2;"])
def test_no_beginning_of_an_address_stays(begins: str) -> None:
    """Wherever it is painted: on the screen, in a line, in a title."""
    ends = "\x07" if begins.endswith(";") else ""
    said = f"Signed in as {ADDRESS}"
    shown = "".join(f"{begins}{said[:at]}{ends}" for at in range(3, len(said) + 1, 4)) + begins
    after = scrub_chunks([f"{shown}{said}{ends}\r\n".encode()], rows=24, cols=80)

    assert b"as wq" not in b"".join(after)
    assert scrub_chunks(after, rows=24, cols=80) == after


@pytest.mark.parametrize(
    "meters",
    [
        ("[#  ]  9% ", "[###] 100% "),
        ("\xe2\xa0\x8b ", "\xe2\xa0\xb9 "),
        ("\xe2\x9c\xbb ", "\xe2\x9c\x93 "),
        ("(1/2) ", "(2/2) "),
        ("/ ", "\\ "),
    ],
)
def test_a_line_may_stand_behind_what_tells_how_far_it_is(meters: tuple[str, str]) -> None:
    """That changes with each picture."""
    assert places(f"{meters[0]}to abcde\r{meters[1]}to abcdef", "bcde") == ["bcde", "bcde"]


def test_a_line_that_was_taken_back_in_part_begins_anew() -> None:
    """What is typed behind ctrl-w is compared, too."""
    typed = "to abcde\x15other\x17to abcdef\r"

    assert places(typed, "bcde") == ["bcde", "bcde"]


def test_a_line_that_grows_for_long_costs_no_more_than_it_is() -> None:
    """Each picture of it is compared with the last ones that began alike."""
    text = "\n".join(("abcd" + str(at)) * 20 for at in range(20_000))
    began = time.process_time()
    list(grown(text))

    assert time.process_time() - began < 2
