"""Control sequences in words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette_viewer.explain import explain, hex_lines

ACTIVE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.mark.parametrize(
    ("data", "meaning"),
    [
        (b"\x1b[5;3H", "CUP: to row 5, column 3"),
        (b"\x1b[A", "CUU: cursor up 1"),
        (b"\x1b[2J", "ED: erase all of the screen"),
        (b"\x1b[K", "EL: erase from the cursor to the end of the line"),
        (b"\x1b[3J", "ED: erase the scrollback"),
        (b"\x1b[?1049h", "DECSET: on: alternate screen, cursor saved"),
        (b"\x1b[?25;2004l", "DECRST: off: cursor is shown, bracketed paste"),
        (b"\x1b[4h", "SM: on: mode 4"),
        (b"\x1b[38;5;208;48;2;1;2;3m", "SGR: text colour 208, background rgb(1,2,3)"),
        (b"\x1b[38:2::1:2:3m", "SGR: text rgb(1,2,3)"),
        (b"\x1b[4:3;91m", "SGR: curly, bright red"),
        (b"\x1b[m", "SGR: plain"),
        (b"\x1b[6n", "DSR: ask where the cursor is"),
        (b"\x1b[>c", "DA2: ask for the terminal's version"),
        (b"\x1b[?2026$p", "DECRQM: ask for a mode"),
        (b"\x1b]0;x\x07", "OSC: title and icon name"),
        (b"\x1b]52;c;eA==\x1b\\", "OSC: clipboard"),
        (b"\x1bP+q\x1b\\", "DCS: device control string"),
        (b"\x1b(0", "SCS: choose a character set"),
        (b"\x1b7", "DECSC: save the cursor"),
        (b"\r", "CR: to the first column"),
        (b"walnuts", "text"),
        (b"\x1b[", "ESC: start of a sequence that ends elsewhere"),
        (b"\x1b[5y", "a control sequence of no known meaning"),
    ],
)
def test_each_is_said_in_words(data: bytes, meaning: str) -> None:
    """By its name in the standards, and what it asks for."""
    assert next(explain(data)).meaning == meaning


@given(st.binary(max_size=300))
def test_any_bytes_are_cut_without_loss(data: bytes) -> None:
    """Pieces follow each other, and nothing active is in what is shown."""
    pieces = list(explain(data))

    assert [piece.offset for piece in pieces] == sorted({piece.offset for piece in pieces})
    assert (pieces[0].offset if pieces else 0) == 0
    assert not any(ACTIVE.search(piece.shown + piece.meaning) for piece in pieces)


def test_much_is_cut() -> None:
    """A flood is said to go on."""
    pieces = list(explain(b"\r" * 1000, limit=10))

    assert len(pieces) == 11
    assert pieces[-1].meaning == "990 more bytes"


def test_hex_has_offsets_and_text() -> None:
    """Sixteen bytes a line."""
    lines = list(hex_lines(b"walnuts\x1b[m and more", start=0x10))

    assert lines[0] == "00000010  77 61 6c 6e 75 74 73 1b 5b 6d 20 61 6e 64 20 6d  walnuts.[m and m"
    assert lines[1].startswith("00000020  6f 72 65")
