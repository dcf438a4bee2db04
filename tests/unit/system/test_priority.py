"""The thread that stamps output has its turn first, where that is allowed."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from ptycassette.system.pty.process import raised_priority

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nice values of threads")


def test_only_the_thread_is_raised_and_only_while_it_is_in_the_block() -> None:
    """Where the system refuses, nothing changes."""
    values: list[int] = []

    def work() -> None:
        for block in (raised_priority(), raised_priority()):
            with block:
                values.append(os.getpriority(os.PRIO_PROCESS, 0))
            values.append(os.getpriority(os.PRIO_PROCESS, 0))

    before = os.getpriority(os.PRIO_PROCESS, 0)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    raised, after = values[:2]

    assert values == [raised, before, raised, after]
    assert raised in {before, max(-20, before - 10)}
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_a_refusal_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordinary users are refused."""

    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    with raised_priority():
        done = True

    assert done
