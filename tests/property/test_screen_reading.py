"""Laws of reading the screen: all that it showed is in a view; painting late changes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ptycassette.model.screen import Size
from ptycassette.scrub.views.structured import Blocks
from ptycassette.scrub.views.view import ScreenReader, printed_views
from ptycassette.terminal.emulator import Terminal, default_emulator
from ptycassette.terminal.grid import Row
from ptycassette.terminal.watched import LazyEmulator
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


STRUCK = st.sampled_from(
    [
        b"a\bab\bbc", b"_\ba_\bb", b"_\ba\ba", b"a\ba\ba", b"a", b"\b", b"_", b"\b\b", b"word ",
        b"\r\n", b"\r", b"\t", b"\x1b[1m", b"\x1b[c\bc", b"\x1b]0;a\ba\a", b"\x1b[?7l", b"\x1b[?7h",
        b"\x1b[?45h", b"\x1b(0", b"\x1b(B", b"\x1b[3b", b"\x1b[1;4H", b"\x1b[K", b"a\ba" * 20,
        b"\xff", b"\xe2", b"\xe2\xff", b"\0", b"\x7f",
        *map(str.encode, ("é\bé漢\b漢", "\u0301", "\ufeff")),
    ]
)  # fmt: skip


def shown_and_read(pieces: list[bytes], size: Size, *, traced: bool) -> tuple[object, ...]:
    """What the screen shows in the end, and the rows that were read, with the bytes of their cells.

    A row may be read once more than it needs to be: it counts once.
    """
    read: list[object] = []

    def on_read(rows: Sequence[Row], numbers: Sequence[int], cols: int) -> None:
        found = [(rows[number].text(cols), rows[number].origins) for number in numbers]
        read.extend(row for row in found if row not in read)

    emulator = LazyEmulator(size, on_read, traced=traced)
    for piece in pieces:
        emulator.feed(piece)
    emulator.paint()
    emulator.terminal.read_all()
    return emulator.snapshot(), emulator.terminal.title, read


@examples(400)
@given(
    st.lists(STRUCK, max_size=20).map(b"".join), st.sets(st.integers(0, 80)), SIZES, st.booleans()
)
@example(b"a\ba\xff\ba", {1, 2, 3}, Size(3, 12), False)
@example(b"a\bab\bbc" * 13 + b"\x1b]0;a\ba\a", set(), Size(3, 12), False)
@example(b"_\b_\x08\xffa\ba", {1, 3, 4}, Size(3, 12), True)
def test_struck_text_is_painted_and_read_the_same_however_it_is_cut(
    data: bytes, cuts: set[int], size: Size, traced: bool
) -> None:
    """In one go, byte by byte, or cut anywhere."""
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    pieces = [data[start:end] for start, end in pairwise(places)]
    single = [bytes([byte]) for byte in data]

    whole = shown_and_read([data], size, traced=traced)

    assert whole == shown_and_read(pieces, size, traced=traced)
    assert whole == shown_and_read(single, size, traced=traced)
