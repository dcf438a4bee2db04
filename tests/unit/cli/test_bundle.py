"""``bundle export`` and ``bundle verify``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TAPE = Path(__file__).resolve().parents[3] / "fixtures" / "tapes" / "client-tape"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> Path:
    """A folder with a key and a trust file."""
    monkeypatch.chdir(tmp_path)
    assert run("seal", "--new-key", "k").status == 0
    Path("t.toml").write_text(f'[keys.me]\npublic_key = "{Path("k.pub").read_text().strip()}"\n')
    return tmp_path


def test_a_bundle_of_a_tape_holds_for_its_own_record(place: Path, run: Callable[..., Any]) -> None:
    """And for no other one."""
    for entry in (1, 2):
        made = run(
            "bundle", "export", TAPE, "--entry", entry, "--key", "k", "-o", f"{entry}.rr",
            "--actual", f"{entry}.json",
        )  # fmt: skip
        assert made.status == 0, made.err
    good = run("bundle", "verify", "1.rr", "1.json", "--trust", "t.toml")
    other = run("bundle", "verify", "1.rr", "2.json", "--trust", "t.toml", "--json")
    nobody = run("bundle", "verify", "1.rr", "1.json")

    assert (good.status, good.text) == (0, "1.rr: holds, signed by me\n")
    assert (other.status, nobody.status) == (1, 7)
    assert "InputHashMismatch:messages_sha256" in json.loads(other.text)["errors"]


def test_what_cannot_be_a_bundle_says_why(place: Path, run: Callable[..., Any]) -> None:
    """No such entry; no tape; a key and none."""
    minimal = TAPE.parents[1] / "v1" / "minimal"

    assert run("bundle", "export", TAPE, "--entry", "99", "--unsigned").status == 3
    assert run("bundle", "export", minimal, "--entry", "1", "--unsigned").status == 4
    assert run("bundle", "export", TAPE, "--entry", "1", "--unsigned", "--key", "k").status == 2
    assert run("bundle", "export", TAPE, "--entry", "1").status == 2
    assert json.loads(run("bundle", "export", TAPE, "--entry", "1", "--unsigned").text)["model"]
