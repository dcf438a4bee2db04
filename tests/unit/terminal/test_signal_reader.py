"""Signals without screens: the same as the emulator's, for the same bytes, in any pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model import Size
from ptycassette.terminal import PyteEmulator
from ptycassette.terminal.signal_reader import SignalReader, TurnReader
from ptycassette.terminal.signals import MAX_SIGNALS

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


@pytest.mark.parametrize("rest", [b"]7501;state=idle\x07", b"c"])
def test_a_mark_may_begin_at_the_end_of_a_chunk(rest: bytes) -> None:
    """The escape character alone is enough to go on looking."""
    turns = TurnReader()

    assert turns.feed(b"plain text\x1b") == ()
    assert len(turns.feed(rest)) == 1
