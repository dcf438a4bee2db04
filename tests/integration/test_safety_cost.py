"""What a stranger's file costs: each reader with each attack, in a process with limits.

A second of processor time, which is that of the reader's process without its start-up, and 200 MB:
the same limits as those of ``python -m benchmarks untrusted_cost``. Processor time too differs
with what else the machine does, by half and more, so a case that is above is measured again,
twice; what is quadratic stays above.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchmarks.untrusted_cost import MAX_MB, MAX_S, READERS, Measuring, cases
from ptycassette.model.records import Output, Typed
from ptycassette.testing import manifest_of, write_cassette

pytestmark = [pytest.mark.integration, pytest.mark.skipif(sys.platform != "linux", reason="/proc")]

TRIES = 3
ALL = list(cases())
WORST = [
    ("check", "pattern-plus-of-plus"),
    ("check", "rewrite-doubling"),
    ("check", "rewrite-restarting"),
    ("check-many", "text"),
    ("check-many", "title"),
    ("check-many", "resizes"),
    ("check-many", "json"),
    ("check-many", "style"),
    ("probe", "patterns"),
    ("input-script", "patterns"),
    ("input-script", "note-deep"),
    ("answers", "dotted"),
    ("answers", "lists"),
    ("provider-script", "dotted-in-table"),
    ("text-log", "token-lines"),
    ("session-log", "empty-objects"),
    ("session-log", "line-numbers"),
    ("body", "numbers"),
    ("notes", "objects-closed"),
    ("cassette-open", "frames.jsonl:line-many-objects"),
    ("cassette-open", "events-extreme"),
    ("cassette-text", "lines-over-pipes"),
    ("diff", "lines-typed"),
    ("events", "titles"),
    ("play", "marks"),
    ("view", "marked-cells"),
]
"""Each went beyond a limit once, or ended in a traceback."""


@pytest.fixture(scope="module")
def measure() -> Iterator[Measuring]:
    """One process forks all of them."""
    with Measuring() as measuring:
        yield measuring


def _is_bounded(measure: Measuring, reader: str, attack: str) -> None:
    costs = [measure(reader, attack)]
    while not costs[-1].bounded and len(costs) < TRIES:
        costs.append(measure(reader, attack))
    cost = costs[-1]

    assert not cost.ended.startswith("!"), cost
    assert cost.cpu_s < MAX_S, costs
    assert cost.mb < MAX_MB, cost


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("reader", "attack"), WORST)
def test_what_once_cost_much_is_bounded(measure: Measuring, reader: str, attack: str) -> None:
    """It ends, or is refused by an error of ours, within processor time and memory."""
    _is_bounded(measure, reader, attack)


@pytest.mark.sampled(150)
@pytest.mark.parametrize(("reader", "attack"), ALL)
def test_a_strangers_file_is_bounded(measure: Measuring, reader: str, attack: str) -> None:
    """Whatever it says, in five megabytes or as much as its reader accepts."""
    _is_bounded(measure, reader, attack)


def test_a_lenient_stand_in_reads_the_recording_once(tmp_path: Path) -> None:
    """However many lines are wrong: rendering the screen of each took minutes. Start-up counts."""
    write_cassette(
        tmp_path / "c",
        *(Typed(n, b"line %d\n" % n) for n in range(3000)),
        Output(4000, b"done\n", "stdout"),
        manifest=msgspec.structs.replace(
            manifest_of(), optional={"streams": dict.fromkeys(("stdin", "stdout"), "pipe")}
        ),
    )
    command = [sys.executable, "-m", "ptycassette", "stand-in", "--lenient", tmp_path / "c"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = b"".join(b"wrong %d\n" % n for n in range(3000))
    run = subprocess.run(command, input=lines, capture_output=True, timeout=60, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert (run.returncode, run.stdout, run.stderr) == (0, b"done\n", b"")
    assert after.ru_utime - before.ru_utime < 3 * MAX_S


def test_every_reader_has_attacks() -> None:
    """And none stands twice."""
    assert {reader for reader, _ in ALL} == set(READERS)
    assert len(ALL) == len(set(ALL)) > 500
