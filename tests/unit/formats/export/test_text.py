"""Output as plain text."""

from __future__ import annotations

import re
import time
import tracemalloc

import pytest

from ptycassette.formats.export.text import MAX_COLS, TextStream


def _text(*chunks: bytes) -> str:
    stream = TextStream()
    return "".join([*(stream.feed(chunk) for chunk in chunks), stream.finish()])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"no newline", "no newline\n"),
        (b"trailing  \r\n", "trailing\n"),
        (b"\r\n\r\n", "\n\n"),
        (b"10%\r20%\r30%\r\n", "30%\n"),
        (b"typo\b\b\b\b\x1b[Ktext\r\n", "text\n"),
        (b"a\tb\r\n", "a       b\n"),
        (b"step\ndown\r\n", "step\n    down\n"),
        (b"\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mrgb\x1b[m\r\n", "red rgb\n"),
        (b"\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\r\n", "link\n"),
        (b"\x1bP1$r q\x1b\\\x1b_apc\x1b\\text\r\n", "text\n"),
        (b"\x1b(B\x1b=\x1b>\x1b7\x1b8plain\x0e\x0f\r\n", "plain\n"),
        (b"abc\x1b[2DX\r\n", "aXc\n"),
        (b"abc\x1b[1GX\x1b[3GY\r\n", "XbY\n"),
        (b"ab\x1b[3Cc\r\n", "ab   c\n"),
        (b"abcdef\r\x1b[2P\r\n", "cdef\n"),
        (b"abc\r\x1b[2@\r\n", "  abc\n"),
        (b"abc\r\x1b[2X\r\n", "  c\n"),
        (b"abc\x1b[1K\r\n", "\n"),
        (b"abc\x1b[2K\r\n", "\n"),
        (b"ab\x1b[Jc\r\n", "abc\n"),
        (
            b"\x1b[2J\x1b[Htop\x1b[5;3Hlower\x1b[Aabove\x1b[Enext\r\n",
            "top\n  lower\n       above\nnext\n",
        ),
        (b"one\x1bEtwo\x1bDthree\x1bMfour\r\n", "one\ntwo\n   three\n        four\n"),
        (b"\x9b31mC1 is no text in UTF-8\r\n", "\ufffd31mC1 is no text in UTF-8\n"),
        ("\u009b31mred\u0085next\r\n".encode(), "red\n   next\n"),
        ("漢 é \u202ehidden\u200b\u200d\r\n".encode(), "漢 é hidden\u200d\n"),
        (b"bad \xff\xc3 utf\r\n", "bad \ufffd\ufffd utf\n"),
        (b"cut \x1b[3", "cut\n"),
        (b"\x1b[?25l\x1b[?2004h$ \x1b[>4;1m\r\n", "$\n"),
    ],
)
def test_lines_come_out_as_they_stood_in_the_end(data: bytes, text: str) -> None:
    """Whatever edited them; however the bytes were split."""
    assert _text(data) == text
    assert _text(*(data[at : at + 1] for at in range(len(data)))) == text


@pytest.mark.parametrize("mode", [b"47", b"1047", b"1049"])
def test_what_a_full_screen_program_draws_is_left_out(mode: bytes) -> None:
    """From entering the alternate screen to leaving it."""
    data = b"$ vim\x1b[?%shdrawn\r\n~\r\n\x1b[2;2Hmore\x1b[?%sl$ done\r\n" % (mode, mode)

    assert _text(data) == "$ vim\n$ done\n"


def test_whole_lines_come_as_soon_as_they_are_whole() -> None:
    """A paced playback shows them in time."""
    stream = TextStream()

    assert [stream.feed(b"one\r\ntw"), stream.feed(b"o\r\n"), stream.finish()] == [
        "one\n",
        "two\n",
        "",
    ]


def test_a_line_without_end_is_cut() -> None:
    """Memory stays bounded, and nothing is lost."""
    text = _text(b"x" * (MAX_COLS * 2 + 5))

    assert [len(line) for line in text.split("\n")] == [MAX_COLS, MAX_COLS, 5, 0]


@pytest.mark.parametrize("data", [b"\x1b[999999999Cx", b"\x1b[999999999Gx", b"\x1b[1;99999999Hx"])
def test_a_cursor_goes_no_further_than_a_line(data: bytes) -> None:
    """Numbers of a recording do not decide about memory."""
    assert len(_text(data)) <= MAX_COLS + 1


def test_a_string_that_never_ends_is_dropped() -> None:
    """As in a terminal, it takes everything up to what ends it; no byte of it is kept."""
    stream = TextStream()
    stream.feed(b"\x1b]0;" + b"x" * 100_000)

    assert stream.feed(b"more\r\n") == ""
    assert stream.feed(b"\x07after\r\n") == "after\n"


def test_a_string_ends_where_another_sequence_begins() -> None:
    """Its own bytes are no text, and the sequence counts."""
    assert _text(b"a\x1b]0;title\x1b[2Gb\r\n") == "ab\n"


@pytest.mark.parametrize("end", [b"", b"\x1b[m", b"\x07"])
@pytest.mark.parametrize("start", [b"\xc2\x9d", b"\x1b]", b"\x1b", b"\xc2\x9b"])
def test_starts_of_sequences_alone_cost_no_more_than_text(start: bytes, end: bytes) -> None:
    """Each is looked at once, not once for every one before it; it was hours for a megabyte."""
    began = time.process_time()
    _text(start * 50_000 + end)

    assert time.process_time() - began < 4


def test_a_sequence_that_never_ends_costs_no_more_byte_by_byte() -> None:
    """What is kept of it is bounded."""
    began = time.process_time()
    _text(b"\x1b[", *[b"1"] * 10_000, b"\x1b]", *[b"x"] * 10_000)

    assert time.process_time() - began < 5


def test_only_text_comes_out_of_anything() -> None:
    """Every byte in front of every other, and no control character but the newline."""
    data = b"".join(bytes((a, b)) for a in range(256) for b in range(256))

    assert re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", _text(data)) is None


def test_inserting_makes_a_line_no_longer_than_a_line() -> None:
    """What is pushed out at the end is gone."""
    text = _text(b"x" * (MAX_COLS - 1) + b"\r\x1b[5@\r\n")

    assert text == " " * 5 + "x" * (MAX_COLS - 5) + "\n"


def test_an_erased_line_begins_again_on_a_screen() -> None:
    """No row is wider than a thousand columns, so nothing behind them is made of blanks again."""
    assert _text(b"x" * 5000 + b"\x1b[2Jy\n") == " " * 999 + "y\n"
    assert _text(b"x" * 5000 + b"\x1b[1K\n") == "x" * 4000 + "\n"
    assert _text(b"xyz\x1b[2K-\r\n", b"abc\b\x1b[1Kd\n") == "   -\n  d\n"


def test_one_long_output_takes_few_times_its_size() -> None:
    """It is read in pieces, also where it has no line ends."""
    data = ("a" + "\u0301" * 9).encode() * 20_000
    tracemalloc.start()
    try:
        _text(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 20 * len(data)
