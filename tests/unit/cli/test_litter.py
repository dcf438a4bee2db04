"""What file managers, editors and file systems leave among the files of a cassette is ignored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ptycassette import open_cassette
from ptycassette.cassette.layout import is_litter
from ptycassette.errors import UnexpectedFileError
from tests.conftest import ROOT
from tests.unit.cli.conftest import Run

LITTER = (
    ".DS_Store", "._manifest.json", "Thumbs.db", "thumbs.db", "desktop.ini", "Desktop.ini",
    ".manifest.json.swp", ".final.json.swo", "manifest.json~", "#manifest.json#", ".directory",
    ".~lock.final.json#", ".nfs0000000000a1b2c3", ".fuse_hidden0001", ".final.json.kate-swp",
)  # fmt: skip
CASSETTE = ROOT / "fixtures" / "tapes" / "client-tape"


@pytest.fixture
def littered(tmp_path: Path) -> Path:
    """A cassette with all of it, and with the lock of an editor, a link that leads nowhere."""
    target = tmp_path / "a.cassette"
    shutil.copytree(CASSETTE, target)
    for name in LITTER:
        (target / name).write_bytes(b"\0\1binary")
    (target / ".#final.json").symlink_to("somebody@machine.4711:1")
    return target


def test_a_cassette_with_litter_is_valid(littered: Path, run: Run) -> None:
    """It can be read and replaced; ``verify`` names the litter once."""
    with open_cassette(littered) as cassette:
        cassette.verify()
    verified = run("verify", littered)
    assert verified.status == 0
    assert all(verified.text.count(f"{name}, ") == 1 for name in (".DS_Store", "Thumbs.db"))
    assert verified.text.count("not part of the recording") == 1
    assert run("verify-scrub", littered).status == 0
    assert run("edit", "trim", CASSETTE, "-o", littered, "--overwrite", "--to", "0.5").status == 0
    assert not any(is_litter(one.name) for one in littered.iterdir())


def test_a_secret_in_litter_is_found(littered: Path, run: Run) -> None:
    """It would be committed, too."""
    (littered / ".DS_Store").write_text("key ghp_" + "a1B2c3D4e5F6" * 3)

    assert run("verify-scrub", littered).status == 6


@pytest.mark.parametrize("name", ["notes.txt", "DS_Store", "manifest.json.bak", ".env", "x.db"])
def test_anything_else_is_not_litter(tmp_path: Path, name: str) -> None:
    """It may be what somebody wanted to keep, or to hide."""
    shutil.copytree(CASSETTE, tmp_path / "a.cassette")
    (tmp_path / "a.cassette" / name).write_text("x")

    with pytest.raises(UnexpectedFileError, match=name), open_cassette(tmp_path / "a.cassette"):
        pass
