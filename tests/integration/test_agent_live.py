"""The real CLIs, offline: recorded, verified, probed, and nothing of them left behind.

Opt-in: ``PTYCASSETTE_AGENTS`` holds the folders of the installed programs, as ``PATH``
does (``make fixtures`` installs them into the cache folder). CLIs that are not there
are skipped. Claude Code is among them: nothing of it is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from ptycassette.harness import Drive, Profile
from ptycassette.host.cassette_reader import open_cassette
from ptycassette.host.harness_drive import walk
from ptycassette.host.harness_files import find_binary, load_probe, load_profile
from ptycassette.host.harness_record import log_reader
from ptycassette.host.harness_run import OfflineRun, fake_key, offline_run
from ptycassette.host.probe import probe_live
from ptycassette.host.recorder import record
from ptycassette.model import Size
from ptycassette.provider.fake import Script

WHERE = os.environ.get("PTYCASSETTE_AGENTS", "")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not WHERE, reason="PTYCASSETTE_AGENTS names no folders of agent CLIs"),
]

DRIVES = Path(__file__).resolve().parent.parent.parent / "fixtures" / "agents" / "drives"
NAMES = sorted(path.stem for path in DRIVES.glob("*.toml") if ".provider" not in path.name)
LIMITED = "[[replies]]\ntimes = 0\nerror = { status = 429, message = 'Rate limit reached' }\n"
BACKEND_ANSWERS = {
    "usage": 429,
    "security-setup": 404,
    "rate-limit-reset-credits": 404,
    "settings/user": 404,
}
BACKEND = "limits.codex.plan_type = 'plus'\n" + "".join(
    f"[[routes]]\npath = '/backend-api/wham/{name}'\nstatus = {status}\n"
    for name, status in BACKEND_ANSWERS.items()
)


@pytest.fixture
def run_folder() -> Iterator[Path]:
    """Not under /tmp, which Codex refuses as a home."""
    folder = Path.home() / ".cache" / "ptycassette" / "test-runs"
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    for entry in folder.iterdir():
        entry.rmdir()


def binary_of(profile: Profile) -> str:
    """The program, or a skip."""
    found = find_binary(profile, path=WHERE)
    if found is None:
        pytest.skip(f"{profile.title} is not in PTYCASSETTE_AGENTS")
    return found


def options_of(run: OfflineRun) -> dict[str, Any]:
    """What ``record`` and ``Session`` take, with the programs on the path."""
    options = run.options
    options["env"] = {**options["env"], "PATH": f"{WHERE}:{os.environ['PATH']}"}
    return options


def left_over(home: Path) -> list[str]:
    """Processes that still run out of a home that is gone."""
    found: list[str] = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any(str(home) in word for word in words):
            found.append(" ".join(words))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_it_is_driven_recorded_and_leaves_nothing(
    name: str, tmp_path: Path, run_folder: Path
) -> None:
    """Along its drive; the provider saw nothing unexpected; no daemon outlives it."""
    drive = Drive.parse((DRIVES / f"{name}.toml").read_text())
    profile = load_profile(drive.harness, env={})
    with offline_run(
        profile,
        DRIVES / drive.script,
        mode=drive.mode,
        model=drive.model,
        prompt=drive.prompt,
        command=drive.command,
        arguments=drive.arguments,
        files=drive.files,
        binary=binary_of(profile),
        root=run_folder,
    ) as run:
        options = options_of(run)
        usual = profile.terminal
        options["size"] = Size(drive.rows or usual.rows, drive.cols or usual.cols)
        reader = log_reader(profile, home=run.home, cwd=run.cwd, since_s=0.0)
        known = [fake_key(profile)]
        with record(
            run.argv, tmp_path / "c", at_end=reader, known=known, timeout_s=300, **options
        ) as session:
            walk(session, drive.steps, profile)
            status = session.wait_exit(timeout_s=120)
        assert run.provider.problems == ()
    with open_cassette(tmp_path / "c") as cassette:
        cassette.verify()

    assert status.code in drive.exit_codes
    assert left_over(run.home) == []


@pytest.mark.parametrize(
    ("name", "mode", "script", "status"),
    [
        ("codex-status", "logged-out", "", "unauthenticated"),
        ("codex-status", "account", BACKEND + LIMITED, "unavailable"),
        ("gemini-stats", "key", "[[replies]]\ntimes = 0\ntext = 'Hello.'\n", "ok"),
        ("gemini-stats", "logged-out", "", "unauthenticated"),
        ("gemini-stats", "key", LIMITED, "unavailable"),
        ("aider-tokens", "key", "[[replies]]\ntimes = 0\ntext = 'Hello.'\n", "ok"),
        ("aider-tokens", "logged-out", "", "unauthenticated"),
        ("aider-tokens", "key", LIMITED, "unavailable"),
    ],
)
def test_a_probe_tells_the_right_status(
    name: str, mode: str, script: str, status: str, run_folder: Path
) -> None:
    """Against scripted answers: fine, logged out, rate-limited."""
    probe = load_probe(name, env={})
    profile = load_profile(probe.harness, env={})
    models = {"codex": "gpt-5.1-codex", "gemini": "gemini-2.5-flash", "aider": "gpt-4o"}
    with offline_run(
        profile,
        Script.parse(f"version = 1\n{script}"),
        mode=mode,
        model=models[probe.harness],
        binary=binary_of(profile),
        root=run_folder,
    ) as run:
        result = probe_live(probe, profile, prepared=run.prepared, cwd=run.cwd)

    assert result.status == status, result.diagnostic
