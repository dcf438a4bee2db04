"""What scrubbing takes from the machine: files, config, plug-ins, auditors."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ptycassette.errors import LimitError, NotFoundError, SessionError, UnsafeFileError, UsageError
from ptycassette.scrub.io import auditors as scrub_auditors
from ptycassette.scrub.io import setup as scrub_setup
from ptycassette.scrub.io.auditors import audit
from ptycassette.scrub.io.setup import (
    MAX_FILE_BYTES,
    credential_values,
    file_lines,
    load_config,
    plugin_rules,
    session_scrubber,
)
from ptycassette.scrub.rules.rule_set import Rule, ScrubConfig

SECRET = "qP7xR2mK9vT4nB8sL3wZ"


def write(root: Path, name: str, text: str) -> Path:
    """A file below ``root``."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/.credentials.json", json.dumps({"claudeAiOauth": {"accessToken": SECRET}})),
        (
            ".codex/auth.json",
            json.dumps({"OPENAI_API_KEY": SECRET, "tokens": [{"id_token": SECRET}]}),
        ),
        (".config/gh/hosts.yml", f"github.com:\n    oauth_token: {SECRET}\n    user: bob\n"),
        (".netrc", f"machine x.io login bob password {SECRET}\n"),
        (".npmrc", f"//registry.example/:_authToken={SECRET}\n"),
        (".aws/credentials", f"[default]\naws_secret_access_key = {SECRET}\n"),
        (".git-credentials", f"https://bob:{SECRET}@git.io\n"),
        (".cache/huggingface/token", f"{SECRET}\n"),
        (".aider.conf.yml", f"openai-api-key: {SECRET}\n"),
        (".claude/settings.json", json.dumps({"env": {"GATEWAY_TOKEN": SECRET}})),
        (".codex/config.toml", f'[mcp_servers.db.env]\nDB_PASSWORD = "{SECRET}"\n'),
        (".gemini/.env", f"GEMINI_API_KEY={SECRET}\n"),
        (".gemini/settings.json", json.dumps({"mcpServers": {"k": {"env": {"KEY": SECRET}}}})),
        (".my.cnf", f"[client]\nuser=bob\npassword={SECRET}\n"),
        (".pgpass", f"# mine\ndb.io:5432:app:b\\:ob:{SECRET[:4]}\\{SECRET[4:]}\n"),
        ("work/.mcp.json", json.dumps({"mcpServers": {"k": {"env": {"API_KEY": SECRET}}}})),
        ("work/.env.production", f"API_KEY={SECRET}\n"),
    ],
)
def test_credential_files_are_read(tmp_path: Path, name: str, text: str) -> None:
    """Whatever their form."""
    write(tmp_path, name, text)

    assert SECRET in {value.text for value in credential_values(tmp_path, tmp_path / "work")}


@pytest.mark.parametrize("key", ["model", "small_model", "ANTHROPIC_MODEL", "modelID"])
def test_the_name_of_a_model_is_no_secret(tmp_path: Path, key: str) -> None:
    """It looks random, and stands on every screen of the CLI that the file is of."""
    told = {key: "anthropic/claude-sonnet-4-5", "apiKey": SECRET}
    write(tmp_path, ".config/opencode/opencode.json", json.dumps(told))

    assert {value.text for value in credential_values(tmp_path, tmp_path)} == {SECRET}


def test_the_env_file_of_the_folder_is_read(tmp_path: Path) -> None:
    """Where the session runs."""
    write(tmp_path / "work", ".env", f"export APP_SECRET='{SECRET}'\nDEBUG=1\n")

    assert SECRET in {value.text for value in credential_values(tmp_path, tmp_path / "work")}


def test_files_that_cannot_be_read_are_skipped(tmp_path: Path) -> None:
    """Folders, huge files and broken ones."""
    (tmp_path / ".npmrc").mkdir()
    write(tmp_path, ".netrc", "machine")
    write(tmp_path, ".pypirc", "x" * (2 << 20))
    write(tmp_path, ".codex/auth.json", '"just a string"')

    assert list(credential_values(tmp_path, tmp_path)) == []
    assert file_lines(tmp_path / "missing") == ()


def test_a_scrubber_knows_what_config_and_machine_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables, files and rules that the config names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [])
    secrets = write(tmp_path, "secrets.txt", "first-phrase-of-two\n\nsecond phrase\n")
    write(
        tmp_path,
        "ptycassette.toml",
        '[scrub]\nknown_env = ["PHRASE", "UNSET"]\npreserve = ["a@b.io"]\n'
        f'known_files = ["{secrets}"]\n',
    )
    scrubber = session_scrubber(environment={"PHRASE": "open sesame"}, home=tmp_path)
    text = "first-phrase-of-two, second phrase, open sesame, a@b.io"

    assert scrubber.text(text, channel="x") == "<secret>, <secret>, <secret>, a@b.io"


@pytest.mark.parametrize("kind", ["pipe", "directory", "giant"])
def test_a_known_file_that_cannot_be_read_is_an_error(tmp_path: Path, kind: str) -> None:
    """Without it a secret would be published. One that is not there is on another machine."""
    path = tmp_path / "secrets"
    config = ScrubConfig(known_files=(str(path),))
    session_scrubber(config=config, home=tmp_path, cwd=tmp_path)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.write_bytes(b"x" * (MAX_FILE_BYTES + 1))

    with pytest.raises((UnsafeFileError, LimitError), match="secrets"):
        session_scrubber(config=config, home=tmp_path, cwd=tmp_path)


def test_a_named_config_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default one need not."""
    monkeypatch.delenv("PTYCASSETTE_SCRUB_CONFIG", raising=False)
    assert load_config(cwd=tmp_path).rules == ()
    monkeypatch.setenv("PTYCASSETTE_SCRUB_CONFIG", str(tmp_path / "missing.toml"))
    with pytest.raises(NotFoundError):
        load_config()
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="UTF-8"):
        load_config(tmp_path / "bad.toml")


def test_a_home_that_is_unknown_holds_no_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a container without a user."""

    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [])

    assert session_scrubber(cwd=tmp_path).report().status == "clean"


RULE = Rule(name="corp", pattern="corp_[0-9]+", anchors=("corp_",))


@pytest.mark.parametrize("loaded", [RULE, [RULE], lambda: [RULE]])
def test_plug_ins_give_rules(monkeypatch: pytest.MonkeyPatch, loaded: Any) -> None:
    """One, several, or a function that makes them."""
    entry = SimpleNamespace(name="x", load=lambda: loaded)
    monkeypatch.setattr(scrub_setup, "announced", lambda group: True)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [entry])

    assert [rule.name for rule in plugin_rules()] == ["corp"]


@pytest.mark.parametrize(
    "loaded", [3, ["no rule"], lambda: 1 / 0, Rule(name="r", pattern="a(", anchors=("a",))]
)
def test_a_broken_plug_in_is_an_error(monkeypatch: pytest.MonkeyPatch, loaded: Any) -> None:
    """Scrubbing without somebody's rules would be a leak."""
    entry = SimpleNamespace(name="x", load=lambda: loaded)
    monkeypatch.setattr(scrub_setup, "announced", lambda group: True)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [entry])
    with pytest.raises(UsageError, match="plug-in x"):
        list(plugin_rules())


def test_the_group_of_plug_ins_exists_in_metadata() -> None:
    """The name that packages write into their metadata is asked for."""
    assert list(importlib.metadata.entry_points(group=scrub_setup.PLUGIN_GROUP)) == []


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("detect-secrets", "GitHub Token"),
        pytest.param("kingfisher", "betterleaks.github-pat", marks=pytest.mark.slow),
    ],
)
def test_a_real_auditor_is_asked_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rule: str
) -> None:
    """From wherever the command is called; a digest is no finding, a remark no excuse."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.setenv("KF_RULE_CACHE_DIR", str(tmp_path / "cache"))
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8" * 2 + "o5P6"
    remark = "# kingfisher:ignore gitleaks:allow"
    write(tmp_path, "dirty/output.raw", f"x {token} y {remark}\n")
    write(tmp_path, "clean/manifest.json", '{"content_digest": "%s"}' % ("0123456789abcdef" * 4))
    monkeypatch.chdir(tmp_path)

    assert audit(name, Path("dirty")) == (f"{name}: output.raw: rule {rule}",)
    assert audit(name, Path("clean")) == ()


def auditor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A stand-in for the scanner, which prints what the real one would."""
    program = write(tmp_path, "bin/gitleaks", f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("document", "findings"),
    [
        ("", ()),
        ("[]", ()),
        (
            '[{"RuleID":"aws","File":"/x/output.raw","Secret":"REDACTED"}]',
            ("gitleaks: output.raw: rule aws",),
        ),
        (
            '{"findings":[{"rule":{"id":"k"},"finding":{"path":"a/b"}},3]}',
            ("gitleaks: b: rule k",),
        ),
        (
            '{"findings":[{"rule":{"id":"k"},"finding":{"path":"a/b"}}]}\n{"findings":1}',
            ("gitleaks: b: rule k",),
        ),
        (
            '{"results":{"output.raw":[{"type":"GitHub Token","filename":"output.raw"}],"x":3}}',
            ("gitleaks: output.raw: rule GitHub Token",),
        ),
    ],
)
def test_an_auditor_tells_rule_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: str, findings: tuple[str, ...]
) -> None:
    """Never a value."""
    auditor(tmp_path, monkeypatch, f"echo '{document}'")

    assert audit("gitleaks", tmp_path) == findings


@pytest.mark.parametrize("script", ["echo broken", "exit 3"])
def test_an_auditor_that_fails_has_no_opinion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """Silence of a broken program is no consent."""
    auditor(tmp_path, monkeypatch, script)
    with pytest.raises(SessionError):
        audit("gitleaks", tmp_path)


def test_an_auditor_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scanner gets some minutes."""
    auditor(tmp_path, monkeypatch, "sleep 10")
    monkeypatch.setattr(scrub_auditors, "TIMEOUT_S", 0.05)
    with pytest.raises(SessionError, match="took more"):
        audit("gitleaks", tmp_path)


def test_an_auditor_that_is_missing_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Asked for is asked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotFoundError, match="kingfisher"):
        audit("kingfisher", tmp_path)
