"""What programs told their terminal, found in recorded output."""

from __future__ import annotations

from pathlib import Path

from ptycassette import open_cassette
from ptycassette.cassette.timeline.exchange_cutting import terminal_signals
from ptycassette.model.records import Output, Typed
from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.testing import events_of

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"


def test_a_signal_has_the_place_of_the_output_that_completes_it() -> None:
    """Also when it was cut; input tells nothing."""
    found = list(
        terminal_signals(
            events_of(
                Output(1000, b"\x1b]2;a ti"),
                Typed(2000, b"\x07"),
                Output(3000, b"tle\x07\x07"),
            )
        )
    )

    assert [(one.seq, one.t_us, one.t_ms, one.name, one.data) for one in found] == [
        (3, 3000, 3, "title", {"text": "a title"}),
        (3, 3000, 3, "bell", {}),
    ]


def test_signals_of_a_recording_are_those_of_the_emulator() -> None:
    """A recorded agent CLI, its titles, links, modes and turns among them."""
    with open_cassette(FIXTURES / "agents" / "codex-tui") as cassette:
        events = list(cassette.events())
    emulator = PyteEmulator(Size(30, 100))
    expected = []
    for event in events:
        if event.kind == "output":
            emulator.feed(event.data)
            expected += [(event.seq, one.name, one.data) for one in emulator.signals()]
    found = [(one.seq, one.name, one.data) for one in terminal_signals(events)]

    assert found == expected
    assert {name for _, name, _ in found} >= {"turn", "title", "link", "mode", "synchronized"}
