"""Stand-ins: how soon the first byte comes, runs a second, and replays in one process."""

from __future__ import annotations

import os
import pty
import resource
import subprocess
import sys
import tempfile
import termios
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring import Report, alternate, machine, run
from ptycassette.model.records import ExitStatus, Finished, Output, Typed
from ptycassette.replaying.standin.io import boot
from ptycassette.testing import write_cassette

__all__ = ["measure"]

BOOT = [sys.executable, "-I", "-S", str(boot.__file__)]
PRINT = [sys.executable, "-c", "print('> ', end='', flush=True); input()"]
TEST = """
import pytest
from ptycassette import use

@pytest.mark.parametrize("number", range({count}))
def test_session(number):
    with use({cassette!r}) as session:
        session.wait_for_text("> ")
        session.submit("hello")
        session.wait_for_text("you said hello")
        assert session.wait_exit().code == 0
"""


def hello(place: Path) -> Path:
    """The cassette that everything here plays."""
    path = place / "hello.cassette"
    write_cassette(
        path, Output(0, b"> "), Typed(1000, b"hello\r"),
        Output(2000, b"hello\r\nyou said hello\r\n"),
        Finished(t_us=3000, exit=ExitStatus(code=0, exited=True, signaled=False)),
    )  # fmt: skip
    return path


def first_byte(words: list[str]) -> Callable[[], float]:
    """Starts ``words`` in a terminal; the seconds until its first byte."""

    def run() -> float:
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        os.set_blocking(master, True)
        start = time.perf_counter()
        child = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        os.read(master, 1)
        took = time.perf_counter() - start
        os.close(master)
        child.kill()
        child.wait()
        return took

    return run


def worked(run: Callable[[], float]) -> tuple[float, float]:
    """Seconds that a run took, and seconds of processor time of the processes in it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def whole_run(cassette: Path) -> float:
    """One stand-in from its start to its end, driven through a terminal; seconds."""
    start = time.perf_counter()
    pid, master = pty.fork()
    if pid == 0:
        termios.tcsetwinsize(0, (24, 80))
        os.execv(BOOT[0], [*BOOT, str(cassette)])  # noqa: S606
    seen = b""
    while b"> " not in seen:
        seen += os.read(master, 4096)
    os.write(master, b"hello\r")
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        pass  # Linux says so when nobody has the other side open
    os.close(master)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    return time.perf_counter() - start


def in_one_process(place: Path, cassette: Path, count: int) -> float:
    """A pytest run with ``count`` replayed sessions; seconds that the tests took."""
    file = place / "test_many.py"
    file.write_text(textwrap.dedent(TEST.format(count=count, cassette=str(cassette))))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
             "--rootdir", str(place), str(file)]  # fmt: skip
    start = time.perf_counter()
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    took = time.perf_counter() - start
    assert f"{count} passed" in ran.stdout, ran.stdout + ran.stderr
    return took


def measure(*, quick: bool = False) -> Report:
    """Everything above."""
    report = Report(name="standins", title="Stand-ins and replays", machine=machine())
    report.notes.append("rates include the start of the interpreter, and for pytest that of pytest")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        cassette = hello(place)
        times = alternate(
            {
                "python -c print": first_byte(PRINT),
                "ptycassette stand-in": first_byte([*BOOT, str(cassette)]),
            },
            10 if quick else 40,
        )
        report.add("first byte in a terminal", "ms", times, base="python -c print", scale=1000)
        runs = [worked(lambda: whole_run(cassette)) for _ in range(5 if quick else 40)]
        _rates(report, "whole runs of a stand-in", runs, 1)
        count = 100 if quick else 1000
        many = lambda: in_one_process(place, cassette, count)  # noqa: E731
        runs = [worked(many) for _ in range(1 if quick else 3)]
        _rates(report, f"{count} sessions in one pytest process", runs, count)
    return report


def _rates(report: Report, what: str, runs: list[tuple[float, float]], count: int) -> None:
    rates = {
        "by the clock": [count / took for took, _ in runs],
        "of one processor": [count / work for _, work in runs],
    }
    report.add(what, "a second", rates)


if __name__ == "__main__":
    run(measure)
