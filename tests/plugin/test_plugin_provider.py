"""The fixture for fake providers, in test runs of their own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.integration

# pytest-asyncio warns when it is not told, and warnings are errors here.
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
# Plugins that cannot run within a run of themselves.
ALONE = ("-p", "no:xdist", "-p", "no:textual-snapshot")
SCRIPT = "version = 1\n[[replies]]\nname = 'hello'\ntext = '${word}'\n"
ASKING = """
import json, urllib.error, urllib.request


def ask(url, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **more}
    request = urllib.request.Request(url + "/chat/completions", json.dumps(body).encode())
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as refused:
        return refused.code
    return json.load(answer)["choices"][0]["message"]["content"]
"""


def run(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    """Run a test file beside a script."""
    pytester.makeini(INI)
    pytester.makefile(".toml", hello=SCRIPT)
    pytester.makepyfile(ASKING + body)
    return pytester.runpytest_inprocess("-W", "error", *ALONE)


def test_a_script_beside_the_test_answers(pytester: pytest.Pytester) -> None:
    """By its path, with values for its names."""
    result = run(
        pytester,
        "def test_it(ptycassette_provider):\n"
        "    provider = ptycassette_provider('hello.toml', variables={'word': 'from afar'})\n"
        "    assert ask(provider.openai_url) == 'from afar'\n",
    )

    result.assert_outcomes(passed=1)


def test_a_script_can_be_given_as_text(pytester: pytest.Pytester) -> None:
    """And filled in the same way."""
    result = run(
        pytester,
        f"TEXT = {SCRIPT!r}\n"
        "def test_it(ptycassette_provider):\n"
        "    more = {'variables': {'word': 'x'}, 'all_replies': True}\n"
        "    provider = ptycassette_provider(text=TEXT, **more)\n"
        "    assert ask(provider.openai_url) == 'x'\n",
    )

    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("options", "asking", "told"),
    [
        ("", "ask(provider.openai_url, temperatur=1)", "*temperatur*"),
        ("all_replies=True, ", "None", "*reply hello: not asked for*"),
    ],
)
def test_surprises_fail_the_test(
    pytester: pytest.Pytester, options: str, asking: str, told: str
) -> None:
    """A request with a mistyped field; a reply that nobody wanted."""
    result = run(
        pytester,
        "def test_it(ptycassette_provider):\n"
        f"    provider = ptycassette_provider('hello.toml', {options}variables={{'word': 'x'}})\n"
        f"    {asking}\n",
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the fake provider was surprised*", told])


def test_what_a_client_asked_cannot_act_on_the_terminal(pytester: pytest.Pytester) -> None:
    """A path may hold any character, and the failure shows it."""
    result = run(
        pytester,
        "def test_it(ptycassette_provider):\n"
        "    provider = ptycassette_provider('hello.toml', variables={'word': 'w'})\n"
        "    ask(provider.url + '/%1B%5D0;title%07')\n",
    )
    printed = "\n".join(result.outlines)

    assert "\\e]0;title\\x07" in printed
    assert "\x1b]0" not in printed


def test_a_path_or_text_is_needed(pytester: pytest.Pytester) -> None:
    """Not both, not neither."""
    result = run(pytester, "def test_it(ptycassette_provider):\n    ptycassette_provider()\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*either the path of a script or text*"])


def test_the_extra_is_named_where_it_is_missing(pytester: pytest.Pytester) -> None:
    """With the command that installs it."""
    result = run(
        pytester,
        "import sys, pytest\n"
        "import ptycassette.agents.harness.io as face\n"
        "@pytest.fixture\n"
        "def bare(monkeypatch):\n"
        "    monkeypatch.setitem(sys.modules, 'aiohttp', None)\n"
        "    name = 'ptycassette.agents.harness.io.fake_provider'\n"
        "    monkeypatch.delitem(sys.modules, name, raising=False)\n"
        "    monkeypatch.delitem(vars(face), 'FakeProviderServer', raising=False)\n"
        "def test_it(bare, ptycassette_provider):\n    pass\n",
    )

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*pip install 'ptycassette?provider?'*"])
