"""What cassettes cost after they were recorded: making, checking, replaying; at 1x, 10x, 100x.

- finalise: from a journal to a published cassette, with and without scrubbing.
- open + verify: every byte and record checked, beside ``sha256sum output.raw``.
- collapsed replay of the bytes, beside ``cat output.raw`` to the same sink.
- growth: the same at ten and a hundred times the length, in seconds per megabyte.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring import Report, alternate, machine, run
from ptycassette import open_cassette
from ptycassette.model.records import ExitStatus, Finished, Harness, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.saver import JournalSource
from ptycassette.system.clock import random_id

__all__ = ["measure"]

CHUNK = 4096
US_PER_CHUNK = 1000
LINES = "".join(
    f"\x1b[3{number % 8}m{number:4}\x1b[0m the agent reads a file and writes patch {number}\r\n"
    for number in range(100)
).encode()


def make_journal(folder: Path, size: int, *, scrub: bool) -> JournalFile:
    """A session with ``size`` bytes of output, 4 KB each millisecond."""
    meta = SessionMeta(
        id=random_id(),
        argv=("program",),
        size=Size(24, 80),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="program"),
        recorder_version="benchmark",
        os="any",
        arch="any",
        options={} if scrub else {"scrub": False},
    )
    journal = JournalFile(meta, directory=folder)
    data = LINES * (size // len(LINES) + 1)
    t_us = 0
    for at in range(0, size, CHUNK):
        t_us += US_PER_CHUNK
        journal.on_output(t_us, data[at : min(size, at + CHUNK)])
    status = ExitStatus(code=0, exited=True, signaled=False)
    journal.on_event(Finished(t_us=t_us, exit=status))
    return journal


def finalise(folder: Path, size: int, *, scrub: bool) -> tuple[float, Path]:
    """Seconds, and the cassette."""
    journal = make_journal(folder, size, scrub=scrub)
    source = JournalSource(journal.path)
    target = folder / source.meta.id
    start = time.perf_counter()
    Finaliser().publish(source.meta, source, target)
    seconds = time.perf_counter() - start
    journal.discard()
    return seconds, target


def timed(action: Callable[[], object]) -> Callable[[], float]:
    """``action`` as something that returns how long it took."""

    def run() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return run


def verify(target: Path) -> None:
    """Open and check everything."""
    with open_cassette(target, allow_unscrubbed=True) as cassette:
        cassette.verify()


def replay_bytes(target: Path, sink: Path) -> None:
    """All bytes of a cassette into a file."""
    with (
        open_cassette(target, allow_unscrubbed=True, check="manifest") as cassette,
        sink.open("wb") as out,
    ):
        for block in cassette.raw():
            out.write(block)


def cat(source: Path, sink: Path) -> None:
    """The same by cat."""
    with sink.open("wb") as out:
        subprocess.run(["cat", str(source)], stdout=out, check=True)  # noqa: S607 - the user's own


def sha256sum(source: Path) -> None:
    """The digest by coreutils."""
    words = ["sha256sum", str(source)]
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def measure_whole(report: Report, folder: Path, size: int, runs: int) -> None:
    """Making, checking and replaying one cassette of ``size`` bytes."""
    mb = size // 1_000_000
    seconds, target = finalise(folder, size, scrub=False)
    report.add(f"finalise {mb} MB, --no-scrub", "s", {"ptycassette": [seconds]})
    raw, sink = target / "output.raw", folder / "sink"
    times = alternate(
        {
            "sha256sum output.raw": timed(lambda: sha256sum(raw)),
            "open + verify": timed(lambda: verify(target)),
        },
        runs,
    )
    report.add(f"check {mb} MB", "s", times, base="sha256sum output.raw")
    times = alternate(
        {
            "cat output.raw": timed(lambda: cat(raw, sink)),
            "collapsed replay": timed(lambda: replay_bytes(target, sink)),
        },
        runs,
    )
    report.add(f"replay {mb} MB", "s", times, base="cat output.raw")


def measure_growth(report: Report, folder: Path, size: int) -> None:
    """Seconds per megabyte at 1x, 10x and 100x."""
    made: dict[str, list[float]] = {}
    checked: dict[str, list[float]] = {}
    for factor in (1, 10, 100):
        seconds, target = finalise(folder, size * factor, scrub=False)
        mb = size * factor / 1e6
        made[f"{factor}x"] = [seconds / mb]
        checked[f"{factor}x"] = [timed(lambda target=target: verify(target))() / mb]  # type: ignore[misc]
    report.add(f"growth from {size / 1e6:g} MB: finalise", "s/MB", made, base="1x")
    report.add(f"growth from {size / 1e6:g} MB: open + verify", "s/MB", checked, base="1x")


def measure(*, quick: bool = False) -> Report:
    """Everything above."""
    size, scrubbed, runs = (5_000_000, 300_000, 3) if quick else (100_000_000, 2_000_000, 5)
    report = Report(name="cassettes", title="Cassettes", machine=machine())
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        seconds, _ = finalise(folder, scrubbed, scrub=True)
        report.add(f"finalise {scrubbed / 1e6:g} MB, scrubbed", "s", {"ptycassette": [seconds]})
        measure_whole(report, folder, size, runs)
        measure_growth(report, folder, 50_000 if quick else 500_000)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report.add("peak memory of all of this", "MB", {"ptycassette": [peak_mb]})
    return report


if __name__ == "__main__":
    run(measure)
