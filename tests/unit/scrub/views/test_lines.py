"""Rows of the screen taken apart: what stands between bars."""

from __future__ import annotations

import pytest

from ptycassette.scrub.views.view import Line, panes


def texts(*rows: str) -> list[list[str]]:
    """The panes of these rows."""
    lines = [Line(row, range(len(row)), wrapped=False) for row in rows]
    return [[piece.text() for piece in text] for text in panes(lines)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["one", "two"], [["one", "two"]]),
        (["a | b", "c | d"], [["a", "c"], ["b", "d"]]),
        (["a | b", "c d e"], [["a | b", "c d e"]]),  # a bar in one row is a character
        (["a | b", "  |  ", "c | d"], [["a"], ["b"], ["c"], ["d"]]),
        (["a | b", "c | d", "e"], [["a", "c"], ["b", "d"], ["e"]]),
        (["a | b longer", "c | d"], [["a", "c"], ["b longer", "d"]]),
        (["\u2502 a \u2502", "\u2502 b \u2502"], [["a", "b"]]),
        (["", "   "], []),
    ],
)
def test_what_is_between_two_bars_is_read_as_a_screen_of_its_own(
    rows: list[str], expected: list[list[str]]
) -> None:
    """A blank line between the bars ends a text, and so does another layout."""
    assert sorted(texts(*rows)) == sorted(expected)


def test_characters_lead_back_to_the_bytes_that_painted_them() -> None:
    """One offset for each byte; -1 where a mark was put between the parts of a character."""
    line = Line(
        ["a", "\u4e2d", "", "b\u0301", "c"], [7, (8, 11), None, (11, 15), None], wrapped=False
    )
    ((piece,),) = panes([line])

    assert piece.sources() == [7, 8, 9, 10, 11, -1, -1, -1]
