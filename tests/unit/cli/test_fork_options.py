"""What ``fork`` and ``stand-in`` say of faults that are written in a wrong way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptycassette.agents.faults.registry import FAULTS
from tests.unit.cli.conftest import FIXTURES, Run

TAPE = FIXTURES / "tapes" / "client-tape"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--fault", "overloaded"), "write --fault NAME@2 for tape:2"),
        (("--fault", "overloaded@1", "--at", "tape:1"), "write --fault NAME@2 for tape:2"),
        (("--fault", "overloaded@1", "--change", "model=m"), "no --change with --fault"),
        (("--fault", "stall@1"), "ptycassette stand-in --fault stall@1"),
        (("--fault", "late@1"), "late@1 is not a known fault"),
        (("--at", "tape:1", "--change", "fault=error"), "write --fault NAME@N"),
        (("--at", "tape:1"), "--change is missing (or --fault, or --places)"),
        (("--fault", "error", "--at", "exchange:1"), "it is changed at a request: --at tape:N"),
        (("--fault", "swapped-tool-result@2"), "does not depend on swapped-tool-result"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(
    run: Run, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    """With status 2, before anything is started."""
    ran = run("fork", "--trust", TAPE, *words, "-o", tmp_path / "child")

    assert ran.status == 2
    assert message in " ".join(ran.err.split())
    assert not (tmp_path / "child").exists()


def test_a_stand_in_has_no_faults_of_a_provider(run: Run) -> None:
    """It says who has them."""
    ran = run("stand-in", "--fault", "error", TAPE)

    assert ran.status == 2
    assert "ptycassette fork --fault error" in ran.err


def test_faults_are_listed_without_a_cassette(run: Run) -> None:
    """All of them, for people and as JSON."""
    lines = run("fork", "--list-faults").text
    found = json.loads(run("fork", "--list-faults", "--json").text)["faults"]

    assert [one["name"] for one in found] == list(FAULTS)
    assert all(f"  {name}" in lines for name in FAULTS)
    assert run("fork").status == 2


CODEX = FIXTURES / "tapes" / "codex-tape"


@pytest.mark.parametrize("change", ["response=gold", "swap=tape:2", "model=other"])
def test_a_handshake_has_no_answer_to_change(run: Run, tmp_path: Path, change: str) -> None:
    """It would be reported as changed, and nothing would be."""
    script = tmp_path / "script.toml"
    script.write_text('version = 1\n[[replies]]\ntext = "hi"\n')
    tail = ("--tail", "scripted", "--script", script) if change.startswith("model") else ()
    words = ("--at", "tape:1", "--change", change, *tail, "-o", tmp_path / "child")
    ran = run("fork", "--trust", CODEX, *words)

    assert ran.status == 2, ran.err
    assert "opens a WebSocket" in ran.err
    assert not (tmp_path / "child").exists()
