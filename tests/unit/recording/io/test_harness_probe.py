"""What the manifest says about harness and place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from ptycassette.model.records import same_version
from ptycassette.recording.io.options import (
    architecture,
    locale_of,
    probe_harness,
    system,
    timestamp,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def npm(root: Path, package: str, start: str, version: str) -> Path:
    """A package as npm installs it; the script that its command starts."""
    folder = root / "lib" / "node_modules" / package
    script = folder / start
    script.parent.mkdir(parents=True)
    script.write_text("#!/usr/bin/env node\n")
    script.chmod(0o755)
    (folder / "package.json").write_text(
        json.dumps({"name": package, "version": version, "bin": {"agent": start}})
    )
    return script


def linked(root: Path, name: str, to: Path) -> Path:
    """A command that is a link."""
    link = root / "bin" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(to)
    return link


def by_npm(root: Path) -> Path:
    """``npm install -g``."""
    return linked(root, "codex", npm(root, "@openai/codex", "bin/codex.js", "1.2.3"))


def by_pnpm(root: Path) -> Path:
    """``pnpm add -g`` writes a script in place of a link."""
    npm(root, "@openai/codex", "bin/codex.js", "1.2.3")
    script = root / "bin" / "codex"
    script.parent.mkdir()
    script.write_text(
        '#!/bin/sh\nbasedir=$(dirname "$0")\n'
        'exec node "$basedir/../lib/node_modules/@openai/codex/bin/codex.js" "$@"\n'
    )
    return script


def of_a_platform(root: Path) -> Path:
    """The command of a part for one platform."""
    return linked(root, "codex", npm(root, "@openai/codex-linux-x64", "codex", "1.2.3"))


def by_pip(root: Path) -> Path:
    """``pip``, ``pipx`` and ``uv tool`` write a script and dist-info."""
    script = root / "venv" / "bin" / "aider"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!{root}/venv/bin/python\nimport sys\n")
    info = root / "venv" / "lib" / "python3.12" / "site-packages" / "aider_chat-1.2.3.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[console_scripts]\naider = aider.main:main\n")
    return linked(root, "aider", script)


def by_path(path: str) -> Callable[[Path], Path]:
    """Installers that keep each version in a folder or file of its own."""

    def install(root: Path) -> Path:
        file = root / path
        file.parent.mkdir(parents=True)
        file.write_bytes(b"\x7fELF")
        return linked(
            root, path.rsplit("/", maxsplit=1)[-1] if "versions" not in path else "claude", file
        )

    return install


@pytest.mark.parametrize(
    "install",
    [
        by_npm,
        by_pnpm,
        of_a_platform,
        by_pip,
        by_path("Cellar/codex/1.2.3/bin/codex"),
        by_path("Caskroom/claude-code/1.2.3/claude"),
        by_path("nix/store/0123456789abcdfghijklmnpqrsvwxyz-gemini-cli-1.2.3/bin/gemini"),
        by_path("installs/gemini/1.2.3/bin/gemini"),
        by_path("share/claude/versions/1.2.3"),
    ],
)
def test_the_version_is_that_of_the_installed_package(
    tmp_path: Path, install: Callable[[Path], Path]
) -> None:
    """Nothing is run for it."""
    assert probe_harness(install(tmp_path), now=NOW).binary_version == "1.2.3"


def of_somebody_else(root: Path) -> Path:
    """A package of another name, which has a command of that name."""
    return linked(root, "codex", npm(root, "codex", "bin/codex.js", "1.2.3"))


def of_a_project(root: Path) -> Path:
    """A script in somebody's project, which has a version of its own."""
    (root / "package.json").write_text('{"name": "@openai/codex", "version": "1.2.3"}')
    script = root / "tools" / "codex"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    return script


def of_its_interpreter(root: Path) -> Path:
    """A script in a folder that has the version of Node."""
    return by_path("installs/node/1.2.3/bin/codex")(root)


def damaged(root: Path) -> Path:
    """Its package.json cannot be read."""
    path = by_npm(root)
    (root / "lib" / "node_modules" / "@openai" / "codex" / "package.json").write_text("{")
    return path


@pytest.mark.parametrize("make", [of_somebody_else, of_a_project, of_its_interpreter, damaged])
def test_the_version_of_something_else_is_not_taken(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    """Then the program is asked."""
    assert probe_harness(make(tmp_path), now=NOW).binary_version is None


def test_a_version_is_looked_up_only_where_it_is_wanted(tmp_path: Path) -> None:
    """It is not part of a recording that was made with ``--no-probe-version``."""
    assert probe_harness(by_npm(tmp_path), now=NOW, version=False).binary_version is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("codex-cli 0.169.0", "0.169.0", True),
        ("2.1.197 (Claude Code)", "2.1.197", True),
        ("codex-cli 0.169.0", "codex-cli 0.169.0", True),
        ("codex-cli 0.169.0", "0.170.0", False),
        ("codex-cli 0.169.0", "other 0.169.0", False),
        ("1.0", "1.0-beta", False),
        ("one", "other", False),
        (None, "1.0", False),
        (None, None, True),
    ],
)
def test_a_package_and_its_program_name_the_same_version(
    one: str | None, other: str | None, *, same: bool
) -> None:
    """The program adds its name."""
    assert (same_version(one, other), same_version(other, one)) == (same, same)


def test_the_digest_is_that_of_the_resolved_path(tmp_path: Path) -> None:
    """Two names of one binary give one digest; the path itself is not told."""
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    digests = {
        probe_harness(tmp_path / name, now=NOW).binary_path_digest_sha256
        for name in ("real", "link")
    }

    assert digests == {hashlib.sha256(bytes((tmp_path / "real").resolve())).hexdigest()}


@pytest.mark.parametrize("below", ["home", "work", "other"])
def test_the_digest_of_a_path_holds_no_name_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    """For two users at the same place of their homes and work folders it is the same."""
    digests = set()
    for user in ("alice", "bob"):
        home = tmp_path / "home" / user
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("LOGNAME", user)
        (home / f"{user}s-secret-plan").mkdir(parents=True)
        (tmp_path / "opt" / user).mkdir(parents=True)
        monkeypatch.chdir(home / f"{user}s-secret-plan")
        folder = {"home": home, "work": Path.cwd(), "other": tmp_path / "opt" / user}[below]
        (folder / "agent").touch()
        digests.add(probe_harness(folder / "agent", now=NOW).binary_path_digest_sha256)

    assert len(digests) == 1


def test_the_name_is_that_of_the_file_unless_given(tmp_path: Path) -> None:
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
