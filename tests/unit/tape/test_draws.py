"""A program's clock and chance: logged once, served in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.errors import (
    DivergenceError,
    ExistsError,
    RecordError,
    StorageError,
    UsageError,
)
from ptycassette.tape.draws import (
    Draw,
    DrawnValues,
    Draws,
    RecordedDraws,
    ServedDraws,
    draw_differences,
    drawn_in,
    draws_digest,
    read_draws,
)
from ptycassette.tape.io.draw_log import MachineDraws, open_draws, served_draws

CALLS: dict[str, Any] = {
    "time_ns": lambda draws: draws.time_ns(),
    "now": lambda draws: draws.now(),
    "uuid4": lambda draws: draws.uuid4(),
    "random": lambda draws: draws.random(),
    "randbytes": lambda draws: draws.randbytes(5),
    "environ": lambda draws: draws.environ("PATH"),
    "not set": lambda draws: draws.environ("PTYCASSETTE_NOT_SET"),
}
PROGRAM = """
import json
import os
from ptycassette import open_draws
from ptycassette.tape.io.draw_log import served_draws
draws = open_draws()
print(draws.uuid4(), draws.now().isoformat(), draws.random(), draws.randbytes(4).hex(), flush=True)
os.kill(os.getpid(), 9)
"""


def log(path: Path) -> list[Draw]:
    """The draws of a file."""
    return list(read_draws(path.read_bytes(), where=str(path)))


def opened(mode: str, path: Path) -> Draws:
    """The draws that the variable names."""
    return open_draws({"PTYCASSETTE_DRAWS": f"{mode}:{path}"})


@given(st.lists(st.sampled_from(sorted(CALLS)), max_size=8))
def test_what_was_drawn_is_served(calls: list[str]) -> None:
    """To the last bit, in order, and noted as it is served."""
    kept: list[Draw] = []
    served: list[Draw] = []
    recorded = RecordedDraws(MachineDraws(), kept.append)
    first = [CALLS[call](recorded) for call in calls]
    again = ServedDraws(kept, served.append)

    assert [CALLS[call](again) for call in calls] == first
    again.finish()
    assert draws_digest(served) == draws_digest(kept)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("random", "draw 1 was randbytes(5) in the recording, and is random()"),
        ("now", "draw 1 was randbytes(5) in the recording, and is time_ns()"),
    ],
)
def test_a_draw_of_another_kind_is_a_divergence(call: str, message: str) -> None:
    """And so is every draw after it."""
    draws = ServedDraws([Draw("randbytes", "0011223344", "5")])
    with pytest.raises(DivergenceError) as caught:
        CALLS[call](draws)

    assert caught.value.message == message
    for then in (lambda: draws.randbytes(5), draws.finish):
        with pytest.raises(DivergenceError):
            then()


def test_another_argument_one_too_many_and_one_too_few_are_divergences() -> None:
    """Each says which draw it is."""
    draws = ServedDraws([Draw("randbytes", "0011", "2")])
    with pytest.raises(DivergenceError, match="1 recorded draws were not made; the next is randb"):
        draws.finish()
    with pytest.raises(DivergenceError, match=r"was randbytes\(2\) in the recording, and is .*3"):
        draws.randbytes(3)
    empty = ServedDraws([])
    with pytest.raises(DivergenceError, match="draw 1 is a uuid4, and none is left"):
        empty.uuid4()


def test_a_variable_is_served_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set, empty or not set; another one diverges."""
    kept: list[Draw] = []
    recorded = RecordedDraws(MachineDraws(), kept.append)
    monkeypatch.setenv("PTY_A", "caf\xe9 = x")
    monkeypatch.setenv("PTY_B", "")
    monkeypatch.delenv("PTY_C", raising=False)
    first = [recorded.environ(name, "default") for name in ("PTY_A", "PTY_B", "PTY_C")]
    for name in ("PTY_A", "PTY_B", "PTY_C"):
        monkeypatch.setenv(name, "another value")
    again = ServedDraws(kept)

    assert first == ["caf\xe9 = x", "", "default"]
    assert [again.environ(name, "default") for name in ("PTY_A", "PTY_B", "PTY_C")] == first
    with pytest.raises(DivergenceError, match=r"was environ\(PTY_A\) .*, and is environ\(PTY_B\)"):
        ServedDraws(kept).environ("PTY_B")


@pytest.mark.parametrize("value", ["\udcff", "x" * 40_000])
def test_a_variable_that_cannot_be_kept_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """Before the program gets it."""
    monkeypatch.setenv("PTY_A", value)

    with pytest.raises(UsageError, match="cannot be drawn"):
        RecordedDraws(MachineDraws(), pytest.fail).environ("PTY_A")


def test_a_killed_program_has_logged_what_it_got(tmp_path: Path) -> None:
    """The log is written first; the second run prints the same."""
    path = tmp_path / "draws.jsonl"
    printed = []
    for mode in ("record", "replay"):
        environment = {**os.environ, "PTYCASSETTE_DRAWS": f"{mode}:{path}"}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=False
        )
        assert run.returncode == -signal.SIGKILL, run.stderr
        printed.append(run.stdout)

    assert printed[0] == printed[1] != b""
    assert log(path) == log(path.with_name("draws.jsonl.served"))
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_is_not_overwritten(tmp_path: Path) -> None:
    """A second recording needs another file."""
    opened("record", tmp_path / "log").random()

    with pytest.raises(ExistsError):
        opened("record", tmp_path / "log")


@pytest.mark.parametrize("value", ["recrod:x", "record:", "x", "replay"])
def test_a_typo_is_an_error(value: str) -> None:
    """And never a run with real draws."""
    with pytest.raises(UsageError, match="means nothing"):
        open_draws({"PTYCASSETTE_DRAWS": value})


@pytest.mark.parametrize("line", [b"{}", b'{"kind":"dice","value":"6"}', b"\xff", b"[]"])
def test_a_damaged_log_is_refused(tmp_path: Path, line: bytes) -> None:
    """With the line that is wrong; a torn last line was never given out."""
    path = tmp_path / "log"
    good = b'{"kind":"random","value":"0x1p-1"}\n'
    path.write_bytes(good + line + b"\n")
    with pytest.raises(RecordError, match="line 2"):
        opened("replay", path)
    path.write_bytes(good + good[:-5])

    assert opened("replay", path).random() == 0.5


def test_a_value_that_is_none_of_its_kind_is_refused() -> None:
    """A log that somebody edited."""
    with pytest.raises(RecordError, match="draw 1 is no uuid4"):
        ServedDraws([Draw("uuid4", "x")]).uuid4()


def test_without_the_variable_nothing_is_logged(tmp_path: Path, monkeypatch: Any) -> None:
    """A program that is not under test runs as ever."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PTYCASSETTE_DRAWS", raising=False)
    draws = open_draws()

    assert draws.uuid4() != draws.uuid4()
    assert list(tmp_path.iterdir()) == []


def test_a_recorder_is_told_of_draws_and_of_the_first_divergence(tmp_path: Path) -> None:
    """Through the channel for service events, whatever else happens to them."""
    channel = tmp_path / "events"
    os.mkfifo(channel)
    reader = os.open(channel, os.O_RDWR | os.O_NONBLOCK)
    environment = {"PTYCASSETTE_EVENTS": str(channel)}
    drawn = [open_draws(environment).uuid4(), open_draws(environment).randbytes(3)]
    recorded = events_of(reader)

    with served_draws(recorded.draws) as variables:
        draws = open_draws({**environment, **variables})
        served = [draws.uuid4(), draws.randbytes(3)]
        for _ in range(2):
            with pytest.raises(DivergenceError):
                draws.random()
    again = events_of(reader)
    os.close(reader)

    assert served == drawn
    assert again.draws == recorded.draws
    assert draw_differences(recorded, again) == list(again.divergences)
    assert len(again.divergences) == 1
    assert draw_differences(recorded, DrawnValues(recorded.draws[:1])) != []
    with pytest.raises(StorageError):
        open_draws(environment)  # the recorder is gone
    with pytest.raises(UsageError):
        open_draws({}).randbytes(10**6)


def events_of(reader: int) -> DrawnValues:
    """What came through the channel."""
    return drawn_in(json.loads(line) for line in os.read(reader, 1 << 16).splitlines())
