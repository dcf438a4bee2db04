"""One screen as text and ANSI."""

from __future__ import annotations

from ptycassette.model.screen import Cursor, Screen, Size, Style, StyleRun
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.render import render_ansi, render_text
from ptycassette.terminal.repaint import sgr_of

RICH = (
    "plain \x1b[1;3;31mbold\x1b[0m\r\n\x1b[38;5;200;48;2;1;2;3m漢字\x1b[0m \x1b[4:3;58;5;9mu\x1b[0m"
    "\x1b[2;5;7;8;9;53mx\x1b[0m \x1b[97;104my\x1b[0m\x1b[4mz\x1b[21mw\x1b[58:2::9:8:7mv"
)


def screen(text: str, *, size: tuple[int, int] = (3, 16)) -> Screen:
    """The screen after ``text``."""
    emulator = PyteEmulator(Size(*size))
    emulator.feed(text.encode())
    return emulator.snapshot()


def test_text_is_the_rows_without_the_empty_ones_at_the_end() -> None:
    """Rows are joined by newlines."""
    assert render_text(screen("a\r\n\r\nb")) == "a\n\nb"


def test_ansi_paints_the_same_screen_again() -> None:
    """Fed to an emulator it gives the rows and styles that it was made of."""
    before = screen(RICH)
    after = screen(render_ansi(before).replace("\n", "\r\n"))

    assert after.rows == before.rows
    assert after.styles == before.styles


def test_ansi_holds_nothing_but_paint() -> None:
    """What a screen value from elsewhere holds cannot act on the terminal."""
    evil = Screen(size=Size(1, 12), rows=("a\x1b]2;x\x07\u202eb",), cursor=Cursor(0, 0))

    assert "\x1b" not in render_ansi(evil)
    assert "\u202e" not in render_text(evil)


def test_sgr_of_a_style_starts_from_the_default() -> None:
    """So that what stood before does not matter."""
    assert sgr_of(Style()) == "0"
    assert sgr_of(Style(bold=True, fg=9, bg=100, underline="double")) == "0;1;4:2;91;48;5;100"
    assert sgr_of(Style(fg="#010203", underline_color=3)) == "0;38;2;1;2;3;58:5:3"


def test_rows_without_styles_are_plain() -> None:
    """A screen value need not carry styles at all."""
    bare = Screen(size=Size(1, 4), rows=("ab",), cursor=Cursor(0, 0))

    assert render_ansi(bare) == "ab"
    assert StyleRun(0, 1, Style()) not in bare.styles


def test_what_is_no_colour_is_left_out() -> None:
    """The frame of a stranger may name anything; its text is shown all the same."""
    odd = Style(fg="red", bg=-1, underline="wavy", underline_color=256, bold=True)
    screen = Screen(
        size=Size(1, 4), rows=("ab",), styles=((StyleRun(0, 1, odd),),), cursor=Cursor(0, 0)
    )

    assert render_ansi(screen) == "\x1b[0;1ma\x1b[0mb"
