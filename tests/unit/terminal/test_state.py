"""Saving an emulator and going on from what was saved."""

from __future__ import annotations

import msgspec
import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.state import load_emulator, save_emulator

BUSY = (
    "\x1b[>1u\x1b]0;title\x07\x1b[22t\x1b[2;4r\x1b[1;38;5;99mab\x1b[2;2H\x1b7\x1b(0q\x1b)A\x1b[4h漢字"
    '\x1b[1"q protected\x1b]8;;http://a\x07link'
    "\x1b[?1049h\x1b[3;3H\x1b7alt\x1b[>3u\x1b[5 q\x1b[?1002h"
    "\x1b[?2004h\x1b[3gline\r\n\r\n\r\n\r\n\r\n\x1b[?1049l\r\n\r\n\r\nmore\r\n\x1b[?47h\x1b[31mx"
)


def busy(extra: bytes = b"") -> PyteEmulator:
    """An emulator with something in every corner."""
    emulator = PyteEmulator(Size(4, 12), scrollback=5)
    emulator.feed(BUSY.encode() + extra)
    return emulator


@pytest.mark.parametrize(
    "extra", [b"", b"\x1b", b"\x1b[3", b"\x1b]0;tit", b"\x1bPq#", b"\x1bP1", b"\x1b_x", b"\xe6\xbc"]
)
def test_a_loaded_emulator_goes_on_as_the_saved_one(extra: bytes) -> None:
    """Also in the middle of a sequence, a string or a character."""
    saved, more = busy(extra), b"\xa2;1mz\x1b\\\x1b8\x0eq\x1b[?47ly\x1b8w\x1b[?K\x1b[23t\n\n\tv"
    loaded = load_emulator(save_emulator(saved))
    for emulator in (saved, loaded):
        emulator.answers()
        emulator.feed(more)
        emulator.resize(Size(6, 9))

    assert loaded.snapshot() == saved.snapshot()
    assert loaded.scrollback() == saved.scrollback()
    assert save_emulator(loaded) == save_emulator(saved)


def test_a_state_is_the_same_however_it_was_reached() -> None:
    """Saving what was loaded gives the same bytes, and pending is kept."""
    saved = busy(b"\x1b[12")
    state = save_emulator(saved)
    loaded = load_emulator(state)

    assert save_emulator(loaded) == state
    assert loaded.pending == saved.pending == 4
    assert loaded.identity == saved.identity


def test_the_state_of_another_version_is_refused() -> None:
    """The message names both versions."""
    state = msgspec.msgpack.decode(save_emulator(busy()))
    state["version"] = "0.0.1"

    with pytest.raises(ValueError, match=r"of emulator 0\.0\.1, this one is 0\.8\.2"):
        load_emulator(msgspec.msgpack.encode(state))


@pytest.mark.parametrize("data", [b"", b"\x80", b"nonsense", b"\xc1"])
def test_what_is_no_state_is_refused(data: bytes) -> None:
    """Garbage raises nothing but the declared error."""
    with pytest.raises(ValueError, match="not the state of an emulator"):
        load_emulator(data)


# Where in the state, and what impossible thing to put there. Buffers are arrays:
# lines, columns, scrollback, reflows, rows, history, x, y, top, bottom, tabs, saved.
IMPOSSIBLE = [
    (["main", 0], 5000),
    (["main", 1], 1),
    (["main", 4], []),
    (["main", 4, 0, 0], ["x"]),
    (["main", 4, 0, 1], [[0, 3]]),
    (["main", 4, 0, 1], [[77, 12]]),
    (["main", 4, 0, 1], [[0, 24], [0, -12]]),
    (["main", 4, 0, 0, 0], "x" * 99),
    (["main", 6], 99),
    (["main", 7], -1),
    (["main", 8], 9),
    (["main", 11, 0], -5),
    (["main", 11, 3], "?"),
    (["main", 2], 1 << 40),
    (["alt", 0], 3),
    (["glevel"], 9),
    (["gsets"], ["B"]),
    (["pen"], -1),
    (["scrollback"], -1),
    (["parser", 0], 17),
    (["parser", 5], b"abcdef"),
]


@pytest.mark.parametrize(("path", "value"), IMPOSSIBLE)
def test_an_impossible_state_is_refused(path: list[str | int], value: object) -> None:
    """Every count, index and size is checked."""
    state = msgspec.msgpack.decode(save_emulator(busy()))
    place = state
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value

    with pytest.raises(ValueError, match="not the state of"):
        load_emulator(msgspec.msgpack.encode(state))
