"""The probe of Claude Code, on a small program that lays its screens out as that CLI does.

The CLI's own screens may not be shown, so nothing here was recorded from it: texts
and numbers are made up, headings and places of numbers are what the probe knows.
"""

from __future__ import annotations

import re
import sys
from importlib import resources
from pathlib import Path

import pytest

from ptycassette.agents.harness.io.files import load_profile
from ptycassette.agents.harness.io.probe import ProbeFailedError, probe_cassette, probe_live
from ptycassette.agents.harness.preparing import PreparedRun
from ptycassette.agents.harness.probe import Probe, ProbeResult

pytestmark = pytest.mark.integration

# Shows one screen per command, the first one again at ESC. Each screen is an argument.
CLI = """
import sys, tty
tty.setraw(0)
screens = dict(zip(["", "/status", "/usage", "/model"], sys.argv[1:]))
def show(text):
    sys.stdout.write("\\x1b[2J\\x1b[H" + text.replace("\\n", "\\r\\n"))
    sys.stdout.flush()
line = ""
show(screens[""])
while (key := sys.stdin.read(1)) != "":
    if key == "\\r":
        show(screens.get(line, "unknown"))
        line = ""
    elif key == "\\x1b":
        show(screens[""])
    else:
        line += key
        sys.stdout.write(key)
        sys.stdout.flush()
"""
MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
HOME = "a made-up CLI, Fancy Plan\n\n" + MARK + " "
STATUS = """Settings  Status   Config   Usage

  Version:             0.0.0
  Login method:        Fancy Plan account
  Email:               nobody@example.com

  Model:               Default (something)
"""
USAGE = """Settings  Status   Config   Usage

  Session

  Total cost:            $0.0000

  Current session
  ████████                                           42% used
  Resets 5am (UTC)

  Current week (all models)
  ███                                                17% used
  Resets Nov 26, 3:30am (UTC)

  Current week (Small only)
                                                     0% used

  Usage credits
  █████                                              25% used
  $12.50 / $50.00 spent · Resets Dec 1 (UTC)
"""
MODELS = f"""Select model

{MARK} 1. Default (recommended) ✔  the usual one
  2. Small                    quick answers
  3. Small 5 (1M context)     long sessions
"""
KEY_HOME = HOME.replace("Fancy Plan", "API Usage Billing")
KEY_STATUS = STATUS.replace(
    "Login method:        Fancy Plan account", "API key:             somewhere"
)
NO_WINDOWS = USAGE.partition("  Current session")[0]


def quick_probe() -> Probe:
    """The built-in probe with the patience that a small program needs."""
    place = resources.files("ptycassette.agents.harness").joinpath("probes", "claude-usage.toml")
    text = re.sub(r"(pause_ms|stable_ms) = \d+", r"\1 = 60", place.read_text("utf-8"))
    return Probe.parse(text.replace("timeout_s = 20.0", "timeout_s = 5.0"))


def ask(
    home: str = HOME, status: str = STATUS, usage: str = USAGE, target: Path | None = None
) -> ProbeResult:
    """Probe the small program."""
    argv = (sys.executable, "-c", CLI, home, status, usage, MODELS)
    run = PreparedRun(argv=argv, environment={}, files=())
    return probe_live(quick_probe(), load_profile("claude", env={}), prepared=run, target=target)


@pytest.mark.slow
def test_windows_account_and_models_are_read(tmp_path: Path) -> None:
    """Live, and out of the recording by the same parser."""
    live = ask(target=tmp_path / "c")
    again = probe_cassette(quick_probe(), tmp_path / "c")
    assert live.quota is not None
    assert live.discovery is not None
    assert again.quota is not None
    told = [
        (one["name"], one["used_percent"], one.get("resets"), one.get("window_minutes"))
        for one in live.quota.windows or ()
    ]

    assert told == [
        ("5h", 42, "5am (UTC)", 300),
        ("all models", 17, "Nov 26, 3:30am (UTC)", 10080),
        ("Small only", 0, None, 10080),
        ("credits", 25, "Dec 1 (UTC)", None),
    ]
    assert live.quota.account_class == "Fancy Plan"
    assert live.discovery.models == ("Default", "Small", "Small 5 (1M context)")
    assert (again.status, again.quota.windows) == ("ok", live.quota.windows)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("screens", "status", "told"),
    [
        ({"home": f"{MARK} \nNot logged in · Run /login"}, "unauthenticated", "sign in"),
        ({"usage": "Your session has expired."}, "unauthenticated", "sign in"),
        (
            {"usage": NO_WINDOWS + "  Error: Usage endpoint is rate limited."},
            "unavailable",
            "limits how often",
        ),
        (
            {"usage": NO_WINDOWS + "  Error: Failed to load usage data"},
            "unavailable",
            "does not tell",
        ),
        (
            {"home": KEY_HOME, "status": KEY_STATUS, "usage": KEY_HOME + NO_WINDOWS},
            "unavailable",
            "an API key",
        ),
    ],
)
def test_what_is_no_answer_has_a_status(
    screens: dict[str, str], status: str, told: str, tmp_path: Path
) -> None:
    """Logged out, limited, out of order, without windows; it leaves no cassette."""
    with pytest.raises(ProbeFailedError) as caught:
        ask(**screens, target=tmp_path / "c")
    result = caught.value.result

    assert result.status == status
    assert result.diagnostic is not None
    assert told in result.diagnostic.message
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Current week (all", "Current month (all"),
        ("17% used", "17 of 100, 3% used"),
        ("42% used", "142% used"),
        ("Current session\n", "Current session\n  since noon\n"),
        ("  Usage credits\n", "  Something new\n"),
    ],
)
def test_a_changed_layout_is_an_error_with_the_screen(old: str, new: str) -> None:
    """Never a wrong number."""
    assert old in USAGE
    result = ask(usage=USAGE.replace(old, new))

    assert (result.status, result.quota) == ("error", None)
    assert result.diagnostic is not None
    assert result.diagnostic.screen[0].startswith("Settings")
