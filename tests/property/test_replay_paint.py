"""Laws of painting: what is painted is what was meant, and nothing else gets out."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model.screen import Screen, Size
from ptycassette.replaying.paint import clipped, paint
from ptycassette.terminal.emulator import default_emulator

SIZE = Size(rows=4, cols=12)
PIECES = st.one_of(
    st.text(alphabet="ab 漢é👍\u0301", max_size=8).map(str.encode),
    st.sampled_from(
        [b"\r\n", b"\r", b"\x1b[2J", b"\x1b[K", b"\x1b[31m", b"\x1b[1;44m", b"\x1b[0m", b"\x1b[7m"]
    ),
    st.builds(lambda row, col: b"\x1b[%d;%dH" % (row, col), st.integers(1, 4), st.integers(1, 12)),
    st.binary(max_size=6),
    st.sampled_from(
        [b"\x1b]0;title\x07", b"\x1b]52;c;aGk=\x07", b"\x1b[6n", b"\x1b[?1000h", b"\x1bc"]
    ),
)
STREAMS = st.lists(PIECES, max_size=12).map(b"".join)
SAFE = re.compile(
    rb"(?:\x1b\[(?:0[\d;]*m|2J|K|\d+;\d+H|\d+G|\?25[hl])|[\x20-\x7e]|(?!\xc2[\x80-\x9f])[\xc2-\xf4][\x80-\xbf]+)*"
)


def _screens(*streams: bytes) -> list[Screen]:
    emulator = default_emulator(SIZE)
    screens = []
    for stream in streams:
        emulator.feed(stream)
        screens.append(emulator.snapshot())
    return screens


def _shown(*paints: bytes) -> tuple[str, ...]:
    emulator = default_emulator(SIZE)
    for data in paints:
        emulator.feed(data)
    return emulator.snapshot().rows


@given(STREAMS, STREAMS)
def test_painting_shows_the_screen(first: bytes, second: bytes) -> None:
    """A terminal that was painted to the first screen and on to the second shows the second."""
    one, two = _screens(first, second)

    assert _shown(paint(None, one), paint(one, two)) == _shown(paint(None, two))


@given(STREAMS, STREAMS, st.integers(1, 6), st.integers(1, 16))
def test_nothing_but_paint_comes_out(first: bytes, second: bytes, rows: int, cols: int) -> None:
    """Whatever the recording held, what reaches the terminal is of the few safe forms."""
    one, two = (clipped(screen, Size(rows=rows, cols=cols)) for screen in _screens(first, second))

    for data in (paint(None, one), paint(one, two)):
        assert SAFE.fullmatch(data), data
