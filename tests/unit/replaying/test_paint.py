"""Painting from screen to screen."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import Cursor, Screen, Size, Style, StyleRun
from ptycassette.replaying.paint import ansi_lines, clipped, paint, sgr, with_status

RED = Style(fg=1)


def _screen(*rows: str, cols: int = 8, cursor: Cursor | None = None, **more: object) -> Screen:
    return Screen(
        size=Size(rows=len(rows), cols=cols),
        rows=rows,
        cursor=cursor or Cursor(row=0, col=0),
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("style", "codes"),
    [
        (Style(), "0"),
        (Style(fg=1, bg=2), "0;31;42"),
        (Style(fg=9, bg=15), "0;91;107"),
        (Style(fg=200, bg=16), "0;38;5;200;48;5;16"),
        (Style(fg="#0102ff"), "0;38;2;1;2;255"),
        (Style(fg="evil\x1b[2J"), "0"),
        (Style(bold=True, dim=True, italic=True, blink=True), "0;1;2;3;5"),
        (Style(reverse=True, hidden=True, strike=True, overline=True), "0;7;8;9;53"),
        (Style(underline="single"), "0;4"),
        (Style(underline="curly", underline_color=3), "0;4"),
        (Style(underline="double"), "0;21"),
        (Style(link="https://example.org"), "0"),
    ],
)
def test_styles_are_set_whole(style: Style, codes: str) -> None:
    """Every style is set from nothing; links and odd colours have no way out."""
    assert sgr(style) == f"\x1b[{codes}m"


WHOLE = b"\x1b[?25l\x1b[0m\x1b[2J\x1b[1;1H\x1b[0mab\x1b[0m\x1b[1;1H\x1b[?25h"
HOME = b"\x1b[0m\x1b[1;1H\x1b[?25h"
PAINTED: dict[str, tuple[Screen | None, Screen, bytes]] = {
    "equal screens need nothing": (_screen("a"), _screen("a"), b""),
    "one changed letter, and the cursor put back": (
        _screen("abc", "def"), _screen("abc", "dXf"), b"\x1b[?25l\x1b[2;2H\x1b[0mX" + HOME
    ),
    "the first screen is painted on a cleared one": (None, _screen("ab", ""), WHOLE),
    "and so is one of another size": (_screen("xy"), _screen("ab", ""), WHOLE),
    "a tail that became blank is erased": (
        _screen("abcdef"), _screen("ab"), b"\x1b[?25l\x1b[1;3H\x1b[0m\x1b[K" + HOME
    ),
    "the cursor alone moves": (
        _screen("ab"), _screen("ab", cursor=Cursor(row=0, col=1)), b"\x1b[1;2H\x1b[?25h"
    ),
    "the cursor alone hides": (
        _screen("ab"), _screen("ab", cursor=Cursor(row=0, col=0, visible=False)), b"\x1b[?25l"
    ),
    "a cursor outside is kept inside": (
        _screen("ab"), _screen("ab", cursor=Cursor(row=9, col=99)), b"\x1b[1;8H\x1b[?25h"
    ),
    "behind other than ASCII the cursor is placed, should the terminal take another width": (
        _screen("abc"), _screen("漢x"),
        b"\x1b[?25l\x1b[1;1H\x1b[0m" + "漢\x1b[3Gx".encode() + HOME,
    ),
    "half of a wide character that goes is painted over whole": (
        _screen("a漢c"), _screen("abbc"), b"\x1b[?25l\x1b[1;2H\x1b[0mbb" + HOME
    ),
    "half of a wide character that comes is painted whole": (
        _screen("abbc"), _screen("a漢c"), "\x1b[?25l\x1b[1;2H\x1b[0m漢".encode() + HOME
    ),
    "a change of style in the right half starts at the left one": (
        _screen("a漢c"), _screen("a漢c", styles=((StyleRun(2, 1, RED),),)),
        "\x1b[?25l\x1b[1;2H\x1b[0m漢".encode() + HOME,
    ),
    "a title and modes never come out": (
        _screen("a"), _screen("a", title="evil\x07", modes=frozenset({"mouse"})), b""
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAINTED)
def test_a_screen_is_painted_with_the_bytes_that_it_takes(name: str) -> None:
    """From the screen before it, and not one more."""
    before, after, painted = PAINTED[name]

    assert paint(before, after) == painted


def test_clipping_cuts_to_the_upper_left() -> None:
    """Wide characters are not halved; a cursor outside is hidden."""
    screen = _screen("ab漢d", "second", "third", cursor=Cursor(row=2, col=0))
    cut = clipped(screen, Size(rows=2, cols=3))

    assert (cut.rows, cut.size, cut.cursor.visible) == (("ab", "sec"), Size(rows=2, cols=3), False)


def test_a_smaller_screen_is_padded() -> None:
    """The rest of the terminal is blank."""
    grown = clipped(_screen("ab"), Size(rows=2, cols=10))

    assert (grown.rows, grown.cursor.visible) == (("ab", ""), True)


def test_a_screen_of_the_right_size_is_not_touched() -> None:
    """Clipping to its own size gives the same object."""
    screen = _screen("ab")

    assert clipped(screen, screen.size) is screen


def test_a_status_takes_the_last_row() -> None:
    """In reverse, over the whole width, cut to it."""
    shown = with_status(_screen("ab", "cd", cols=4), "status")

    assert shown.rows == ("ab", "stat")
    assert shown.styles[1] == (StyleRun(0, 4, Style(reverse=True)),)


def test_lines_for_printing_hold_sgr_only() -> None:
    """One line a row, ended in the default style, blank ends left out."""
    screen = _screen("a b", "", "plain", styles=((StyleRun(2, 1, RED),), (), ()))

    assert list(ansi_lines(screen)) == ["a \x1b[0;31mb\x1b[0m", "", "plain"]


def test_blank_cells_with_a_style_are_printed() -> None:
    """A coloured bar is no empty line."""
    screen = _screen("", cols=3, styles=((StyleRun(0, 2, Style(bg=4)),),))

    assert list(ansi_lines(screen)) == ["\x1b[0;44m  \x1b[0m"]
    assert list(ansi_lines(screen, colors=False)) == [""]
