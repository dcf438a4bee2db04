"""The programs that are recorded in the measurements. Run as scripts, inside of the terminal."""

# pathlib would double the time that these programs take to start.
# ruff: noqa: PTH104, PTH123, PTH208
from __future__ import annotations

import os
import sys
import time
import tty
from contextlib import suppress

BLOCK = (
    b"The quick brown fox jumps over the lazy dog 0123456789, \x1b[31min colour\x1b[0m too\n" * 64
)


def processor_seconds(root: int) -> float:
    """Processor time of a process and everybody below it, except this process."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                parents.setdefault(parent, []).append(int(name))
    total, left = 0, [root]
    while left:
        pid = left.pop()
        left += parents.get(pid, [])
        if pid == os.getpid():
            continue
        with suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/schedstat", "rb") as file:
                    total += int(file.read().split()[0])
    return total / 1e9


def peak_mb(pid: int) -> float:
    """The largest resident size of a process so far."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0


def burst(count: int, result: str) -> None:
    """Write ``count`` bytes as fast as they are taken; say how long it took, and who worked."""
    recorder = int(os.environ["BENCH_RECORDER"])
    before, start = processor_seconds(recorder), time.monotonic()
    left = count
    while left > 0:
        left -= os.write(1, BLOCK[:left])
    seconds = time.monotonic() - start
    work = processor_seconds(recorder) - before
    with open(result + ".new", "w", encoding="ascii") as file:
        file.write(f"{seconds} {work} {peak_mb(recorder)}")
    os.rename(result + ".new", result)
    time.sleep(60)


def echo() -> None:
    """Show each key, raw."""
    tty.setraw(0)
    os.write(1, b"ready")
    while (data := os.read(0, 100)) != b"q":
        os.write(1, data)


def stream() -> None:
    """A line each millisecond, with the moment at which it is written."""
    start = time.monotonic_ns()
    number = 0
    while True:
        os.write(1, b"at %d us line %d\n" % (time.monotonic_ns() // 1000, number))
        number += 1
        time.sleep(max(0.0, (start + number * 1_000_000 - time.monotonic_ns()) / 1e9))


if __name__ == "__main__":
    if sys.argv[1] == "burst":
        burst(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1] == "echo":
        echo()
    else:
        stream()
