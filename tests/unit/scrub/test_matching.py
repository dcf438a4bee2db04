"""Fixed strings, patterns, canonical text and masks: the same with and without the libraries."""

from __future__ import annotations

import base64

import pytest

from ptycassette.scrub.canonical import canonical, plain, squeeze
from ptycassette.scrub.known import KnownValue, KnownValues
from ptycassette.scrub.literals import literal_finder
from ptycassette.scrub.mask import BASE64, ESCAPED, HEX, VOLATILE, mask
from ptycassette.scrub.patterns import Pattern, PatternError
from ptycassette.scrub.rules import Rule, RuleSet
from ptycassette.scrub.search import Searcher

BOTH = pytest.mark.parametrize("fast", [True, False])


@BOTH
def test_literals_are_found_where_they_overlap(fast: bool) -> None:
    """Every occurrence of every literal is told, in order."""
    finder = literal_finder(["@", "ab", "abab", "baba"], fast=fast)

    assert finder.find("xababab@") == [(1, 1), (1, 2), (2, 3), (3, 1), (3, 2), (5, 1), (7, 0)]


@BOTH
def test_no_literals_find_nothing(fast: bool) -> None:
    """An empty finder is a finder."""
    assert literal_finder([], fast=fast).find("anything") == []


@BOTH
def test_a_pattern_gives_the_span_of_a_named_group(fast: bool) -> None:
    """Matches can be narrowed to one group; empty ones are left out."""
    pattern = Pattern(r"id=(?P<s>\d*)", fast=fast)

    assert list(pattern.matches("id=12 id= id=345", group="s")) == [(0, 3, 5), (10, 13, 16)]


@pytest.mark.parametrize("source", ["(?<=a)b", r"(a)\1", "a++", "(", "(?!x)y"])
def test_a_pattern_that_only_one_engine_reads_is_refused(source: str) -> None:
    """Rules must mean the same on every machine."""
    with pytest.raises(PatternError):
        Pattern(source)


@BOTH
def test_a_pattern_sees_bytes_as_characters(fast: bool) -> None:
    """Canonical text beyond ASCII keeps its positions."""
    text = canonical("é" * 3) + "key"

    assert list(Pattern("key", fast=fast).spans(text)) == [(6, 9)]


def test_canonical_text_has_a_character_for_each_byte() -> None:
    """Text comes back from its canonical form, bytes that are no text included."""
    text = "a│\udcff\ud83d"

    assert len(canonical("a│")) == 4
    assert plain(canonical("a│\udcff")) == "a│\udcff"
    assert canonical(text).startswith("a")


@pytest.mark.parametrize("text", ["a b\r\n\tc|d>e", "a\u2502 b\u200bc\u00a0d \u2838e"])
def test_squeezing_takes_blanks_and_borders_away(text: str) -> None:
    """ASCII goes another way than the rest, to the same end."""
    assert squeeze(canonical(text)) == "abcde"


@pytest.mark.parametrize(
    ("form", "text", "masked"),
    [
        ("text", "aB9-_ !", "xxxxx x"),
        ("text", canonical("é漢•\U0001f600\u0301"), canonical("·\uff38•\U0001f512\u0301")),
        (HEX, "41 0x4A:ff", "78 0x78:78"),
        (ESCAPED, r"a%41A\x41\101\nz", r"x%78x\x78\170\nx"),
        (VOLATILE, "2026-01-02T10:11:12Z", "0000-00-00X00:00:00X"),
    ],
)
def test_a_mask_keeps_length_and_form(form: str, text: str, masked: str) -> None:
    """What a secret looked like stays, what it said goes."""
    assert mask(text, form) == masked


@pytest.mark.parametrize("phase", range(4))
def test_masked_base64_decodes_to_x(phase: int) -> None:
    """Whoever decodes a masked stretch finds what masks leave behind."""
    whole = base64.b64encode(b"y" * 30).decode()
    masked = whole[:phase] + mask(whole[phase:], f"{BASE64}{phase}")

    assert set(base64.b64decode(masked)[3:]) == {ord("x")}


@pytest.mark.parametrize("phase", range(4))
def test_masked_base64_in_percent_decodes_to_x(phase: int) -> None:
    """An escape is one digit, and the digits behind it stay in step."""
    whole = base64.b64encode(b"y" * 30).decode()
    masked = mask(whole[phase:12] + "%2B" + whole[13:], f"{BASE64}{phase}{ESCAPED}")
    decoded = base64.b64decode(whole[:phase] + masked.replace("%78", "x"))

    assert "%78" in masked
    assert set(decoded[3:9] + decoded[12:]) == {ord("x")}


def test_a_mask_leaves_what_is_no_text() -> None:
    """A byte that is no character is not painted, and stays."""
    assert mask("a\xff") == "x\xff"


def test_what_is_new_can_be_searched_for_alone() -> None:
    """Where everything else was searched for; after that all is known again."""
    searcher = Searcher(rules=RuleSet([]), known=KnownValues([KnownValue("known-Value-1", "old")]))

    def found() -> set[str]:
        text = "known-Value-1 and other-Value-2"
        return {match.rule for match in searcher.search(text, by_rules=False)}

    with searcher.knowing_only([KnownValue("other-Value-2", "new")]):
        alone = found()

    assert alone == {"new"}
    assert found() == {"old"}


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
