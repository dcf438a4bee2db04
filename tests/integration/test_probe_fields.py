"""What a probe file says about the start of its program, met by a program that prints it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ptycassette.agents.harness.io.files import load_probe
from ptycassette.agents.harness.probe import ProbeRun
from ptycassette.model.screen import Cursor, Screen, Size
from tests.commands import ptycassette

pytestmark = pytest.mark.integration
CLI = """#!/bin/sh
echo "size: $(stty size | tr ' ' x)"
echo "arguments: $*"
echo "key: $MYCLI_KEY"
echo "other: $OTHER_VALUE"
echo "set: $MYCLI_OFFLINE"
echo "files: $(ls | tr '\\n' ,)"
echo "ready>"
sleep 60
"""
PROFILE = """
version = 1
name = "mycli"
title = "a small CLI"
binaries = ["mycli"]
screens.ready = { contains = ["ready>"] }
submit.how = "type"
"""
PROBE = """
version = 1
name = "mycli-start"
harness = "mycli"
source = "its start"
freshness_window = "1h"
staleness_behavior = "refuse"
{fields}
[[steps]]
wait = {{ contains = ["ready>"], stable_ms = 100 }}
capture = "start"
[discovery]
models = {{ screen = "start", regex = '^(?P<value>(size|arguments|key|other|set|files):.*)$' }}
"""


def started(tmp_path: Path, fields: str = "") -> dict[str, str]:
    """What the program saw, by the word before the colon; and the freshness of the answer."""
    home = tmp_path / "home"
    for folder, name, text in (
        ("harnesses", "mycli", PROFILE),
        ("probes", "mycli-start", PROBE.format(fields=fields)),
    ):
        place = home / "ptycassette" / folder
        place.mkdir(parents=True)
        (place / f"{name}.toml").write_text(text)
    program, here = tmp_path / "bin" / "mycli", tmp_path / "here"
    program.parent.mkdir()
    program.write_text(CLI)
    program.chmod(0o755)
    here.mkdir()
    (here / "note.txt").touch()
    environment = {
        **os.environ, "XDG_CONFIG_HOME": str(home), "MYCLI_KEY": "mine", "OTHER_VALUE": "x",
        "PATH": f"{program.parent}:{os.environ['PATH']}",
    }  # fmt: skip
    ran = ptycassette("probe", "mycli", "--json", cwd=here, env=environment, status=0)
    found: dict[str, Any] = json.loads(ran.stdout)["discovery"]
    rows = dict(row.split(":", 1) for row in found["models"])
    kept = {name: found[name] for name in ("freshness_window", "staleness_behavior")}
    return {name: value.strip() for name, value in {**rows, **kept}.items()}


def test_without_fields_a_program_starts_as_profiles_say(tmp_path: Path) -> None:
    """In the folder where one is, 120 by 40, without what the environment holds besides."""
    assert started(tmp_path) == {
        "size": "40x120", "arguments": "", "key": "", "other": "", "set": "", "files": "note.txt,",
        "freshness_window": "1h", "staleness_behavior": "refuse",
    }  # fmt: skip


def test_each_field_reaches_the_program(tmp_path: Path) -> None:
    """Size, arguments, variables of the user's and of the probe, an empty folder."""
    fields = (
        'rows = 30\ncols = 90\narguments = ["models", "--all"]\nenvironment = ["MYCLI_KEY"]\n'
        'variables = { MYCLI_OFFLINE = "1" }\nfolder = "empty"'
    )
    found = started(tmp_path, fields)

    assert [found[name] for name in ("size", "arguments", "key", "other", "set", "files")] == [
        "30x90", "models --all", "mine", "", "1", "",
    ]  # fmt: skip


CODEX_TRUST = """\
  Folder access
  /tmp/project

  Trust this folder? Codex can read, edit, and run files here, subject to your permission settings.

\u203a 1. Trust and continue
  2. Back to Agent Command Center
"""


def test_codex_asking_for_trust_is_no_prompt() -> None:
    """The screen of codex-cli 0.169.0 in a folder that it does not know, when it was probed."""
    rows = tuple(CODEX_TRUST.strip("\n").split("\n"))
    run = ProbeRun(load_probe("codex-status"))
    run.look(Screen(size=Size(40, 120), rows=rows, cursor=Cursor(row=0, col=0)))
    result = run.result("2026-01-01T00:00:00Z")

    assert result.status == "error"
    assert result.diagnostic is not None
    assert "whether to trust this folder" in result.diagnostic.message
