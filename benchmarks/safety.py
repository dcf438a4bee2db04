"""The figures of safety: kills, fuzz, hostile directories, escape vectors, processes that stay.

``python -m benchmarks safety`` takes about twenty minutes, ``--quick`` about one.
The process ends with 1 when a figure is missed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import safety_fuzz, safety_kills, safety_processes

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
SUITES = {
    "hostile directories": "tests/integration/test_safety_directories.py",
    "hostile files": "tests/unit/safety/test_hostile_files.py",
    "escape vectors, split": "tests/unit/safety/test_escape_vectors.py",
    "escape vectors, commands": "tests/integration/test_safety_terminal.py",
    "each call of the system failing": "tests/unit/safety/test_failing_disk.py",
}
# How many of each; ``python -m benchmarks.safety_kills`` and ``safety_fuzz`` take more.
POINTS = 500
FUZZ = {
    "manifest": 300_000,
    "records": 300_000,
    "journal": 300_000,
    "recover": 10_000,
    "emulator": 200_000,
    "text": 300_000,
    "scrubber": 60_000,
}


def _kills(table: Table, *, quick: bool) -> bool:
    good = True
    for name in safety_kills.KILLS:
        outcome = safety_kills.kill(name, 20 if quick else POINTS, seconds=20 if quick else 300)
        good = good and outcome.clean
        said = (
            f"{outcome.lost} lost, {outcome.not_recovered} not recovered, "
            f"{outcome.half} half, {outcome.leaked} leaked"
        )
        table.add_row(f"kill -9 while {name}", f"{outcome.points} points", said)
        for line in outcome.failures[:5]:
            table.add_row("", "", line)
    return good


def _fuzz(table: Table, *, quick: bool) -> bool:
    good = True
    for name, inputs in FUZZ.items():
        result = safety_fuzz.fuzz(name, inputs=inputs // 100 if quick else inputs, seed=1)
        good = good and result.clean
        said = (
            f"{result.refused} refused, {len(result.surprises)} surprises, "
            f"{len(result.slow)} over 1 s, slowest {result.slowest_s * 1000:.0f} ms"
        )
        table.add_row(f"fuzz: {name}", f"{result.inputs} inputs", said)
        for line in (*result.surprises[:3], *result.slow[:3]):
            table.add_row("", "", line[:300])
    return good


def _processes(table: Table, *, quick: bool) -> bool:
    done = safety_processes.escapes(21 if quick else 200)
    said = f"{len(done.wrong)} wrong, all gone after {done.slowest_s:.2f} s at most"
    table.add_row("programs that do not want to end", f"{done.runs} runs", said)
    wrong = list(done.wrong)
    for what in safety_processes.RIVALS:
        rival = safety_processes.rivals(what, 5 if quick else 50)
        said = f"{len(rival.wrong)} times not exactly one won"
        table.add_row(f"recorders for one {what}", f"{rival.runs} rounds", said)
        wrong += rival.wrong
    for line in wrong[:5]:
        table.add_row("", "", line[:300])
    return not wrong


def _suites(table: Table) -> bool:
    good = True
    for name, path in SUITES.items():
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        good = good and done.returncode == 0
        table.add_row(name, path, done.stdout.strip().split("\n")[-1])
    return good


def main(*, quick: bool = False) -> int:
    """Measure and print; the exit status."""
    table = Table("what", "how much", "outcome", title="Safety")
    good = _kills(table, quick=quick)
    good = _fuzz(table, quick=quick) and good
    good = _processes(table, quick=quick) and good
    if not quick:
        good = _suites(table) and good
    Console(width=150).print(table)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main(quick="--quick" in sys.argv[1:]))
