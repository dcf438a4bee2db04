"""Which bytes painted which cell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator, Terminal
from ptycassette.terminal.grid import Row
from ptycassette.terminal.watched import LazyEmulator

CASES = json.loads((Path(__file__).parent / "data" / "xterm_cases.json").read_text())


def traced_emulator(size: Size) -> LazyEmulator:
    """Nobody reads what it hands over."""
    return LazyEmulator(size, lambda _rows, _numbers, _cols: None)


def painted(emulator: LazyEmulator, raw: bytes, row: int) -> list[str]:
    """For each cell of a row, the bytes that it says painted it, decoded."""
    emulator.paint()
    cells = emulator.terminal.buf.rows[row]
    texts = []
    for origin, char in zip(cells.origins or [], cells.chars, strict=False):
        if isinstance(origin, int):
            origin = origin, origin + len(char.encode())  # noqa: PLW2901 - the same, as a pair
        texts.append("" if origin is None else raw[slice(*origin)].decode("utf-8", "ignore"))
    return texts[: emulator.terminal.columns]


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_traced_screens_are_the_ordinary_ones(chunk: int, part: int) -> None:
    """The same screens, wrapping and pending bytes, however the output is cut."""
    for number in range(3 * part, len(CASES), 9):
        size = Size(*CASES[number]["size"])
        plain, traced = PyteEmulator(size), traced_emulator(size)
        for step in CASES[number]["steps"]:
            if isinstance(step, str):
                data = step.encode()
                plain.feed(data)
                for at in range(0, len(data), chunk):
                    traced.feed(data[at : at + chunk])
            else:
                plain.resize(Size(*step))
                traced.resize(Size(*step))

        assert traced.snapshot() == plain.snapshot(), f"case {number}"
        assert traced.scrollback() == plain.scrollback(), f"case {number}"
        assert traced.pending == plain.pending, f"case {number}"


def test_origins_go_with_their_cells() -> None:
    """Through wrapping, insertion, deletion, scrolling and reflow."""
    raw = "abcdefgh\r\n漢é\x1b[1;2H\x1b[2@\x1b[L\x1b[2P".encode()
    emulator = traced_emulator(Size(5, 6))
    emulator.feed(raw)

    for row, cells in enumerate(emulator.cells()):
        for text, origin in zip(cells, painted(emulator, raw, row), strict=True):
            assert text.strip() == origin or (text == "" and origin == "漢")
    emulator.resize(Size(5, 3))
    assert [painted(emulator, raw, row) for row in range(5)] != []
    assert [row.wrapped for row in emulator.terminal.buf.rows].count(True) >= 1


def test_a_cluster_has_the_bytes_of_all_its_characters() -> None:
    """Marks and joiners widen the stretch, also over chunks and malformed bytes."""
    raw = b"x" + b"\xff" + "👩\u200d💻e\u0301".encode()
    emulator = traced_emulator(Size(2, 10))
    for byte in raw:
        emulator.feed(bytes([byte]))

    assert painted(emulator, raw, 0)[:4] == ["x", "👩\u200d💻", "👩\u200d💻", "e\u0301"]


def test_a_repeated_character_has_the_bytes_of_the_first() -> None:
    """What must change to change what REP painted is the character before it."""
    raw = b"ab\x1b[3b"
    emulator = traced_emulator(Size(2, 10))
    emulator.feed(raw)

    assert painted(emulator, raw, 0)[:5] == ["a", "b", "b", "b", "b"]


def test_line_drawing_has_the_bytes_that_were_sent() -> None:
    """The cell shows a line, the output holds a letter."""
    raw = b"\x1b(0qx\x1b(B\x1b#8"
    emulator = traced_emulator(Size(2, 10))
    emulator.feed(raw[:-3])

    assert emulator.cells()[0][:2] == ["─", "│"]
    assert painted(emulator, raw, 0)[:2] == ["q", "x"]
    emulator.feed(raw[-3:])
    assert painted(emulator, raw, 0)[0] == ""


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"\x1b[H\x1b[K", (0, 0)),
        (b"\x1b[H\x1b[J", (0, 2)),
        (b"\x1b[2;1H\x1b[1J", (0, 1)),
        (b"\x1b[2J", (0, 2)),
        (b"\x1b[2;1H\x1b[M", (1, 2)),
        (b"\x1b[2;1H\x1b[L", (1, 2)),
        (b"\x1b[S", (0, 2)),
        (b"\x1b[T", (0, 2)),
        (b"\x1b[2;1H\x1b[X", (1, 1)),
        (b"\x1b[2;1H\x1b[P", (1, 1)),
        (b"\x1b[2;1H\x1b[@", (1, 1)),
        (b"\x1b[2;1H\x1b['}", (0, 2)),
        (b"\x1b[H\x1bM", (2, 2)),
        (b"\x1b[3;1H\n", (0, 0)),
        (b"\x1b[?1049h", (0, 2)),
        (b"\x1b#8", (0, 2)),
        (b"\x1bc", (0, 2)),
    ],
)
def test_what_is_about_to_be_lost_is_announced_while_it_is_whole(
    data: bytes, rows: tuple[int, int]
) -> None:
    """The call comes with the rows concerned, and before they change."""
    seen: list[tuple[int, int, tuple[str, ...]]] = []

    class Watched(Terminal):
        watched = True

        def losing(self, first: int, last: int) -> None:
            seen.append((first, last, emulator.snapshot().rows))

    emulator = PyteEmulator(Size(3, 8))
    emulator.feed(b"one\r\ntwo\r\nthree")
    emulator.terminal.__class__ = Watched
    emulator.feed(data)

    assert seen[0] == (*rows, ("one", "two", "three"))


@pytest.mark.parametrize("lines", [30, 2000, 9000])
@pytest.mark.parametrize(
    "text", ["a line of ASCII", "eine Zeile f\xfcr sich", "a line that wraps " * 6]
)
def test_lines_that_only_scroll_by_leave_the_ordinary_screen_and_history(
    lines: int, text: str
) -> None:
    """Those that have left the history are not painted, when it is asked for at last."""
    size = Size(24, 80)
    plain, lazy = PyteEmulator(size), traced_emulator(size)
    data = "".join(f"{number} {text}\r\n" for number in range(lines)).encode()
    plain.feed(data)
    for at in range(0, len(data), 4095):
        lazy.feed(data[at : at + 4095])
    lazy.paint()

    assert lazy.snapshot() == plain.snapshot()
    history = [[row.text(80) for row in one.terminal.main.history] for one in (plain, lazy)]
    assert history[0] == history[1]


def test_struck_over_words_are_read_when_their_rows_go_not_at_each_letter() -> None:
    """As manual pages have them: bold, and underlined."""
    reads: list[list[str]] = []

    def read(rows: Sequence[Row], numbers: Sequence[int], cols: int) -> None:
        reads.append([rows[number].text(cols) for number in numbers])

    emulator = LazyEmulator(Size(24, 80), read, traced=False)
    bold = "".join(f"{one}\b{one}" for one in "NAME")
    underlined = "".join(f"_\b{one}" for one in "file")
    for number in range(20):
        emulator.feed(f"{number} {bold} and {underlined} and more\r\n".encode())
    emulator.paint()
    emulator.terminal.read_all()

    assert len(reads) < 5
    assert [text for one in reads for text in one if text] == [
        f"{number} NAME and file and more" for number in range(20)
    ]
