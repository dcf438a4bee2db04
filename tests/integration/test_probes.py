"""Probes over recordings of real CLIs, and live against a small program that looks like one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ptycassette.agents.harness.io.files import load_probe
from ptycassette.agents.harness.io.probe import (
    ProbeFailedError,
    probe_cassette,
    probe_live,
    with_freshness,
)
from ptycassette.agents.harness.io.probe_watch import Snapshot, call_every, refresh_snapshot
from ptycassette.agents.harness.preparing import PreparedRun
from ptycassette.agents.harness.probe import Probe
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import DiagnosticError, NotFoundError
from ptycassette.profiles.profile import Profile
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.locks import LockHolder, account_lock
from ptycassette.system.files.state_dirs import lock_dir
from ptycassette.testing import ManualClock
from tests.commands import ptycassette
from tests.places import held

pytestmark = pytest.mark.integration

AGENTS = Path(__file__).resolve().parent.parent.parent / "fixtures" / "agents"

# Says what it is told to when /status is entered; ends at the letter q.
CLI = """
import sys, tty
tty.setraw(0)
say = lambda text: (sys.stdout.write(text.replace("\\n", "\\r\\n")), sys.stdout.flush())
say(sys.argv[1])
while (key := sys.stdin.read(1)) not in ("q", ""):
    say(key)
    if key == "\\r":
        say("\\x1b[2J\\x1b[H" + sys.argv[2])
"""
PROFILE = """
version = 1
name = "small"
title = "a small CLI"
binaries = ["small-cli-that-nobody-has"]
screens.ready = { contains = ["ready>"] }
submit.how = "type"
"""
PROBE = """
version = 1
name = "small-status"
harness = "small"
source = "small /status"
timeout_s = 4.0
[[steps]]
wait = { contains = ["ready>"], stable_ms = 100 }
[[steps]]
submit = "/status"
[[steps]]
wait = { contains = ["Limits"], stable_ms = 100 }
capture = "status"
[[markers]]
status = "unauthenticated"
when = { contains = ["sign in"] }
message = "nobody is signed in"
[quota]
[[quota.windows]]
screen = "status"
name = "5h"
regex = '5h: (?P<used_percent>\\d+)% used'
[discovery]
models = { screen = "status", regex = '- (?P<value>\\S+)' }
"""
STATUS = "Limits\n5h: 42% used\n- one\n- two\n"


def ask(first: str = "ready>", then: str = STATUS, **options: Any) -> Any:
    """Probe the small program."""
    run = PreparedRun(argv=(sys.executable, "-c", CLI, first, then), environment={}, files=())
    return probe_live(Probe.parse(PROBE), Profile.parse(PROFILE), prepared=run, **options)


def test_a_live_probe_reads_what_is_on_the_screen() -> None:
    """Windows and models."""
    result = ask()

    assert result.status == "ok"
    assert result.quota.windows[0]["used_percent"] == 42
    assert result.discovery.models == ("one", "two")


def test_a_recorded_probe_keeps_its_records(tmp_path: Path) -> None:
    """quota.json and discovery.json are in the cassette, which answers the same again."""
    target = tmp_path / "c"
    live = ask(target=target)
    with open_cassette(target) as cassette:
        quota, discovery = cassette.quota, cassette.discovery
    again = probe_cassette(Probe.parse(PROBE), target)

    assert quota == live.quota
    assert discovery == live.discovery
    assert again.quota is not None
    assert again.quota.windows == live.quota.windows


@pytest.mark.parametrize(
    ("first", "then", "status", "told"),
    [
        ("please sign in", "", "unauthenticated", "nobody is signed in"),
        ("ready>", "sign in again", "unauthenticated", "nobody is signed in"),
        ("loading", "", "error", "waited 4 s"),
        ("ready>", STATUS.replace("used", "gone"), "error", "unknown layout"),
        ("ready>", "nothing", "error", "waited"),
    ],
)
def test_what_is_no_answer_has_a_status_and_shows_the_screen(
    first: str, then: str, status: str, told: str
) -> None:
    """Logged out, no answer in time, another layout."""
    result = ask(first, then)

    assert result.status == status
    assert told in result.diagnostic.message
    assert (then or first).split("\n")[0] in result.diagnostic.screen[0]


def test_a_program_that_ends_is_an_error() -> None:
    """Not a timeout: it is told at once."""
    run = PreparedRun(argv=(sys.executable, "-c", "print('bye')"), environment={}, files=())
    result = probe_live(Probe.parse(PROBE), Profile.parse(PROFILE), prepared=run)

    assert result.status == "error"
    assert result.diagnostic is not None
    assert "ended" in result.diagnostic.message


def test_a_failed_probe_leaves_a_diagnostic_and_no_cassette(tmp_path: Path) -> None:
    """Evidence that is no evidence cannot be mistaken for some."""
    with pytest.raises(ProbeFailedError) as caught:
        ask("please sign in", "", target=tmp_path / "c")

    assert caught.value.result.status == "unauthenticated"
    assert not (tmp_path / "c").exists()
    diagnostics = [path for path in tmp_path.iterdir() if "diagnostic" in path.name]
    with pytest.raises(DiagnosticError):
        probe_cassette(Probe.parse(PROBE), diagnostics[0])


def test_a_cli_that_is_not_installed_is_told() -> None:
    """With the name of its program."""
    with pytest.raises(NotFoundError) as caught:
        probe_live(Probe.parse(PROBE), Profile.parse(PROFILE))

    assert "small-cli-that-nobody-has" in (caught.value.hint or "")


# A probe, a recording of the real CLI, the status, and what is where in the answer.
RECORDED: dict[str, tuple[str, str, dict[str, Any]]] = {
    # What the fake provider had scripted.
    "codex-account": ("codex-status", "ok", {
        "quota.windows.0.name": "5h", "quota.windows.0.used_percent": 42,
        "quota.windows.1.name": "weekly", "quota.windows.1.used_percent": 17,
        "quota.windows.2": None, "quota.account_class": "Plus",
        "discovery.models.8": "GPT-5.6-Terra", "discovery.models.9": None,
    }),
    # The tokens that the fake provider had told, added up by the real CLI.
    "gemini-tui": ("gemini-stats", "ok", {
        "quota.account_class": "gemini-api-key",
        "quota.metadata.input_tokens": 2500, "quota.metadata.output_tokens": 42,
    }),
    # As it says it after the first answer of the session.
    "aider-tui": ("aider-tokens", "ok", {"quota.metadata": {
        "model": "openai/gpt-4o", "input_tokens": 2400, "output_tokens": 8, "cost_usd": 0.0062,
    }}),
    # One per row, as they are to be named.
    "opencode-models": ("opencode-models", "ok", {
        "discovery.models.0": "anthropic/claude-fable-5",
    }),
    **{f"{cli}-logged-out": (probe, "unauthenticated", {"quota": None, "discovery": None})
       for cli, probe in (
           ("codex", "codex-status"), ("gemini", "gemini-stats"), ("aider", "aider-tokens"),
       )},
}  # fmt: skip


@pytest.mark.parametrize("recording", RECORDED)
def test_a_real_cli_tells_what_it_told_when_it_was_recorded(recording: str) -> None:
    """Where nobody is signed in, the screen that says so is shown."""
    name, status, wanted = RECORDED[recording]
    result = probe_cassette(load_probe(name, env={}), AGENTS / recording)

    assert result.status == status
    assert held(msgspec.to_builtins(result), wanted) == wanted
    assert bool(result.diagnostic and result.diagnostic.screen) is (status != "ok")


@pytest.mark.parametrize(
    ("name", "recording", "old", "new"),
    [
        ("codex-status", "codex-account", "Weekly limit", "Monthly limit"),
        ("codex-status", "codex-account", "% left", "% free"),
        ("codex-status", "codex-account", "limit:            [", "limit:            ("),
        ("codex-status", "codex-account", "Account:", "User:"),
        ("gemini-stats", "gemini-tui", "Input Tokens   Cache Reads", "Cache Reads   Input Tokens"),
        ("gemini-stats", "gemini-tui", "Reqs", "Errs"),
        ("gemini-stats", "gemini-tui", "2,500           300", "2.500           300"),
        ("gemini-stats", "gemini-tui", "300            42", "300         7  42"),
        ("gemini-stats", "gemini-tui", "Auth Method:", "Signed in by:"),
        ("aider-tokens", "aider-tui", "k sent, ", "k in, "),
        ("aider-tokens", "aider-tui", "received.", "back."),
        ("aider-tokens", "aider-tui", "Cost: $0.00", "Cost: EUR 0.00"),
        ("aider-tokens", "aider-tui", "Main model:", "Model:"),
        ("opencode-models", "opencode-models", "anthropic/", "anthropic: "),
    ],
)
def test_a_changed_layout_is_an_error_with_the_screen(
    tmp_path: Path, name: str, recording: str, old: str, new: str
) -> None:
    """The CLI's own screens, changed on purpose: never a wrong number."""
    frames = (AGENTS / recording / "frames.jsonl").read_text()
    assert old in frames
    changed = tmp_path / "c"
    shutil.copytree(AGENTS / recording, changed)
    (changed / "frames.jsonl").write_text(frames.replace(old, new))
    manifest = json.loads((changed / "manifest.json").read_text())
    # They pin what has just been changed; the format does not ask for them.
    del manifest["optional"], manifest["provenance"]["contract_version"]
    (changed / "manifest.json").write_text(json.dumps(manifest))
    result = probe_cassette(load_probe(name, env={}), changed)

    assert (result.status, result.quota, result.discovery) == ("error", None, None)
    assert result.diagnostic is not None
    assert result.diagnostic.failed
    assert result.diagnostic.screen


def test_old_evidence_is_stale_where_somebody_asks(tmp_path: Path) -> None:
    """Reported otherwise."""
    target = tmp_path / "c"
    ask(target=target)
    probe = Probe.parse(PROBE)
    later = ManualClock(wall=MonotonicClock().wall())
    later.advance(3600)
    told = probe_cassette(probe, target, clock=later)
    strict = probe_cassette(probe, target, clock=later, max_age_s=60)
    refusing = Probe.parse(PROBE.replace("timeout_s = 4.0", "staleness_behavior = 'refuse'"))

    assert (told.status, told.fresh) == ("ok", False)
    assert (strict.status, strict.fresh) == ("stale", False)
    assert told.age_s is not None
    assert 3590 <= told.age_s <= 3620
    assert probe_cassette(refusing, target, clock=later).status == "stale"


def test_a_time_without_a_zone_is_utc() -> None:
    """As the reference implementation may write it."""
    result = msgspec.structs.replace(ask(), captured_at="2026-01-01T00:00:00")
    clock = ManualClock()

    assert with_freshness(result, clock.wall(), max_age_s=None).age_s == 0


def test_a_snapshot_keeps_the_last_good_answer(tmp_path: Path) -> None:
    """A dashboard shows what was known, and that it could not be refreshed."""
    path = tmp_path / "snapshot.json"
    clock = ManualClock()
    options: dict[str, Any] = {"account": "a", "harness": "small", "clock": clock}
    refresh_snapshot(path, ask, **options)
    refresh_snapshot(path, lambda: ask("please sign in", ""), **options)
    snapshot = msgspec.json.decode(path.read_bytes(), type=Snapshot)

    assert snapshot.last.status == "unauthenticated"
    assert snapshot.last_ok is not None
    assert snapshot.last_ok.status == "ok"


def test_a_snapshot_is_scrubbed_and_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What CLIs show of an account, and what an earlier snapshot kept, may hold a secret."""
    secret = "qP7xR2mK9v-" + str(98_765_432)
    monkeypatch.setenv("SOME_TOKEN", secret)
    path = tmp_path / "snapshot.json"
    options: dict[str, Any] = {"account": "a", "harness": "small", "clock": ManualClock()}
    good = ask()
    shown = msgspec.structs.replace(
        good, quota=msgspec.structs.replace(good.quota, metadata={"a": secret})
    )
    refresh_snapshot(path, lambda: shown, **options)
    first = path.read_text()
    path.write_text(first.replace("<", secret))
    refresh_snapshot(path, lambda: ask(f"please sign in: {secret}", ""), **options)
    snapshot = msgspec.json.decode(path.read_bytes(), type=Snapshot)

    assert secret not in first + path.read_text()
    assert snapshot.last.diagnostic is not None
    assert f"please sign in: {'x' * len(secret)}" in snapshot.last.diagnostic.screen[0]
    assert path.stat().st_mode & 0o777 == 0o600


def test_one_run_per_account_at_a_time(tmp_path: Path) -> None:
    """Whoever comes second asks nothing and writes nothing."""
    path = tmp_path / "snapshot.json"
    holder = LockHolder(pid=1, what="another")
    with account_lock(lock_dir(os.environ), harness="small", account="a", holder=holder):
        told = refresh_snapshot(path, ask, account="a", harness="small", clock=ManualClock())

    assert told is None
    assert not path.exists()


def test_watching_asks_until_it_is_stopped() -> None:
    """At once, and again after the interval."""
    asked: list[int] = []

    def once() -> None:
        asked.append(1)

    call_every(once, interval_s=0.01, stopped=lambda _: len(asked) == 3)

    assert len(asked) == 3


SIGNALLED = """
import faulthandler, random, signal
from ptycassette.system.ownership import StopSignals

faulthandler.dump_traceback_later(60, exit=True)
for _ in range(5000):
    with StopSignals() as signals:
        signal.signal(signal.SIGALRM, signals._came)
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 2e-4))
        assert signals.wait(3600)
"""


def test_a_signal_ends_a_wait_at_any_moment() -> None:
    """Also right when the wait begins, as when a service manager stops what it has just started."""
    subprocess.run([sys.executable, "-c", SIGNALLED], check=True, timeout=120)


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["codex", "--from", str(AGENTS / "codex-account")], 0, "42 % used"),
        (["codex", "--from", str(AGENTS / "codex-account"), "--max-age", "1s"], 1, "stale"),
        (["codex", "--from", str(AGENTS / "codex-logged-out")], 1, "unauthenticated"),
        (["codex", "--from", "x", "--record", "y"], 2, "do not go with it"),
        (["codex", "--from", "x", "--probe", "gemini-stats"], 2, "for gemini"),
        (["nobody"], 2, "no probe for"),
        (["codex", "--max-age", "soon"], 2, "not a time"),
    ],
)
def test_the_command(options: list[str], status: int, told: str) -> None:
    """Statuses, and what is printed."""
    done = ptycassette("probe", *options, status=status)

    assert told in done.stdout + done.stderr


def test_the_command_prints_json() -> None:
    """One object, as documented."""
    words = ("probe", "codex", "--from", str(AGENTS / "codex-account"), "--json")
    told = json.loads(ptycassette(*words, status=0).stdout)

    assert told["status"] == "ok"
    assert told["quota"]["windows"][0]["used_percent"] == 42
