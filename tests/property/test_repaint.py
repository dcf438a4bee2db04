"""Output that paints a screen again, and the bytes that painted a part of it, over any output."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from ptycassette.model.screen import Size
from ptycassette.scrub.mask import mask_text
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.repaint import repaint_bytes
from ptycassette.terminal.watched import PaintedBytes
from tests.examples import examples
from tests.property.test_screen_laws import CUTS, SIZES, STREAMS, pieces

_MORE = st.sampled_from(
    [
        b"\x1b[44m\x1b[K",
        b"\x1b[4;7mab\x1b[3X",
        b'\x1b[1"qkept\x1b[0"q',
        b"\x1b[3g\x1b[5G\x1bH",
        b"\x1b]8;;http://x.invalid/\x1b\\link\x1b]8;;\x1b\\",
        b"\x1b]2;a title\x07\x1b[22;2t\x1b]2;another\x07",
        b"\x1b[>5u\x1b[4 q\x1b[?1002h\x1b[?1006h\x1b=",
        b"\x1b[>1u\x1b[?1049h",
        b"\x1b)0\x0elqk\x0f",
        b"\x1b[5i\x1b7\x1b[31m",
        b"wide \xe6\xbc\xa2 over the end of a row \xe6\xbc\xa2\xe5\xad\x97",
        b"\r\n" * 9,
    ]
)
OUTPUT = st.lists(st.one_of(STREAMS, _MORE), max_size=5).map(b"".join)
_PARTS = b"\x1b[?777h"
"""A mode that nobody knows: what comes behind it joins nothing that came before."""


@given(OUTPUT, OUTPUT, SIZES)
@examples(300)
def test_a_repainted_terminal_goes_on_as_the_other_one(
    before: bytes, after: bytes, size: Size
) -> None:
    """Screen, history and what is printed next are the same; nothing is asked of the terminal.

    Without wraparound, wide characters that do not fit leave cells that no output makes, and so
    does a joiner that stands behind nothing.
    """
    assume(b"?7l" not in before or before.isascii())
    lived, fresh = PyteEmulator(size), PyteEmulator(size)
    lived.feed(before)
    rows = [*lived.terminal.main.history, *lived.terminal.main.rows, *lived.terminal.buf.rows]
    assume(not any(cell.startswith("\u200d") for row in rows for cell in row.chars))
    fresh.feed(repaint_bytes(lived))
    boards = [emulator.terminal.keyboard for emulator in (fresh, lived)]

    assert boards[0].shown == boards[1].shown
    assert lived.terminal.alt is None or boards[0].hidden == boards[1].hidden
    assert not fresh.pending
    assert fresh.answers() == b""
    assert fresh.snapshot() == lived.snapshot()
    assert fresh.scrollback() == lived.scrollback()
    lived.feed(b"\x18")
    for emulator in (lived, fresh):
        emulator.feed(_PARTS + after)
    assert fresh.snapshot() == lived.snapshot()


@given(OUTPUT, OUTPUT, SIZES, CUTS, st.tuples(st.integers(0, 7), st.integers(0, 19)))
@examples(300)
def test_masking_what_painted_a_part_leaves_nothing_in_it(
    before: bytes, data: bytes, size: Size, cuts: list[int], place: tuple[int, int]
) -> None:
    """Every screen has the same cells elsewhere, and no letter in the part."""
    row, column = place
    painted = PaintedBytes(size, rows=range(row, row + 1), columns=range(column, column + 3))
    painted.feed(before, listen=False)
    for piece in pieces(data, cuts):
        painted.feed(piece, listen=True)
    masked = bytearray(before + data)
    for start, stop in painted.stretches():
        masked[start:stop] = mask_text(bytes(masked[start:stop]))

    emulator = PyteEmulator(size)
    emulator.feed(bytes(masked[: len(before)]))
    for piece in pieces(bytes(masked[len(before) :]), cuts):
        emulator.feed(piece)
        if row < size.rows:
            shown = "".join(emulator.cells()[row][column : column + 3])
            assert not set(shown) & set("abdehiklnorstw"), shown
