"""One gate before everything that runs what a cassette names: seal, digests, trust."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FIXTURES, Run

TAPED = FIXTURES / "tapes" / "client-tape"
WAYS = {
    "rerun": ["rerun"],
    "tape-only": ["rerun", "--tape-only"],
    "fork": ["fork", "--at", "tape:1", "--change", "none", "-o", "child.cassette"],
    "blame": ["blame", "--oracle", "exit", "--budget", "40", "--at", "tape:1"],
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a cassette whose tape is whole."""
    shutil.copytree(TAPED, tmp_path / "a.cassette")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(cassette: Path, what: str) -> None:
    """Change one thing, as somebody with an editor does."""
    path = cassette / what
    if what == "manifest.json":
        manifest = json.loads(path.read_bytes())
        manifest["command"]["argv"] = ["/usr/bin/touch", "started"]
        path.write_text(json.dumps(manifest, indent=2) + "\n")
        return
    data = bytearray(path.read_bytes())
    at = data.index(b'"t_ms":') + 8 if what.endswith((".json", ".jsonl")) else len(data) // 2
    data[at - 1] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "what", ["manifest.json", "output.raw", "final.json", "frames.jsonl", "tape-bodies.bin"]
)
def test_a_changed_cassette_is_not_run(place: Path, run: Run, way: str, what: str) -> None:
    """Whatever was changed, and although the user trusts it."""
    change(place / "a.cassette", what)
    ran = run(WAYS[way][0], "--trust", "a.cassette", *WAYS[way][1:])

    assert ran.status == 4, ran.err
    assert not (place / "started").exists()
    assert not (place / "child.cassette").exists()


@pytest.mark.parametrize("way", WAYS)
def test_a_cassette_without_the_demanded_seal_is_not_run(place: Path, run: Run, way: str) -> None:
    """The seal is asked for first: the digests of a forgery may all fit."""
    (place / "ptycassette.toml").write_text("[seal]\nrequired = true\n")
    change(place / "a.cassette", "manifest.json")
    ran = run(WAYS[way][0], "--trust", "a.cassette", *WAYS[way][1:])

    assert ran.status == 7, ran.err
    assert not (place / "started").exists()
    assert not (place / "child.cassette").exists()
