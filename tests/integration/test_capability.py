"""What a recording says that the CLI could do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ptycassette import open_cassette, record
from ptycassette.cli.entry import cli
from ptycassette.model.records import DiscoveryRecord, Harness, QuotaRecord
from ptycassette.testing import ManualClock, ScriptedPty

pytestmark = pytest.mark.integration


def program(folder: Path, name: str, version: str) -> str:
    """A program that answers ``--version``; an agent CLI's session ends when it has answered."""
    path, asked = folder / name, folder / "asked"
    asked.unlink(missing_ok=True)
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && echo $$ > {asked} && exit\n'
        "echo hello\n"
    )
    if name == "claude":
        with path.open("a") as script:
            script.write(
                f"until [ -s {asked} ]; do sleep 0.02; done\n"
                f"while kill -0 $(cat {asked}) 2> {folder}/gone; do sleep 0.02; done\n"
            )
    path.chmod(0o755)
    return str(path)


def recorded(tmp_path: Path, argv: list[str], **options: Any) -> dict[str, Any] | None:
    """The capability block of a recording of ``argv``."""
    with record(argv, tmp_path / "c", **options) as session:
        session.wait_exit()
    with open_cassette(tmp_path / "c") as cassette:
        return cassette.manifest.harness.capability


def test_a_known_cli_has_what_its_profile_knows(tmp_path: Path) -> None:
    """With where it comes from; nothing but ``--version`` was run."""
    found = recorded(tmp_path, [program(tmp_path, "claude", "2.1.332 (Claude Code)")])

    assert found is not None
    assert {"acceptEdits", "bypassPermissions", "plan"} <= set(found["permission_modes"])
    assert found["features"] == ["interactive", "oneshot", "session-log", "quota", "models"]
    assert (found["profile"], found["seen_with"]) == ("claude", ["2.1.332"])


@pytest.mark.parametrize(
    ("name", "version", "options"),
    [
        ("claude", "a script of ours", {}),
        ("claude", "", {}),
        ("amp", "1.0", {}),
        ("deploy", "1.0", {}),
        ("deploy", "1.0", {"harness": "../x"}),
        ("deploy", "1.0", {"harness": "nobody"}),
    ],
)
def test_nothing_is_claimed_of_what_is_not_known(
    tmp_path: Path, name: str, version: str, options: dict[str, Any]
) -> None:
    """Another program of a known name, and names without a profile."""
    assert recorded(tmp_path, [program(tmp_path, name, version)], **options) is None


def test_a_name_or_a_block_of_the_caller_counts(tmp_path: Path) -> None:
    """The name picks the profile; ``capability`` and a whole block have the last word."""
    argv = [program(tmp_path, "mine", "1.0")]

    named = recorded(tmp_path, argv, harness="codex")
    told = recorded(tmp_path, argv, harness="codex", capability={"a": 1}, overwrite=True)
    whole = recorded(tmp_path, argv, harness=Harness(name="codex"), overwrite=True)

    assert named is not None
    assert "workspace-write" in named["permission_modes"]
    assert (told, whole) == ({"a": 1}, None)


def test_rec_takes_it_from_the_profile_that_it_was_given(tmp_path: Path) -> None:
    """Also from a file of the user's own."""
    (tmp_path / "mine.toml").write_text(
        'version = 1\nname = "mine"\ntitle = "Mine"\nbinaries = ["mine"]\n'
        '[capability]\nfeatures = ["flies"]\npermission_modes = ["ask"]\n'
        '[screens]\nready = { contains = ["x"] }\n'
    )
    argv = ["--harness", str(tmp_path / "mine.toml"), str(tmp_path / "c"), "--"]
    done = CliRunner().invoke(cli, ["rec", "-q", *argv, program(tmp_path, "mine", "1.0")])

    assert done.exit_code == 0, done.output
    with open_cassette(tmp_path / "c") as cassette:
        assert cassette.manifest.harness.capability == {
            "features": ["interactive", "flies"],
            "permission_modes": ["ask"],
            "profile": "mine",
            "seen_with": [],
        }


def test_what_a_probe_read_is_told_too(tmp_path: Path) -> None:
    """Models, levels, and that there are usage windows; what the caller said stays."""
    clock = ManualClock()
    pty = ScriptedPty(clock).say("hi").exits(0)
    more: Any = {"pty": pty, "clock": clock, "sleeper": clock, "capability": {"models": ["own"]}}
    with record(["x"], tmp_path / "c", **more) as session:
        session.set_discovery(
            DiscoveryRecord(source="cli", status="ok", models=("a", "b"), reasoning_levels=("low",))
        )
        session.set_quota(QuotaRecord(source="cli", status="ok", windows=({"name": "5h"},)))
        session.wait_exit()

    assert session.manifest is not None
    assert session.manifest.harness.capability == {
        "models": ["own"],
        "reasoning_levels": ["low"],
        "quota": True,
    }
