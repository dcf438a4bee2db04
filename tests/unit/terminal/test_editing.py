"""Erase, insert, delete, scroll, margins, cursor movement."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator

FILL = "\x1b[1;1Habcdef\x1b[2;1Hghijkl\x1b[3;1Hmnopqr\x1b[4;1Hstuvwx"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[2;3H\x1b[J", ["abcdef", "gh", "", ""]),
        ("\x1b[2;3H\x1b[1J", ["", "   jkl", "mnopqr", "stuvwx"]),
        ("\x1b[2J", ["", "", "", ""]),
        ("\x1b[9J", ["abcdef", "ghijkl", "mnopqr", "stuvwx"]),
        ("\x1b[2;3H\x1b[K\x1b[3;3H\x1b[1K\x1b[4H\x1b[2K\x1b[9K", ["abcdef", "gh", "   pqr", ""]),
        ("\x1b[2;3H\x1b[2X", ["abcdef", "gh  kl", "mnopqr", "stuvwx"]),
        ("\x1b[2;3H\x1b[99X", ["abcdef", "gh", "mnopqr", "stuvwx"]),
        ("\x1b[2;3H\x1b[2@", ["abcdef", "gh  ij", "mnopqr", "stuvwx"]),
        ("\x1b[2;3H\x1b[2P", ["abcdef", "ghkl", "mnopqr", "stuvwx"]),
        ("\x1b[2;3H\x1b[L", ["abcdef", "", "ghijkl", "mnopqr"]),
        ("\x1b[2;3H\x1b[2M", ["abcdef", "stuvwx", "", ""]),
        ("\x1b[2;3r\x1b[4;1H\x1b[M\x1b[L", ["abcdef", "ghijkl", "mnopqr", "stuvwx"]),
        ("\x1b[S", ["ghijkl", "mnopqr", "stuvwx", ""]),
        ("\x1b[2T", ["", "", "abcdef", "ghijkl"]),
        ("\x1b[2;3r\x1b[S", ["abcdef", "mnopqr", "", "stuvwx"]),
        ("\x1b[2;3r\x1b[3;1H\n", ["abcdef", "mnopqr", "", "stuvwx"]),
        ("\x1b[2;3r\x1b[2;1H\x1bM", ["abcdef", "", "ghijkl", "stuvwx"]),
        ("\x1b[2;3H\x1bM\x1bD\x1bEx", ["abcdef", "ghijkl", "xnopqr", "stuvwx"]),
        ("\x1b[2 @", ["cdef", "ijkl", "opqr", "uvwx"]),
        ("\x1b[2 A", ["  abcd", "  ghij", "  mnop", "  stuv"]),
        ("\x1b[1;2H\x1b['}", ["a bcde", "g hijk", "m nopq", "s tuvw"]),
        ("\x1b[1;2H\x1b['~", ["acdef", "gijkl", "mopqr", "suvwx"]),
        ("\x1b[1;2r\x1b[4H\x1b['}\x1b['~", ["abcdef", "ghijkl", "mnopqr", "stuvwx"]),
        ("\x1b#8", ["EEEEEE", "EEEEEE", "EEEEEE", "EEEEEE"]),
        ('\x1b[1"q\x1b[HAB\x1b[0"q\x1b[?J', ["AB", "", "", ""]),
        ('\x1b[1"q\x1b[1;2HAB\x1b[2"q\x1b[?2K\x1b[2H\x1b[?K', [" AB", "", "mnopqr", "stuvwx"]),
        ('\x1b[1"q\x1b[HAB\x1b[m\x1b[2;1HC\x1b[?2J', ["AB", "", "", ""]),
    ],
)
def test_editing_a_full_screen(text: str, expected: list[str]) -> None:
    """Four full rows of six columns, and what is left of them."""
    emulator = PyteEmulator(Size(4, 6))
    emulator.feed((FILL + text).encode())

    assert list(emulator.snapshot().rows) == expected


@pytest.mark.parametrize(
    ("text", "row", "col"),
    [
        ("\x1b[3;4H", 2, 3),
        ("\x1b[99;99H", 5, 9),
        ("\x1b[;5f", 0, 4),
        ("\x1b[3;4H\x1b[A\x1b[2B\x1b[C\x1b[2D", 3, 2),
        ("\x1b[3;4H\x1b[99A\x1b[99D", 0, 0),
        ("\x1b[3;4H\x1b[E\x1b[2F", 1, 0),
        ("\x1b[7G\x1b[3d", 2, 6),
        ("\x1b[7`\x1b[2a\x1b[2e", 2, 8),
        ("\x1b[2;4r\x1b[3H\x1b[9A", 1, 0),
        ("\x1b[2;4r\x1b[3H\x1b[9B", 3, 0),
        ("\x1b[2;4r\x1b[6H\x1b[9A", 1, 0),
        ("\x1b[2;4r\x1b[1H\x1b[9B", 3, 0),
        ("\x1b[2;4r\x1b[?6h\x1b[9;9H", 3, 8),
        ("\x1b[2;4r\x1b[?6h\x1b[?6l", 0, 0),
        ("\x1b[4;2r\x1b[3;3H", 2, 2),
        ("\t", 0, 8),
        ("\t\t\t", 0, 9),
        ("\x1b[I\x1b[Z", 0, 0),
        ("\x1b[3G\x1bH\r\t", 0, 2),
        ("\x1b[3g\t", 0, 9),
        ("\t\x1b[g\r\t", 0, 9),
        ("ab\x08\x08\x08", 0, 0),
        ("0123456789\x08", 0, 8),
        ("0123456789\t", 0, 9),
        ("\x1b[?45h0123456789a\x08\x08\x08x", 0, 9),
        ("\x1b[?45h012345678漢\x08\x08\x08", 0, 8),
        ("\x1b[?45h\x08", 0, 0),
        ("\x1b[20h\x1b[6Hab\n", 5, 0),
        ("\x1b[2;4r\x1b[6H\nx\r\n\x1bD", 5, 0),
        ("\x1b[2g\t", 0, 8),
        ("\x1b[10Gx\x1b[I\x1b[Z", 0, 9),
        ("\x1b[2;3H\x1b7\x1b[H\x1b8", 1, 2),
        ("\x1b[2;3H\x1b[s\x1b[H\x1b[u", 1, 2),
        ("\x1b[2;3H\x1b8", 0, 0),
        ("\x1b[3;4H\x1b[2;4r", 0, 0),
        ("\x1b[3;4H\x1b[r", 0, 0),
        ("\x1b[3;4;7;8H", 2, 3),
        ("\x1b[3;4H\x1b[1;9;9A\x1b[2;5C", 1, 5),
        ("\x1b[20hab\n", 1, 0),
        ("ab\n", 1, 2),
        ("ab\x0b\x0c", 2, 2),
        ("ab\u0085", 1, 0),
        ("ab\u0084", 1, 2),
    ],
)
def test_the_cursor_ends_where_it_should(text: str, row: int, col: int) -> None:
    """Six rows of ten columns."""
    emulator = PyteEmulator(Size(6, 10))
    emulator.feed(text.encode())
    cursor = emulator.snapshot().cursor

    assert (cursor.row, cursor.col) == (row, col)


def test_rows_that_scroll_off_are_kept_up_to_the_limit() -> None:
    """The scrollback holds the newest rows, oldest first; ``CSI 3 J`` empties it alone."""
    emulator = PyteEmulator(Size(2, 6), scrollback=3)
    emulator.feed(b"\r\n".join(b"line%d" % number for number in range(8)))

    assert emulator.scrollback() == ("line3", "line4", "line5")
    emulator.feed(b"\x1b[3J")
    assert emulator.scrollback() == ()
    assert emulator.snapshot().rows == ("line6", "line7")


def test_rows_that_leave_other_margins_are_not_kept() -> None:
    """Only what leaves at the very top goes into the scrollback."""
    emulator = PyteEmulator(Size(4, 6))
    emulator.feed(b"a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3H\n\x1b[S")

    assert emulator.scrollback() == ()
