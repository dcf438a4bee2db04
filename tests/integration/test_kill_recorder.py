"""kill -9 at any moment: no half cassette, and nothing lost of what had been on the screen.

The recorder runs in a fork of the test, so that hundreds of runs cost seconds. The
moments are spread over the whole life of a run: start, recording, scrubbing,
finalising, publishing. ``PTYCASSETTE_KILLS`` sets how many there are.
"""

from __future__ import annotations

import os
import pty
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.cli import main
from ptycassette.errors import NotFoundError
from ptycassette.host import rec_session
from ptycassette.host.recovery import left_behind, recover
from ptycassette.host.staging import journal_dir
from ptycassette.scrub import default_scrubber

pytestmark = [pytest.mark.integration, pytest.mark.slow]

# Loaded and compiled here once, so that the forks spend their lives on recording.
PREPARED = (rec_session, default_scrubber())
KILLS = int(os.environ.get("PTYCASSETTE_KILLS", "70"))
BURST = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo line $i of the burst; done"
KILOHERTZ = """
import time
start = time.monotonic()
for number in range(100000):
    print("line", number, flush=True)
    time.sleep(max(0, start + number / 1000 - time.monotonic()))
"""


def in_a_terminal(action: Callable[[], object]) -> tuple[int, int]:
    """Run ``action`` in a fork with a terminal of its own; process id and master side."""
    pid, fd = pty.fork()
    if pid == 0:
        status = 99
        with suppress(BaseException):
            status = int(action() or 0)  # type: ignore[call-overload]
        os._exit(status)
    return pid, fd


def watch(fd: int, until: float) -> bytes:
    """What appears on the screen until that moment, or until the terminal is closed."""
    shown = b""
    while (left := until - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        try:
            shown += os.read(fd, 65536)
        except OSError:
            time.sleep(max(0.0, until - time.monotonic()))
            break
    return shown


def killed_after(action: Callable[[], object], seconds: float, *, seen: bytes = b"") -> bytes:
    """Run, kill -9 at that moment; everything that was on the screen.

    The moment counts from when ``seen`` is on the screen.
    """
    pid, fd = in_a_terminal(action)
    shown = b""
    while seen not in shown:
        shown += os.read(fd, 65536)
    shown += watch(fd, time.monotonic() + seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    shown += watch(fd, time.monotonic() + 0.005)  # what was on its way to the screen already
    os.close(fd)
    return shown


def seconds_of(action: Callable[[], object]) -> float:
    """How long an undisturbed run takes."""
    start = time.monotonic()
    pid, fd = in_a_terminal(action)
    with suppress(OSError):
        while os.read(fd, 65536):
            pass
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert status == 0
    return time.monotonic() - start


def moments(length_s: float, count: int) -> list[float]:
    """Moments over the whole length of a run and a little more, at random in equal steps."""
    chance = random.Random(7)
    return [(number + chance.random()) * 1.1 * length_s / count for number in range(count)]


def recorded(target: Path) -> bytes | None:
    """The bytes of the cassette, which must be a valid one; None when there is none."""
    try:
        with open_cassette(target) as cassette:
            return b"".join(cassette.raw())
    except NotFoundError:
        return None


def recording(target: Path, *argv: str) -> Callable[[], object]:
    """What ``ptycassette rec`` does."""
    return lambda: main(["rec", "-q", str(target), "--", *argv])


def test_a_kill_at_any_moment_loses_nothing_that_was_on_the_screen(tmp_path: Path) -> None:
    """There is no cassette or a whole one, and after recovering a whole one with all of it."""
    outcomes = {"published": 0, "journal": 0, "nothing": 0}
    length_s = max(seconds_of(recording(tmp_path / f"w{n}", "sh", "-c", BURST)) for n in range(3))
    for number, seconds in enumerate(moments(length_s, KILLS)):
        target = tmp_path / f"c{number}"
        shown = killed_after(recording(target, "sh", "-c", BURST), seconds)
        before = recorded(target)
        journals = [Path(left.path) for left in left_behind(journal_dir())]
        for journal in journals:
            recover(journal)
        after = recorded(target)
        kind = "published" if before is not None else "journal" if journals else "nothing"
        outcomes[kind] += 1

        assert after is not None or not shown, f"killed after {seconds:.4f} s"
        assert (after or b"").startswith(shown), f"killed after {seconds:.4f} s"
        assert before is None or before == after
    assert outcomes["journal"] > KILLS // 10, outcomes
    assert list(left_behind(journal_dir())) == []


def test_a_kill_of_a_recovery_leaves_the_journal_or_the_cassette(tmp_path: Path) -> None:
    """Recovering can be killed at any moment and done again."""
    kills = KILLS // 5
    argv = ("sh", "-c", BURST + "; exec sleep 60")
    for number in range(kills):
        target = tmp_path / f"c{number}"
        shown = killed_after(recording(target, *argv), 0.0, seen=b"line 400 ")
        (left,) = left_behind(journal_dir())
        journal = Path(left.path)
        killed_after(lambda journal=journal: recover(journal) and 0, 0.08 * number / kills)
        before = recorded(target)
        with suppress(NotFoundError):
            recover(journal)
        after = recorded(target)

        assert after is not None
        assert after.startswith(shown)
        assert before is None or before == after


def test_a_kilohertz_stream_loses_no_line_that_was_on_the_screen(tmp_path: Path) -> None:
    """Every line that a user could have seen is in the recovered cassette."""
    script = tmp_path / "stream.py"
    script.write_text(KILOHERTZ, encoding="ascii")
    target = tmp_path / "c"
    shown = killed_after(recording(target, sys.executable, str(script)), 1.0, seen=b"line 9")
    (left,) = left_behind(journal_dir())
    recover(Path(left.path))
    after = recorded(target) or b""

    assert shown.count(b"\n") > 500
    assert after.startswith(shown)
