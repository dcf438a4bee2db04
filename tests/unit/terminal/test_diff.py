"""What differs between two screens, in cells and in words."""

from __future__ import annotations

from ptycassette.model import Screen, Size
from ptycassette.terminal import PyteEmulator, diff, screen_cells, screen_hash


def screen(text: str, *, size: tuple[int, int] = (3, 12)) -> Screen:
    """The screen after ``text``."""
    emulator = PyteEmulator(Size(*size))
    emulator.feed(text.encode())
    return emulator.snapshot()


def test_equal_screens_do_not_differ() -> None:
    """The result is false and says nothing."""
    found = diff(screen("ab"), screen("ab"))

    assert not found
    assert str(found) == ""
    assert found.cells == ()


def test_changed_text_is_shown_before_and_after() -> None:
    """With row and columns counted from 1."""
    found = diff(screen("hello\x1b[H"), screen("hexxo\x1b[H"))

    assert found.lines == ("row 1, columns 3-4:", "  - hello", "  + hexxo")
    assert [(change.row, change.col) for change in found.cells] == [(0, 2), (0, 3)]
    assert (found.cells[0].before.text, found.cells[0].after.text) == ("l", "x")


def test_a_wide_character_counts_as_its_cells() -> None:
    """Replacing it changes both."""
    found = diff(screen("漢\x1b[H"), screen("ab\x1b[H"))

    assert found.lines[0] == "row 1, columns 1-2:"


def test_a_change_of_style_is_said_in_words() -> None:
    """And can be left out."""
    before = screen("ab\x1b[H")
    after = screen("\x1b[1;4:3;31;44;58;5;9;7m\x1b]8;;http://a\x07a\x1b]8;;\x07\x1b[mb\x1b[H")

    assert diff(before, after).lines == (
        (
            "row 1, column 1: default style became bold, reverse, curly underline, colour 1, "
            "on 4, underlined in 9, link to http://a"
        ),
    )
    assert not diff(before, after, styles=False)


def test_everything_else_is_said_too() -> None:
    """Size, cursor, title, alternate screen and modes."""
    after = screen("\x1b]2;t\x1b\\\x1b[?1049h\x1b[?25l\x1b[2;3H", size=(4, 10))
    lines = diff(screen("\x1b[?2004h"), after).lines

    assert lines == (
        "size: 3 rows by 12 columns became 4 by 10",
        "alternate screen: entered",
        "cursor: row 1 column 1 became row 2 column 3",
        "cursor: became hidden",
        "title: '' became 't'",
        "modes set: ?1049",
        "modes reset: ?2004, ?25",
        "row 1, columns 11-12:",
        "  - ",
        "  + ",
        "row 2, columns 11-12:",
        "  - ",
        "  + ",
        "row 3, columns 11-12:",
        "  - ",
        "  + ",
        "row 4: new",
    )
    assert "row 4: gone" in diff(after, screen("")).lines
    assert "alternate screen: left" in diff(after, screen("")).lines


def test_what_cannot_be_printed_is_escaped() -> None:
    """A title cannot act on the reader's terminal through a message."""
    found = diff(screen("a\u202eb\x1b[H"), screen("ab\x1b[H"))

    assert "\\u202e" in str(found)


def test_cells_of_a_screen_are_as_many_as_its_columns() -> None:
    """Wide characters are followed by an empty cell, and rows are filled up."""
    cells = screen_cells(screen("漢\x1b[1mb"))

    assert [cell.text for cell in cells[0][:4]] == ["漢", "", "b", " "]
    assert {len(row) for row in cells} == {12}
    assert cells[0][2].style.bold


def test_hashes_are_equal_when_screens_are() -> None:
    """However the screen was painted; and they differ with the cursor alone."""
    assert screen_hash(screen("ab\r\nc")) == screen_hash(screen("\x1b[2;1Hc\x1b[1;1Hab\x1b[2;2H"))
    assert screen_hash(screen("ab")) != screen_hash(screen("ab\x1b[D"))
    assert len(screen_hash(screen(""))) == 64


def test_the_hash_of_a_screen_is_the_same_in_every_version() -> None:
    """Frames that were written carry it."""
    assert screen_hash(screen("\x1b[31mab", size=(1, 4))) == (
        "5032b17b8e7978fb5268c6a08c949afc942e064a66fc63b286e2d0033011f865"
    )
