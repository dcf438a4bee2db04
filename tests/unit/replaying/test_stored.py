"""Stored frames as screens, and what changed between two."""

from __future__ import annotations

from ptycassette.model.records import FrameRecord
from ptycassette.model.screen import Cursor, Size, Style, StyleRun
from ptycassette.model.stored_screen import MAX_SIDE, screen_of
from ptycassette.replaying.stored import (
    RowDifference,
    changed_rows,
    restyled_rows,
)

RED = (StyleRun(0, 1, Style(fg=1)),)


def _frame(
    *text: str, size: Size | None = None, styles: tuple[tuple[StyleRun, ...], ...] | None = None
) -> FrameRecord:
    return FrameRecord(
        seq=1,
        t_ms=0,
        size=size or Size(rows=len(text), cols=9),
        text=text,
        cursor=Cursor(row=0, col=1),
        raw_start=0,
        raw_end=0,
        parser_offset=0,
        title="t",
        styles=styles,
        alt_screen=True,
    )


def test_a_frame_is_a_screen() -> None:
    """With everything that it stores."""
    screen = screen_of(_frame("a", "b", styles=(RED, ())))

    assert (screen.rows, screen.styles, screen.title) == (("a", "b"), (RED, ()), "t")
    assert (screen.size, screen.cursor.col, screen.alt_screen) == (Size(rows=2, cols=9), 1, True)


def test_a_frame_of_an_impossible_size_is_cut() -> None:
    """What a frame claims does not decide about time and memory."""
    screen = screen_of(_frame(*["x"] * (MAX_SIDE + 5), size=Size(rows=10**9, cols=10**9)))

    assert screen.size == Size(rows=MAX_SIDE, cols=MAX_SIDE)
    assert len(screen.rows) == MAX_SIDE


def test_changed_rows_are_those_whose_text_differs() -> None:
    """Rows that came or went included."""
    assert list(changed_rows(_frame("a", "b"), _frame("a", "c", "d"))) == [
        RowDifference(1, "b", "c"),
        RowDifference(2, None, "d"),
    ]
    assert list(changed_rows(_frame("a", "b"), _frame("a"))) == [RowDifference(1, "b", None)]


def test_before_the_first_frame_is_a_blank_screen() -> None:
    """Only rows with text are news."""
    assert list(changed_rows(None, _frame("", "x"))) == [RowDifference(1, "", "x")]


def test_restyled_rows_are_those_whose_colours_differ() -> None:
    """A frame without styles is one without colours."""
    assert list(restyled_rows(_frame("a", "b"), _frame("a", "b", styles=((), RED)))) == [1]
    assert list(restyled_rows(None, _frame("a", "b", styles=(RED, ())))) == [0]
    assert list(restyled_rows(_frame("a", styles=(RED,)), _frame("a", styles=(RED,)))) == []
