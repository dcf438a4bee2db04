"""The emulator: the same screen however its input is cut, and short answers."""

from __future__ import annotations

from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import default_emulator

_SIZE = Size(rows=6, cols=20)
_LONGEST_ANSWER = 600  # of one query, which takes three bytes


def check(data: bytes) -> None:
    """Feed it whole and byte by byte, then resize."""
    whole, single = default_emulator(_SIZE), default_emulator(_SIZE)
    whole.feed(data)
    for at in range(len(data)):
        single.feed(data[at : at + 1])
    assert whole.snapshot() == single.snapshot(), "it matters where it is cut"
    answers = whole.answers()
    assert answers == single.answers(), "the answers depend on where it is cut"
    assert len(answers) <= _LONGEST_ANSWER * (1 + len(data) // 3), "it answers without end"
    assert whole.pending <= len(data)
    for size in (Size(rows=2, cols=5), Size(rows=9, cols=31)):
        whole.resize(size)
        whole.feed(b"\r\n")
        screen = whole.snapshot()
        assert (screen.size, len(screen.rows)) == (size, size.rows)
        assert 0 <= screen.cursor.row < size.rows
        assert 0 <= screen.cursor.col <= size.cols
