"""Text in cells: wrapping, wide characters and their halves, insert mode, repetition."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.core import MAX_CLUSTER, Painting
from ptycassette.terminal.emulator import PyteEmulator


def rows(text: str, *, size: tuple[int, int] = (3, 6), resize: Size | None = None) -> list[str]:
    """The rows after feeding ``text``."""
    emulator = PyteEmulator(Size(*size))
    emulator.feed(text.encode())
    if resize is not None:
        emulator.resize(resize)
    return list(emulator.snapshot().rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcdefgh", ["abcdef", "gh", ""]),
        ("abcdef\r\ng", ["abcdef", "g", ""]),
        ("abcdef\rg", ["gbcdef", "", ""]),
        ("abcdef\x1b[Dg", ["abcdgf", "", ""]),
        ("\x1b[?7labcdefgh", ["abcdeh", "", ""]),
        ("\x1b[?7labcde漢", ["abcde", "", ""]),
        ("\x1b[?7labcdef漢", ["abcdef", "", ""]),
        ("abcde漢", ["abcde", "漢", ""]),
        ("漢字漢字", ["漢字漢", "字", ""]),
        ("a漢字漢字", ["a漢字", "漢字", ""]),
        ("漢字\x1b[2Gx", [" x字", "", ""]),
        ("漢字\x1b[1Gx", ["x 字", "", ""]),
        ("漢字\x1b[2G語", [" 語", "", ""]),
        ("漢字漢\x1b[6G語", ["漢字", "語", ""]),
        ("abcde❤\ufe0f", ["abcde", "❤\ufe0f", ""]),
        ("\x1b[?7labcde❤\ufe0fx", ["abcdex", "", ""]),
        ("abc\x1b[1G\x1b[4hXY", ["XYabc", "", ""]),
        ("abcdef\x1b[1G\x1b[4h漢", ["漢abcd", "", ""]),
        ("a漢字\x1b[1G\x1b[4hX", ["Xa漢字", "", ""]),
        ("ab漢字\x1b[1G\x1b[4hX", ["Xab漢", "", ""]),
        ("a\x1b[3b", ["aaaa", "", ""]),
        ("漢\x1b[b", ["漢漢", "", ""]),
        ("a\x1b[1m\x1b[3b", ["a", "", ""]),
        ("\x1b[3b", ["", "", ""]),
        ("\x1b[?7l\x1b[6G漢\x1b[b", ["", "", ""]),
        ("\x1b[?7labcdef\x1b[mgh", ["abcdeh", "", ""]),
        ("漢\ufe0fx", ["漢\ufe0fx", "", ""]),
        ("❤漢x\x1b[1G❤\ufe0fy", ["❤\ufe0fyx", "", ""]),
        ("abcdef\x1b[Kg", ["abcdef", "g", ""]),
        ("漢字\x1b[1G\x1b[2@", ["  漢字", "", ""]),
        ("漢字漢\x1b[1G\x1b[@", [" 漢字", "", ""]),
        ("漢字\x1b[2G\x1b[@", ["   字", "", ""]),
        ("漢字\x1b[2G\x1b[P", [" 字", "", ""]),
        ("漢字\x1b[1G\x1b[P", [" 字", "", ""]),
        ("漢字\x1b[2G\x1b[X", ["  字", "", ""]),
        ('a\x1b[1"q漢\x1b[0"qb\x1b[1;3H\x1b[?1K', [" 漢b", "", ""]),
        ("\x1b(0lqk\x1b(Bx", ["┌─┐x", "", ""]),
        ("\x1b)0a\x0eq\x0fq", ["a─q", "", ""]),
        ("\x1b*Aa\x1bn#\x0f#", ["a£#", "", ""]),
        ("\x1b+0\x1boq\x1b%@q", ["─q", "", ""]),
    ],
)
def test_text_lands_in_its_cells(text: str, expected: list[str]) -> None:
    """The rows are what xterm shows."""
    assert rows(text) == expected


@pytest.mark.parametrize(
    "before", ["a\U0001f9d1\x1b[1m", "\x1b[X\u093f", "\x1b[1m", "\x1b[4h\u1161"]
)
@pytest.mark.parametrize("cols", [3, 5, 16])
def test_a_joiner_that_joins_nothing_takes_what_comes_behind_it(before: str, cols: int) -> None:
    """It has a cell of its own, and the emoji in it may still be asked to be one."""
    emulator = PyteEmulator(Size(3, cols))
    emulator.feed(f"{before}\u200d\U0001f680\ufe0f".encode())

    shown = "".join(emulator.snapshot().rows)
    assert "\U0001f680" in shown
    assert "\u200d\U0001f680\ufe0f" in shown or cols < 16


def test_marks_on_one_cell_are_bounded() -> None:
    """A thousand combining marks leave a cell of the largest size that there is."""
    emulator = PyteEmulator(Size(2, 5))
    emulator.feed(("a" + "\u0301" * 1000 + "b").encode())

    assert len(emulator.cells()[0][0]) == MAX_CLUSTER
    assert emulator.cells()[0][1] == "b"


@pytest.mark.parametrize("text", ["a\u0301", "a" + "\u0301" * 50, "\u0301", "\U000e0100"])
def test_marks_are_painted_many_at_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one cell or on many: one step for a hundred marks at most, and some for a full cell."""
    steps = 0
    step = Painting._step

    def counted(self: Painting, char: str) -> None:
        nonlocal steps
        steps += 1
        step(self, char)

    monkeypatch.setattr(Painting, "_step", counted)
    data = text * 4000
    PyteEmulator(Size(24, 80)).feed(data.encode())

    assert steps <= 2 * MAX_CLUSTER + len(data) / 100


def test_a_huge_repetition_ends_with_the_cursor_where_it_would_be() -> None:
    """REP with a count of two thousand million fills the screen and stops."""
    emulator = PyteEmulator(Size(3, 7))
    emulator.feed(b"x\x1b[2147483647b")
    screen = emulator.snapshot()

    assert screen.rows[0] == "xxxxxxx"
    assert (screen.cursor.row, screen.cursor.col) == (2, (1 + 2147483647) % 7)


def test_an_erased_cell_keeps_the_background_alone() -> None:
    """Background colour erase: of bold red on blue, blue stays."""
    emulator = PyteEmulator(Size(2, 4))
    emulator.feed(b"\x1b[1;31;44m\x1b[K")
    run = emulator.snapshot().styles[0][0]

    assert (run.col, run.length, run.style.bg, run.style.fg, run.style.bold) == (
        0,
        4,
        4,
        None,
        False,
    )


def test_the_text_alone_can_be_had() -> None:
    """Cheaper than a snapshot, and the same rows."""
    emulator = PyteEmulator(Size(2, 6))
    emulator.feed(b"ab\x1b[1mcd")

    assert tuple(emulator.text()) == emulator.snapshot().rows == ("abcd", "")


def test_rows_that_come_in_take_the_background_unless_they_come_from_above() -> None:
    """IL, DL, SU and LF fill with the pen's background; SD does not, as in xterm."""
    for sequence, background in (("\x1b[L", 4), ("\x1b[M", 4), ("\x1b[S", 4), ("\x1b[T", None)):
        emulator = PyteEmulator(Size(2, 3))
        emulator.feed(f"\x1b[44m{sequence}".encode())
        runs = [run for row in emulator.snapshot().styles for run in row]

        assert [run.style.bg for run in runs] == ([] if background is None else [background])
