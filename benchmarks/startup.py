"""How long commands take to start, beside an interpreter that imports click."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.measuring import Report, alternate, machine, run

__all__ = ["measure"]

CLI = "import sys; from ptycassette.cli import main; sys.exit(main({!r}))"


def started(code: str) -> Callable[[], float]:
    """Runs an interpreter; returns the seconds it took."""

    def run() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start

    return run


def measure(*, quick: bool = False) -> Report:
    """Everything above, alternating."""
    report = Report(name="startup", title="Start-up", machine=machine())
    contenders = {
        "python -c 'import click'": started("import click"),
        "python -c 'import ptycassette'": started("import ptycassette"),
        "ptycassette --help": started(CLI.format(["--help"])),
        "ptycassette rec --help": started(CLI.format(["rec", "--help"])),
    }
    times = alternate(contenders, 5 if quick else 25)
    report.add("start-up", "ms", times, base="python -c 'import click'", scale=1000)
    return report


if __name__ == "__main__":
    run(measure)
