"""Resizing: height, width, wrapped lines, the alternate screen, tabs."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator


def resized(text: str, first: tuple[int, int], *sizes: tuple[int, int]) -> PyteEmulator:
    """An emulator fed ``text`` and resized."""
    emulator = PyteEmulator(Size(*first))
    emulator.feed(text.encode())
    for size in sizes:
        emulator.resize(Size(*size))
    return emulator


@pytest.mark.parametrize(
    ("text", "sizes", "expected"),
    [
        ("abcdefgh\r\n", [(4, 6), (4, 4)], ["abcd", "efgh", "", ""]),
        ("abcdefgh\r\n", [(4, 6), (4, 10)], ["abcdefgh", "", "", ""]),
        ("abcdefgh\r\n", [(4, 6), (4, 3), (4, 8)], ["abcdefgh", "", "", ""]),
        ("ab  \r\ncd\r\n", [(4, 6), (4, 3)], ["ab", "", "cd", ""]),
        ("漢字漢字\r\n", [(4, 8), (4, 5)], ["漢字", "漢字", "", ""]),
        ("漢字漢字\r\n", [(4, 5), (4, 8)], ["漢字漢字", "", "", ""]),
        ("abcdefgh", [(4, 6), (4, 4)], ["abcd", "gh", "", ""]),
        ("a\r\nb\r\nc\r\nd", [(4, 6), (2, 6)], ["c", "d"]),
        ("a\r\nb\r\nc\r\nd\x1b[H", [(4, 6), (2, 6)], ["a", "b"]),
        ("a\r\nb\r\nc\r\nd", [(2, 6), (4, 6)], ["a", "b", "c", "d"]),
        ("a\r\nb\r\nc\r\nd\x1b[A", [(2, 6), (4, 6)], ["c", "d", "", ""]),
        ("\x1b[?1049habcdef", [(2, 6), (2, 3)], ["abc", ""]),
        ("\x1b[?1049habcdef", [(2, 6), (2, 3), (2, 6)], ["abcdef", ""]),
        ("\x1b[?1049h\r\n\r\nx", [(3, 6), (2, 6)], ["", "x"]),
        ("ab\x1b[?1049hcd\x1b[?1049l", [(2, 6), (3, 8)], ["ab", "", ""]),
    ],
)
def test_rows_after_a_resize(text: str, sizes: list[tuple[int, int]], expected: list[str]) -> None:
    """The rows are those that xterm.js shows."""
    assert list(resized(text, *sizes).snapshot().rows) == expected


def test_the_main_screen_is_resized_behind_the_alternate_one() -> None:
    """Coming back from the alternate screen finds the lines reflowed."""
    emulator = resized("abcdefgh\r\n\x1b[?1049hxyz", (4, 6), (4, 10))
    emulator.feed(b"\x1b[?1049l")

    assert list(emulator.snapshot().rows) == ["abcdefgh", "", "", ""]


def test_new_columns_get_tab_stops() -> None:
    """A wider screen goes on with a stop every eight columns."""
    emulator = resized("", (3, 10), (3, 30))
    emulator.feed(b"\t\t\t")

    assert emulator.snapshot().cursor.col == 24


def test_margins_end_with_a_resize() -> None:
    """After a resize the whole screen scrolls."""
    emulator = resized("\x1b[2;3r", (4, 6), (5, 6))

    assert emulator.terminal.margins is None


def test_the_same_size_changes_nothing() -> None:
    """Margins survive a resize that is none."""
    emulator = resized("\x1b[2;3r", (4, 6), (4, 6))

    assert emulator.terminal.margins is not None


def test_sizes_are_bounded() -> None:
    """Nothing is smaller than one row of two columns or larger than a thousand each way."""
    assert PyteEmulator(Size(0, 0)).size == Size(1, 2)
    assert PyteEmulator(Size(5000, 5000)).size == Size(1000, 1000)
    emulator = PyteEmulator(Size(3, 3))
    emulator.resize(Size(0, 9999))
    assert emulator.size == Size(1, 1000)


def test_a_full_history_stays_bounded_when_lines_get_more() -> None:
    """Narrowing makes more rows out of the history; the oldest are dropped."""
    emulator = PyteEmulator(Size(2, 8), scrollback=4)
    emulator.feed(b"\r\n".join(b"line%03d" % number for number in range(20)))
    emulator.resize(Size(2, 4))

    assert len(emulator.scrollback()) <= 4
    assert len(emulator.snapshot().rows) == 2


def test_a_saved_cursor_scrolls_with_its_line() -> None:
    """DECRC goes to where the line is now, and to the top when it is gone."""
    emulator = PyteEmulator(Size(3, 6))
    emulator.feed(b"\x1b[3;2H\x1b7\n\x1b8")

    assert emulator.snapshot().cursor.row == 1
    emulator.feed(b"\x1b[3H\n\n\n\x1b8")
    assert emulator.snapshot().cursor.row == 0
