"""Floods of lines: skipped by the emulator, and yet nothing on any screen is missed."""

from __future__ import annotations

import random

import pytest

from ptycassette.model import Size
from ptycassette.scrub.cells import OutputCells
from ptycassette.scrub.floods import Flood, floods
from ptycassette.scrub.trace import FastTrace
from ptycassette.testing import scrub_chunks

ROWS, COLS = 6, 60
WORDS = ["alpha", "beta/gamma.py", "\x1b[31mred\x1b[0m", "\tindented", "delta", "ümläut", "x" * 50]


def lines(count: int, seed: int = 1) -> bytes:
    """Lines of words, colours, tabs, and some that wrap."""
    rng = random.Random(seed)
    return b"".join(
        " ".join(rng.choices(WORDS[:-1] if number % 7 else WORDS[-1:], k=3)).encode() + b"\r\n"
        for number in range(count)
    )


def fed(data: bytes) -> tuple[OutputCells, FastTrace, int]:
    """The channel, an emulator that painted everything, and how many bytes were painted."""
    cells = OutputCells(Size(ROWS, COLS))
    painted: list[bytes] = []
    feed = cells._trace.feed

    def paint(data: bytes) -> None:
        painted.append(data)
        feed(data)

    cells._trace.feed = paint  # type: ignore[method-assign]
    for _ in cells.feed(data):
        pass
    cells._flush()
    whole = FastTrace(Size(ROWS, COLS), before_loss=lambda: None)
    whole.feed(data)
    return cells, whole, sum(map(len, painted))


def screen(trace: FastTrace) -> list[tuple[str, bool, list[object]]]:
    """Text, wraps and origins of what is painted."""
    return [
        (
            "".join(row.chars).replace("\0", " ").rstrip(),
            row.wrapped,
            [o for o, char in zip(row.origins or [], row.chars, strict=False) if char > "\0"],
        )
        for row in trace.terminal.buf.rows
    ]


LONG = lines(5000)[: 3 * 65536]  # so that little is painted behind the last flood


def test_most_of_a_flood_is_not_painted() -> None:
    """That is what makes it fast."""
    once, twice = (fed(LONG * times)[2] for times in (1, 2))

    assert twice - once < len(LONG) / 3


@pytest.mark.parametrize(
    "after",
    [b"", b"\x1b[H\x1b[Jtop", b"rest of a line", b"\x1b[?1049hother", b"\x1b7\x1b[3;5Hhere\x1b8on"],
)
def test_after_a_flood_the_screen_is_as_if_painted(after: bytes) -> None:
    """Rows, wraps, origins, and the cursor."""
    cells, whole, _ = fed(LONG + after)

    assert screen(cells._trace) == screen(whole)
    assert cells._trace.terminal.buf.x == whole.terminal.buf.x


@pytest.mark.parametrize("size", [Size(30, COLS), Size(ROWS, 23), Size(200, 90)])
def test_what_was_skipped_comes_back_with_a_resize(size: Size) -> None:
    """A taller screen shows rows of the history, and these are painted then."""
    cells, whole, _ = fed(LONG)
    for _ in cells.resize(size):
        pass
    whole.resize(size)

    assert screen(cells._trace) == screen(whole)


def test_a_token_that_a_program_broke_inside_a_flood_is_found() -> None:
    """Lines that are full to the margin and go on are joined, skipped or not."""
    token = "gh" + "p_" + "qP7yR2mK9vT4nB8sL3wZ" + "hJ6cY1dF5gA0eQ8u"
    before = "see the value " + "." * (COLS - 30) + " "
    broken = f"\r\n{before}{token[:14]}\r\n{token[14:]} and more\r\n".encode()
    data = LONG[: len(LONG) // 2] + broken + LONG[len(LONG) // 2 :]
    (after,) = scrub_chunks([data], rows=ROWS, cols=COLS)

    assert token[:14].encode() not in after
    assert token[14:].encode() not in after
    assert sum(a != b for a, b in zip(data, after, strict=True)) == len(token)


def test_a_coloured_and_indented_token_is_mapped_to_its_bytes() -> None:
    """Offsets are those of the raw bytes, colours and tabs or not."""
    raw = b"\tab \x1b[1mTOKENqP7xR2mK9v\x1b[0mT4nB8sL3wZ90\r\nXhJ6cY1dF5gA0e\r\n"
    flood = Flood(raw, offset=1000, cols=40)

    assert flood.read()
    (group,) = flood.broken()
    sources = group[0].row.sources()
    assert [raw[at - 1000] for at in sources if at >= 0] == list(b"ab TOKENqP7xR2mK9vT4nB8sL3wZ90")
    assert group[0].text[: len(sources)].lstrip() == "ab TOKENqP7xR2mK9vT4nB8sL3wZ90"


@pytest.mark.parametrize(
    "line", [b"\x1b[2Kerased", b"over\rwritten", b"\x08back", b"bell\x07", b"\xff", b"\xc2\x9b2J"]
)
def test_what_does_more_than_print_is_no_flood(line: bytes) -> None:
    """It has to be painted."""
    data = b"".join(b"plain\r\n" + line + b"\r\n" for _ in range(300))

    assert list(floods(data, lines=ROWS, cols=COLS)) == []


@pytest.mark.parametrize("line", ["漢".encode() * 31, b"\tx" * 9])
def test_a_line_that_might_wrap_elsewhere_is_painted(line: bytes) -> None:
    """Wide characters and tabs move the margin."""
    plain = b"plain\r\n" * 200
    data = plain + line + b"\r\n" + plain + line + b"\r\n" + plain[:70]

    assert [data[start:end] for start, end in floods(data, lines=ROWS, cols=COLS)] == [plain, plain]


def test_bytes_that_are_no_text_are_painted() -> None:
    """What looks like UTF-8 need not be any."""
    assert not Flood(b"surrogate \xed\xa0\x80\r\n", offset=0, cols=COLS).read()
