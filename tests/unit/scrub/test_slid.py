"""Text that moves through a field goes in all the pictures that show it."""

from __future__ import annotations

from ptycassette.scrub.slid import slid
from ptycassette.testing import scrub_chunks

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VALUE = "aB3" + "dE6gH9jK2m"


def test_what_moves_leads_to_every_place_where_it_is_shown() -> None:
    """In one picture after the other, to the last."""
    parts = [LETTERS[at : at + 20] for at in range(7)]
    (view,) = slid("\n".join(parts))
    places = view.sources(6, 9)

    assert [("\n".join(parts))[start:end] for start, end in places] == ["ghi"] * 7


def test_what_jumps_leads_to_both_lines() -> None:
    """The end of the line before is there again behind the mark."""
    text = f"{LETTERS[:20]}\n<{LETTERS[8:26]}"
    (view,) = slid(text)
    shown = [text[start:end] for start, end in view.sources(8, 26)]

    assert shown == [LETTERS[8:20], LETTERS[8:26]]


def test_a_value_that_moves_by_leaves_nothing_to_find_again() -> None:
    """Not even in the pictures that show only its beginning."""
    said = f"machine git.example.com login builder password {VALUE} and more"
    parts = [said[at : at + 40] for at in range(len(said) - 39)]
    shown = "".join(f"\x1b[9;3H> {part}" for part in parts).encode()
    after = scrub_chunks([shown], rows=24, cols=80)

    assert VALUE[:2].encode() not in b"".join(after)
    assert scrub_chunks(after, rows=24, cols=80) == after
