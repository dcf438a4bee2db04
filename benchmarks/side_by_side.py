"""Processor time of the shortest recording in several installs, in turn.

``python -m benchmarks.side_by_side [-n TIMES] COMMAND COMMAND...``

Each command is a ``ptycassette`` of an install of its own. What is counted is user and system
time of all processes of ``rec -q --headless C -- true``, whoever started them. The lowest value
says most: everything else on the machine only adds to it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

__all__ = ["main"]


def used_s(command: str, folder: Path, env: dict[str, str]) -> float:
    """Seconds of the processor that one recording took."""
    target = folder / "c"
    shutil.rmtree(target, ignore_errors=True)
    words = [command, "rec", "-q", "--headless", str(target), "--", "true"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=env, cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or not target.is_dir():
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def main(arguments: list[str] | None = None) -> None:
    """Measure and print one line for each command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", "--times", type=int, default=40)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args(arguments)
    env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken: dict[str, list[float]] = {command: [] for command in given.command}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        env["PTYCASSETTE_STATE_DIR"] = str(folder / "state")
        for command in taken:
            used_s(command, folder, env)  # compiles what is loaded
        for _ in range(given.times):
            for command, times in taken.items():
                times.append(used_s(command, folder, env))
    for command, times in taken.items():
        median, lowest = statistics.median(times) * 1000, min(times) * 1000
        print(f"{median:6.1f} ms median, {lowest:6.1f} ms lowest  {command}")


if __name__ == "__main__":
    main()
