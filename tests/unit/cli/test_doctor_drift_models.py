"""``doctor --drift --models``: which models there are today, asked of a provider here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptycassette import record
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.model.records import DiscoveryRecord
from tests.commands import taped

pytest.importorskip("aiohttp", reason="the fake provider needs the extra `provider`")

Run = Callable[..., Any]
KEY = "-".join(("mine", "b" * 20))
CLIENT = """
import json, os, sys, urllib.request
url, path, body = sys.argv[1:]
base = os.environ[url].removesuffix("/v1")
def ask(path, body=None):
    data = None if body is None else body.encode()
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    if "messages" in path:
        headers["anthropic-version"] = "2023-06-01"
    urllib.request.urlopen(urllib.request.Request(base + path, data, headers)).read()
if "chat" in path:
    ask("/v1/models")
ask(path, body)
"""
MOVED = """
[[routes]]
method = "GET"
path = "/v1/models"
status = 302
text = ""
headers = { location = "/v1/elsewhere" }
"""
SAID = [{"role": "user", "content": "hello"}]
QUESTIONS = {
    "openai": (
        "OPENAI_BASE_URL",
        "/v1/chat/completions",
        json.dumps({"model": "m-1", "messages": SAID}),
    ),
    "anthropic": (
        "ANTHROPIC_BASE_URL",
        "/v1/messages",
        json.dumps({"model": "m-1", "max_tokens": 9, "messages": SAID}),
    ),
    "gemini": (
        "GOOGLE_GEMINI_BASE_URL",
        "/v1beta/models/m-1:generateContent",
        json.dumps({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}),
    ),
}
VARIABLES = {
    "openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY",
}  # fmt: skip


def script(*models: str, more: str = "") -> str:
    """A provider that has these models, wants a key and answers anything."""
    listed = ", ".join(f'{{ id = "{name}" }}' for name in models)
    return f'version = 1\nmodels = [{listed}]\n{more}\n[[replies]]\ntimes = 0\ntext = "Hello."\n'


@pytest.fixture(scope="module")
def cassettes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A program of each API that asked m-1 when there were m-1 and m-2; openai's listed them."""
    folder = tmp_path_factory.mktemp("drift")
    there = script("m-1", "m-2")
    return {
        name: taped(folder, there, name, sys.executable, "-c", CLIENT, *words)
        for name, words in QUESTIONS.items()
    }


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES.values(), "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def causes(run: Run, *args: object, status: int | None = None) -> dict[str, dict[str, Any]]:
    """The report by cause."""
    ran = run("doctor", "--drift", *args, "--json")
    assert status in {None, ran.status}, ran.text
    return {one["cause"]: one for one in json.loads(ran.text)["causes"]}


def provider_of(text: str) -> FakeProviderServer:
    """A provider that takes the user's key alone."""
    wants = text.replace("version = 1", 'version = 1\nauth = { require = "key" }', 1)
    return FakeProviderServer(
        Script.parse(wants, where="script", variables={}), accepted_keys=frozenset((KEY,))
    )


@pytest.mark.parametrize("api", QUESTIONS)
@pytest.mark.parametrize(
    ("today", "asked", "listed"),
    [
        (("m-1", "m-2"), "same", "same"),
        (("m-2", "m-3"), "changed", "changed"),
        (("m-1", "m-2", "m-3"), "same", "changed"),
    ],
)
def test_a_model_that_is_gone_is_named(
    *,
    api: str,
    today: tuple[str, ...],
    asked: str,
    listed: str,
    cassettes: dict[str, Path],
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By each API; the list is compared where the recorded program had asked for it."""
    monkeypatch.setenv(VARIABLES[api], KEY)
    with provider_of(script(*today)) as provider:
        found = causes(run, cassettes[api], "--models", "--provider", provider.url)
        sent = [entry["path"] for entry in provider.requests]

    assert found["asked-models"]["status"] == asked
    assert found["models"]["status"] == (listed if api == "openai" else "not-recorded")
    if asked == "changed":
        assert found["asked-models"]["recorded"] == "also m-1"
        assert len(sent) == 2  # the list, and the model itself
    if "m-3" in today:
        assert "m-3" in found["models"]["now"]


def test_an_alias_that_is_on_no_list_is_asked_for(
    cassettes: dict[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Providers list dated names and answer to others, too."""
    monkeypatch.setenv("MY_KEY", KEY)
    route = '[[routes]]\nmethod = "GET"\npath = "/v1/models/m-1"\njson = {}\n'
    with provider_of(script("m-1-2026", more=route)) as provider:
        words = ("--models", "--provider", provider.url, "--key-env", "MY_KEY")
        found = causes(run, cassettes["openai"], *words)

    assert found["asked-models"]["status"] == "same"


def test_the_users_key_goes_to_no_address_of_a_cassette(
    cassettes: dict[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked is no known provider, and nobody named it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found = causes(run, cassettes["openai"], "--models")

    assert found["asked-models"]["status"] == "not-known"
    assert "is not a known provider: name it by --provider" in found["asked-models"]["hint"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ('[[routes]]\nmethod = "GET"\npath = "/v1/models"\nstatus = 500\ntext = "no"\n', "500"),
        ('[[routes]]\nmethod = "GET"\npath = "/v1/models"\ntext = "<html>"\n', "no list"),
        (MOVED, "302"),
    ],
)
def test_an_answer_that_is_no_list_says_nothing(
    more: str, reason: str, cassettes: dict[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a redirection is not followed with the key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with provider_of(script("m-1", more=more)) as provider:
        found = causes(run, cassettes["openai"], "--models", "--provider", provider.url)
        assert len(provider.requests) == 1

    assert found["models"]["status"] == found["asked-models"]["status"] == "not-known"
    assert reason in found["models"]["hint"]
    assert KEY not in json.dumps(found)


def test_without_a_key_nobody_is_asked(cassettes: dict[str, Path], run: Run) -> None:
    """The hint says where it belongs; a provider that is not there says so as well."""
    with provider_of(script("m-1")) as provider:
        found = causes(run, cassettes["gemini"], "--models", "--provider", provider.url)
        assert provider.requests == ()

    assert "set GEMINI_API_KEY or GOOGLE_API_KEY" in found["asked-models"]["hint"]


def test_a_provider_that_is_not_there_says_so(
    cassettes: dict[str, Path], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its port is closed."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with provider_of(script("m-1")) as provider:
        url = provider.url
    found = causes(run, cassettes["openai"], "--models", "--provider", url)

    assert "did not answer" in found["models"]["hint"]


@pytest.mark.parametrize(
    "words",
    [
        ("--models",),
        ("--drift", "{c}", "--provider", "openai"),
        ("--drift", "{c}", "--key-env", "X"),
        ("--drift", "{c}", "--models", "--now", "{c}"),
        ("--drift", "{c}", "--models", "--provider", "opnai"),
        ("--drift", "{c}", "--models", "--provider", "http://provider.invalid"),
        ("--drift", "{c}", "--models", "--provider", "file:///etc/passwd"),
    ],
)
def test_wrong_usage_says_so(words: tuple[str, ...], cassettes: dict[str, Path], run: Run) -> None:
    """Options alone, and providers that are none; a key goes over a network by TLS only."""
    ran = run("doctor", *(word.replace("{c}", str(cassettes["openai"])) for word in words))

    assert ran.status == 2


@pytest.mark.parametrize(
    ("today", "status"),
    [("a/one\na/two", "same"), ("a/two\na/three", "changed"), ("sign in first", "not-known")],
)
def test_what_a_probe_listed_is_asked_by_the_probe(
    today: str, status: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installed CLI says what it offers; started only when asked."""
    cli = tmp_path / "opencode"
    text = today.replace("\n", "\\n")
    cli.write_text(f"#!/bin/sh\necho x >> {tmp_path}/started\nprintf '{text}\\n'\nexec sleep 4\n")
    cli.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    cassette = tmp_path / "c"
    discovery = DiscoveryRecord(
        status="ok",
        source="opencode models",
        captured_at="2026-11-02T08:00:00Z",
        freshness_window="24h",
        models=("a/one", "a/two"),
    )
    with record(["true"], cassette, harness="opencode") as recording:
        recording.set_discovery(discovery)
        recording.wait_exit()

    assert causes(run, cassette)["models"]["status"] == "not-known"
    assert not (tmp_path / "started").exists()
    assert causes(run, cassette, "--models")["models"]["status"] == status
