"""Laws of the emulator: any bytes, any pieces, any size."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.render import render_ansi
from ptycassette.terminal.state import load_emulator, save_emulator
from ptycassette.terminal.watched import LazyEmulator
from ptycassette.terminal.widths import WidthModeName, row_cells
from tests.examples import examples

FRAGMENTS = st.sampled_from(
    [
        b"a",
        b"hello world ",
        b"\r\n",
        b"\n",
        b"\x08",
        b"\t",
        b"\x1b",
        b"\x1b[",
        b"\x1b]0;",
        b"\x1bP",
        b"\x1b_",
        b"\x1b\\",
        b"\x07",
        b"\x18",
        b"\x9c",
        b"\xc2\x9b",
        b"\xef\xbb\xbf",
        "漢字".encode(),
        "👩\u200d💻".encode(),
        "❤\ufe0f".encode(),
        "🇯🇵".encode(),
        "\u0301".encode(),
        "e\u0301o\u0308\u0323".encode(),
        ("x" + "\u0301" * 40).encode(),
        b"\x1b[m",
        b"\x1b[1;31;48;5;9m",
        b"\x1b[H",
        b"\x1b[2;3H",
        b"\x1b[J",
        b"\x1b[1K",
        b"\x1b[2L",
        b"\x1b[M",
        b"\x1b[3@",
        b"\x1b[2P",
        b"\x1b[2;3r",
        b"\x1b[S",
        b"\x1bM",
        b"\x1b7",
        b"\x1b8",
        b"\x1b[4h",
        b"\x1b[?6h",
        b"\x1b[?7l",
        b"\x1b[?45h",
        b"\x1b[?1049h",
        b"\x1b[?1049l",
        b"\x1b[9999999999b",
        b"\x1b(0",
        b"\x0e",
        b"\x1b[6n",
        b"\x1bc",
    ]
)
STREAMS = st.lists(st.one_of(FRAGMENTS, st.binary(max_size=6)), max_size=40).map(b"".join)
SIZES = st.builds(Size, rows=st.integers(1, 8), cols=st.integers(2, 20))
CUTS = st.lists(st.integers(0, 400), max_size=12)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The stream cut at the given places."""
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    return [data[a:b] for a, b in pairwise(places)]


@given(STREAMS, SIZES, CUTS, SIZES)
@examples(300)
def test_cutting_the_output_changes_nothing(
    data: bytes, size: Size, cuts: list[int], later: Size
) -> None:
    """Screen, pending bytes, answers, signals, history and state are the same, resized or not."""
    whole, cut = PyteEmulator(size), PyteEmulator(size)
    whole.feed(data)
    for piece in pieces(data, cuts):
        cut.feed(piece)

    assert cut.snapshot() == whole.snapshot()
    assert cut.pending == whole.pending
    assert cut.answers() == whole.answers()
    assert cut.signals() == whole.signals()
    for emulator in (whole, cut):
        emulator.resize(later)
    assert save_emulator(cut) == save_emulator(whole)


PARTS = st.sampled_from(
    [
        b"\x1b", b"\x1b[", b"\xc2\x9b", b"[", b"1", b";", b"2;3", b"?", b"<", b" ", b"!", b"\x00",
        b"\n", b"\r", b"\x7f", b"\x07", b"\x18", b"\x1a", b"m", b"H", b"A", b"K", b"q", b"z", b"h",
        b"P", b"]0;t", b"X", b"^", b"_", b"\\", b"(", b"0", b"7", b"c", b"\xc2\x90", b"\xc2\x9d",
        "é".encode(), "漢".encode(), "e\u0301".encode(), "\u0301".encode(), b"\xff", b"\x08",
    ]
)  # fmt: skip
"""Of control functions: put together at random, most are malformed or aborted."""


@given(st.lists(PARTS, max_size=14).map(b"".join))
@examples(600)
def test_malformed_functions_are_parsed_at_once_as_byte_by_byte(data: bytes) -> None:
    """At once an expression takes them apart, byte by byte a machine."""
    whole, cut = PyteEmulator(Size(4, 12)), PyteEmulator(Size(4, 12))
    whole.feed(data)
    for byte in data:
        cut.feed(bytes([byte]))

    assert cut.snapshot() == whole.snapshot()
    assert (cut.answers(), cut.signals()) == (whole.answers(), whole.signals())
    assert save_emulator(cut) == save_emulator(whole)
    assert cut.terminal.kind == whole.terminal.kind


TEXTS = st.lists(
    st.sampled_from(
        "ae❤漢\U0001f468\u0301\u0323\ufe0f\u200d\u0600\u0e47\u093f\u1100\u1161\uac00\u200b"
    )
    | st.sampled_from(
        ["\u0301" * 40, "\U000e0100" * 40, "\U0001f3fd", "e\u0301o\u0308", "a" + "\u0301" * 40]
    ),
    max_size=30,
).map("".join)


@given(TEXTS, SIZES, st.sampled_from(["cluster", "codepoint"]), st.booleans(), st.booleans())
@examples(400)
def test_text_is_painted_as_its_characters_one_by_one(
    text: str, size: Size, mode: WidthModeName, wraps: bool, control_before: bool
) -> None:
    """Bases, marks and joiners in any order, with and without wrapping."""
    whole, cut = (PyteEmulator(size, width=mode) for _ in range(2))
    before = b"" if wraps else b"\x1b[?7l"
    for emulator in (whole, cut):
        emulator.feed(before if control_before else before + b"x")
    whole.feed(text.encode())
    for char in text:
        cut.feed(char.encode())

    assert save_emulator(cut) == save_emulator(whole)


@given(STREAMS, SIZES)
@examples(200)
def test_a_screen_is_whole_whatever_made_it(data: bytes, size: Size) -> None:
    """As many rows and cells as the size says, the cursor inside, runs inside, no blank shown."""
    emulator = PyteEmulator(size)
    emulator.feed(data)
    screen = emulator.snapshot()

    assert len(screen.rows) == len(screen.styles) == size.rows
    assert {len(row) for row in emulator.cells()} == {size.cols}
    assert screen.cursor.row < size.rows
    assert screen.cursor.col < size.cols
    assert all(run.col + run.length <= size.cols for runs in screen.styles for run in runs)
    assert "\0" not in screen.text
    assert {len(row_cells(screen, row)) for row in range(size.rows)} == {size.cols}
    assert render_ansi(screen).count("\n") == size.rows - 1


@given(STREAMS, SIZES)
@examples(200)
def test_the_pending_bytes_are_the_open_sequence(data: bytes, size: Size) -> None:
    """Fed alone to a fresh emulator they are pending again, and change nothing but C0 effects."""
    emulator = PyteEmulator(size)
    emulator.feed(data)
    pending = emulator.pending

    assert 0 <= pending <= len(data)
    fresh = PyteEmulator(size)
    fresh.feed(data[len(data) - pending :])
    assert fresh.pending == pending


@given(STREAMS, STREAMS, SIZES)
@examples(200)
def test_a_checkpoint_loses_nothing(before: bytes, after: bytes, size: Size) -> None:
    """Saved anywhere, loaded, and fed on: the same as never stopped."""
    straight = PyteEmulator(size)
    straight.feed(before)
    loaded = load_emulator(save_emulator(straight))
    for emulator in (straight, loaded):
        emulator.feed(after)

    assert loaded.snapshot() == straight.snapshot()
    assert save_emulator(loaded) == save_emulator(straight)


@given(STREAMS, SIZES, CUTS, SIZES)
@examples(200)
def test_tracing_changes_no_screen(data: bytes, size: Size, cuts: list[int], later: Size) -> None:
    """The traced emulator shows the same, and origins lie within the output."""
    plain = PyteEmulator(size)
    traced = LazyEmulator(size, lambda _rows, _numbers, _cols: None)
    plain.feed(data)
    for piece in pieces(data, cuts):
        traced.feed(piece)

    assert traced.snapshot() == plain.snapshot()
    plain.resize(later)
    traced.resize(later)
    assert traced.snapshot() == plain.snapshot()
    origins = [origin for row in traced.terminal.buf.rows for origin in row.origins or []]
    pairs = [(at, at + 1) if isinstance(at, int) else at for at in origins if at is not None]
    assert all(0 <= start < end <= len(data) for start, end in pairs)
