"""Files of rules: what is accepted, what is refused, and which of them apply."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptycassette.errors import UsageError
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.question import Rules
from tests.tapes import asked, matcher, tape

HEAD = 'version = 1\nname = "x"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"', "starts with version = 1"),
        (HEAD + "header = []", "unknown field `header`"),
        (HEAD + '[[tokens]]\ntype = "a"', "a token needs a regex, a path, a header"),
        (HEAD + '[[tokens]]\ntype = "A b"\nregex = "x"', "small letters, digits and hyphens"),
        (HEAD + '[[tokens]]\ntype = "a"\nregex = "(?=x)"', "look-around"),
        (HEAD + '[[tokens]]\ntype = "a"\npath = "a..b"', "not a path at character 2"),
        (HEAD + '[[tokens]]\ntype = "a"\npath = ".a"', "not a path at character 1"),
        (HEAD + '[[tokens]]\ntype = "a"\npath = "**"', "not a path at character 2"),
        (HEAD + '[[tokens]]\ntype = "a"\npath = "a"\ntarget = true', "has one place"),
        (HEAD + 'headers = ["Authorization"]', "authorization is never compared"),
        (HEAD + "[types.cwd]\nmeasured = true", "the type 'cwd' is known, and behaves otherwise"),
    ],
)
def test_a_wrong_file_is_refused(text: str, message: str) -> None:
    """With its place, and what is wrong."""
    with pytest.raises(UsageError) as caught:
        Rules.parse((text, "mine.toml"))

    assert message in str(caught.value)
    assert "mine.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "recorded", "live"),
    [
        ("a.b", {"a": {"b": 1}}, {"a": {"b": 2}}),
        ("a[*].b", {"a": [{"b": "x"}, {}]}, {"a": [{"b": "y"}, {}]}),
        ("a[1]", {"a": [0, "x"]}, {"a": [0, "y"]}),
        ("*.b", {"c": {"b": "x"}}, {"c": {"b": "y"}}),
        ('a."b c"', {"a": {"b c": "x"}}, {"a": {"b c": "y"}}),
        ('"é"', {"é": "x"}, {"é": "y"}),
        ("[0]", ["x"], ["y"]),
        ("", "x", "y"),
    ],
)
def test_paths_name_places(path: str, recorded: object, live: object) -> None:
    """Names, elements, and any of both."""
    rule = f"[[tokens]]\ntype = 'a'\npath = '{path}'"
    by = Rules.parse((HEAD + rule, "mine.toml"))
    exchanges = tape((recorded, {}), by=by)

    assert isinstance(matcher(exchanges, by).ask(asked(live)), Hit)
    without = Rules.parse((HEAD, "mine.toml"))
    assert not isinstance(matcher(tape((recorded, {}), by=without), without).ask(asked(live)), Hit)


def test_own_files_are_added_or_take_the_place_of_built_in_ones(tmp_path: Path) -> None:
    """By their name."""
    folder = tmp_path / "ptycassette" / "tape-rules"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(HEAD)
    (folder / "codex.toml").write_text('version = 1\nname = "other codex"\n')
    env = {"XDG_CONFIG_HOME": str(tmp_path)}

    assert load_matching_rules(["codex", "no-such"], env=env).names == (
        "common",
        "anthropic",
        "google",
        "openai",
        "other codex",
        "x",
    )
    (folder / "mine.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="UTF-8"):
        load_matching_rules(env=env)


def test_the_digest_is_that_of_what_the_rules_say() -> None:
    """Not of comments; another rule is another digest."""
    plain, commented = Rules.parse((HEAD, "a")), Rules.parse(("# a comment\n" + HEAD, "b"))

    assert plain.digest == commented.digest
    assert plain.digest != Rules.parse((HEAD + 'headers = ["a"]', "a")).digest
