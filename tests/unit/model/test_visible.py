"""Untrusted text, made visible."""

from __future__ import annotations

import unicodedata

import pytest

from ptycassette.model.visible_text import printable, visible, visible_bytes


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain é 漢 👍", "plain é 漢 👍"),
        ("\x1b[31mred", "\\e[31mred"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("back\\slash", "back\\\\slash"),
        ("\u202eevil", "\\u202eevil"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\x9b2J", "\\x9b2J"),
        ("\U000e0041tag", "\\U000e0041tag"),
    ],
)
def test_what_acts_or_hides_is_escaped(raw: str, shown: str) -> None:
    """Only what a reader can see stays as it is."""
    assert visible(raw) == shown


def test_no_control_or_format_character_survives() -> None:
    """Of all code points, nothing that acts or hides comes out as it is."""
    active = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    left = [
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in active and visible(chr(code)) == chr(code)
    ]

    assert left == []


def test_long_text_is_cut_and_says_so() -> None:
    """A message stays short, whatever a file holds."""
    assert visible("x" * 30, limit=10) == "x" * 10 + "... (20 more characters)"
    assert visible_bytes(b"x" * 30, limit=10) == "x" * 10 + "... (20 more bytes)"


def test_bytes_that_are_no_text_show_as_hexadecimal() -> None:
    r"""Invalid UTF-8 stands as ``\\xNN`` between what is text."""
    assert visible_bytes(b"ok \xff\xc3\xa9 \x1b[m") == "ok \\xffé \\e[m"


@pytest.mark.parametrize("raw", ["\x1b[31m", "a\\b", "\u202e", "\x9b\n\x7f"])
def test_what_was_escaped_is_not_escaped_again(raw: str) -> None:
    """A message is put together from visible parts, and shown as a whole."""
    assert printable(visible(raw)) == visible(raw)
    assert printable(f"{raw!r}") == f"{raw!r}"


def test_a_message_shows_what_nobody_had_escaped() -> None:
    """On one line, cut when it is long."""
    assert printable("a\x1b\u202e\nb\\") == "a\\e\\u202e\\nb\\"
    assert printable("x" * 9, limit=4) == "xxxx... (5 more characters)"
