"""Signals that come to a recorder before its session is watched, or when its program ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from ptycassette.model.screen import Size
from ptycassette.recording.io import _interactive as _user_signals
from ptycassette.recording.io.recording import _EndingSignals
from ptycassette.system.pty.terminal import disposition

CATCHES = """
import os, signal
signal.signal(signal.SIGTSTP, lambda *_: os._exit(0))
print("ready", flush=True)
while True:
    signal.pause()
"""


def test_a_stop_that_is_passed_waits_for_the_session() -> None:
    """The program may be seen to be ready before; a recorder that stops then is not continued."""
    session = Mock(finished=False, pid=None)
    ending = _EndingSignals(Mock(), passes=True)
    ending._stop = Mock()  # type: ignore[method-assign]

    ending._came(signal.SIGTSTP, None)
    assert not ending._stop.called
    ending.watch(session)

    ending._stop.assert_called_once_with(signal.SIGTSTP)


@pytest.fixture
def catching() -> Iterator[subprocess.Popen[bytes]]:
    """A program that ends when SIGTSTP comes; nothing waits for it."""
    with subprocess.Popen([sys.executable, "-c", CATCHES], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        yield program
        program.kill()


def wait_until_ended(program: subprocess.Popen[bytes]) -> None:
    """Wait, and leave its status to be collected."""
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)


def test_a_child_that_has_ended_does_nothing_with_a_signal(
    catching: subprocess.Popen[bytes],
) -> None:
    """It catches no signal any more, and does not have the default behaviour either."""
    assert disposition(catching.pid, signal.SIGTSTP) == "caught"
    catching.send_signal(signal.SIGTSTP)
    wait_until_ended(catching)

    assert disposition(catching.pid, signal.SIGTSTP) == "ended"


def test_a_program_that_ends_at_a_stop_signal_does_not_stop_its_recorder(
    catching: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing would continue the recorder: its driver waits for the end of the program."""
    stopped: list[int] = []
    monkeypatch.setattr(_user_signals, "stop_self", stopped.append)
    signals = _user_signals.UserSignals(
        Mock(pid=catching.pid), Mock(), _user_signals.Streams(passes_signals=True),
        size=Size(24, 80), now_us=lambda: 1,
    )  # fmt: skip

    def pass_on(number: int) -> None:
        catching.send_signal(number)
        wait_until_ended(catching)

    monkeypatch.setattr(signals, "_pass", pass_on)
    signals._obey(signal.SIGTSTP)

    assert stopped == []
