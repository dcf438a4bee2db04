"""What the manifest says about harness and place."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cli import main
from ptycassette.recording.io import binary_probe as harness_probe
from ptycassette.recording.io.binary_probe import (
    architecture,
    locale_of,
    probe_harness,
    system,
    timestamp,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Who was asked for a version; everybody answers the same."""
    found: list[Path] = []

    def ask(binary: Path, arguments: Sequence[str]) -> str:
        found.append(binary)
        return "1.2"

    monkeypatch.setattr(harness_probe, "ask_version", ask)
    return found


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("claude", None, "1.2"),
        ("claude", False, None),
        ("deploy.sh", None, None),
        ("deploy.sh", True, "1.2"),
    ],
)
def test_only_known_agent_clis_are_asked_without_being_told(
    tmp_path: Path, asked: list[Path], name: str, *, version: bool | None, expected: str | None
) -> None:
    """A script that takes no ``--version`` would simply run."""
    block = probe_harness(tmp_path / name, now=NOW, version=version)

    assert block.binary_version == expected
    assert len(asked) == (expected is not None)


def test_the_digest_is_that_of_the_resolved_path(tmp_path: Path, asked: list[Path]) -> None:
    """Two names of one binary give one digest; the path itself is not told."""
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    digests = {
        probe_harness(tmp_path / name, now=NOW).binary_path_digest_sha256
        for name in ("real", "link")
    }

    assert digests == {hashlib.sha256(bytes((tmp_path / "real").resolve())).hexdigest()}


def test_the_name_is_that_of_the_file_unless_given(tmp_path: Path, asked: list[Path]) -> None:
    """A wrapper script may be called otherwise than the product."""
    path = tmp_path / "run-agent"
    blocks = [probe_harness(path, now=NOW), probe_harness(path, now=NOW, name="agent")]

    assert [block.name for block in blocks] == ["run-agent", "agent"]
    assert blocks[0].captured_at == "2026-01-02T03:04:05Z"


def test_a_timestamp_keeps_another_zone_as_it_is() -> None:
    """UTC is written as Z."""
    other = NOW.astimezone(timezone(timedelta(hours=2)))

    assert (timestamp(NOW), timestamp(other)) == (
        "2026-01-02T03:04:05Z",
        "2026-01-02T05:04:05+02:00",
    )


@pytest.mark.parametrize(
    ("machine", "expected"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("riscv64", "riscv64")]
)
def test_processors_are_named_as_go_names_them(machine: str, expected: str) -> None:
    """The format's readers in Go compare them."""
    assert architecture(machine) == expected
    assert architecture()


@pytest.mark.parametrize(("name", "expected"), [("linux", "linux"), ("darwin", "darwin")])
def test_systems_are_named_as_go_names_them(name: str, expected: str) -> None:
    """Old Pythons put a version behind some."""
    assert (system(name), system("freebsd14")) == (expected, "freebsd")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"LC_ALL": "a", "LC_CTYPE": "b", "LANG": "c"}, "a"),
        ({"LC_ALL": "", "LC_CTYPE": "b", "LANG": "c"}, "b"),
        ({"LANG": "c"}, "c"),
        ({}, None),
    ],
)
def test_the_locale_follows_the_rules_of_locale(env: dict[str, str], expected: str | None) -> None:
    """LC_ALL, then LC_CTYPE, then LANG; empty is as unset."""
    assert locale_of(env) == expected


@pytest.mark.parametrize("late", ["2.0", None])
def test_a_version_that_was_not_told_in_time_is_asked_for_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    late: str | None,
) -> None:
    """When the session is over; what is not told then either is said where one looks for it."""
    asked: list[float] = []

    def ask(_: Path, arguments: Sequence[str], *, timeout_s: float = 0) -> str | None:
        if timeout_s == 0:  # before the session
            return None
        asked.append(timeout_s)
        return late

    monkeypatch.setattr(harness_probe, "ask_version", ask)
    words = ["rec", "--headless", "--probe-version", str(tmp_path / "c"), "--", "true"]
    status = main(words)
    said = capsys.readouterr().err
    with open_cassette(tmp_path / "c") as cassette:
        manifest = cassette.manifest
    missing = (manifest.optional or {}).get("binary_version_missing")

    assert (status, asked) == (0, [harness_probe.LATE_VERSION_TIMEOUT_S])
    assert manifest.harness.binary_version == late
    assert (missing is None) == (late is not None)
    assert ("its version is not in the manifest" in said) == (late is None)


@pytest.mark.parametrize("words", [["--no-probe-version"], []])
def test_who_was_not_asked_is_not_asked_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Nor is one that has told."""

    def ask(*_: object, timeout_s: float = 0) -> str | None:
        return "app 1.0" if timeout_s == 0 else pytest.fail("asked")

    monkeypatch.setattr(harness_probe, "ask_version", ask)

    assert main(["rec", "--headless", "-q", *words, str(tmp_path / "c"), "--", "true"]) == 0
    with open_cassette(tmp_path / "c") as cassette:
        assert "binary_version_missing" not in (cassette.manifest.optional or {})
