"""``doctor --drift``: what changed since a recording, cause by cause."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette.agents.harness.surroundings import CAUSES, DriftStatus, Surroundings, compared
from ptycassette.model.records import EmulatorId, ExitStatus, Finished, Output
from ptycassette.model.screen import Size
from ptycassette.testing import manifest_of, write_cassette

Run = Callable[..., Any]
FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
DONE = Finished(t_us=2, exit=ExitStatus(code=0, exited=True, signaled=False))


def program(folder: Path, name: str, line: str) -> Path:
    """A program that says this of its version, and leaves a mark that it was started."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho x >> {folder}/started\necho '{line}'\n")
    path.chmod(0o755)
    return path


def recorded(path: Path, **harness: Any) -> Path:
    """A cassette of a harness."""
    manifest = manifest_of(size=Size(rows=4, cols=40), argv=("codex",))
    changed = msgspec.structs.replace(manifest.harness, **harness)
    manifest = msgspec.structs.replace(manifest, harness=changed)
    write_cassette(path, Output(1, b"x"), DONE, manifest=manifest)
    return path


def causes(run: Run, *args: object) -> dict[str, dict[str, Any]]:
    """The report by cause."""
    ran = run("doctor", "--drift", *args, "--json")
    report = json.loads(ran.text)
    found = {one["cause"]: one for one in report["causes"]}
    assert tuple(found) == CAUSES
    assert ran.status == int(not report["same"])
    return found


def test_a_version_is_asked_for_when_wanted(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no program is started otherwise."""
    path = program(tmp_path, "codex", "codex-cli 2.0")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    digest = sha256(os.fsencode(os.path.realpath(path))).hexdigest()
    cassette = recorded(
        tmp_path / "c", name="codex", binary_version="codex-cli 1.0",
        binary_path_digest_sha256=digest,
    )  # fmt: skip
    unasked = causes(run, cassette)
    assert not (tmp_path / "started").exists()
    asked = causes(run, cassette, "--versions")

    assert unasked["binary"]["status"] == "same"
    assert unasked["version"]["status"] == "not-known"
    assert asked["version"]["status"] == "changed"
    assert (asked["version"]["recorded"], asked["version"]["now"]) == (
        "codex-cli 1.0",
        "codex-cli 2.0",
    )


def test_a_harness_that_is_a_path_starts_nothing(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's cassette could bring a profile with a program of its own."""
    program(tmp_path, "evil", "evil 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    text = (Path(__file__).resolve().parents[3] / "ptycassette/profiles/codex.toml").read_text()
    evil = text.replace('name = "codex"', 'name = "evil"').replace('["codex"', '["evil"')
    (tmp_path / "evil.toml").write_text(evil)
    cassette = recorded(tmp_path / "c", name=str(tmp_path / "evil.toml"), binary_version="evil 1")
    found = causes(run, cassette, "--versions")

    assert found["version"]["status"] == "not-known"
    assert not (tmp_path / "started").exists()


def test_what_is_not_recorded_is_not_called_the_same(tmp_path: Path, run: Run) -> None:
    """A cassette without a version, models, a tape and a window."""
    found = causes(run, recorded(tmp_path / "c", name="other"))

    silent = {"version", "models", "features", "tape-rules", "provider-models", "age", "settings"}
    assert {found[name]["status"] for name in silent} == {"not-recorded"}


def test_a_newer_recording_says_what_the_provider_does_now(run: Run) -> None:
    """Which model answered, with which statuses and events."""
    tapes = FIXTURES / "tapes"
    same = causes(run, tapes / "codex-tape", "--now", tapes / "codex-tape")
    other = causes(run, tapes / "codex-tape", "--now", tapes / "aider-tape")

    assert {one["status"] for one in same.values()} == {"same", "not-recorded"}
    assert other["provider-models"]["status"] == "changed"
    assert "gpt-4o -> gpt-4o" in other["provider-models"]["now"]
    assert other["provider-statuses"]["recorded"] == "also 101"
    assert "response.completed" in other["provider-events"]["recorded"]


def test_an_emulator_and_an_age_change(tmp_path: Path, run: Run) -> None:
    """By the cassette's own words."""
    manifest = manifest_of(size=Size(rows=4, cols=40))
    terminal = msgspec.structs.replace(manifest.terminal, emulator=EmulatorId("other", "1"))
    harness = msgspec.structs.replace(manifest.harness, freshness_window="1h")
    manifest = msgspec.structs.replace(manifest, terminal=terminal, harness=harness)
    write_cassette(tmp_path / "c", Output(1, b"x"), DONE, manifest=manifest)
    found = causes(run, tmp_path / "c")

    assert found["emulator"]["status"] == "changed"
    assert found["age"]["status"] == "changed"
    assert "to be trusted for 1h" in found["age"]["now"]


def test_text_shows_no_escape_of_a_cassette(hostile: Path, run: Run) -> None:
    """It is printed escaped."""
    ran = run("doctor", "--drift", hostile)

    assert "\x1b" not in ran.text
    assert "\u202e" not in ran.text


def test_wrong_usage_says_so(run: Run, tmp_path: Path) -> None:
    """--now alone; a cassette that is not there."""
    assert run("doctor", "--now", "x").status == 2
    assert run("doctor", "--drift", tmp_path / "x").status == 3


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (None, ("a",), DriftStatus.NOT_RECORDED),
        (("a",), None, DriftStatus.NOT_KNOWN),
        (("a",), ("a",), DriftStatus.SAME),
        (("a",), ("a", "b"), DriftStatus.CHANGED),
    ],
)
def test_each_status_is_what_is_known(
    old: tuple[str, ...] | None, new: tuple[str, ...] | None, status: DriftStatus
) -> None:
    """Of one cause."""
    found = {one.cause: one for one in compared(Surroundings(models=old), Surroundings(models=new))}

    assert found["models"].status is status


def test_right_after_a_recording_the_program_offers_what_it_offered(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The facts of a profile are compared as the recorder writes them."""
    program(tmp_path, "codex", "codex-cli 2.0")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert run("rec", "--headless", tmp_path / "c", "--", "codex").status in {0, 1}
    found = causes(run, tmp_path / "c")

    same = ("binary", "features", "permission-modes", "platform", "emulator", "recorder")
    assert {name: found[name]["status"] for name in same} == dict.fromkeys(same, "same")


def test_the_terminal_of_this_machine_is_not_that_of_a_recorder(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run today gets what the recorder gives, so nothing changed right after a recording."""
    monkeypatch.setenv("TERM", "screen")
    manifest = manifest_of(size=Size(rows=24, cols=80))
    terminal = msgspec.structs.replace(manifest.terminal, term="xterm-256color")
    manifest = msgspec.structs.replace(manifest, terminal=terminal)
    write_cassette(tmp_path / "c", Output(1, b"x"), DONE, manifest=manifest)
    found = causes(run, tmp_path / "c")

    assert (found["term"]["status"], found["size"]["status"]) == ("same", "same")


def test_requests_and_headers_are_causes(run: Run) -> None:
    """What requests ask with, and the headers that name software, of both sides."""
    tapes = FIXTURES / "tapes"
    other = causes(run, tapes / "codex-tape", "--now", tapes / "aider-tape")

    assert "messages" in other["request-features"]["now"]
    assert "tool view_image" in other["request-features"]["recorded"]
    assert "user-agent: " in other["request-headers"]["now"]
    assert other["provider-headers"]["status"] == "changed"
