"""The built-in profiles and probes are valid, fit together, and are found by name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ptycassette.agents.harness.io.files import (
    builtin_profiles,
    find_binary,
    installed,
    known_probes,
    load_probe,
    load_profile,
    similar_profiles,
)
from ptycassette.agents.harness.preparing import Place, prepare
from ptycassette.errors import NotFoundError, UnreadableError, UsageError

PLACE = Place(home="/h", cwd="/h/w", url="http://127.0.0.1:1", key="k" * 40, ca="/ca", model="m")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", builtin_profiles())
def test_every_profile_prepares_every_mode(name: str) -> None:
    """All names that a profile uses have values; files are told whole."""
    profile = load_profile(name, env={})

    assert profile.name == name
    for mode in profile.modes:
        for prompt in (None, "hi"):
            run = prepare(profile, mode, PLACE, binary="x", now=NOW, prompt=prompt)
            assert all("${" not in text for text in (*run.argv, *run.environment.values()))
            assert all("${" not in file.text for file in run.files)


@pytest.mark.parametrize("name", known_probes({}))
def test_every_probe_belongs_to_a_profile_and_a_mode_of_it(name: str) -> None:
    """A probe is called ``HARNESS-WHAT``."""
    probe = load_probe(name, env={})

    assert name.startswith(f"{probe.harness}-")
    assert probe.mode in load_profile(probe.harness, env={}).modes


def test_the_named_clis_are_known() -> None:
    """At least these."""
    assert {"claude", "codex", "gemini", "opencode", "aider", "llm", "generic"} <= set(
        builtin_profiles()
    )


def test_what_may_not_be_shown_is_marked() -> None:
    """Claude Code's licence does not allow sharing its screens."""
    assert not load_profile("claude", env={}).shareable


def test_the_users_own_file_has_the_first_word(tmp_path: Path) -> None:
    """A profile in the configuration folder, and one by its path."""
    folder = tmp_path / "ptycassette" / "harnesses"
    folder.mkdir(parents=True)
    own = folder / "codex.toml"
    own.write_text(
        "version = 1\nname = 'codex'\ntitle = 'mine'\nbinaries = []\nscreens.ready.stable_ms = 1\n"
    )

    assert load_profile("codex", env={"XDG_CONFIG_HOME": str(tmp_path)}).title == "mine"
    assert load_profile(str(own)).title == "mine"


def test_files_that_are_not_there_or_wrong_are_told(tmp_path: Path) -> None:
    """By name, by path, unreadable, and with a mistake in it."""
    wrong = tmp_path / "w.toml"
    wrong.write_text("version = 1\n")
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff")
    with pytest.raises(NotFoundError, match="no profile is named 'nope'"):
        load_profile("nope", env={})
    with pytest.raises(NotFoundError):
        load_probe("./nope.toml")
    with pytest.raises(UnreadableError):
        load_profile(str(binary))
    with pytest.raises(UsageError) as caught:
        load_profile(str(wrong))

    assert caught.value.where == str(wrong)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("codx", "codex"), ("claud", "claude"), ("Gemini", "gemini"), ("open-code", "opencode")],
)
def test_a_mistyped_name_gets_a_suggestion(name: str, meant: str) -> None:
    """A name of another CLI gets none."""
    with pytest.raises(NotFoundError) as caught:
        load_profile(name, env={})

    assert f"did you mean {meant}?" in (caught.value.hint or "")
    assert similar_profiles(name, env={}) == (meant,)
    for other in ("mycli", "agent", "claude-squad", "bash"):
        assert similar_profiles(other, env={}) == ()


def test_programs_are_looked_up(tmp_path: Path) -> None:
    """On the path that is given; what is not there is told as not installed."""
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\necho codex-cli 9.9\n")
    program.chmod(0o755)
    found = {one.name: one for one in installed(path=str(tmp_path), versions=False, env={})}

    assert find_binary(load_profile("codex", env={}), path=str(tmp_path)) == str(program)
    assert found["codex"].binary == str(program)
    assert found["gemini"].binary is None
    assert "generic" not in found


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """An environment with a profile of the user's own, and a broken one."""
    folder = tmp_path / "config" / "ptycassette" / "harnesses"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(
        "version = 1\nname = 'mine'\ntitle = 'My CLI'\nbinaries = ['mine']\n"
        "version_query.tested = ['1.0']\nscreens.ready = { contains = ['>'] }\n"
    )
    (folder / "torn.toml").write_text("version = ")
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.mark.parametrize(("told", "known"), [("mine 1.0", True), ("mine 2.0", False)])
def test_the_users_own_profiles_are_known_too(
    told: str, known: bool, own: dict[str, str], tmp_path: Path
) -> None:
    """With the version that the program says, and whether the profile was tried with it."""
    program = tmp_path / "mine"
    program.write_text(f"#!/bin/sh\necho {told}\n")
    program.chmod(0o755)
    found = {one.name: one for one in installed(path=str(tmp_path), env=own)}

    assert (found["mine"].version, found["mine"].known) == (told, known)
    assert found["codex"].binary is None


def test_a_profile_that_cannot_be_read_is_told(own: dict[str, str], tmp_path: Path) -> None:
    """The others are listed all the same."""
    found = {one.name: one for one in installed(path=str(tmp_path), versions=False, env=own)}

    assert "torn.toml" in (found["torn"].problem or "")
    assert found["mine"].problem is None
