"""The user's own rules: the table [scrub] of a TOML file."""

from __future__ import annotations

import pytest

from ptycassette.errors import UsageError
from ptycassette.scrub.rules.rule_set import RuleSet, parse_config
from ptycassette.scrub.session import default_scrubber

GOOD = """
[other]
x = 1

[scrub]
volatile = true
preserve = ["support@corp.io"]
without = ["account-id"]
known_env = ["PHRASE"]
known_files = ["~/secret"]

[[scrub.rules]]
name = "corp-token"
pattern = "corp_[a-z0-9]{6}"
anchors = ["CORP_"]
placeholder = "<corp>"
"""


def test_a_config_says_what_is_scrubbed() -> None:
    """Rules, names of secrets, exceptions; other tables are somebody else's."""
    config = parse_config(GOOD, where="x.toml")

    assert (config.volatile, config.preserve, config.without) == (
        True,
        ("support@corp.io",),
        ("account-id",),
    )
    assert (config.known_env, config.known_files) == (("PHRASE",), ("~/secret",))
    scrubber = default_scrubber(rules=config.rules)
    assert scrubber.text("a corp_ab12cd b", channel="x") == "a <corp> b"


def test_no_table_is_no_config() -> None:
    """Defaults hold."""
    assert parse_config("", where="x").rules == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[scrub", "not TOML"),
        ("[scrub]\ntypo = 1", "typo"),
        ("[scrub]\nvolatile = 3", "volatile"),
        ("scrub = 3", "scrub"),
        ("[[scrub.rules]]\nname = 'Bad Name'\npattern = 'a'", "Bad Name"),
        ("[[scrub.rules]]\nname = 'a'\npattern = '('", "not a regular expression"),
        ("[[scrub.rules]]\nname = 'a'\npattern = 'a(?=b)'", "look-around"),
        ("[[scrub.rules]]\nname = 'a'\npattern = '漢'", "rule a"),
        ("[[scrub.rules]]\nname = 'a'\npattern = 'a'\nanchors = ['']", "anchors"),
        ("[[scrub.rules]]\nname = 'a'\npattern = 'a'\nreach = 0", "reach"),
    ],
)
def test_what_a_config_cannot_say_is_an_error(text: str, complaint: str) -> None:
    """A rule that is silently not applied would be a leak."""
    with pytest.raises(UsageError) as caught:
        parse_config(text, where="x.toml")

    assert complaint in str(caught.value)
    assert "x.toml" in str(caught.value)


@pytest.mark.parametrize("anchors", ["", 'anchors = ["a"]\n'])
def test_no_pattern_of_a_config_takes_longer_than_its_text(anchors: str) -> None:
    """With anchors, too: whoever wrote the file does not decide how long scrubbing takes."""
    text = f'[[scrub.rules]]\nname = "slow"\npattern = "(a+)+!"\n{anchors}'
    config = parse_config(text, where="ptycassette.toml")
    rules = RuleSet(config.rules)

    assert rules.find("a" * 300_000) == []
    assert [found.rule.name for found in rules.find("aaaa!")] == ["slow"]
