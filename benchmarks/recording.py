"""What recording costs the program and the user, beside other recorders in the same minutes.

- burst: a program writes as fast as its terminal takes it; how long that takes, and how
  much processor time the recorder needs meanwhile (its start is not counted; its saver, which
  takes what is left over, is).
- echo: from a key to its echo on the screen.
- kill: the recorder is killed while a program writes 1000 lines a second; how many of
  the lines that were on the screen are not in what is left.
- accuracy: how far the recorded moment of a line is from when the program wrote it; and how
  far a loop is that does nothing but wait, read and look at the clock.

``relay`` is the least that a relay in Python does (``relay.py``): what we are built on costs that.
"""

from __future__ import annotations

import json
import os
import re
import select
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import Report, machine, percentile, run
from benchmarks.terminals import Wrap, contenders, ptycassette_rec, terminal
from ptycassette.model.records import Harness, Output, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.recording.io._interactive import PassThrough, Streams
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.saver import JournalSource
from ptycassette.system.clock import MonotonicClock, random_id
from ptycassette.system.pty.process import spawn

__all__ = ["measure"]

PROGRAM = [sys.executable, "-I", "-S", str(Path(__file__).with_name("programs.py"))]
LINE = re.compile(rb"at (\d+) us line (\d+)\r?\n")


def burst(wrap: Wrap, folder: Path, count: int) -> tuple[float, float, float]:
    """Seconds for the program, processor seconds of the recorder, its peak in MB."""
    result = folder / "burst"
    result.unlink(missing_ok=True)
    with terminal(wrap([*PROGRAM, "burst", str(count), str(result)]), folder) as inside:
        inside.drain(result.exists)
    seconds, work, peak = map(float, result.read_text(encoding="ascii").split())
    return seconds, work, peak


def echo(wrap: Wrap, folder: Path, keys: int) -> list[float]:
    """Microseconds from each key to its echo."""
    times = []
    with terminal(wrap([*PROGRAM, "echo"]), folder) as inside:
        inside.read_until(b"ready")
        time.sleep(0.2)
        for _ in range(keys):
            start = time.perf_counter()
            os.write(inside.fd, b"x")
            inside.read()
            times.append((time.perf_counter() - start) * 1e6)
            time.sleep(0.002)
    return times


def lost_lines(name: str, wrap: Wrap, folder: Path) -> float:
    """Lines that were on the screen and are not in what a killed recorder leaves."""
    with terminal(wrap([*PROGRAM, "stream"]), folder) as inside:
        inside.read_until(b"line 5\r")
        shown = b""
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            shown += inside.read()
        os.kill(inside.pid, 9)
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            shown += inside.read()
        kept = left_by(name, folder)
    seen = {int(number) for _, number in LINE.findall(shown)}
    return float(len(seen - {int(number) for _, number in LINE.findall(kept)}))


def left_by(name: str, folder: Path) -> bytes:
    """The output in the file that a recorder leaves."""
    if name.startswith("ptycassette"):
        (journal,) = (folder / "state" / "journals").glob("*.journal")
        events = JournalSource(journal)()
        return b"".join(event.data for event in events if isinstance(event, Output))
    if name == "asciinema":
        lines = (folder / "cast").read_text(encoding="utf-8").splitlines()[1:]
        return "".join(json.loads(line)[2] for line in lines if line.endswith("]")).encode()
    file = folder / {"script": "typescript"}.get(name, "ttyrec")
    return file.read_bytes() if file.exists() else b""


def accuracy(folder: Path, lines: int) -> list[float]:
    """Microseconds from a line's writing to its recorded moment."""
    meta = SessionMeta(
        id=random_id(), argv=(), size=Size(24, 80), recorded_at="", harness=Harness(name="stream")
    )
    journal = JournalFile(meta, directory=folder)
    with spawn([*PROGRAM, "stream"], size=meta.size) as child:
        relay = PassThrough(
            child,
            journal,
            clock=MonotonicClock(),
            start_us=0,
            size=meta.size,
            streams=Streams(in_fd=-1, out_fd=-1),
            timeout_s=time.monotonic() + lines / 1000 + 0.5,
        )
        relay.run()
    found = [
        float(event.t_us - int(moment))
        for event in JournalSource(journal.path)()
        if isinstance(event, Output)
        for moment, _ in LINE.findall(event.data)
    ]
    journal.discard()
    return found[50:]


def bare_accuracy(folder: Path, lines: int) -> list[float]:
    """Microseconds from a line's writing to when a loop that only reads has it."""
    found: list[float] = []
    poll = select.poll()
    with terminal([*PROGRAM, "stream"], folder) as inside:
        poll.register(inside.fd, select.POLLIN)
        while len(found) < lines:
            poll.poll()
            data = inside.read()
            now_us = time.monotonic_ns() // 1000
            found += [float(now_us - int(moment)) for moment, _ in LINE.findall(data)]
    return found[50:]


def measure(*, quick: bool = False) -> Report:
    """Everything above, alternating."""
    count, keys, runs = (20_000_000, 200, 2) if quick else (100_000_000, 700, 5)
    report = Report(name="recording", title="Recording", machine=machine())
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        who = contenders(folder)
        bursts: dict[str, list[tuple[float, float, float]]] = {name: [] for name in who}
        echoes: dict[str, list[list[float]]] = {name: [] for name in who}
        # Echoes first: what bursts have written keeps the machine busy for a while.
        for _ in range(runs):
            for name, wrap in who.items():
                echoes[name].append(echo(wrap, folder, keys))
        for _ in range(runs):
            for name, wrap in who.items():
                bursts[name].append(burst(wrap, folder, count))
        size = f"burst of {count // 1_000_000} MB"
        seconds = {name: [run[0] for run in runs] for name, runs in bursts.items()}
        work = {name: [run[1] for run in runs] for name, runs in bursts.items() if name != "bare"}
        peak = {name: [run[2] for run in runs] for name, runs in bursts.items() if name != "bare"}
        report.add(f"{size}: time of the program", "s", seconds, base="bare")
        report.add(f"{size}: processor time of the recorder", "s", work, base="script")
        report.add(f"{size}: peak memory of the recorder", "MB", peak)
        for share in (0.5, 0.9, 0.99):
            times = {
                name: [percentile(run, share) for run in runs] for name, runs in echoes.items()
            }
            report.add(f"echo, p{share * 100:g}", "us", times, base="bare")
        recorders = {name: who[name] for name in who if name not in {"bare", "relay"}}
        lost = {
            name: [lost_lines(name, wrap, folder) for _ in range(runs)]
            for name, wrap in recorders.items()
        }
        report.add("kill -9 at 1000 lines/s: lines lost", "lines", lost)
        late: dict[str, list[list[float]]] = {"bare": [], "ptycassette": []}
        for _ in range(runs):
            late["bare"].append(bare_accuracy(folder, 1500))
            late["ptycassette"].append(accuracy(folder, 1500))
        for share in (0.5, 0.99):
            values = {name: [percentile(run, share) for run in runs] for name, runs in late.items()}
            what = f"recorded moment after the real one, p{share * 100:g}"
            report.add(what, "us", values, base="bare")
        disk = ptycassette_rec(folder, "--durability", "disk")
        durable = {"ptycassette --durability disk": [burst(disk, folder, count)[0]]}
        report.add(f"{size}: time of the program", "s", durable)
    return report


if __name__ == "__main__":
    run(measure)
