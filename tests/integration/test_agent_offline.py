"""Every CLI that a profile knows: started by ``ptycassette offline``, recorded, replayed.

Opt-in: ``PTYCASSETTE_AGENTS`` holds the folders of the installed programs, as ``PATH`` does.
What is asked, what is answered and which tool is called come from the profile: a new CLI needs
nothing here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptycassette.agents.harness.io.files import builtin_profiles, find_binary, load_profile
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.model.toml_text import fill_variables

WHERE = os.environ.get("PTYCASSETTE_AGENTS", "")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not WHERE, reason="PTYCASSETTE_AGENTS names no folders of agent CLIs"),
]

COMMAND = str(Path(sys.executable).parent / "ptycassette")
NAMES = [name for name in builtin_profiles() if load_profile(name, env={}).tools]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in the folder, with the CLIs on its path."""
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PATH": f"{WHERE}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _named(note: dict[str, Any]) -> tuple[object, ...]:
    """What of an event is the same wherever it is read: a recording knows where it ran."""
    return tuple(note.get(name) for name in ("type", "id", "call_id", "name", "input_tokens"))


def _check_import(place: Path, log: str | None, notes: list[Any], usage: object) -> None:
    """The log, imported, holds the events and tokens that the recording has of it."""
    assert log is not None
    (path,) = (one for one in (place / "home" / log, place / log) if one.exists())
    done = run(place, COMMAND, "import", str(path), "-o", "log")
    assert done.returncode == 0, done.stderr
    with open_cassette(place / "log") as cassette:
        logged = [one.payload for one in cassette.service_events()]
        assert [_named(note) for note in logged] == [_named(note) for note in notes]
        assert cassette.final.usage == usage


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_call_is_recorded_and_replayed(name: str, tmp_path: Path) -> None:
    """The provider is not surprised; the session log has the call; the stand-in ends the same."""
    profile = load_profile(name, env={})
    if find_binary(profile, path=WHERE) is None:
        pytest.skip(f"{profile.title} is not in PTYCASSETTE_AGENTS")
    tool = next(iter(profile.tools.values()))
    (tmp_path / "note.txt").write_text("buy walnuts\n")
    asked = fill_variables(list(profile.oneshot), name, {"prompt": tool.prompt})
    program = (profile.binaries[0], *asked, *tool.options)
    rec = (COMMAND, "rec", "-q", "--headless", "--harness", name, "c", "--", *program)
    whole = ("sh", "-c", 'home=$1; shift; "$@" && cp -r "$HOME" "$home"', "sh", "home", *rec)
    done = run(tmp_path, COMMAND, "offline", "--strict", name, "--", *whole)
    assert done.returncode == 0, done.stdout + done.stderr
    with open_cassette(tmp_path / "c") as cassette:
        notes = [one.payload for one in cassette.service_events()]
        usage, log = cassette.final.usage, cassette.final.session_log_path
    _check_import(tmp_path, log, notes, usage)
    calls = [note["name"] for note in notes if note["type"] == "tool-call"]
    replayed = run(
        tmp_path, COMMAND, "rec", "-q", "--headless", "r", "--", COMMAND, "stand-in", "c"
    )

    assert any(note["type"] == "usage" for note in notes)
    assert bool(calls) == (tool.name is not None)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
