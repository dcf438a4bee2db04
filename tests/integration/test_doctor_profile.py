"""``ptycassette doctor --profile``: each row that no longer holds is named."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from tests.commands import ptycassette

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PROFILE = """
version = 1
name = "mycli"
title = "My CLI"
binaries = ["mycli"]
oneshot = ["say", "${prompt}"]
submit = { how = "type", pause_ms = 0 }
leave = [{ key = "ctrl-d" }]
version_query = { regex = 'mycli (?P<version>\\S+)', tested = ["1.0"] }
credentials.home = [".mycli/config"]
offline = { model = "m-1" }
[[start]]
shows = { contains = ["Trust this folder?"] }
strokes = [{ key = "enter" }]
[modes.key]
api = "chat"
environment = { MYCLI_URL = "${openai_url}", MYCLI_KEY = "${key}" }
[[modes.key.files]]
path = ".mycli/config"
text = "key = ${key}"
[tools.read]
name = "read"
arguments = { path = "note.txt" }
[screens]
ready = { regex = '^> ?$' }
busy = { contains = ["thinking"] }
done = { regex = '^> ?$' }
volatile = ['^took \\d']
farewell = '^bye'
[[logs]]
glob = ".mycli/log.jsonl"
[[logs.events]]
type = "message"
exists = ["said"]
fields = { role = "=assistant", text = "said" }
"""
PROGRAM = """#!{python}
import json, os, pathlib, sys, urllib.request
if sys.argv[1:] == ["--version"]:
    print("mycli 1.0")
    raise SystemExit
TOOL = {{"type": "function", "function": {{"name": "read", "parameters": {{}}}}}}
def ask(messages):
    body = {{"model": "m-1", "messages": messages, "tools": [TOOL], "brand_new": True}}
    heads = {{"Authorization": "Bearer " + os.environ["MYCLI_KEY"]}}
    heads["Content-Type"] = "application/json"
    asked = urllib.request.Request(
        os.environ["MYCLI_URL"] + "/chat/completions", json.dumps(body).encode(), heads)
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)["choices"][0]["message"]
def turn(prompt):
    messages = [{{"role": "user", "content": prompt}}]
    while (said := ask(messages)).get("tool_calls"):
        call = said["tool_calls"][0]
        messages += [said, {{"role": "tool", "tool_call_id": call["id"], "content": "walnuts"}}]
    row = {{"said": said["content"]}}
    (pathlib.Path.home() / ".mycli" / "log.jsonl").write_text(json.dumps(row))
    return said["content"]
if sys.argv[1:2] == ["say"]:
    print(turn(sys.argv[2]))
    raise SystemExit
input("Trust this folder? ")
while True:
    try:
        prompt = input("> ")
    except EOFError:
        break
    print("thinking", flush=True)
    print(turn(prompt))
    print("took 1 s")
print("\\nbye")
"""


def checks(folder: Path, profile: str = PROFILE, program: str = PROGRAM) -> dict[str, str]:
    """The status of each row; the exit status fits them."""
    for path, text in (
        ("home/.config/ptycassette/harnesses/mycli.toml", profile),
        ("bin/mycli", program.format(python=sys.executable)),
    ):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
    (folder / "bin" / "mycli").chmod(0o755)
    paths = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = ptycassette(
        *("doctor", "--profile", "mycli", "--json"),
        env={"PATH": paths, "HOME": str(folder / "home"), "LANG": "C.UTF-8"},
        timeout=300,
    )
    report = json.loads(done.stdout)
    found = {one["name"]: one["status"] for one in report["checks"]}
    assert done.returncode == ("fail" in found.values()), done.stdout + done.stderr
    assert report["ok"] == (done.returncode == 0)
    return found


def test_a_profile_that_holds_has_no_failed_row(tmp_path: Path) -> None:
    """Each kind of row is looked at; a field that is new to the provider is named."""
    found = checks(tmp_path)

    bad = {name: status for name, status in found.items() if status != "ok"}
    assert bad == {"provider.unknown_fields": "warn"}
    assert {
        "version_query.regex", "screens.ready", "screens.busy", "screens.done", "submit", "leave",
        "modes", "tools", "credentials.home", "screens.volatile[0]", "screens.farewell",
        "logs.glob", "logs.events message", "oneshot",
    } <= set(found)  # fmt: skip


LEAK = "(pathlib.Path.home() / 'state').write_text(os.environ['MYCLI_KEY'])\n"


@pytest.mark.parametrize(
    ("was", "now", "row", "status"),
    [
        ("mycli 1.0", "MyCLI v1.0", "version_query.regex", "fail"),
        ("mycli 1.0", "mycli 1.9", "version_query.tested", "warn"),
        ("took 1 s", "it took 1 s", "screens.volatile[0]", "warn"),
        ("thinking", "working", "screens.busy", "warn"),
        ('print("\\nbye")', "pass", "screens.farewell", "warn"),
        ("log.jsonl", "session.jsonl", "logs.glob", "fail"),
        ('{{"said"', '{{"text"', "logs.events message", "fail"),
        ('["say"]', '["ask"]', "oneshot", "fail"),
        ('"name": "read"', '"name": "read_file"', "provider", "fail"),
        ('input("Trust', LEAK + 'input("Trust', "credentials.home", "fail"),
    ],
)  # fmt: skip
def test_a_row_that_no_longer_holds_is_named(
    tmp_path: Path, was: str, now: str, row: str, status: str
) -> None:
    """The program has changed, and the profile has not."""
    assert PROGRAM.count(was)

    assert checks(tmp_path, program=PROGRAM.replace(was, now))[row] == status


def test_a_program_that_is_not_there_is_the_only_row(tmp_path: Path) -> None:
    """There is nothing to try."""
    assert checks(tmp_path, profile=PROFILE.replace('["mycli"]', '["nosuch"]')) == {
        "binaries": "fail"
    }
