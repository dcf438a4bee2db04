"""What a user sees while a recording is saved."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptycassette.cli._rec_plan import SavingLine

MARK = "\N{BULLET}"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """The two sides of one."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def shown(terminal: tuple[int, int]) -> str:
    """What is on the terminal, up to a mark that is put behind it: it may come late."""
    ours, theirs = terminal
    os.write(theirs, MARK.encode())
    data = b""
    while not data.endswith(MARK.encode()):
        data += os.read(ours, 4096)
    return data.decode().removesuffix(MARK)


def test_it_appears_after_half_a_second(terminal: tuple[int, int]) -> None:
    """With what is left, and how long that takes at the rate of the last seconds."""
    now_s = [0.0]
    line = SavingLine(terminal[1], now_s=lambda: now_s[0])
    line(1_000_000, 5_000_000)
    now_s[0] = 0.4
    line(1_400_000, 5_000_000)
    early = shown(terminal)
    now_s[0] = 1.0
    line(2_000_000, 5_000_000)

    assert early == ""
    assert shown(terminal).endswith("ptycassette: saving, 3.0 MB left, 3 s")


def test_it_goes_away(terminal: tuple[int, int]) -> None:
    """The last thing is an empty line; without anything shown, nothing at all."""
    now_s = [0.0]
    line = SavingLine(terminal[1], now_s=lambda: now_s[0])
    line.close()
    before = shown(terminal)
    line(0, 10)
    now_s[0] = 1.0
    line(0, 10)
    line.close()
    line.close()

    assert before == ""
    assert shown(terminal).endswith("saving, 10 B left\r\x1b[K")


def test_it_says_nothing_where_there_is_no_terminal(tmp_path: Path) -> None:
    """A log file is not animated."""
    fd = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    now_s = [0.0]
    line = SavingLine(fd, now_s=lambda: now_s[0])
    line(0, 10)
    now_s[0] = 5.0
    line(5, 10)
    line.close()
    os.close(fd)

    assert (tmp_path / "log").read_bytes() == b""


def test_a_terminal_that_went_away_is_no_error() -> None:
    """A driver may have hung up."""
    ours, theirs = pty.openpty()
    now_s = [0.0]
    line = SavingLine(theirs, now_s=lambda: now_s[0])
    line(0, 10)
    os.close(ours)
    now_s[0] = 5.0
    line(5, 10)
    line.close()
    os.close(theirs)
