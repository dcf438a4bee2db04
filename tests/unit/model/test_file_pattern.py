"""Patterns from files: Python's meaning where RE2 has it, a refusal where it has not."""

from __future__ import annotations

import re
import sys

import pytest

from ptycassette.errors import UsageError
from ptycassette.model.re2_engine import FilePattern, PatternError, file_pattern

TEXTS = (
    "",
    "> ",
    "a1\u00a0b\n  c_2.\u3000",
    "x]y[z]",
    "{,2} aa aaa",
    "\u2714 Done (3 of 4) \u2588\u2588",
    "^a\\Z-$",
    "\x1b\x85\x1d",
    "one\n> two\n\nthree",
)
ALIKE = (
    *(r"^> *\Z", r"\s\S", r"[\s\d]+", r"[^\s]+", r"[\S ]+", r"[^\S\n]", r"[^\w\n]*\n"),
    *("[]x]", "[^]x]", r"[a\]]", "[$]", "[(?=]", r"[\]\[]", "[x[]", "a{,2}b?", "a{2}", "a{1,}"),
    *(r"\u2714 \w+", r"[\u2580-\u259f]+", r"\U0001F600?", r"\x1b", r"\t|\n", r"\\Z", r"\(\d"),
    *(r"(?P<n>\d) of (\d)", "(?i)DONE", "(?s).+", "(?m)^>", "x|y|", r"\$", "(?:a|b)+", r"\A."),
)


@pytest.mark.parametrize("source", ALIKE)
@pytest.mark.parametrize("multiline", [False, True])
def test_it_matches_what_python_matches(source: str, multiline: bool) -> None:
    """The same places in every text."""
    ours = FilePattern(source, multiline=multiline)
    pythons = re.compile(source, re.MULTILINE if multiline else 0)

    for text in TEXTS:
        spans = [match.span() for match in ours.matches(text)]
        assert spans == [match.span() for match in pythons.finditer(text)], text
        assert ours.found(text) is (pythons.search(text) is not None)


def test_blanks_are_those_of_unicode() -> None:
    """Agent CLIs paint no-break blanks."""
    characters = "".join(map(chr, [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]))

    assert [m[0] for m in file_pattern(r"\s").matches(characters)] == re.findall(r"\s", characters)
    assert not file_pattern(r"[\S]").found("".join(re.findall(r"\s", characters)))
    assert not file_pattern(r"[^\s\S]").found(characters)


def test_letters_and_word_boundaries_are_ascii() -> None:
    """As the documentation says."""
    assert not file_pattern(r"\w|\d|\b").found("\u00fc\u0663")
    assert file_pattern(r"\p{L}").found("\u00fc")


def test_the_case_is_ignored_where_asked() -> None:
    """With other letters than ASCII."""
    assert file_pattern("\u00dcber", ignore_case=True).found("\u00fcBER")
    assert not file_pattern("\u00dcber").found("\u00fcber")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("(?=a)", r"\(\?= is not supported"),
        ("(?!a)", r"\(\?! is not supported"),
        ("(?<=a)", r"\(\?<= is not supported"),
        ("(?<!a)", r"\(\?<! is not supported"),
        ("(?>a)", r"\(\?> is not supported"),
        (r"(a)\1", r"\\1 is not supported"),
        ("(?P<n>a)(?P=n)", r"\(\?P= is not supported"),
        ("(a)?(?(1)b)", r"\(\?\( is not supported"),
        ("a*+", "bad repetition operator"),
        (r"\C", r"\\C is not supported"),
        ("(?x) a", "invalid perl operator"),
        ("(", "missing"),
        ("[", "missing"),
        ("a\\", "trailing"),
        ("a{1001}", "repetition"),
        ("(?:a{1000}){1000}", "not a regular expression"),
        ("a" * 10_001, "more than 10000 characters"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_what_is_not_supported_is_refused(source: str, reason: str) -> None:
    """With what it is."""
    with pytest.raises(PatternError, match=reason):
        FilePattern(source)


@pytest.mark.parametrize(
    ("source", "text"),
    [("(a?){1000}c", "a" * 100_000), ("(?s)a.*b|a", "a" * 100_000)],
    ids=["many places", "many matches"],
)
def test_what_is_linear_and_slow_is_refused(source: str, text: str) -> None:
    """The message says what to do."""
    with pytest.raises(UsageError, match="may take too long on 100000 bytes") as caught:
        list(FilePattern(source).matches(text))

    assert caught.value.hint == "use fewer repetitions, or search less text"


def test_a_lone_surrogate_in_the_text_is_no_error() -> None:
    """Arguments of programs may hold any bytes."""
    assert file_pattern("a.b").found("a\udcffb")
    assert [match.span() for match in file_pattern("b").matches("a\udcffb")] == [(2, 3)]
