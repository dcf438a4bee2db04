"""From a program's start to its cassette, as a user waits for it: whole commands, from outside.

``python -m benchmarks.saving [--quick] [--command PATH] [PART...]``

- speed: ``rec -q --headless C -- cat FILE`` of 10 MB that never repeat: log lines, text as
  models write it, sessions of agent CLIs. As multiples of the speed at which stock pyte
  paints 300 KB of the same log lines, in the same round.
- text: the same for text that was found, not made (see ``saving_inputs``), each beside stock pyte
  on the same text. In seconds of the processor, all processes together, without those of
  ``rec -- true``; the least of the rounds.
- secrets: a log of 2 MB with 16 and with 151 tokens in it, beside the same log without any.
- tail: a session of 25 s with 2 MB, and of 60 s with 5 MB: from the program's end to the end of
  ``rec``, and how long the program's writing took beside ``script``.
- burst: a program writes 100 MB as fast as they are taken, beside ``script``.
- memory: the peak of the largest process while 10 MB of log lines are recorded.
- short: processor time of ``rec -- true``, all processes together.

Everything that is compared runs in one round, in turn; medians of three rounds.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.measuring import Report, machine
from benchmarks.recording import burst
from benchmarks.saving_inputs import (
    PACED,
    agents,
    json_log,
    log_lines,
    manual_pages,
    markdown,
    sessions,
    sources,
    with_tokens,
)

__all__ = ["PARTS", "main", "measure"]

ROUNDS = 3
YARDSTICK_BYTES = 300_000
YARDSTICK = """
import sys, time, pyte
data = open(sys.argv[1], "rb").read(int(sys.argv[2])).replace(b"\\n", b"\\r\\n")
screen = pyte.Screen(80, 24)
stream = pyte.ByteStream(screen)
start, used = time.perf_counter(), time.process_time()
for at in range(0, len(data), 4096):
    try:
        stream.feed(data[at : at + 4096])
    except Exception:  # it raises on what agents print
        stream = pyte.ByteStream(screen)
print(len(data) / (time.perf_counter() - start), len(data) / (time.process_time() - used))
"""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What a command took: seconds, processor seconds of all its processes, peak of the largest.

    ``ended_s`` is the moment at which it was over, of the monotonic clock.
    """

    seconds: float
    processor_s: float
    peak_mb: float
    ended_s: float


class Bench:
    """The place, the command, and how much there is to do."""

    def __init__(self, folder: Path, command: str, *, quick: bool) -> None:
        self.folder, self.command, self.quick = folder, command, quick
        self.rounds = 1 if quick else ROUNDS
        self.report = Report(name="saving", title="Saving", machine=machine())
        self.env = {**os.environ, "PTYCASSETTE_STATE_DIR": str(folder / "state")}
        # Otherwise each run compiles its modules anew, and those with output more than `true`.
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)

    def file(self, name: str, data: bytes) -> Path:
        """An input."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    def run(self, *words: str) -> Ran:
        """A command, to its end.

        Raises:
            RuntimeError: it failed.
        """
        start_s = time.monotonic()
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=self.env
        )
        _, status, used = os.wait4(process.pid, 0)
        ended_s = time.monotonic()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{shlex.join(words)} ended with {process.returncode}")
        return Ran(
            seconds=ended_s - start_s,
            processor_s=used.ru_utime + used.ru_stime,
            peak_mb=used.ru_maxrss / 1024,
            ended_s=ended_s,
        )

    def rec(self, *argv: str) -> Ran:
        """``rec`` without a terminal."""
        target = self.folder / "c"
        shutil.rmtree(target, ignore_errors=True)
        return self.run(self.command, "rec", "-q", "--headless", str(target), "--", *argv)

    def processor_s(self, *programs: str, path: Path) -> dict[str, float]:
        """The least that recording each program took, in turn; each is given the file."""
        self.rec(programs[0], str(path))  # compiles what is loaded
        rounds = [
            [self.rec(program, str(path)).processor_s for program in programs]
            for _ in range(self.rounds)
        ]
        return {name: min(times) for name, *times in zip(programs, *rounds, strict=True)}

    def yardstick(self, path: Path) -> tuple[float, float]:
        """Bytes that stock pyte paints in a second, and in one of the processor."""
        words = [sys.executable, "-c", YARDSTICK, str(path), str(YARDSTICK_BYTES)]
        made = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        by_clock, by_processor = map(float, made.split())
        return by_clock, by_processor


def speed(bench: Bench) -> None:
    """From start to cassette, in multiples of stock pyte."""
    size = 1_000_000 if bench.quick else 10_000_000
    inputs = {"log lines": log_lines, "markdown": markdown, "agent sessions": agents}
    short = bench.file("short.log", log_lines(YARDSTICK_BYTES))
    files = {name: bench.file(name.replace(" ", "-"), make(size)) for name, make in inputs.items()}
    rates: dict[str, list[float]] = {name: [] for name in ("stock pyte", *files)}
    for _ in range(bench.rounds):
        rates["stock pyte"].append(bench.yardstick(short)[0])
        for name, path in files.items():
            rates[name].append(size / bench.rec("cat", str(path)).seconds)
    bench.report.add("start to cassette", "MB/s", rates, base="stock pyte", scale=1e-6)


def text(bench: Bench) -> None:
    """Text that was found, in multiples of stock pyte on the same text."""
    size = 300_000 if bench.quick else 2_000_000
    inputs = {"sources": sources, "manual pages": manual_pages, "JSON log": json_log}
    for name, make in {**inputs, "log lines": log_lines, "sessions": sessions}.items():
        made = make(size)
        if not made:
            bench.report.notes.append(f"{name}: there are none on this machine")
            continue
        path = bench.file(f"text-{name.replace(' ', '-')}", made)
        used = bench.processor_s("true", "cat", path=path)
        stock = max(bench.yardstick(path)[1] for _ in range(bench.rounds))
        rates = {"stock pyte": [stock], "ptycassette": [len(made) / (used["cat"] - used["true"])]}
        bench.report.add(f"{name}, processor", "MB/s", rates, base="stock pyte", scale=1e-6)


def secrets(bench: Bench) -> None:
    """What each secret costs."""
    clean = log_lines(300_000 if bench.quick else 2_000_000, seed=8)
    used: dict[str, list[float]] = {}
    for count in (0, 16, 151):
        path = bench.file(f"tokens-{count}", with_tokens(clean, count))
        found = bench.processor_s("true", "cat", path=path)
        used[f"{count} tokens"] = [found["cat"] - found["true"]]
    bench.report.add("a log, processor", "s", used, base="0 tokens")


def tail(bench: Bench) -> None:
    """What is left to wait for at the end, and what the program noticed."""
    sessions = ((3.0, 200_000),) if bench.quick else ((25.0, 2_000_000), (60.0, 5_000_000))
    for seconds, size in sessions:
        path = bench.file("paced.log", log_lines(size, seed=4))
        result, typescript = bench.folder / "ended", str(bench.folder / "typescript")
        argv = [sys.executable, "-c", PACED, str(path), str(seconds), str(result)]
        waits: list[float] = []
        writing: dict[str, list[float]] = {"script": [], "ptycassette": []}
        for _ in range(bench.rounds):
            if shutil.which("script"):
                bench.run("script", "-q", "-c", shlex.join(argv), typescript)
                writing["script"].append(_result(result)[1])
            ran = bench.rec(*argv)
            ended_s, wrote_s = _result(result)
            waits.append(ran.ended_s - ended_s)
            writing["ptycassette"].append(wrote_s)
        what = f"{size / 1e6:g} MB in {seconds:g} s"
        bench.report.add(f"{what}: end to cassette", "s", {"ptycassette": waits})
        shares = {who: [took / seconds for took in times] for who, times in writing.items()}
        bench.report.add(f"{what}: spent writing", "%", shares, base="script", scale=100)


def _result(path: Path) -> tuple[float, float]:
    ended_s, wrote_s = map(float, path.read_text(encoding="ascii").split())
    return ended_s, wrote_s


def bursts(bench: Bench) -> None:
    """As fast as it is taken, in a terminal."""
    size = 10_000_000 if bench.quick else 100_000_000
    typescript = str(bench.folder / "typescript")
    who: dict[str, Callable[[list[str]], list[str]]] = {
        "script": lambda argv: ["script", "-q", "-e", "-c", shlex.join(argv), typescript],
        "ptycassette": lambda argv: [
            bench.command, "rec", "-q", "--overwrite", str(bench.folder / "b"), "--", *argv,
        ],
    }  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in who if shutil.which("script")}
    for _ in range(bench.rounds):
        for name, taken in times.items():
            taken.append(burst(who[name], bench.folder, size)[0])
    bench.report.add(f"{size // 10**6} MB burst", "s", times, base="script")


def memory(bench: Bench) -> None:
    """The peak of the largest process."""
    size = 1_000_000 if bench.quick else 10_000_000
    path = bench.file("memory.log", log_lines(size, seed=5))
    peaks = [bench.rec("cat", str(path)).peak_mb for _ in range(bench.rounds)]
    bench.report.add(f"{size // 10**6} MB: largest process", "MB", {"ptycassette": peaks})


def short(bench: Bench) -> None:
    """Processor time of the shortest recording."""
    bench.rec("true")  # compiles what is loaded
    used = [bench.rec("true").processor_s for _ in range(bench.rounds)]
    bench.report.add("rec -- true", "s of processor", {"ptycassette": used})


PARTS: dict[str, Callable[[Bench], None]] = {
    "speed": speed,
    "text": text,
    "secrets": secrets,
    "tail": tail,
    "burst": bursts,
    "memory": memory,
    "short": short,
}


def measure(command: str, names: list[str], *, quick: bool = False) -> Report:
    """The parts of those names."""
    with tempfile.TemporaryDirectory() as made:
        bench = Bench(Path(made), command, quick=quick)
        for name in names:
            PARTS[name](bench)
    return bench.report


def main(arguments: list[str] | None = None) -> None:
    """Measure, show, save."""
    parser = argparse.ArgumentParser(description="From a program's end to its cassette.")
    beside = Path(sys.executable).with_name("ptycassette")
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--command", default=str(beside), help="the installed command")
    parser.add_argument("part", nargs="*", choices=[[], *PARTS], help="default: all")
    given = parser.parse_args(arguments)
    report = measure(given.command, given.part or list(PARTS), quick=given.quick)
    report.show()
    if not given.quick and not given.part:
        report.save()


if __name__ == "__main__":
    main()
