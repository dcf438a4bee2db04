"""Modes, buffers, resets, titles, the kitty keyboard stack."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator


def fed(*texts: str, size: tuple[int, int] = (4, 12)) -> PyteEmulator:
    """An emulator fed all texts."""
    emulator = PyteEmulator(Size(*size))
    for text in texts:
        emulator.feed(text.encode())
    return emulator


def test_modes_are_named_as_they_are_written() -> None:
    """Private modes have a question mark; wraparound and the cursor are on from the start."""
    screen = fed("\x1b[?2004h\x1b[4h\x1b[?25l").snapshot()

    assert screen.modes == {"?7", "?2004", "4"}
    assert not screen.cursor.visible


def test_the_alternate_screen_is_fresh_and_the_main_one_comes_back() -> None:
    """1049 saves the cursor, shows an empty screen, and puts everything back."""
    emulator = fed("main\x1b[?1049h")

    assert emulator.snapshot().alt_screen
    assert emulator.snapshot().rows[0] == ""
    emulator.feed(b"\x1b[Halt\x1b[?1049l")
    assert emulator.snapshot().rows[0] == "main"
    assert emulator.snapshot().cursor.col == 4
    assert "?1049" not in emulator.snapshot().modes


def test_1047_leaves_the_cursor_where_it_is() -> None:
    """Without 1048 the cursor goes along between the screens."""
    emulator = fed("ab\x1b[?1047hcd\x1b[?47l")

    assert emulator.snapshot().cursor.col == 4
    assert emulator.snapshot().rows[0] == "ab"


def test_the_alternate_screen_has_its_own_saved_cursor() -> None:
    """What is saved there is found there again on the next visit."""
    emulator = fed("\x1b[2;2H\x1b7\x1b[?47h\x1b[3;3H\x1b7\x1b[?47l\x1b[H\x1b8")

    assert emulator.snapshot().cursor.row == 1
    emulator.feed(b"\x1b[?47h\x1b[H\x1b8")
    assert emulator.snapshot().cursor.row == 2


def test_a_soft_reset_puts_modes_and_pen_back_and_keeps_the_text() -> None:
    """DECSTR."""
    emulator = fed("ab\x1b[1;31m\x1b[4h\x1b[?6h\x1b[?7l\x1b[?25l\x1b[2;3r\x1b(0\x1b[!p\x1b[Hq")
    screen = emulator.snapshot()

    assert screen.rows[0] == "qb"
    assert screen.modes == {"?7", "?25"}
    assert screen.styles[0] == ()
    assert emulator.terminal.margins is None


def test_a_full_reset_clears_everything_but_the_title() -> None:
    """RIS."""
    emulator = fed("\x1b]2;title\x07ab\x1b[?1049h\x1b[1m\x1b[20h\x1bc")
    screen = emulator.snapshot()

    assert screen.rows == ("", "", "", "")
    assert not screen.alt_screen
    assert screen.title == "title"
    assert screen.modes == {"?7", "?25"}


def test_titles_are_pushed_and_popped() -> None:
    """XTWINOPS 22 and 23."""
    emulator = fed("\x1b]0;one\x07\x1b[22t\x1b]2;two\x07\x1b]1;icon\x07")

    assert emulator.snapshot().title == "two"
    emulator.feed(b"\x1b[23;0t")
    assert emulator.snapshot().title == "one"
    assert emulator.terminal.icon_name == "one"
    emulator.feed(b"\x1b[23t")
    assert emulator.snapshot().title == "one"


def test_stacks_are_bounded() -> None:
    """A program that pushes without end fills nothing."""
    emulator = fed("\x1b[22t\x1b[>1u" * 500)

    assert len(emulator.terminal.title_stack) <= 10
    assert len(emulator.terminal.keyboard.shown) <= 16


def test_unknown_modes_are_kept_up_to_a_limit() -> None:
    """Thousands of made-up modes do not pile up, and impossible ones are ignored."""
    emulator = fed(
        "".join(f"\x1b[?{number}h" for number in range(3000, 4000)) + "\x1b[?99999h\x1b[77h"
    )

    assert len(emulator.terminal.mode) <= 256
    assert "?99999" not in emulator.snapshot().modes


def test_the_keyboard_stack_pushes_pops_and_changes() -> None:
    """CSI > u, CSI < u, CSI = u of the kitty protocol."""
    emulator = fed("\x1b[>5u\x1b[=8;2u\x1b[?u\x1b[=4;3u\x1b[?u\x1b[=8u\x1b[?u\x1b[<u\x1b[?u")

    assert emulator.answers() == b"\x1b[?13u\x1b[?9u\x1b[?8u\x1b[?0u"


@pytest.mark.parametrize("mode", [47, 1047, 1049])
def test_each_screen_has_its_own_keyboard_stack(mode: int) -> None:
    """Kitty: the main and the alternate screen maintain independent stacks."""
    alt, main = f"\x1b[?{mode}h", f"\x1b[?{mode}l"
    emulator = fed(f"\x1b[>1u{alt}\x1b[?u\x1b[>8u\x1b[?u{alt}\x1b[?u{main}\x1b[?u{alt}\x1b[?u")

    assert emulator.answers() == b"\x1b[?0u\x1b[?8u\x1b[?8u\x1b[?1u\x1b[?8u"


def test_releases_of_keys_are_not_confirmed() -> None:
    """Flag 2 is never in force, as no release is ever sent; what else was asked for is."""
    emulator = fed("\x1b[>2u\x1b[?u\x1b[>31u\x1b[?u\x1b[=1u\x1b[=2;2u\x1b[?u")

    assert emulator.answers() == b"\x1b[?0u\x1b[?29u\x1b[?1u"


def test_decanm_brings_ascii_back() -> None:
    """Leaving VT52 mode designates ASCII everywhere."""
    assert fed("\x1b(0\x1b[?2hq").snapshot().rows[0] == "q"


def test_cursor_style_and_mouse_modes_are_remembered() -> None:
    """DECSCUSR and mouse tracking, and their ends."""
    terminal = fed("\x1b[5 q\x1b[9 q\x1b[?1002h\x1b[?1006h").terminal

    assert (terminal.cursor_style, terminal.mouse_protocol, terminal.mouse_encoding) == (
        5,
        1002,
        1006,
    )
    emulator = fed("\x1b[?1002h\x1b[?1006h\x1b[?1002l\x1b[?1006l")
    assert (emulator.terminal.mouse_protocol, emulator.terminal.mouse_encoding) == (0, 0)


def test_pyte_code_can_read_the_screen() -> None:
    """What pyte's Screen offers is there under its names."""
    terminal = fed(
        "\x1b[1;31;44mh\x1b[0;38;5;200mi\x1b[38;2;1;2;3mj\x1b[97mk\x1b[?25l\x1b[2;3r"
    ).terminal

    assert terminal.display[0] == "hijk"
    assert terminal.buffer[0][0].fg == "red"
    assert terminal.buffer[0][0].bg == "blue"
    assert terminal.buffer[0][1].fg == "ff00d7"
    assert terminal.buffer[0][2].fg == "010203"
    assert terminal.buffer[0][3].fg == "brightwhite"
    assert terminal.cursor.hidden
    assert terminal.margins == (1, 2)
    assert 8 in terminal.tabstops


def test_pyte_code_can_drive_the_screen() -> None:
    """The methods can be called with numbers, as pyte's dispatcher does."""
    terminal = fed().terminal
    terminal.draw("ab")
    terminal.select_graphic_rendition(1, 4)
    terminal.select_graphic_rendition(4, private=True)
    terminal.cursor_position(2, 3)
    terminal.set_mode(4)
    terminal.reset_mode(4)
    terminal.define_charset("0", "(")
    terminal.define_charset("?", "(")
    terminal.define_charset("0", "/")
    terminal.draw("q")

    assert terminal.display[:2] == ["ab", "  ─"]
    assert terminal.buffer[1][2].bold
