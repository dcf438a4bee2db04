"""Laws of reading the screen: all that it showed is in a view; painting late changes nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ptycassette.model import Size
from ptycassette.scrub.views import Blocks, ScreenReader, printed_views
from ptycassette.terminal import default_emulator
from ptycassette.terminal._terminal import Terminal
from tests.examples import examples

WORDS = st.text(alphabet="abcdefgh", min_size=1, max_size=30)
MOVES = st.builds("\x1b[{};{}H".format, st.integers(1, 6), st.integers(1, 22))
EDITS = st.builds("\x1b[{}{}".format, st.integers(1, 6), st.sampled_from("PXLM@STGCDZ"))
OTHERS = st.sampled_from(
    [
        "\r", "\r\n", "\t", "\b", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J", "\x1b[31m",
        "\x1bM", "\x1bD", "\x1b#8", "\x1b[2 @", "\x1b[4h", "\x1b[4l", "\x1b[2b", "\x1b(0", "\x1b(B",
        "\x1b[2;3r", "\x1b[r", "\x1b[?6h", "\x1b[?6l", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?45h",
        "é漢", "漢字", "aé", "\u0301", "e\u0301", "\u2764\ufe0f",
    ]
)  # fmt: skip
PARTS = st.lists(st.one_of(WORDS, MOVES, EDITS, OTHERS), max_size=20)
STEPS = st.sampled_from([7, 1000, 4096])
SIZES = st.sampled_from([Size(3, 12), Size(5, 20), Size(24, 30)])
LINES = st.builds(
    lambda line, count: f"{line}\r\n" * count,
    st.one_of(WORDS, st.sampled_from(["é漢e\u0301", "word " * 40, "", "漢" * 30])),
    st.sampled_from([1, 40, 2500]),
)


def words_shown(parts: list[str], size: Size) -> set[str]:
    """The words in the rows of the screen before each edit, and at the end.

    While one text replaces another, its beginning stands before what is left of the other: that
    is no word of anybody.
    """
    screen = default_emulator(size)
    words: set[str] = set()
    for part, following in zip(parts, (*parts[1:], "S"), strict=False):
        screen.feed(part.encode())
        if following[-1] in "PLM@ST":
            words.update(re.findall("[a-z]{2,}", "\n".join(screen.text())))
    return words


def texts(data: bytes, size: Size) -> str:
    """All views of output."""
    printed, reader = Blocks(printed_views), ScreenReader(size)
    views = list(printed.feed(data))
    reader.feed(data)
    reader.rest()
    return "\n".join(view.text for view in (*views, *printed.rest(), *reader.take()))


@examples(400)
@given(PARTS, SIZES)
@example(["alpha\r\n", "beta\r\n", "gamma", "\x1b[1;1H", "X", "\x1b[2J"], Size(5, 20))
@example(["token", "\r", "\x1b(0", "qqqqq"], Size(3, 12))
@example(["abcdefghijkl", "\x1b[1;8H", "gg", "\x1b[1;3H", "ab", "\x1b[1;3H", "cd"], Size(3, 12))
@example(["abcdefgh" * 3, "\x1b[2b", "\x1b[1L"], Size(3, 12))
def test_every_word_that_was_shown_is_in_a_view(parts: list[str], size: Size) -> None:
    """Whatever was painted over what, in whichever order."""
    seen = texts("".join(parts).encode(), size)

    assert {word for word in words_shown(parts, size) if word not in seen} == set()


@examples(200)
@given(st.lists(st.one_of(WORDS, MOVES, EDITS, OTHERS, LINES), max_size=6), SIZES, STEPS)
def test_painting_late_changes_no_screen(parts: list[str], size: Size, step: int) -> None:
    """Lines that scroll by are painted when somebody looks, and only the last of them."""
    lazy, plain = ScreenReader(size), default_emulator(size)
    data = "".join(parts).encode()
    for at in range(0, len(data), step):
        lazy.feed(data[at : at + step])
        plain.feed(data[at : at + step])

    assert lazy.emulator.snapshot() == plain.snapshot()
    assert lazy.emulator.scrollback() == plain.scrollback()


@examples(200)
@given(PARTS.map("".join), st.integers(1, 40))
def test_cells_know_their_bytes(stream: str, step: int) -> None:
    """However it came: what comes byte by byte is looked at byte by byte."""
    data = stream.encode()
    slow, fast = ScreenReader(Size(6, 30)), ScreenReader(Size(6, 30))
    for byte in data:
        slow.feed(bytes([byte]))
    for at in range(0, len(data), step):
        fast.feed(data[at : at + step])

    assert fast.emulator.snapshot() == slow.emulator.snapshot()
    assert painted(fast.emulator.terminal) == painted(slow.emulator.terminal)


def painted(terminal: Terminal) -> list[list[tuple[int, str]]]:
    """The first byte behind each cell in which something is painted, and what it is."""
    return [
        [
            (origin[0] if isinstance(origin, tuple) else origin, char)
            for origin, char in zip(row.origins or [], row.chars, strict=False)
            if char not in {"\0", ""}
        ]
        for row in terminal.buf.rows
    ]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("sign", ["a", "é", "漢"])
def test_each_cell_knows_where_its_sign_stands(sign: str, *, whole: bool) -> None:
    """Painted with the cursor anywhere, in one run and one by one."""
    raw = f"\x1b[3;4H{sign}b{sign}\x1b[2;1H\x1b[1mc{sign}\x1b[5G{sign}{sign}".encode()
    reader = ScreenReader(Size(4, 12))
    for piece in [raw] if whole else [bytes([byte]) for byte in raw]:
        reader.feed(piece)
    reader.emulator.paint()

    found = [pair for row in painted(reader.emulator.terminal) for pair in row]
    assert len(found) == 7
    assert [raw[at : at + len(char.encode())].decode() for at, char in found] == [
        char for _, char in found
    ]
