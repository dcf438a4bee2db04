"""Bytes into control functions: what is whole, what is cut, what is malformed."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import MAX_STRING, Machine, PyteEmulator


def shown(data: bytes, *, cols: int = 30) -> str:
    """The first row after feeding ``data``."""
    emulator = PyteEmulator(Size(3, cols))
    emulator.feed(data)
    return emulator.snapshot().rows[0]


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (b"a\x1b[<1ub\x1b[=5;1uc\x1b[>4;2md", "abcd"),
        (b"a\x1b[1 qb\x1b[!pc\x1b[?$pd", "abcd"),
        (b'a\x1b[>cb\x1b[?4mc\x1b[61"pd\x1b Fe', "abcde"),
        (b"a\x1b[3;1\x1b[2Gb", "ab"),
        (b"a\x1b[3\x18Gb", "aGb"),
        (b"a\x1b[3\x1aGb", "aGb"),
        (b"a\x1b[1\n2Gb", "a"),
        (b"a\x1b[1;2?Gb", "ab"),
        (b"a\x1b[ 3Gb", "ab"),
        ("a\x1b[3é4b".encode(), "a4b"),
        ("a\x1b[1?3é4mb".encode(), "ab"),
        ("a\x1béb".encode(), "ab"),
        (b"a\x1b\x7f7b", "ab"),
        (b"a\x7fb\x00c", "abc"),
        (b"a\x1bP+q544e\x1b\\b", "ab"),
        (b"a\x1bPq#0~\x07~\x1b\\b", "ab"),
        (b"a\x1bP1?2q~\x1b\\b", "ab"),
        (b"a\x1b_Gx\r\ny\x1b\\b", "ab"),
        (b"a\x1b^pm\x1b\\b\x1bXsos\x1b\\c", "abc"),
        (b"a\x1b]0;t\x07b\x1b]2;u\x1b\\c", "abc"),
        (b"a\x1b]0;t\x1b[1mb", "ab"),
        (b"a\x1b]0;t\x18b", "ab"),
        ("a\u009b31mb\u009d0;t\u009cc\u0090q~\u009cd\u009fx\u009ce".encode(), "abcde"),
        (b"\x1b]0;\xc3\x9c\xe2\x80\x9c\x07a", "a"),
        (b"a\xffb\xc3(c\xe2\x82d\xed\xa0\x80e\xc0\xaff", "ab(cdef"),
        ("a\ufeffb".encode(), "ab"),
        (b"\x1b[99999999999999999999Ga", " " * 29 + "a"),
        (b"a\x1b[" + b"1;" * 3000 + b"1mb", "ab"),
        (b"\x1b#8\x1b%Gx", "x" + "E" * 29),
    ],
)
def test_malformed_and_unknown_sequences_leave_the_text_alone(data: bytes, row: str) -> None:
    """What is no known control function paints nothing, and ends where it should."""
    assert shown(data) == row


@pytest.mark.parametrize(
    ("data", "pending"),
    [
        (b"abc", 0),
        (b"abc\x1b", 1),
        (b"abc\x1b[31", 4),
        (b"abc\x1b[31m", 0),
        (b"\xe6\xbc", 2),
        (b"a\xf0\x9f\x91", 3),
        (b"x\x1b]0;title", 9),
        (b"x\x1b]0;title\x1b", 1),
        ("x\x1b]0;é".encode(), 6),
        (b"x\x1b]0;\xe6\xbc", 6),
        (b"\xff\xff\x1b[1;\xff", 5),
        ("x\u009b1".encode(), 3),
        (b"x\x1b[1\x1b[2", 3),
        (b"x\x1b[1\x18", 0),
        (b"\x1bPq\xff~", 5),
    ],
)
def test_pending_counts_the_bytes_of_what_is_incomplete(data: bytes, pending: int) -> None:
    """The count is exact, fed whole or byte by byte."""
    whole, bytewise = PyteEmulator(Size(3, 30)), PyteEmulator(Size(3, 30))
    whole.feed(data)
    for byte in data:
        bytewise.feed(bytes([byte]))

    assert whole.pending == pending
    assert bytewise.pending == pending


def test_an_overlong_string_has_no_effect_and_costs_no_memory() -> None:
    """An OSC of more than the limit is swallowed; what is kept of it stays bounded."""
    emulator = PyteEmulator(Size(3, 30))
    emulator.feed(b"\x1b]0;")
    for _ in range(40):
        emulator.feed(b"x" * (MAX_STRING // 32))

    assert len(emulator.parser.state().kept) <= MAX_STRING
    assert emulator.pending == 4 + 40 * (MAX_STRING // 32)
    emulator.feed(b"\x07ok")
    assert emulator.snapshot().rows[0] == "ok"
    assert emulator.snapshot().title == ""


@pytest.mark.slow
def test_many_sequences_of_one_block_that_need_the_slow_way_are_parsed() -> None:
    """A block full of malformed sequences ends in the same screen as clean ones."""
    emulator = PyteEmulator(Size(3, 30))
    emulator.feed(b"\x1b\x00[1m\x1b\x00[\x003G" * 3000 + b"ab")

    assert emulator.snapshot().rows[0] == "  ab"


@pytest.mark.parametrize(
    "function",
    [
        b"\x1b[\x18", b"\x1b[1;2\x1a", b"\x1b\x18", b"\x1b[1;2", b"\x1b[<>!z", b"\x1b[1\x002m",
        b"\x1b[ !\x18", b"\xc2\x9b1m", b"\xc2\x9b\x18", b"\x1bP1$\x18", b"\x1bPq~\x1a",
        b"\x1b]0;t\x18", b"\x1b_Gx\x18", "\x1b[3é".encode(), "\x1bé".encode(), "\x1b_té".encode(),
        b"\x1b[1\x7fm",
    ],
)  # fmt: skip
def test_malformed_functions_are_not_parsed_by_the_character(
    monkeypatch: pytest.MonkeyPatch, function: bytes
) -> None:
    """Output full of them costs what output full of colours costs; the cut at the end may not."""
    slow: list[str] = []
    monkeypatch.setattr(Machine, "_step", lambda _, char: slow.append(char))
    emulator = PyteEmulator(Size(3, 30))
    emulator.feed(function * 1000 + b"\x1b[mab")

    assert slow == []


def test_a_sequence_that_crosses_an_inner_block_is_whole() -> None:
    """Chunks larger than the parser's block are cut nowhere."""
    emulator = PyteEmulator(Size(3, 30))
    emulator.feed(b"\r" * ((1 << 14) - 3) + b"\x1b[12;3\x1b[5Gx")

    assert emulator.snapshot().rows[0] == "    x"


def test_what_was_learnt_of_control_functions_is_bounded() -> None:
    """Ten thousand different cursor addresses do not pile up."""
    emulator = PyteEmulator(Size(3, 30))
    for number in range(20_000):
        emulator.feed(b"\x1b[%dG" % number)

    assert len(emulator.parser._actions) <= 1 << 13


def test_feeding_nothing_changes_nothing() -> None:
    """An empty chunk in the middle of a sequence leaves it open."""
    emulator = PyteEmulator(Size(3, 30))
    emulator.feed(b"\x1b[3")
    emulator.feed(b"")
    emulator.feed(b"Gx")

    assert emulator.snapshot().rows[0] == "  x"


@pytest.mark.parametrize(
    "data",
    [
        b"a\x1b[" + b"1;" * 600 + b"1mb\x1b[0m",
        b"a\x1b[" + b"1;" * 510 + b"1mb\x1b[0m",
        b"a\x1b[" + b"0" * 1024 + b"4Gb",
        b"a\x1b[" + b"0" * 1023 + b"4Gb",
        b"a\x1b[1m\x1b[" + b"1;" * 600 + b"3mb",
        b"a\x1bP" + b"1;" * 600 + b"$qm\x1b\\b",
        b"a\x1bP" + b"1;" * 500 + b"$qm\x1b\\b",
        b"a\x1b" + b"(" * 1100 + b"0q",
        b"a\x1b[" + b"1" * 1100 + "é".encode() + b"2Gb",
        b"a\x7f\x1b[\x003\x7fG\x7fb",
        "a\u009fx\u0085b".encode(),
        "a\x1b]0;t\u0084b".encode(),
        "a\x1b_té\u009cb".encode(),
        b"a\x1b[2:5Cb",
    ],
)
def test_long_and_odd_sequences_do_not_depend_on_how_they_are_cut(data: bytes) -> None:
    """Fed whole, by the byte, and in the slow way: one screen, one answer."""
    screens = []
    for pieces in ([data], [bytes([byte]) for byte in data], [b"\x1b\x00[m" * 9 + data]):
        emulator = PyteEmulator(Size(3, 30))
        for piece in pieces:
            emulator.feed(piece)
        screens.append((emulator.snapshot(), emulator.answers(), emulator.pending))

    assert screens[0] == screens[1] == screens[2]
