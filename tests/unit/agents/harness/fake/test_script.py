"""Provider scripts are checked whole, with errors that say where and what."""

from __future__ import annotations

import pytest

from ptycassette.agents.harness.fake.script import Script
from ptycassette.errors import UsageError

HEAD = "version = 1\n"


def parse(text: str, **variables: str) -> Script:
    """A script from its text without the version line."""
    return Script.parse(HEAD + text, where="s.toml", variables=variables)


def test_a_script_with_every_table_is_read() -> None:
    """All that the format knows, in one script."""
    script = parse(
        """
        unknown_fields = "report"
        websocket = false
        headers = { x-extra = "1" }
        [auth]
        require = "key"
        [pace]
        first_ms = 5
        each_ms = 2
        chunk_chars = 3
        [limits.codex]
        plan_type = "plus"
        primary = { used_percent = 42, window_minutes = 300, resets_in_s = 60 }
        [limits.anthropic]
        five_hour = { utilization = 0.5, resets_in_s = 60 }
        requests = { limit = 10, remaining = 9, resets_in_s = 1 }
        [limits.openai]
        tokens = { limit = 10, remaining = 9, resets_in_s = 1 }
        [[models]]
        id = "m"
        name = "M"
        apis = ["chat"]
        [[replies]]
        name = "first"
        times = 0
        when = { api = "chat", model = "m*", prompt_contains = "hi", after = "prompt" }
        parts = [{ think = "hm" }, { text = "hello" }, { tool = "ls", arguments = { path = "." } }]
        usage = { input = 10, output = 5 }
        [[routes]]
        path = "/x"
        json = { a = 1 }
        """
    )

    assert script.replies[0].parts[2].arguments == {"path": "."}
    assert script.limits.codex is not None
    assert script.models[0].apis == ("chat",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("version = ", "not TOML"),
        ("", "starts with version = 1"),
        ("version = 2", "starts with version = 1"),
        (HEAD + "[[replies]]\ntxet = 'a'", "txet"),
        (HEAD + "[[replies]]\ntext = 1", "$.replies[0].text"),
        (HEAD + "[[replies]]\nname = 'a'", "needs text, parts, error or disconnect"),
        (HEAD + "[[replies]]\ntext='a'\nparts=[{text='b'}]", "text or parts, not both"),
        (HEAD + "[[replies]]\nerror={status=429}\ndisconnect=true", "error or disconnect"),
        (HEAD + "[[replies]]\ntext='a'\nerror={status=429}", "needs after_events"),
        (HEAD + "[[replies]]\nerror={status=429}\nafter_events=1", "to break off"),
        (HEAD + "[[replies]]\ntext='a'\nafter_events=1", "belongs to error or disconnect"),
        (HEAD + "[[replies]]\ntext='a'\ntimes=-1", "0 or more"),
        (HEAD + "[[replies]]\nerror={status=200}", "from 400 to 599"),
        (HEAD + "[[replies]]\nparts=[{}]", "exactly one of text, think and tool"),
        (HEAD + "[[replies]]\nparts=[{text='a', input='b'}]", "belong to a tool"),
        (HEAD + "[[replies]]\nparts=[{tool='a', input='b', arguments={}}]", "not both"),
        (HEAD + "[pace]\nchunk_chars = 0", "chunk_chars 1 or more"),
        (HEAD + "[[routes]]\npath='x'", "starts with /"),
        (HEAD + "[[routes]]\npath='/x'\njson=1\ntext='a'", "json or text"),
    ],
)
def test_what_is_wrong_is_named(text: str, told: str) -> None:
    """Each mistake has an error of its own, with the place."""
    with pytest.raises(UsageError) as caught:
        Script.parse(text, where="s.toml")

    assert told in caught.value.message
    assert caught.value.where == "s.toml"


def test_an_unknown_name_gets_a_suggestion() -> None:
    """A typing error is answered with the nearest known name."""
    with pytest.raises(UsageError) as caught:
        parse("[[replies]]\ntext = 'a'\nprompt_contans = 'b'")

    assert caught.value.hint == "did you mean 'prompt_contains'?"


def test_a_name_far_from_all_gets_no_suggestion() -> None:
    """Nothing is guessed where nothing is near."""
    with pytest.raises(UsageError) as caught:
        parse("zzzzzz = 1")

    assert caught.value.hint is None


def test_variables_are_filled_in_everywhere() -> None:
    """Strings in tables and lists take variables; a doubled dollar keeps the text."""
    script = parse(
        "[[replies]]\nparts=[{text='${a} $${a} $a'}, {tool='t', arguments={x=['${b}', 1]}}]",
        a="1",
        b="2",
    )

    assert script.replies[0].parts[0].text == "1 ${a} $a"
    assert script.replies[0].parts[1].arguments == {"x": ["2", 1]}


def test_a_variable_without_a_value_is_an_error() -> None:
    """The names that have values are listed."""
    with pytest.raises(UsageError) as caught:
        parse("[[replies]]\ntext='${cwd}'", home="/h")

    assert "cwd" in caught.value.message
    assert "home" in (caught.value.hint or "")
