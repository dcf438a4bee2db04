"""What is learnt from files as agent CLIs and their tools write them: their secrets alone."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from ptycassette.scrub._finding import environment_values
from ptycassette.scrub.io.setup import credential_values
from ptycassette.scrub.rules.rule_set import RuleSet, secret_rules

from .conftest import Expand

MOMENT = "2026-11-02T08:00:00.123Z"
UUID = "3f2b8c1e-7a4d-4c9b-9e1f-5d6a7b8c9d0e"

# name -> what it holds; what is between « and » is to be learnt.
DOCUMENTS: dict[str, Any] = {
    ".claude.json": {
        "numStartups": 12,
        "installMethod": "global",
        "autoUpdates": True,
        "firstStartTime": MOMENT,
        "claudeCodeFirstTokenDate": MOMENT,
        "changelogLastFetched": 1793606400123,
        "lastReleaseNotesSeen": "2.0.28",
        "hasCompletedAuthFlow": "true",
        "userID": "«{hex:64}»",
        "oauthAccount": {
            "accountUuid": f"«{UUID}»",
            "emailAddress": "bob@example.com",
            "organizationRole": "admin",
            "organizationName": "Example Organization",
        },
        "customApiKeyResponses": {"approved": ["«{alnum:20}»"], "rejected": []},
        "statsigModel": {"bedrock": "us.anthropic.claude-3-7-sonnet-20250219-v1:0"},
        "cachedStatsigGates": {"tengu_disable_bypass_permissions_mode": False},
        "sessionMemoryPath": "/home/bob/.claude/sessions/memory.md",
        "projects": {
            "/home/bob/src": {
                "lastSessionId": UUID.replace("a", "b"),
                "lastTotalInputTokens": 4711,
                "lastModelUsage": {"claude-sonnet-4-5-20250929": {"costUSD": 0.5}},
                "exampleFiles": ["session_store.py", "access-control-list-v2.ts"],
                "mcpServers": {
                    "corp": {
                        "type": "http",
                        "url": "https://mcp.corp.example/v1/sse",
                        "headers": {"Authorization": "Bearer «{alnum:40}»"},
                        "env": {"CORP_PASSWORD": "«correct-horse-battery»", "LOG": "debug"},
                    }
                },
            }
        },
    },
    ".codex/auth.json": {
        "OPENAI_API_KEY": None,
        "auth_mode": "chatgpt",
        "tokens": {
            "id_token": "«eyJ{alnum:20}.{alnum:60}.{alnum:43}»",
            "access_token": "«eyJ{alnum:20}.{alnum:90}.{alnum:43}»",
            "refresh_token": "«rt_{alnum:60}»",
            "account_id": "«7c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f»",
        },
        "last_refresh": "2026-11-02T08:00:00.123456789Z",
    },
    ".gemini/oauth_creds.json": {
        "access_token": "«ya29.{alnum:120}»",
        "refresh_token": "«1//0{alnum:60}»",
        "scope": "https://www.googleapis.com/auth/cloud-platform openid",
        "token_type": "Bearer",
        "expiry_date": 1793606400123,
    },
    ".local/share/opencode/auth.json": {
        "anthropic": {
            "type": "oauth",
            "refresh": "«sk-ant-ort01-{alnum:90}»",
            "access": "«sk-ant-oat01-{alnum:90}»",
            "expires": 1793606400123,
        },
        "corp": {"type": "api", "key": "«{alnum:32}»"},
    },
    ".config/opencode/opencode.json": {
        "$schema": "https://opencode.ai/config.json",
        "model": "anthropic/claude-sonnet-4-5-20250929",
        "small_model": "openrouter/qwen/qwen3-coder-480b-a35b-instruct",
        "autoshare": False,
        "provider": {"corp": {"options": {"apiKey": "{env:CORP_KEY}", "timeoutKey": "600000"}}},
        "keybinds": {"session_interrupt": "escape", "session_new": "<leader>n"},
    },
}
TEXTS = {
    ".config/gh/hosts.yml": (
        "github.com:\n    git_protocol: https\n    user: bob\n    oauth_token: «gho_{alnum:36}»\n"
    ),
    ".npmrc": (
        "registry=https://registry.corp.example/\n//npm.corp.example/:_authToken=«npm_{alnum:36}»\n"
        "//registry.corp.example/:_authToken=${NPM_TOKEN}\nsession-timeout=30000\n"
    ),
    ".netrc": (
        "machine api.corp.example login bob password «{alnum:16}»\n"
        "machine ftp.corp.example login anonymous password password\n"
    ),
    ".aws/credentials": (
        "[default]\naws_access_key_id = «AKIA{base32-upper:16}»\n"
        "aws_secret_access_key = «{base64:39}k»\nx_security_token_expires = 2026-11-02T08:00:00Z\n"
    ),
    ".aider.conf.yml": (
        "openai-api-key: «{alnum:40}» # mine\nmodel: claude-sonnet-4-5-20250929\n"
        "auth-method: oauth-personal\n"
    ),
}


def learnt(home: Path) -> set[str]:
    """The values that the files below a folder give."""
    return {value.text for value in credential_values(home, home / "work")}


@pytest.mark.parametrize("name", [*DOCUMENTS, *TEXTS])
@pytest.mark.parametrize("seed", range(3))
def test_of_a_file_its_secrets_are_learnt_and_nothing_else(
    tmp_path: Path, expand: Expand, name: str, seed: int
) -> None:
    """Dates, versions, models, paths, ids of sessions and placeholders stay in recordings."""
    vector = TEXTS.get(name) or json.dumps(DOCUMENTS[name], ensure_ascii=False)
    text, secrets = expand(vector, seed)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

    assert learnt(tmp_path) == set(secrets)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".docker/config.json", '{"auths": {"r.corp.example": {"auth": "%s"}}}'),
        (".npmrc", "//r.corp.example/:_auth=%s\n"),
        (".npmrc", "//r.corp.example/:username=bob\n//r.corp.example/:_password=%s\n"),
        (".mcp.json", '{"headers": {"Authorization": "Basic %s"}}'),
    ],
)
@pytest.mark.parametrize("user", ["", "bob:"])
def test_what_is_stored_in_base64_is_learnt_as_it_is_too(
    tmp_path: Path, expand: Expand, name: str, text: str, user: str
) -> None:
    """A password behind the name of its user, or alone."""
    _, [password] = expand("«{alnum:11}»", 5)
    stored = base64.b64encode(f"{user}{password}".encode()).decode()
    path = (tmp_path / "work" if name == ".mcp.json" else tmp_path) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text % stored)

    assert learnt(tmp_path) == {stored, password}


def test_of_an_environment_its_secrets_are_learnt_and_nothing_else(expand: Expand) -> None:
    """As a shell in a terminal has it."""
    vectors = {
        "SESSION_STARTED": MOMENT,
        "XDG_SESSION_DESKTOP": "ubuntu-wayland-session",
        "AUTH_PROVIDER": "github-enterprise-server",
        "CLAUDE_CODE_SESSION_ID": UUID,
        "ANTHROPIC_DEFAULT_MODEL": "claude-sonnet-4-5-20250929",
        "GIT_COMMIT": "6dcd4ce23d88e2ee9568ba546c007c63d9131c1b",
        "ACCESS_LOG_URL": "https://logs.corp.example/v2/ingest",
        "TERMINFO_DIRS": "/etc/terminfo:/usr/share/terminfo",
        "NODE_VERSION_KEY": "v20.11.0-linux-x64",
        "LC_ALL": "de_DE.UTF-8",
        "SERVICE_TOKEN": "«{alnum:32}»",
        "PGPASSWORD": "«swordfish»",
        "DATABASE_URL": "postgres://app:«{alnum:20}»@db.corp.example/app",
        "HOOK_URL": "https://corp.example/hook?token=«{alnum:32}»",
        "WEIRD": "«{alnum:32}»",
        "DEPLOY_SECRETS": "https://corp.example/\n«{alnum:32}»\nof two lines\n«{alnum:20}»",
    }
    expanded = {name: expand(vector, 1) for name, vector in vectors.items()}
    environment = {name: text for name, (text, _) in expanded.items()}
    values = environment_values(environment, rules=RuleSet(secret_rules()))

    assert {value.text for value in values} == {
        one for _, many in expanded.values() for one in many
    }
