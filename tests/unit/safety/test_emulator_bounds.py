"""Streams that hang or crash other emulators: time as their length, memory bounded."""

from __future__ import annotations

import time

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import default_emulator
from ptycassette.testing import scrub_chunks

STREAMS = {
    "combining marks in one cell": b"a" + "\u0301".encode() * 200_000,
    "combining marks in all cells": ("a\u0301\u0301" * 50_000).encode(),
    "joined characters": ("\U0001f469\u200d" * 40_000).encode(),
    "variation selectors": b"a" + "\ufe0f".encode() * 200_000,
    "parameters": b"\x1b[" + b";" * 200_000 + b"H",
    "digits": b"\x1b[" + b"9" * 400_000 + b"H",
    "sub-parameters": b"\x1b[4" + b":3" * 100_000 + b"m",
    "a sequence without end": b"\x1b[" + b"1;" * 200_000,
    "a title of megabytes": b"\x1b]0;" + b"x" * 2_000_000 + b"\x07",
    "a string of megabytes": b"\x1bPq" + b"~" * 2_000_000 + b"\x1b\\",
    "links": b"".join(b"\x1b]8;;http://%d\x07x" % number for number in range(20_000)),
    "colours": b"".join(b"\x1b[38;2;%d;%d;7mx" % divmod(n, 256) for n in range(30_000)),
    "repetitions": b"x" + b"\x1b[99999999b" * 2_000,
    "insertions": b"\x1b[99999L\x1b[99999@" * 5_000,
    "scrolling": b"\x1b[99999S\x1b[99999T" * 5_000,
    "titles pushed": b"\x1b[22t" * 50_000,
    "keyboard modes pushed": b"\x1b[>1u" * 50_000,
    "questions": b"\x1b[6n\x1b[c\x05" * 30_000,
    "resets": b"\x1bc" * 5_000,
    "screens switched": b"\x1b[?1049h\x1b[?1049l" * 5_000,
    "strings begun": b"\xc2\x9d" * 200_000,
    "escapes": b"\x1b" * 500_000,
    "capabilities": b"\x1bP+q" + b"544e;" * 50_000 + b"\x1b\\",
}


@pytest.mark.parametrize("share", [10, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", STREAMS)
def test_a_hostile_stream_costs_no_more_than_its_length(name: str, share: int) -> None:
    """Emulated, in blocks as they would be read: the first tenth, and all of it."""
    data = STREAMS[name][: len(STREAMS[name]) // share]
    emulator = default_emulator(Size(rows=24, cols=80))
    began = time.process_time()
    for at in range(0, len(data), 65536):
        emulator.feed(data[at : at + 65536])
    screen = emulator.snapshot()
    answers = emulator.answers()

    assert time.process_time() - began < 15 / share
    assert sum(map(len, screen.rows)) + len(screen.title) < 1_000_000
    assert len(answers) < 1 << 20


@pytest.mark.parametrize("share", [10, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", STREAMS)
def test_scrubbing_a_hostile_stream_ends(name: str, share: int) -> None:
    """It follows every cell, and keeps every length."""
    data = STREAMS[name][: 100_000 // share]
    began = time.process_time()
    done = scrub_chunks([data], rows=24, cols=80, known=["correct-horse-battery"])

    assert [len(one) for one in done] == [len(data)]
    assert time.process_time() - began < 15 / share


@pytest.mark.parametrize("size", [Size(10**6, 10**6), Size(0, 0), Size(65535, 1), Size(-1, -1)])
def test_a_screen_is_never_larger_than_a_thousand(size: Size) -> None:
    """Whatever a manifest or a resize asks for."""
    emulator = default_emulator(Size(rows=24, cols=80))
    emulator.resize(size)
    made = emulator.snapshot().size

    assert 1 <= made.rows <= 1000
    assert 1 <= made.cols <= 1000
