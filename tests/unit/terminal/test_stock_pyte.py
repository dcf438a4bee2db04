"""Stock pyte as a backend: what the port promises, whatever pyte makes of the output."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.model.ports import Emulator
from ptycassette.model.screen import Size, Style
from ptycassette.terminal.emulator import backend
from ptycassette.terminal.stock_pyte import StockPyteEmulator

REFUSED = b"\x1b[?4m"
"""SGR with a private marker, which vim sends (XTQMODKEYS); pyte 0.8.2 raises TypeError on it."""


def _fed(*pieces: bytes) -> StockPyteEmulator:
    emulator = StockPyteEmulator(Size(5, 20))
    for piece in pieces:
        emulator.feed(piece)
    return emulator


def test_it_is_selected_by_name() -> None:
    """And pinned by it, with the version of the library that is installed."""
    emulator = backend("stock-pyte")(Size(5, 20))

    assert isinstance(emulator, StockPyteEmulator)
    assert isinstance(emulator, Emulator)
    assert emulator.identity.name == "stock-pyte"


def test_what_pyte_raises_on_is_dropped_and_nothing_else() -> None:
    """The port promises that feeding never raises."""
    emulator = _fed(b"before " + REFUSED + b"after")

    assert emulator.snapshot().rows[0] == "before after"
    assert emulator.refused == 1


@given(
    st.lists(
        st.sampled_from([b"x", b"\xe6\xbc\xa2", b"\x1b[31m", b"\r\n", REFUSED, b"\x1b[2J", b"\xff"])
    ),
    st.integers(0, 60),
)
def test_the_cut_changes_nothing(parts: list[bytes], at: int) -> None:
    """Also in a character, and in a sequence that pyte refuses."""
    data = b"".join(parts)

    assert _fed(data[:at], data[at:]).snapshot() == _fed(data).snapshot()


@given(st.binary(max_size=200))
def test_it_takes_any_bytes(data: bytes) -> None:
    """And still has a screen of its size."""
    assert len(_fed(data).snapshot().rows) == 5


def test_colours_are_those_of_the_port() -> None:
    """Names are palette numbers, all else is RGB; pyte spells one of them oddly."""
    (runs, *_) = _fed(b"\x1b[91;105mx\x1b[0;38;2;1;2;3my").snapshot().styles

    assert [run.style for run in runs] == [Style(fg=9, bg=13), Style(fg="#010203")]


def test_it_answers_where_its_cursor_is() -> None:
    """Once; it takes no profile of answers."""
    emulator = _fed(b"ab\x1b[6n")

    assert (emulator.answers(), emulator.answers()) == (b"\x1b[1;3R", b"")


def test_rec_and_verify_use_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The manifest names it, and frames can be derived again with it alone."""
    target = tmp_path / "c"
    words = ["--emulator", "stock-pyte", str(target), "--", "printf", "one \\033[?4mtwo"]
    status = main(["rec", "--headless", "-q", *words])
    with open_cassette(target) as cassette:
        pinned, frames = cassette.manifest.terminal.emulator, list(cassette.frames())

    assert (status, pinned.name) == (0, "stock-pyte")
    assert frames[-1].text[0] == "one two"
    assert main(["verify", "--rederive", str(target)]) == 0
