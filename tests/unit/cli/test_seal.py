"""``seal`` and ``verify --sealed``: what they print, and how they end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette import use
from ptycassette.errors import DivergenceError, UnsealedError

Run = Callable[..., Any]


@pytest.fixture
def place(cassette: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a sealed cassette, its key and a trust file."""
    folder = cassette.parent
    monkeypatch.chdir(folder)
    assert run("seal", "short.cassette", "--new-key", "release.key").status == 0
    line = (folder / "release.key.pub").read_text().strip()
    (folder / "trust.toml").write_text(f'[keys.release]\npublic_key = "{line}"\n')
    return folder


def require(place: Path) -> None:
    """Let the project demand seals."""
    (place / "ptycassette.toml").write_text('[seal]\nrequired = true\ntrust = "trust.toml"\n')


def test_a_sealed_cassette_passes(place: Path, run: Run) -> None:
    """It says by whom, and that the time is what the seal says."""
    ran = run("verify", "--sealed", "--trust", "trust.toml", "short.cassette")

    assert ran.status == 0
    assert "short.cassette: sealed\n  by     release\n" in ran.text
    assert "every byte as sealed" in ran.text


def test_a_seal_stands_for_its_cassette(place: Path, run: Run) -> None:
    """So that cassettes/* can be said."""
    named = ("short.cassette", "short.cassette.seal.json")
    sealed = run("verify", "--sealed", "--trust", "trust.toml", *named)
    plain = run("verify", *named)

    assert (sealed.status, plain.status) == (0, 0)
    assert sealed.text.count("short.cassette:") == 1
    assert plain.text.count("short.cassette:") == 1
    shutil.rmtree("short.cassette")
    assert run("verify", "--sealed", named[1]).status == 3


def test_without_a_trust_file_nobody_is_trusted(place: Path, run: Run) -> None:
    """And it says how to name one."""
    ran = run("verify", "--sealed", "short.cassette")

    assert ran.status == 7
    assert "no key is trusted" in ran.text
    assert "--trust" in ran.text


def test_the_project_file_names_the_trust_file(place: Path, run: Run) -> None:
    """For all who check."""
    require(place)

    assert run("verify", "--sealed", "short.cassette").status == 0


def test_a_project_that_requires_seals_is_obeyed_by_verify(place: Path, run: Run) -> None:
    """Without an option; the format is checked, too."""
    require(place)
    good = run("verify", "short.cassette")
    Path("short.cassette.seal.json").unlink()
    bad = run("verify", "short.cassette")

    assert good.status == 0
    assert "short.cassette: valid" in good.text
    assert "short.cassette: sealed" in good.text
    assert bad.status == 7
    assert "short.cassette: NOT SEALED" in bad.text


def test_a_project_that_requires_seals_is_obeyed_by_use(place: Path) -> None:
    """Nothing is replayed that nobody vouches for."""
    require(place)
    with pytest.raises(DivergenceError), use("short.cassette", mode="replay"):
        pass  # it is replayed, and the block does not do what was recorded
    Path("short.cassette.seal.json").unlink()
    with pytest.raises(UnsealedError), use("short.cassette", mode="replay"):
        pass


def test_a_project_that_requires_seals_is_obeyed_by_a_stand_in(place: Path) -> None:
    """It fails before it plays. In a process of its own, which one that plays would end."""
    require(place)
    Path("short.cassette.seal.json").unlink()
    argv = ["stand-in", "--report", "report.json", "short.cassette"]
    ran = subprocess.run(
        [sys.executable, "-m", "ptycassette", *argv], stdin=subprocess.DEVNULL, check=False
    )
    report = json.loads(Path("report.json").read_text())

    assert ran.returncode == 125
    assert report["result"] == "failed"
    assert "there is no seal" in report["error"]


def test_json_says_the_status_of_each(place: Path, run: Run) -> None:
    """One trusted, one tampered with."""
    shutil.copytree("short.cassette", "other")
    shutil.copy("short.cassette.seal.json", "other.seal.json")
    ran = run("verify", "--sealed", "--trust", "trust.toml", "--json", "short.cassette", "other")
    report = json.loads(ran.text)
    first, second = report["cassettes"]

    assert ran.status == 7
    assert not report["ok"]
    assert first["seal"]["status"] == "trusted"
    assert first["seal"]["signers"] == ["release"]
    assert second["seal"]["status"] == "tampered"
    assert second["error"]["type"] == "TamperedError"
    assert "sealed as 'short.cassette'" in second["error"]["message"]


def test_a_seal_that_holds_is_kept(place: Path, run: Run) -> None:
    """Sealing again changes no file."""
    before = Path("short.cassette.seal.json").read_bytes()
    ran = run("seal", "short.cassette", "--key", "release.key")

    assert ran.text == "short.cassette: sealed already\n"
    assert Path("short.cassette.seal.json").read_bytes() == before


def test_a_seal_of_another_key_is_not_replaced_unasked(place: Path, run: Run) -> None:
    """It ends with 6; with --overwrite it is replaced."""
    refused = run("seal", "short.cassette", "--new-key", "other.key")
    done = run("seal", "short.cassette", "--key", "other.key", "--overwrite")

    assert refused.status == 6
    assert "of somebody else" in refused.text
    assert done.status == 0


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ("digest", 4, "the manifest pins"),
        ("diagnostic", 4, "diagnostic directory"),
        ("nothing", 3, "there is no cassette"),
    ],
)
def test_what_is_not_as_pinned_is_not_sealed(
    change: str, status: int, said: str, place: Path, run: Run
) -> None:
    """A signature would only hide it."""
    Path("short.cassette.seal.json").unlink()
    if change == "digest":
        Path("short.cassette/output.raw").write_bytes(b"other")
    elif change == "diagnostic":
        Path("short.cassette/diagnostic.json").write_text("{}")
    else:
        shutil.rmtree("short.cassette")
    ran = run("seal", "short.cassette", "--key", "release.key")

    assert ran.status == status
    assert said in ran.text
    assert not Path("short.cassette.seal.json").exists()


def test_what_was_never_scrubbed_is_sealed_on_purpose_only(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is opened on purpose only."""
    unscrubbed = Path(__file__).resolve().parents[3] / "fixtures" / "corrupt" / "unscrubbed"
    shutil.copytree(unscrubbed, "raw")

    assert run("seal", "raw", "--key", "release.key").status == 4
    assert run("seal", "raw", "--key", "release.key", "--allow-unscrubbed").status == 0


@pytest.mark.parametrize(
    "args",
    [
        ["seal"],
        ["seal", "short.cassette"],
        ["seal", "short.cassette", "--key", "a", "--new-key", "b"],
        ["verify", "--sealed", "--rederive", "short.cassette"],
        ["verify", "--trust", "trust.toml", "short.cassette"],
    ],
)
def test_wrong_usage_says_so(args: list[str], place: Path, run: Run) -> None:
    """With status 2."""
    ran = run(*args)

    assert ran.status == 2
    assert ran.err


@pytest.mark.parametrize("text", ["required = 1", 'trust = ""', "sealed = true", "trust = 1"])
def test_a_wrong_policy_is_no_missing_one(text: str, place: Path, run: Run) -> None:
    """A typo must not switch it off."""
    (place / "ptycassette.toml").write_text(f"[seal]\n{text}\n")
    ran = run("verify", "short.cassette")

    assert ran.status == 2
    assert "seal" in ran.err


def test_a_new_key_prints_what_goes_into_the_trust_file(place: Path, run: Run) -> None:
    """And never the private key."""
    ran = run("seal", "--new-key", "ci.key")
    line = Path("ci.key.pub").read_text().strip()

    assert ran.status == 0
    assert f'[keys.ci]\npublic_key = "{line}"\n' in ran.text
    assert "PRIVATE" not in ran.text
    assert run("seal", "--new-key", "ci2.key", "--json").status == 0


def test_a_recording_of_another_folder_is_not_as_sealed(place: Path, run: Run) -> None:
    """Although its name is the same and its own seal holds; the whole tree may move."""
    for folder in ("codex", "claude"):
        shutil.copytree("short.cassette", place / folder / "login")
    assert run("seal", "codex/login", "claude/login", "--key", "release.key").status == 0
    check = ("verify", "--sealed", "--trust", "trust.toml")
    assert run(*check, "codex/login", "claude/login").status == 0
    shutil.copytree(place, place.parent / "elsewhere" / "deeper")
    assert run(*check, place.parent / "elsewhere" / "deeper" / "codex" / "login").status == 0
    shutil.rmtree("codex")
    shutil.copytree("claude", "codex")
    ran = run(*check, "codex/login")

    assert ran.status == 7
    assert "sealed as 'claude/login'" in ran.text


def test_a_seal_names_the_path_from_the_top_of_the_work_tree(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever folder it is sealed from."""
    (place / ".git").mkdir()
    shutil.copytree("short.cassette", place / "tests" / "login")
    monkeypatch.chdir(place / "tests")
    assert run("seal", "login", "--key", "../release.key").status == 0
    monkeypatch.chdir(place)
    shutil.move("tests", "other")
    ran = run("verify", "--sealed", "--trust", "trust.toml", "other/login")

    assert ran.status == 7
    assert "sealed as 'tests/login'" in ran.text
