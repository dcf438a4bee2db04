"""How wrong a recording's times are on a busy machine, and how much of that is the machine.

``python -m benchmarks stamps`` records a program that writes its own ``CLOCK_MONOTONIC``, in a
default install, while ten processes use the processors. The
program writes each line twice: to the recorder, and to a *control* at a terminal of its own that
does nothing but wait, stamp and read. What the control is late by, the machine is late by; what
the recorder is late by beyond that is ours. The lines are written first to one, then to the other.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ptycassette import open_cassette

__all__ = ["main"]

LOADS = (0, 10)
_LINES = 500
_PROGRAM = """
import os, sys, time
control = os.open(sys.argv[1], os.O_WRONLY | os.O_NOCTTY)
for number in range(int(sys.argv[2])):
    time.sleep(0.02)
    line = b"%d\\n" % (time.monotonic_ns() // 1000)
    for fd in (1, control) if number % 2 else (control, 1):
        os.write(fd, line)
"""


def _control(link: str, result: str, lines: int) -> None:
    """Wait, stamp, read; the errors in microseconds go to a file."""
    master, slave = os.openpty()
    late_us: list[int] = []
    poll = select.poll()
    poll.register(master, select.POLLIN)
    Path(link).symlink_to(os.ttyname(slave))
    while len(late_us) < lines:
        poll.poll()
        now_us = time.monotonic_ns() // 1000
        late_us += [now_us - int(line) for line in os.read(master, 4096).split()]
    Path(result).write_text(json.dumps(late_us), encoding="ascii")


@contextmanager
def _busy(processes: int) -> Iterator[None]:
    burning = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


def _measure(load: int, lines: int) -> tuple[list[int], list[int]]:
    """Errors of the recording, against its smallest, and of the control, line by line."""
    with tempfile.TemporaryDirectory() as place, _busy(load):
        link, result, cassette = f"{place}/tty", f"{place}/late.json", f"{place}/c"
        words = [sys.executable, "-m", "benchmarks.stamps", "--control", link, result, str(lines)]
        control = subprocess.Popen(words)
        while not os.path.lexists(link):
            time.sleep(0.01)
        program = [sys.executable, "-c", _PROGRAM, link, str(lines)]
        main = "import sys; from ptycassette.cli import main; sys.exit(main())"
        words = [sys.executable, "-c", main, "rec", "--headless", "-q", cassette, "--", *program]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        control.wait()
        late_us = json.loads(Path(result).read_text(encoding="ascii"))
        with open_cassette(cassette) as recording:
            ours_us = [
                event.t_us - int(line)
                for event in recording.events()
                if event.kind == "output"
                for line in (event.data or b"").split()
            ]
    first_us = min(ours_us)  # the recording begins at a moment that the program does not know
    return [error - first_us for error in ours_us], late_us


def _ms(errors_us: list[int], share: float) -> str:
    ordered = sorted(errors_us)
    return f"{ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1000:.1f}"


def main(arguments: list[str]) -> int:
    """One row a load."""
    if arguments[:1] == ["--control"]:
        _control(arguments[1], arguments[2], int(arguments[3]))
        return 0
    title = "Errors of times against the program's clock, in ms"
    table = Table("load", "whose", "p50", "p95", "p99", "max", title=title)
    for load in LOADS:
        ours, machine = _measure(load, 100 if "--quick" in arguments else _LINES)
        beyond = [one - two for one, two in zip(ours, machine, strict=True)]
        rows = {"recording": ours, "control (the machine)": machine, "difference (ours)": beyond}
        for whose, errors in rows.items():
            shares = [_ms(errors, share) for share in (0.5, 0.95, 0.99, 1.0)]
            table.add_row(str(load), whose, *shares)
    Console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
