"""Real processes: memory of large cassettes, refusal of hostile ones, writers that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ptycassette import errors, open_cassette
from ptycassette.model.records import FinalRecord, OutputRecord, ScrubReport
from ptycassette.testing import manifest_of
from ptycassette.viewing import CassetteWriter

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
UNPINNED = ROOT / "fixtures" / "v1" / "unpinned"

_OPEN = """
import json, resource, sys
from benchmarks.processor_time import Stopwatch
from ptycassette import open_cassette
from ptycassette.errors import CassetteError
with Stopwatch() as watch:
    try:
        with open_cassette(sys.argv[1]) as cassette:
            events = sum(1 for _ in cassette.events())
        error = None
    except CassetteError as exc:
        events, error = 0, type(exc).__name__
try:
    # ru_maxrss counts what the parent had before exec; VmHWM does not.
    lines = open("/proc/self/status").read().splitlines()
    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([error, events, watch.seconds, peak]))
"""


def _open_elsewhere(path: Path) -> tuple[str | None, int, float, int]:
    """Open ``path`` in a fresh process: error, events, CPU seconds, peak memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, str(path)],
        capture_output=True,
        check=True,
        timeout=120,
        cwd=ROOT,
    )
    error, events, cpu_s, peak = json.loads(done.stdout)
    return error, events, cpu_s, peak


@pytest.mark.slow
def test_500_mb_of_output_need_at_most_100_mb_of_memory(tmp_path: Path) -> None:
    """Opened, verified, and gone through event by event."""
    chunk, count = bytes(range(256)) * 16, 128_000
    with CassetteWriter(tmp_path / "c") as writer:
        for number in range(count):
            at = number * len(chunk)
            writer.add(
                OutputRecord(seq=number + 1, t_ms=number, offset=at, length=len(chunk)), chunk
            )
        writer.add(FinalRecord(seq=count + 1, t_ms=count, duration_ms=count))
        writer.put(ScrubReport(status="clean"))
        writer.publish(manifest_of())

    error, events, _, peak = _open_elsewhere(tmp_path / "c")
    assert (error, events) == (None, count + 1)
    assert peak < 100 << 20


EVENT = b'{"seq":5,"t_ms":400,"payload":%s}\n'
MANIFEST = (UNPINNED / "manifest.json").read_bytes().rstrip(b"}\n")
MIB = 1 << 20

# Made when they are wanted: together they are half a gigabyte.
HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "manifest-of-lists": ("manifest.json", lambda: MANIFEST + b',"x":[' + b"[]," * MIB + b"0]}"),
    "manifest-of-keys": (
        "manifest.json",
        lambda: MANIFEST + b',"x":{' + b",".join(b'"%x":0' % n for n in range(400_000)) + b"}}",
    ),
    "manifest-deep": ("manifest.json", lambda: MANIFEST + b',"x":' + b"[" * 99_000),
    "manifest-deep-objects": ("manifest.json", lambda: MANIFEST + b',"x":' + b'{"":' * 99_000),
    "manifest-of-digits": ("manifest.json", lambda: MANIFEST + b',"x":' + b"9" * 4_000_000 + b"}"),
    "manifest-huge": ("manifest.json", lambda: MANIFEST + b',"x":"' + b"x" * (64 * MIB) + b'"}'),
    "line-of-lists": ("service-events.jsonl", lambda: EVENT % (b"[" + b"[]," * (5 * MIB) + b"0]")),
    "lines-of-lists": (
        "service-events.jsonl",
        lambda: EVENT % (b"[" + b"[]," * 300_000 + b"0]") * 50,
    ),
    "line-deep": ("service-events.jsonl", lambda: EVENT % (b"[" * 400_000 + b"]" * 400_000)),
    "line-of-digits": ("input.jsonl", lambda: b'{"seq":' + b"9" * (15 * MIB) + b"}\n"),
    "line-endless": ("input.jsonl", lambda: b"a" * (40 * MIB)),
    "newlines": ("input.jsonl", lambda: b"\n" * (40 * MIB)),
    "empty-objects": ("input.jsonl", lambda: b"{}\n" * (10 * MIB)),
    "nulls": ("frames.jsonl", lambda: bytes(40 * MIB)),
    "seq-twice-far-away": (
        "output.jsonl",
        lambda: b"".join(
            b'{"seq":%d, "t_ms":0,"offset":0,"length":0}\n' % seq for seq in range(1, 500_000)
        ),
    ),
    "chunk-of-everything": (
        "output.jsonl",
        lambda: b'{"seq":1,"t_ms":0,"offset":0,"length":9223372036854775807}\n',
    ),
    "offset-overflow": (
        "output.jsonl",
        lambda: b'{"seq":1,"t_ms":0,"offset":9223372036854775807,"length":9223372036854775807}\n',
    ),
    "final-of-lists": ("final.json", lambda: b'{"metadata":{"x":[' + b"[]," * MIB + b"0]}}"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_cassette_is_refused_quickly(tmp_path: Path, name: str) -> None:
    """Under a second of CPU and 256 MB of memory."""
    file, data = HOSTILE[name]
    for path in UNPINNED.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / file).write_bytes(data())

    error, _, cpu_s, peak = _open_elsewhere(tmp_path)
    assert error is not None
    assert issubclass(getattr(errors, error), errors.InvalidCassetteError)
    assert cpu_s < 1
    assert peak < 256 << 20


_WRITE_FOR_EVER = """
import itertools, sys
from ptycassette.model.records import Output
from ptycassette.testing import write_cassette
print("ready", flush=True)
for number in itertools.count():
    events = (Output(n, b"%06d" % number * 50) for n in range(40))
    write_cassette(sys.argv[1], *events, overwrite=True)
"""


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_a_whole_cassette(tmp_path: Path) -> None:
    """The old one or the new one, and the next writer cleans up what is left beside it."""
    moments = random.Random(7)
    target = tmp_path / "c"
    seen = set()
    for _ in range(25):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITE_FOR_EVER, str(target)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(moments.uniform(0.02, 0.12))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if target.exists():
            with open_cassette(target) as cassette:
                seen.add(next(cassette.raw(0, 6)))

    assert seen
    CassetteWriter(target, overwrite=True).abort()
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
