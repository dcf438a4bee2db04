"""What an xterm sends for a key and for a paste."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model.keys import (
    PASTE_END,
    PASTE_START,
    canonical_key,
    encode_key,
    encode_paste,
)


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
