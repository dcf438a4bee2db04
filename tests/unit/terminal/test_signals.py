"""What programs tell their terminal besides text."""

from __future__ import annotations

import pytest

from ptycassette.model.screen import Size
from ptycassette.terminal.core import MAX_SIGNALS, Signal
from ptycassette.terminal.emulator import PyteEmulator


def signals_of(data: bytes) -> list[Signal]:
    """The signals that ``data`` gives."""
    emulator = PyteEmulator(Size(4, 20))
    emulator.feed(data)
    return list(emulator.signals())


@pytest.mark.parametrize(
    ("data", "name", "fields"),
    [
        (b"\x1b]2;t\xc3\xa9\x07", "title", {"text": "té"}),
        (b"\x1b]1;i\x07", "icon", {"text": "i"}),
        (b"\x1b]7;file://h/d\x07", "cwd", {"uri": "file://h/d"}),
        (b'\x1b]9;9;"C:\\d"\x07', "cwd", {"path": "C:\\d"}),
        (b"\x1b]1337;CurrentDir=/d\x07", "cwd", {"path": "/d"}),
        (b"\x1b]8;id=1;http://a\x07", "link", {"uri": "http://a", "params": "id=1"}),
        (b"\x1b]9;done\x07", "notification", {"body": "done"}),
        (b"\x1b]777;notify;T;B\x07", "notification", {"title": "T", "body": "B"}),
        (b"\x1b]99;i=1;hello\x07", "notification", {"body": "hello"}),
        (b"\x1b]9;4;1;50\x07", "progress", {"state": "1", "percent": "50"}),
        (b"\x1b]52;c;aGk=\x07", "clipboard", {"selection": "c", "payload": "aGk="}),
        (b"\x1b]133;D;1\x07", "prompt", {"mark": "D", "detail": "1"}),
        (b"\x1b]633;A\x07", "prompt", {"mark": "A", "detail": ""}),
        (b"\x1b]7501;state=idle;turn=3\x07", "turn", {"state": "idle", "turn": "3"}),
        (b"\x1b]7501;state=working:app=x\x07", "turn", {"state": "working", "app": "x"}),
        (b"\x1b]7501;working\x07", "turn", {"state": "working"}),
        (b"\x07", "bell", {}),
        (b"\x1b[?2004h", "mode", {"mode": "?2004", "on": "1"}),
        (b"\x1b[4h\x1b[4l", "mode", {"mode": "4", "on": "1"}),
        (b"\x1b[?2026h", "synchronized", {"on": "1"}),
        (b"\x1b[?1049h", "alt-screen", {"on": "1"}),
        (b"\x1bc", "reset", {}),
    ],
)
def test_a_sequence_tells_a_signal(data: bytes, name: str, fields: dict[str, str]) -> None:
    """The first signal has the name and the data."""
    signal = signals_of(data)[0]

    assert (signal.name, signal.data) == (name, fields)


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b]777;other;T\x07",
        b"\x1b]1337;SetMark\x07",
        b"\x1b]12345;x\x07",
        b"\x1b]x;y\x07",
        b"\x1b]\x07",
        "\x1b]\u0663;x\x07".encode(),
        b"\x1b[?7h",
        b"text\r\n",
    ],
)
def test_what_tells_nothing_is_silent(data: bytes) -> None:
    """Unknown strings and modes that do not change give no signal."""
    assert signals_of(data) == []


def test_signals_are_taken_once() -> None:
    """A second call finds nothing."""
    emulator = PyteEmulator(Size(4, 20))
    emulator.feed(b"\x07")

    assert len(emulator.signals()) == 1
    assert emulator.signals() == ()


@pytest.mark.slow
def test_unread_signals_are_bounded_and_the_newest_are_kept() -> None:
    """A hundred thousand bells leave a bounded number, and the last title among them."""
    emulator = PyteEmulator(Size(4, 20))
    emulator.feed(b"\x07" * 100_000 + b"\x1b]2;last\x07")
    signals = emulator.signals()

    assert len(signals) <= MAX_SIGNALS
    assert signals[-1].data == {"text": "last"}
    assert emulator.terminal.signals.dropped > 0


def test_long_values_are_cut() -> None:
    """A megabyte of title is not kept."""
    assert len(signals_of(b"\x1b]7;" + b"x" * 100_000 + b"\x07")[0]["uri"]) == 4096


def test_a_synchronised_update_is_visible_while_it_is_open() -> None:
    """Frames wait for its end."""
    emulator = PyteEmulator(Size(4, 20))
    emulator.feed(b"\x1b[?2026hab")

    assert emulator.synchronized
    emulator.feed(b"\x1b[?2026l")
    assert not emulator.synchronized
