"""Every rule finds what its own test vectors mark, and nothing else; every token its sample."""

from __future__ import annotations

import re

import pytest

from ptycassette.model.toml_text import package_text
from ptycassette.scrub.rules.rule_set import (
    Entry,
    Rule,
    RuleSet,
    default_rules,
    read_file,
    read_rules,
)

from .conftest import Expand, sample

SEEDS = range(3)
FILES = ("provider", "context", "keys", "identity", "volatile")
ELLIPSIS = "\xe2\x80\xa6"


def entries() -> list[tuple[Entry, Rule]]:
    """All entries with vectors of their own, and the rules they became."""
    found: list[tuple[Entry, Rule]] = []
    for name in FILES:
        text = package_text("ptycassette.scrub.rules", f"{name}.toml")
        written = read_file(text, where=name).rule
        rules = read_rules(text, where=name)
        found += zip(written, rules[len(rules) - len(written) :], strict=True)
    return found


def tokens() -> list[Rule]:
    """The rules that lines of tokens became."""
    text = package_text("ptycassette.scrub.rules", "provider.toml")
    rules = read_rules(text, where="provider")
    return list(rules[: len(rules) - len(read_file(text, where="provider").rule)])


def values(rule: Rule, text: str) -> list[str]:
    """What one rule alone finds."""
    return [text[hit.start : hit.end] for hit in RuleSet([rule]).find(text)]


def made(pattern: str, seed: int) -> str:
    """A token as a provider would hand it out: with digits all over."""
    for number in range(1000):
        text = sample(pattern, 1000 * seed + number)
        if len(re.findall("[0-9](?=[A-Za-z])", text)) > 1:
            return text
    return text


@pytest.mark.parametrize(
    ("entry", "rule"), entries(), ids=[f"{n}-{e.name}" for n, (e, _) in enumerate(entries())]
)
def test_a_rule_finds_exactly_what_its_vectors_mark(
    entry: Entry, rule: Rule, expand: Expand
) -> None:
    """It lets stand, too, what has to stand."""
    for seed in SEEDS:
        for vector in entry.finds:
            text, marked = expand(vector, seed)
            assert values(rule, text) == marked != [], text
        for vector in entry.stands:
            text, _ = expand(vector, seed)
            assert values(rule, text) == [], text


def test_every_line_of_tokens_finds_what_it_describes() -> None:
    """The token is found whole by its own rule, and is not found inside of a word."""
    missed = []
    for rule in tokens():
        for seed in SEEDS:
            token = made(rule.pattern, seed)
            behind = ELLIPSIS if rule.pattern.endswith("\\.\\.)") else " so"
            found = values(rule, f"see {token}{behind}")
            if found != [token] and not (found and "(?P<s>" in rule.pattern):
                missed.append((rule.name, token, found))
            if rule.edge and values(rule, f"see a{token}{behind}"):
                missed.append((rule.name, f"a{token}", []))

    assert missed == []


def test_rules_of_one_name_are_told_alike() -> None:
    """Their kind is the same, for people choose rules by name (``without``)."""
    kinds: dict[str, set[str]] = {}
    for rule in default_rules(volatile=True):
        kinds.setdefault(rule.name, set()).add(rule.kind)

    assert {name for name, several in kinds.items() if len(several) > 1} == set()
