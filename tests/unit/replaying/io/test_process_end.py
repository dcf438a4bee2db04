"""Signals as cassettes describe them."""

from __future__ import annotations

import signal

import pytest

from ptycassette.replaying.standin.io.process import signal_of_text
from ptycassette.system.pty.process import exit_status


@pytest.mark.parametrize("number", [s for s in signal.Signals if s < 32])
def test_a_signal_is_found_by_every_description(number: signal.Signals) -> None:
    """As our recorder and the reference's write it, and by name and number."""
    assert signal_of_text(exit_status(int(number)).signal) == number
    assert signal_of_text(number.name) == number
    assert signal_of_text(number.name.removeprefix("SIG").lower()) == number
    assert signal_of_text(f"signal {int(number)}") == number


@pytest.mark.parametrize("text", ["", "nonsense", "signal 0", "signal 99999"])
def test_what_is_no_signal_is_none(text: str) -> None:
    """Rather than a guess."""
    assert signal_of_text(text) is None
