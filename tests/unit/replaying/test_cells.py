"""Rows as cells: positions, styles, and nothing that acts on a terminal."""

from __future__ import annotations

import unicodedata

import pytest

from ptycassette.model.screen import DEFAULT_STYLE, Cursor, Screen, Size, Style, StyleRun
from ptycassette.replaying.paint import BLANK, MAX_CLUSTER, Cell, cells_of_row, safe_cluster

RED = Style(fg=1, bold=True)


def _screen(row: str, cols: int = 6, *runs: StyleRun) -> Screen:
    return Screen(
        size=Size(rows=1, cols=cols), rows=(row,), styles=(runs,), cursor=Cursor(row=0, col=0)
    )


def test_a_row_is_padded_to_the_width_of_the_screen() -> None:
    """Right-trimmed text stands for blanks."""
    assert cells_of_row(_screen("ab", 4), 0) == [Cell("a"), Cell("b"), BLANK, BLANK]


def test_a_wide_character_takes_two_cells() -> None:
    """Its right half is empty; what follows keeps its column."""
    assert [cell.text for cell in cells_of_row(_screen("漢é1", 6), 0)] == [
        "漢",
        "",
        "é",
        "1",
        " ",
        " ",
    ]


def test_a_cluster_is_one_cell() -> None:
    """A family of joined emoji is one wide cell."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

    assert [cell.text for cell in cells_of_row(_screen(f"{family}x", 4), 0)] == [
        family,
        "",
        "x",
        " ",
    ]


def test_a_wide_character_that_does_not_fit_is_left_out() -> None:
    """Half a character cannot be painted."""
    assert [cell.text for cell in cells_of_row(_screen("a漢", 2), 0)] == ["a", " "]


def test_styles_are_laid_over_cells() -> None:
    """Blank cells have styles, too; runs beyond the row are cut."""
    cells = cells_of_row(_screen("ab", 3, StyleRun(1, 9, RED)), 0)

    assert [cell.style for cell in cells] == [DEFAULT_STYLE, RED, RED]


def test_without_colours_the_other_attributes_stay() -> None:
    """NO_COLOR is about colour."""
    (cell,) = cells_of_row(_screen("a", 1, StyleRun(0, 1, RED)), 0, colors=False)

    assert cell.style == Style(bold=True)


def test_a_row_that_is_not_there_is_blank() -> None:
    """Stored frames may have fewer rows than their size says."""
    screen = Screen(size=Size(rows=2, cols=2), rows=("x",), cursor=Cursor(row=0, col=0))

    assert cells_of_row(screen, 1) == [BLANK, BLANK]


@pytest.mark.parametrize(
    ("cluster", "safe"),
    [
        ("e\u0301", "e\u0301"),
        ("\x1b", "\ufffd"),
        ("\x9b", "\ufffd"),
        ("\u202e", " "),
        ("\u200d", " "),
        ("a\u200b", "a"),
        ("\u2764\ufe0f", "\u2764\ufe0f"),
        ("\udc9b", "\ufffd"),
    ],
)
def test_clusters_are_made_safe(cluster: str, safe: str) -> None:
    """Controls are replaced, what hides is dropped, what belongs to a cluster stays."""
    assert safe_cluster(cluster) == safe


@pytest.mark.slow
def test_no_control_character_survives_in_a_row() -> None:
    """Of all code points, none comes out of a row that would act on a terminal."""
    left = [
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in {"Cc", "Cs", "Zl", "Zp"}
        and chr(code) in safe_cluster(chr(code))
    ]

    assert left == []


def test_a_cell_with_a_thousand_accents_is_cut() -> None:
    """What one cell sends to a terminal is bounded."""
    cell = cells_of_row(_screen("e" + "\u0301" * 1000, 4), 0)[0]

    assert cell.text == "e" + "\u0301" * (MAX_CLUSTER - 1)


def test_more_runs_than_cells_are_not_looked_at() -> None:
    """Runs do not overlap, so that there cannot be more."""
    runs = [StyleRun(0, 1, DEFAULT_STYLE), StyleRun(1, 1, DEFAULT_STYLE), StyleRun(0, 2, RED)]

    assert [cell.style for cell in cells_of_row(_screen("ab", 2, *runs), 0)] == [DEFAULT_STYLE] * 2
