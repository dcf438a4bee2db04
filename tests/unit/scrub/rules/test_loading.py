"""What a file of rules may hold, and what is said about one that is wrong."""

from __future__ import annotations

import re

import pytest

from ptycassette.scrub.rules.rule_set import read_rules

RULE = """
[[rule]]
name = "{name}"
pattern = 'x'
finds = ['«x»']
"""
TOKENS = """
tokens = '''
{lines}
'''
[alphabets]
alnum = 'A-Za-z0-9'
"""


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        ("tokens = ", ["not TOML"]),
        ("typo = 1", ["typo"]),
        (RULE.format(name="one") + RULE.format(name="two") + "typo = 1", ["rule two", "typo"]),
        (RULE.format(name="one") + "reach = 'far'", ["rule one", "reach"]),
        (RULE.format(name="one") + "accept = 'nobody'", ["rule one", "judge 'nobody'"]),
        (RULE.format(name="one").replace("'x'", "'{{y}}'"), ["rule one", "fragment 'y'"]),
        (RULE.format(name="one").replace("['«x»']", "[]"), ["rule one", "finds"]),
        ("[[rule]]\npattern = 'x'", ["rule number 1", "name"]),
        (TOKENS.format(lines="a-token  ab_  alpha 3+"), ["a-token", "alphabet 'alpha'"]),
        (TOKENS.format(lines="a-token  alnum 3+"), ["a-token", "no prefix"]),
        (TOKENS.format(lines="a-token"), ["a-token", "no prefix"]),
        (
            TOKENS.format(lines="a-token  ab_  alnum 3+\nb-token  ab_  alnum 9+"),
            ["b-token", "'ab_'", "a-token"],
        ),
    ],
)
def test_a_wrong_file_names_the_wrong_entry(text: str, complaints: list[str]) -> None:
    """So that whoever adds a rule knows where to look."""
    with pytest.raises(ValueError, match=r"^new\.toml") as caught:
        read_rules(text, where="new.toml")

    assert [part for part in complaints if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("count", "found"),
    [("3+", "abcdef"), ("3-4", "abcd"), ("2", "ab"), ("[a-c]+", "abc")],
)
def test_a_line_of_tokens_becomes_a_rule(count: str, found: str) -> None:
    """Of an alphabet and a count, or of a regular expression."""
    line = f"a-token  x_  {count if count[0] == '[' else f'alnum {count}'}"
    (rule,) = read_rules(TOKENS.format(lines=line), where="x")
    match = re.match(rule.pattern, "x_abcdef")

    assert (match[0], rule.placeholder, rule.public) == (f"x_{found}", "<a-token>", 2)
