"""What an xterm sends for a key and for a paste."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.keys.names import (
    PASTE_END,
    PASTE_START,
    Keyboard,
    canonical_key,
    encode_key,
    encode_paste,
    encode_text,
)
from ptycassette.keys.reader import read_keys


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("enter", b"\r"),
        ("tab", b"\t"),
        ("escape", b"\x1b"),
        ("backspace", b"\x7f"),
        ("delete", b"\x1b[3~"),
        ("insert", b"\x1b[2~"),
        ("pageup", b"\x1b[5~"),
        ("pagedown", b"\x1b[6~"),
        ("space", b" "),
        (" ", b" "),
        ("x", b"x"),
        ("X", b"X"),
        ("é", "é".encode()),
        ("f1", b"\x1bOP"),
        ("f4", b"\x1bOS"),
        ("f5", b"\x1b[15~"),
        ("f12", b"\x1b[24~"),
        ("f13", b"\x1b[1;2P"),
        ("f24", b"\x1b[24;2~"),
        ("-", b"-"),
    ],
)
def test_plain_keys_are_what_xterm_sends(name: str, expected: bytes) -> None:
    """Named keys, function keys and characters, without modifiers."""
    assert encode_key(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ctrl-a", b"\x01"),
        ("ctrl-z", b"\x1a"),
        ("ctrl-space", b"\x00"),
        ("ctrl-@", b"\x00"),
        ("ctrl-[", b"\x1b"),
        ("ctrl-\\", b"\x1c"),
        ("ctrl-]", b"\x1d"),
        ("ctrl-^", b"\x1e"),
        ("ctrl-_", b"\x1f"),
        ("ctrl-/", b"\x1f"),
        ("ctrl-?", b"\x7f"),
        ("ctrl-3", b"\x1b"),
        ("ctrl-backspace", b"\x08"),
        ("ctrl-escape", b"\x1b"),
        ("ctrl-shift-a", b"\x01"),
        ("alt-x", b"\x1bx"),
        ("alt-enter", b"\x1b\r"),
        ("alt-ctrl-a", b"\x1b\x01"),
        ("alt--", b"\x1b-"),
        ("shift-a", b"A"),
        ("shift-tab", b"\x1b[Z"),
        ("shift-up", b"\x1b[1;2A"),
        ("alt-left", b"\x1b[1;3D"),
        ("ctrl-shift-right", b"\x1b[1;6C"),
        ("ctrl-alt-shift-home", b"\x1b[1;8H"),
        ("ctrl-delete", b"\x1b[3;5~"),
        ("shift-f5", b"\x1b[15;2~"),
        ("ctrl-f1", b"\x1b[1;5P"),
        ("ctrl-f13", b"\x1b[1;6P"),
        ("shift-backspace", b"\x7f"),
    ],
)
def test_modified_keys_are_what_xterm_sends(name: str, expected: bytes) -> None:
    """Control characters, ESC for alt, and 1 + shift + 2 alt + 4 ctrl as a parameter."""
    assert encode_key(name) == expected


@pytest.mark.parametrize(
    ("name", "normal", "application"),
    [
        ("up", b"\x1b[A", b"\x1bOA"),
        ("down", b"\x1b[B", b"\x1bOB"),
        ("right", b"\x1b[C", b"\x1bOC"),
        ("left", b"\x1b[D", b"\x1bOD"),
        ("home", b"\x1b[H", b"\x1bOH"),
        ("end", b"\x1b[F", b"\x1bOF"),
        ("shift-up", b"\x1b[1;2A", b"\x1b[1;2A"),
    ],
)
def test_cursor_keys_follow_decckm(name: str, normal: bytes, application: bytes) -> None:
    """SS3 in application mode, CSI otherwise and always with modifiers."""
    assert encode_key(name) == normal
    assert encode_key(name, application_cursor=True) == application


@pytest.mark.parametrize(
    "name", ["shift-enter", "ctrl-enter", "ctrl-tab", "ctrl-1", "ctrl-é", "shift-f13"]
)
def test_what_xterm_cannot_tell_apart_is_refused(name: str) -> None:
    """Nothing is sent that was not asked for."""
    with pytest.raises(ValueError, match=r"xterm sends nothing of its own|no such key"):
        encode_key(name)


@pytest.mark.parametrize("name", ["", "f0", "f25", "nope", "ctrl-nope", "hyper-a", "ctrl-"])
def test_an_unknown_key_is_an_error_that_shows_examples(name: str) -> None:
    """A misspelt key is not typed as text."""
    with pytest.raises(ValueError, match=r"no such key.*for example enter"):
        encode_key(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Control+C", "ctrl-C"),
        ("ctrl-c", "ctrl-c"),
        ("SHIFT-ALT-Up", "alt-shift-up"),
        ("Esc", "escape"),
        ("PgDn", "pagedown"),
        ("page-up", "pageup"),
        ("meta-return", "alt-enter"),
        ("C-c", "ctrl-c"),
        ("M-S-Up", "alt-shift-up"),
        ("PPage", "pageup"),
        ("BSpace", "backspace"),
        (" ", "space"),
    ],
)
def test_a_key_has_one_spelling_on_record(name: str, expected: str) -> None:
    """Aliases, order of modifiers and case go away; the case of a character stays."""
    assert canonical_key(name) == expected


@pytest.mark.parametrize("bracketed", [False, True])
def test_a_paste_sends_newlines_as_carriage_returns(bracketed: bool) -> None:
    """As xterm does; the bracket stands around it."""
    data = encode_paste("a\nb\r\nc", bracketed=bracketed)

    assert data.removeprefix(PASTE_START).removesuffix(PASTE_END) == b"a\rb\rc"
    assert data.startswith(PASTE_START) is bracketed


@given(st.lists(st.sampled_from(["\x1b[201~", "\x1b[20", "1~", "x", "\x1b", "[201~"])))
def test_pasted_text_cannot_end_its_own_bracket(parts: list[str]) -> None:
    """However the end mark is nested, it stands at the end alone."""
    data = encode_paste("".join(parts), bracketed=True)

    assert data.index(PASTE_END) == len(data) - len(PASTE_END)


@pytest.mark.parametrize(
    ("flags", "name", "expected"),
    [
        (1, "escape", b"\x1b[27u"),
        (1, "enter", b"\r"),
        (1, "tab", b"\t"),
        (1, "backspace", b"\x7f"),
        (1, "shift-enter", b"\x1b[13;2u"),
        (1, "alt-enter", b"\x1b[13;3u"),
        (1, "ctrl-enter", b"\x1b[13;5u"),
        (1, "ctrl-shift-enter", b"\x1b[13;6u"),
        (1, "shift-tab", b"\x1b[9;2u"),
        (1, "ctrl-backspace", b"\x1b[127;5u"),
        (1, "ctrl-c", b"\x1b[99;5u"),
        (1, "ctrl-C", b"\x1b[99;6u"),
        (1, "ctrl-i", b"\x1b[105;5u"),
        (1, "ctrl-1", b"\x1b[49;5u"),
        (1, "alt-f", b"\x1b[102;3u"),
        (1, "ctrl-space", b"\x1b[32;5u"),
        (1, "x", b"x"),
        (1, "X", b"X"),
        (1, "shift-x", b"X"),
        (1, "space", b" "),
        (1, "é", "é".encode()),
        (1, "up", b"\x1b[A"),
        (1, "ctrl-up", b"\x1b[1;5A"),
        (1, "f1", b"\x1b[P"),
        (1, "f3", b"\x1b[13~"),
        (1, "shift-f3", b"\x1b[13;2~"),
        (1, "f5", b"\x1b[15~"),
        (1, "f13", b"\x1b[57376u"),
        (1, "f24", b"\x1b[57387u"),
        (1, "delete", b"\x1b[3~"),
        (5, "ctrl-shift-a", b"\x1b[97:65;6u"),
        (7, "shift-enter", b"\x1b[13;2u"),
        (8, "enter", b"\x1b[13u"),
        (8, "a", b"\x1b[97u"),
        (8, "A", b"\x1b[97;2u"),
        (8, "space", b"\x1b[32u"),
        (8, "backspace", b"\x1b[127u"),
        (24, "a", b"\x1b[97;;97u"),
        (24, "A", b"\x1b[97;2;65u"),
        (24, "ctrl-a", b"\x1b[97;5u"),
        (31, "A", b"\x1b[97:65;2;65u"),
        (4, "escape", b"\x1b"),
        (2, "escape", b"\x1b"),
        (0, "escape", b"\x1b"),
    ],
)
def test_keys_follow_the_protocol_of_kitty(flags: int, name: str, expected: bytes) -> None:
    """As its document has it; DECCKM has no say."""
    assert encode_key(name, keyboard_flags=flags) == expected
    if flags & 9:
        assert encode_key(name, keyboard_flags=flags, application_cursor=True) == expected


@pytest.mark.parametrize("flags", [flags for flags in range(32) if flags & 9])
def test_whatever_the_flags_a_key_is_read_back_as_it_was_named(flags: int) -> None:
    """So that a recording and its driver may differ in it."""
    for name in ("escape", "enter", "ctrl-c", "alt-f", "shift-tab", "ctrl-up", "f5", "delete"):
        (key,) = read_keys(encode_key(name, keyboard_flags=flags))
        assert key.name == name


@pytest.mark.parametrize("flags", [0, 1, 8, 24, 31])
def test_text_is_typed_in_the_mode_that_is_on(flags: int) -> None:
    """Each character is a key of its own where all keys are reported."""
    typed = encode_text("aB\n", keyboard_flags=flags)

    keys = [encode_key(name, keyboard_flags=flags) for name in ("a", "B", "enter")]
    assert typed == b"".join(keys)


def test_flags_are_pushed_popped_and_changed() -> None:
    """``CSI > u``, ``CSI < u`` and ``CSI = u``; the stack is bounded."""

    def stack(kind: str, *numbers: int, before: tuple[int, ...] = ()) -> list[int]:
        keyboard = Keyboard()
        keyboard.shown = list(before)
        keyboard.change(kind, *numbers)
        return keyboard.shown

    assert stack(">", 5) == [5]
    assert stack("=", 2, 2, before=(5,)) == [7]
    assert stack("=", 4, 3, before=(7,)) == [3]
    assert stack("=", 8, before=(7,)) == [8]
    assert stack("=", 9, 1) == [9]
    assert stack("<", 2, before=(1, 2, 3)) == [1]
    assert stack("<", 9, before=(1,)) == []
    assert len(stack(">", 1, before=(1,) * 16)) == 16


def test_each_screen_has_its_keyboard_flags() -> None:
    """A key is encoded as the screen that is shown asked for."""
    keyboard = Keyboard()
    keyboard.change(">", 1)
    assert encode_key("shift-enter", keyboard_flags=keyboard.flags) == b"\x1b[13;2u"
    keyboard.switch()
    assert encode_key("escape", keyboard_flags=keyboard.flags) == b"\x1b"
    with pytest.raises(ValueError, match="shift-enter"):  # a plain Enter is another key
        encode_key("shift-enter", keyboard_flags=keyboard.flags)
    keyboard.switch()
    assert encode_key("escape", keyboard_flags=keyboard.flags) == b"\x1b[27u"


def test_releases_are_not_in_force() -> None:
    """No release is sent, so none is confirmed."""
    keyboard = Keyboard()
    keyboard.change(">", 31)
    assert keyboard.flags == 29
