"""Profiles are checked whole, and prepare runs without touching anything."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from ptycassette.agents.harness.preparing import Place, prepare
from ptycassette.errors import NotFoundError, UsageError
from ptycassette.profiles.profile import Profile

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = Place(home="/h", cwd="/h/w", url="http://127.0.0.1:1", key="k" * 30, model="m")
HEAD = "version = 1\nname = 'x'\ntitle = 'X'\nbinaries = ['x']\nscreens.ready.contains = ['>']\n"


def profile(text: str) -> Profile:
    """A profile from what it has besides its head."""
    return Profile.parse(HEAD + text, where="x.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nmae = 'y'", "nmae"),
        ("version_query.regex = '('", "not a regular expression"),
        ("version_query.regex = 'a'", "no group named version"),
        ("[[modes.key.files]]\npath = '/etc/x'\ntext = ''", "$.modes"),
        (
            "[modes.key]\napi = 'chat'\n[[modes.key.files]]\npath = '../x'\ntext = ''",
            "stays inside",
        ),
        ("leave = [{ key = 'a', text = 'b' }]", "either key or text"),
        ("screens.busy = {}", "an empty predicate"),
        ("screens.done.regex = '('", "not a regular expression"),
        ("[[logs]]\nglob = '/x'\nevents = []", "stays inside"),
        ("[[logs]]\nglob = 'x'\nformat = 'sqlite'\nevents = []", "needs one"),
        ("[[logs]]\nglob = 'x'\nregex = 'x'\nevents = []", "format text"),
        ("[[logs]]\nglob = 'x'\nevents = [{type='usage', fields={x='y'}}]", "no field 'x'"),
    ],
)
def test_what_is_wrong_is_named(text: str, told: str) -> None:
    """Each mistake has an error with its place."""
    with pytest.raises(UsageError) as caught:
        profile(text)

    assert told in caught.value.message


def test_another_version_is_refused() -> None:
    """The format has a version of its own."""
    with pytest.raises(UsageError, match="version = 1"):
        Profile.parse("version = 2")


def test_an_unknown_name_gets_a_suggestion() -> None:
    """A typing error is answered with the nearest known name, of any table."""
    with pytest.raises(UsageError) as caught:
        profile("[modes.key]\napi = 'chat'\nenviroment = {}")

    assert caught.value.hint == "did you mean 'environment'?"


def test_a_run_is_prepared_from_the_profile() -> None:
    """Names are filled in everywhere; the home and its XDG folders are set."""
    run = prepare(
        profile(
            "interactive = ['--tui']\nenvironment = { A = '${key_tail}' }\n"
            "offline.environment = { D = '${cwd}', E = '${ca}' }\n"
            "[modes.key]\napi = 'chat'\narguments = ['-m', '${model}']\n"
            "environment = { B = '${openai_url}', C = '$${x}' }\n"
            "[[modes.key.files]]\npath = '.x/c.toml'\ntext = 'url ${url} in ${cwd} at ${now}'"
        ),
        "key",
        PLACE,
        binary="/bin/x",
        now=NOW,
        arguments=("--last",),
    )

    assert run.argv == ("/bin/x", "-m", "m", "--tui", "--last")
    assert run.environment["A"] == "k" * 20
    assert run.environment["B"] == "http://127.0.0.1:1/v1"
    assert run.environment["C"] == "${x}"
    assert (run.environment["HOME"], run.environment["XDG_CONFIG_HOME"]) == ("/h", "/h/.config")
    assert run.environment["XDG_RUNTIME_DIR"] == "/h"  # not the user's, with the keyring's socket
    assert run.files[0].text == "url http://127.0.0.1:1 in /h/w at 2026-01-01T00:00:00Z"
    assert run.environment["D"] == "/h/w"
    assert "E" not in run.environment


def test_a_prompt_makes_a_one_shot_run() -> None:
    """The other arguments, with the prompt in them."""
    one = profile("oneshot = ['-p', '${prompt}']\nmodes.key.api = 'chat'")
    run = prepare(one, "key", PLACE, binary="x", now=NOW, prompt="say ${hi}")

    assert run.argv == ("x", "-p", "say ${hi}")


def test_a_subcommand_takes_the_place_of_the_profiles_arguments() -> None:
    """What the mode needs stays before it."""
    one = profile("interactive = ['--tui']\n[modes.key]\napi = 'chat'\narguments = ['-m', 'x']")
    run = prepare(one, "key", PLACE, binary="x", now=NOW, command=("models", "all"))

    assert run.argv == ("x", "-m", "x", "models", "all")


def test_an_unknown_mode_and_an_unknown_name_are_errors() -> None:
    """The modes that there are are listed; the name is told."""
    plain = profile("interactive = ['${nope}']\nmodes.key.api = 'chat'")
    with pytest.raises(NotFoundError) as caught:
        prepare(plain, "other", PLACE, binary="x", now=NOW)
    with pytest.raises(UsageError, match="nope"):
        prepare(plain, "key", PLACE, binary="x", now=NOW)

    assert caught.value.hint == "it has: key"


def test_the_fake_account_token_is_a_token_that_opens_nothing() -> None:
    """Three parts, unsigned, with the claims that Codex reads."""
    text = "modes.key.api = 'chat'\n[[modes.key.files]]\npath = 't'\ntext = '${chatgpt_token}'"
    run = prepare(profile(text), "key", PLACE, binary="x", now=NOW)
    head, claims, _ = (part + "=" * (-len(part) % 4) for part in run.files[0].text.split("."))
    told: dict[str, Any] = json.loads(base64.urlsafe_b64decode(claims))

    assert json.loads(base64.urlsafe_b64decode(head))["alg"] == "none"
    assert told["https://api.openai.com/auth"]["chatgpt_account_id"] == "acct-fake"
    assert told["exp"] > NOW.timestamp()
