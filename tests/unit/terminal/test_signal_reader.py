"""Signals without screens: the same as the emulator's, for the same bytes, in any pieces."""

from __future__ import annotations

from itertools import islice
from typing import Any, SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model.screen import Size
from ptycassette.terminal.core import MAX_SIGNALS
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.signal_reader import SignalReader, TurnReader

TELLING = [
    b"text",
    "漢字 👩\u200d💻\u0301".encode(),
    b"\x1b",
    b"\xc2",
    b"\x9d",
    b"\x1b[",
    b"\x1b[31m\x1b[H",
    b"\x1b]0;title",
    b"\x1b]7501;state=working\x07",
    b"\x1b]7501;state=idle\x1b\\",
    b"\x1b]133;C\x07",
    b"\xc2\x9d133;D;0\xc2\x9c",
    b"\x1bc",
    b"]",
    b"c",
    b"\x07",
    b"\x1bP",
    b"\x1b_",
    b"\x18",
    b"\x1b\\",
    b"\x1b[?1049h",
    b"\x1b[?2026h\x1b[?2026l",
    b"\x1b[6n",
    b"\x1b[22t\x1b[23t",
    b"\x1b[99b",
    b"x" * 300,
    b"\r\n\t\b\x0b\x0c\x0e\x0f\x00",
    b"\x05",
    b"\x7f\x1a",
    b"\x1b[2J\x1b[K\x1b[X\x1b[L\x1b[M\x1b[P\x1b[@\x1b[S\x1b[T\x1b#8\x1bD\x1bM\x1bE",
    b"\x1b[?\n25l\x1b[?25\th",
]
TURNS = {"turn", "prompt", "reset"}
PIECES = st.lists(st.sampled_from(TELLING), max_size=30)


@given(PIECES, st.integers(1, 600))
def test_signals_are_those_of_the_emulator(pieces: list[bytes], cut: int) -> None:
    """All of them, in order, however the output is cut."""
    data = b"".join(pieces)
    emulator, reader = PyteEmulator(Size(4, 20)), SignalReader()
    emulator.feed(data)
    signals = [
        signal for at in range(0, len(data), cut) for signal in reader.feed(data[at : at + cut])
    ]

    assert signals == list(emulator.signals())
    assert reader.open == bool(emulator.pending)


@given(PIECES, st.integers(1, 600))
def test_turns_are_found_without_reading_everything(pieces: list[bytes], cut: int) -> None:
    """Turn marks, prompt marks and resets are all there, in order."""
    data = b"".join(pieces)
    everything, turns = SignalReader(), TurnReader()
    signals = [
        signal for at in range(0, len(data), cut) for signal in turns.feed(data[at : at + cut])
    ]

    assert [signal for signal in signals if signal.name in TURNS] == [
        signal for signal in everything.feed(data) if signal.name in TURNS
    ]


def test_no_signal_is_dropped_in_a_flood() -> None:
    """The emulator keeps a bounded number for whoever takes them; a reader hands out all."""
    assert len(SignalReader().feed(b"\x07" * (2 * MAX_SIGNALS))) == 2 * MAX_SIGNALS


def test_a_flood_is_handed_out_while_it_is_read() -> None:
    """Whoever stops early pays for what came so far."""
    reader = SignalReader()
    flood = b"\x07" * (10 * MAX_SIGNALS)

    assert sum(1 for _ in islice(reader.each(flood), 5)) == 5
    assert len(reader.feed(b"\x07")) == 1


class _Counted(bytes):
    """Output that counts the bytes that are copied out of it."""

    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        part = super().__getitem__(key)
        if isinstance(part, int):
            return part
        _Counted.copied += len(part)
        return _Counted(part)


@pytest.mark.parametrize(
    "flood",
    [b"\x1b]2;a\x07" + b"text" * 100, b"\x1b]133;A\x07", b"\x1b]2;" + b"a" * 999],
    ids=["titles", "turns", "without-end"],
)
@pytest.mark.parametrize("of", [SignalReader, TurnReader])
def test_reading_grows_with_the_output(flood: bytes, of: type[SignalReader | TurnReader]) -> None:
    """However long one output is, its bytes are looked at once, not once for each mark."""
    _Counted.copied = 0
    data = _Counted(flood * (400_000 // len(flood)))
    of().feed(data)

    assert _Counted.copied <= 4 * len(data)


@pytest.mark.parametrize("rest", [b"]7501;state=idle\x07", b"c"])
def test_a_mark_may_begin_at_the_end_of_a_chunk(rest: bytes) -> None:
    """The escape character alone is enough to go on looking."""
    turns = TurnReader()

    assert turns.feed(b"plain text\x1b") == ()
    assert len(turns.feed(rest)) == 1
