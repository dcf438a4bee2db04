"""How rules are applied to a text: anchors, edges, leads, judges, and when patterns compile."""

from __future__ import annotations

import re

import pytest

from ptycassette.model.re2_engine import PatternError
from ptycassette.scrub.rules.rule_set import Rule, RuleSet, default_rules


def test_an_edge_keeps_words_apart() -> None:
    """A rule with an edge does not begin inside of a word."""
    rules = RuleSet([Rule(name="r", pattern="ab[0-9]+", anchors=("ab",))])

    assert [(hit.start, hit.end) for hit in rules.find("ab1 xab2 -ab3 AB4")] == [(0, 3), (10, 13)]


def test_a_rule_with_a_lead_finds_what_stands_before_its_anchor() -> None:
    """The anchor may be in the middle, and matches beside it do not count."""
    rule = Rule(name="r", pattern="[a-z]+@[a-z]+", anchors=("@",), lead=5)
    rules = RuleSet([rule])

    assert [(hit.start, hit.end) for hit in rules.find("a@b c@d @ e@")] == [(0, 3), (4, 7)]


def test_a_rule_without_anchors_is_searched_everywhere() -> None:
    """Edges and acceptance hold for it too."""
    rule = Rule(name="r", pattern="[0-9]{2}(?P<s>[a-z]+)", accept=lambda text: text != "no")
    rules = RuleSet([rule])

    assert [(hit.start, hit.end) for hit in rules.find("12yes 12no x12yes")] == [(2, 5)]


def test_a_distinctive_token_may_begin_anywhere_in_decoded_text(key: str) -> None:
    """What stands before a decoded token is nobody's choice."""
    rules = RuleSet([Rule(name="r", pattern="abcd-[0-9]+", anchors=("abcd-",), public=5)])

    assert rules.find("xabcd-1") == []
    assert len(rules.find("xabcd-1", loose=True)) == 1


def test_a_pattern_is_compiled_when_its_anchor_occurs(monkeypatch: pytest.MonkeyPatch) -> None:
    """So rules that find nothing cost nothing at start."""
    compiled = []
    rules = RuleSet([rule for rule in default_rules() if rule.anchors])
    original = re.compile
    monkeypatch.setattr(re, "compile", lambda *of: compiled.append(of[0]) or original(*of))
    rules.find("nothing to be found here")
    before = len(compiled)
    rules.find("as in glpat- here")

    assert (before, [text for text in compiled if "glpat" in text] != []) == (0, True)


@pytest.mark.parametrize(("anchors", "until"), [((), ""), (("a",), ""), (("a",), "(")])
def test_a_wrong_pattern_is_told_on_demand(anchors: tuple[str, ...], until: str) -> None:
    """For rules of others, before anything is searched."""
    rule = Rule(name="r", pattern="a" if until else "a(", anchors=anchors, until=until)
    with pytest.raises(PatternError, match="not a regular expression"):
        rule.check()


def test_a_text_is_judged_once() -> None:
    """What a program paints again and again costs a look-up."""
    asked: list[str] = []

    def accept(text: str) -> bool:
        asked.append(text)
        return text != "k=00000000"

    rule = Rule(name="r", pattern="k=[0-9]{8}", anchors=("k=",), accept=accept)
    found = RuleSet([rule]).find("k=12345678 k=00000000 " * 50)

    assert len(found) == 50
    assert sorted(asked) == ["k=00000000", "k=12345678"]
