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

import msgspec
import psutil
import pytest

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.files import find_binary, load_probe, load_profile
from ptycassette.agents.harness.io.logs import log_reader
from ptycassette.agents.harness.io.offline import OfflineRun, fake_key, offline_run
from ptycassette.agents.harness.io.probe import probe_live, walk
from ptycassette.agents.harness.probe import Drive, ProbeResult
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.model.screen import Size
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.recording import record

WHERE = os.environ.get("PTYCASSETTE_AGENTS", "")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not WHERE, reason="PTYCASSETTE_AGENTS names no folders of agent CLIs"),
]

DRIVES = Path(__file__).resolve().parent.parent.parent / "fixtures" / "agents" / "drives"
NAMES = sorted(path.stem for path in DRIVES.glob("*.toml") if ".provider" not in path.name)
LIMITED = "[[replies]]\ntimes = 0\nerror = { status = 429, message = 'Rate limit reached' }\n"
REFUSED = "[auth]\nrequire = 'impossible'\n"
ANSWER = "[[replies]]\ntimes = 0\ntext = 'Hello.'\n"
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


def asked(name: str, mode: str, script: str, root: Path) -> ProbeResult:
    """Probe the real CLI against a script."""
    probe = load_probe(name, env={})
    profile = load_profile(probe.harness, env={})
    with offline_run(
        profile,
        Script.parse(f"version = 1\n{script}"),
        mode=mode,
        binary=binary_of(profile),
        root=root,
    ) as run:
        variables = {**run.prepared.environment, "PATH": f"{WHERE}:{os.environ['PATH']}"}
        prepared = msgspec.structs.replace(run.prepared, environment=variables)
        return probe_live(probe, profile, prepared=prepared, cwd=run.cwd)


@pytest.mark.parametrize(
    ("name", "mode", "script", "status"),
    [
        ("codex-status", "logged-out", "", "unauthenticated"),
        ("codex-status", "account", BACKEND + LIMITED, "unavailable"),
        ("gemini-stats", "logged-out", "", "unauthenticated"),
        ("gemini-stats", "key", LIMITED, "unavailable"),
        ("gemini-stats", "key", REFUSED, "unauthenticated"),
        ("aider-tokens", "logged-out", "", "unauthenticated"),
        ("aider-tokens", "key", LIMITED, "unavailable"),
        ("aider-tokens", "key", REFUSED, "unauthenticated"),
        ("opencode-models", "logged-out", "", "unauthenticated"),
        ("claude-usage", "logged-out", "", "unauthenticated"),
        ("claude-usage", "key", "", "unavailable"),
    ],
)
def test_a_probe_tells_the_right_status(
    name: str, mode: str, script: str, status: str, run_folder: Path
) -> None:
    """Against scripted answers: logged out, a key that is refused, rate-limited."""
    result = asked(name, mode, script, run_folder)

    assert result.status == status, result.diagnostic


@pytest.mark.parametrize(("used", "weekly"), [(42, 17), (3, 98)])
def test_codex_tells_the_numbers_that_were_scripted(
    used: int, weekly: int, run_folder: Path
) -> None:
    """Both windows of the account."""
    windows = (
        f"primary = {{ used_percent = {used}, window_minutes = 300, resets_in_s = 7200 }}\n"
        f"secondary = {{ used_percent = {weekly}, window_minutes = 10080, resets_in_s = 90000 }}\n"
    )
    script = BACKEND.replace("limits.codex.plan_type = 'plus'\n", "") + ANSWER
    script = f"[limits.codex]\nplan_type = 'pro'\n{windows}{script}"
    script = script.replace("'/backend-api/wham/usage'", "'/backend-api/wham/unused'")
    result = asked("codex-status", "account", script, run_folder)

    assert result.quota is not None, result.diagnostic
    told = [(one["name"], one["used_percent"]) for one in result.quota.windows or ()]
    assert told == [("5h", used), ("weekly", weekly)]


@pytest.mark.parametrize("tokens", [(1234, 56, 78), (98765, 4321, 0)])
def test_gemini_tells_the_numbers_that_were_scripted(
    tokens: tuple[int, int, int], run_folder: Path
) -> None:
    """Of its one request."""
    sent, received, cached = tokens
    usage = f"usage = {{ input = {sent}, output = {received}, cached_input = {cached} }}\n"
    result = asked("gemini-stats", "key", ANSWER + usage, run_folder)

    assert result.quota is not None, result.diagnostic
    told = result.quota.metadata or {}
    names = ("requests", "input_tokens", "output_tokens", "cached_tokens")
    assert [told[name] for name in names] == [1, sent, received, cached]


@pytest.mark.parametrize(
    ("sent", "received", "told"),
    [(2500, 40, (2500, 40, 0.0067)), (12000, 900, (12000, 900, 0.04))],
)
def test_aider_tells_the_numbers_that_were_scripted(
    sent: int, received: int, told: tuple[float, ...], run_folder: Path
) -> None:
    """As aider rounds them: to hundreds of tokens, the cost as its price list says."""
    usage = f"usage = {{ input = {sent}, output = {received} }}\n"
    result = asked("aider-tokens", "key", ANSWER + usage, run_folder)

    assert result.quota is not None, result.diagnostic
    found = result.quota.metadata or {}
    assert (found["input_tokens"], found["output_tokens"]) == told[:2]
    assert found["cost_usd"] == pytest.approx(told[2], abs=0.005)
