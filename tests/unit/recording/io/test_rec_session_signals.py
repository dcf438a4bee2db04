"""Signals that come to a recorder before its session is watched."""

from __future__ import annotations

import signal
from unittest.mock import Mock

from ptycassette.recording.io.rec_session import _EndingSignals


def test_a_stop_that_is_passed_waits_for_the_session() -> None:
    """The program may be seen to be ready before; a recorder that stops then is not continued."""
    session = Mock(finished=False, pid=None)
    ending = _EndingSignals(Mock(), passes=True)
    ending._stop = Mock()  # type: ignore[method-assign]

    ending._came(signal.SIGTSTP, None)
    assert not ending._stop.called
    ending.watch(session)

    ending._stop.assert_called_once_with(signal.SIGTSTP)
