"""What sealing, and checking seals, takes beside ``sha256sum`` over the same files.

Three sets: a thousand cassettes of five words, a thousand of agent CLIs (the fixtures, again and
again), one of 256 MB.
Commands run from start to end, the start of Python included, all files in the page cache. Beside
the time on the wall there is that of processors, which a busy machine changes less.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

from benchmarks.measuring import Report, alternate, machine, run
from ptycassette.model.records import ExitStatus, Finished, Output
from ptycassette.seal.io.key_files import write_new_key
from ptycassette.testing import write_cassette

__all__ = ["measure"]

CLI = [sys.executable, "-m", "ptycassette"]
HASHING = """
import os, sys
from hashlib import sha256
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    found = sha256()
    while data := os.read(fd, 1 << 20):
        found.update(data)
    os.close(fd)
    found.hexdigest()
"""
"""The least that a program in Python does: open, read and hash each file."""
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
BIG_BYTES = 256 << 20


def large(path: Path, size: int) -> None:
    """A cassette with so much output that does not repeat itself."""
    rng, chunk = random.Random(size), 1 << 20  # noqa: S311 - the same bytes every time
    parts = [Output(n, rng.randbytes(chunk // 2).hex().encode()) for n in range(0, size, chunk)]
    done = Finished(t_us=size + 1, exit=ExitStatus(code=0, exited=True, signaled=False))
    write_cassette(path, *parts, done)


def files_of(folder: Path, names: list[str]) -> list[str]:
    """All files of the cassettes."""
    return [str(path) for name in names for path in sorted((folder / name).iterdir())]


class Timed:
    """Runs commands, and notes the seconds of processors that each took."""

    def __init__(self) -> None:
        self.processor: dict[str, list[float]] = {}

    def of(
        self, who: str, argv: list[str], folder: Path, before: Callable[[], None] | None = None
    ) -> Callable[[], float]:
        """Something to run; it returns seconds on the wall."""
        self.processor[who] = []

        def once() -> float:
            if before is not None:
                before()
            start = time.perf_counter()
            process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            took = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0, argv[:6]
            self.processor[who].append(used.ru_utime + used.ru_stime)
            return took

        return once


def sets(folder: Path, *, quick: bool) -> Iterator[tuple[str, Path, list[str]]]:
    """What is sealed: a title, the folder, the names in it."""
    count = 100 if quick else 1000
    agents = sorted(path.parent for path in FIXTURES.glob("agents/*/manifest.json"))
    for title, sources in (("tiny", [FIXTURES / "v1" / "minimal"]), ("of agent CLIs", agents)):
        place = folder / title
        place.mkdir()
        names = [f"c{number}" for number in range(count)]
        for source, name in zip(cycle(sources), names, strict=False):
            shutil.copytree(source, place / name)
        yield f"{count} {title}", place, names
    place = folder / "big"
    place.mkdir()
    size = BIG_BYTES // 16 if quick else BIG_BYTES
    large(place / "c0", size)
    yield f"one of {size >> 20} MB", place, ["c0"]


def measure(*, quick: bool = False) -> Report:
    """Everything above, alternating."""
    report = Report(name="seals", title="Seals beside sha256sum", machine=machine())
    runs = 3 if quick else 7
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line = write_new_key(str(folder / "key")).line
        (folder / "trust.toml").write_text(f'[keys.key]\npublic_key = "{line}"\n')
        for title, place, names in sets(folder, quick=quick):
            _measure(report, title, place, names, runs)
    report.notes.append("start-up is within the figures: of verify --sealed that of the first row")
    return report


def _measure(report: Report, title: str, place: Path, names: list[str], runs: int) -> None:
    def unsealed() -> None:
        for path in place.glob("*.seal.json"):
            path.unlink()

    files = files_of(place, names)
    size = sum(Path(path).stat().st_size for path in files)
    timed = Timed()
    check = [*CLI, "verify", "--sealed", "--trust", "../trust.toml"]
    contenders = {
        "sha256sum": timed.of("sha256sum", ["sha256sum", *files], place),
        "Python that hashes": timed.of(
            "Python that hashes", [sys.executable, "-c", HASHING, *files], place
        ),
        "seal": timed.of("seal", [*CLI, "seal", "--key", "../key", *names], place, unsealed),
        "verify --sealed": timed.of("verify --sealed", [*check, *names], place),
        "verify --sealed of one": timed.of("verify --sealed of one", [*check, names[0]], place),
    }
    for one in contenders.values():
        one()
    for values in timed.processor.values():
        values.clear()
    walls = alternate(contenders, runs)
    what = f"{title}, {len(files)} files, {size / 1e6:.0f} MB"
    report.add(what, "ms", walls, base="sha256sum", scale=1000)
    report.add(f"{what}: processors", "ms", timed.processor, base="sha256sum", scale=1000)


if __name__ == "__main__":
    run(measure)
