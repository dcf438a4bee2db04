"""One text, everything in it that must go."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from ptycassette.scrub.rules.rule_set import Found, Rule, RuleSet
from ptycassette.scrub.search.known import KnownValue, KnownValues, Searcher


def test_what_is_new_can_be_searched_for_alone() -> None:
    """Where everything else was searched for; after that all is known again."""
    searcher = Searcher(rules=RuleSet([]), known=KnownValues([KnownValue("known-Value-1", "old")]))
    new = [KnownValue("other-Value-2", "new"), KnownValue("pin", "new", word=True)]
    text = "known-Value-1 and other-Value-2"

    def found(text: str) -> set[str]:
        return {match.rule for match in searcher.search_again(text)}

    lesson = searcher.known.learn(new)
    with searcher.knowing_only(lesson):
        alone = [found(part) for part in (text, "lue-2 of other-Va", "the pin", "known-Value-1")]

    assert alone == [{"new"}, {"new"}, {"new"}, set()]
    assert found(text) == {"old", "new"}


def test_a_text_can_be_searched_by_rules_first() -> None:
    """Then for all that is known meanwhile, also in what was decoded from it."""
    rule = Rule(name="named", pattern="token=(?P<s>[A-Za-z0-9]+)", anchors=("token=",))
    searcher = Searcher(rules=RuleSet([rule]), known=KnownValues())
    value = "q7Rt" + "Zk29" * 4
    encoded = base64.b64encode(f"it is {value} there".encode()).decode()
    texts = [f"token={value}", f"here {value}", f"or {encoded}"]

    def found(text: str, *, again: bool) -> list[str]:
        if again:
            return [match.rule for match in searcher.search_again(text, by_rules=True)]
        return [match.rule for match in searcher.search(text, for_known=False, source="one")]

    by_rules = [found(text, again=False) for text in texts]
    searcher.adopt()
    known = [found(text, again=True) for text in texts]
    searcher.forget_texts()

    assert by_rules == [["named"], [], []]
    assert known == [["named"]] * 3
    assert [found(text, again=True) for text in texts] == known


def test_a_text_is_searched_again_when_more_of_a_value_identifies_it() -> None:
    """Though as many values are known as before."""
    value = "ghp_" + "vocabularies" * 2 + "bookkeepers" + "x"
    named = Rule(name="named", pattern="token=(?P<s>[a-z_]+)", anchors=("token=",))
    shaped = Rule(name="shaped", pattern="ghp_[a-z]{36}", anchors=("ghp_",), public=4)
    searcher = Searcher(rules=RuleSet([named, shaped]), known=KnownValues())
    encoded = base64.b64encode(f"it is {value[:20]} there".encode()).decode()

    def found(text: str) -> list[str]:
        rules = [match.rule for match in searcher.search(text)]
        searcher.adopt()
        return rules

    searcher.known.add(KnownValue(value, "named", learnt=True))
    assert found(encoded) == []
    assert "shaped" in found(f"see {value} there")
    assert "shaped" in found(encoded)


def test_rules_of_one_name_are_judged_apart() -> None:
    """One may take as its beginning what is public for the other."""
    rules = RuleSet(
        [
            Rule(name="r", pattern="k=(?P<s>xxx[0-9]{8})", anchors=("k=",), public=3),
            Rule(name="r", pattern="xxx[0-9]{8}", anchors=("xxx",), edge=False),
        ]
    )
    searcher = Searcher(rules=rules, known=KnownValues())
    found = [len(list(searcher.search(text))) for text in ("k=xxx12345678", "xxx12345678")]

    assert found == [1, 0]


def test_a_text_that_comes_again_is_asked_for_what_is_known_since() -> None:
    """What looking at it gave is kept, not what was unknown then."""
    value = "correct horse battery"
    text = base64.b64encode(f"a {value} b".encode()).decode()
    searcher = Searcher(rules=RuleSet(()), known=KnownValues())

    assert list(searcher.search(text)) == []
    searcher.known.add(KnownValue(value))
    assert len(list(searcher.search(text))) == 1
    searcher.known = KnownValues([KnownValue("another phrase")])
    assert list(searcher.search(text)) == []


def test_a_short_text_is_searched_once_for_all_that_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The keys and types of a hundred thousand events are a handful of texts."""
    rules = RuleSet([Rule(name="r", pattern="k=(?P<s>[a-z0-9]{8})", anchors=("k=",))])
    searcher = Searcher(rules=rules, known=KnownValues())
    searched: list[str] = []
    find = rules.find

    def counted(text: str, *, loose: bool = False) -> Iterator[Found]:
        searched.append(text)
        return find(text, loose=loose)

    monkeypatch.setattr(rules, "find", counted)
    results = [[match.value for match in searcher.search("see k=h7gk29xq")] for _ in range(100)]

    assert results == [["h7gk29xq"]] * 100
    assert searched.count("see k=h7gk29xq") == 1

    searcher.known.add(KnownValue("see k", "known"))
    assert len(list(searcher.search("see k=h7gk29xq"))) > 1
