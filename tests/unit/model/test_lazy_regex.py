"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from ptycassette.model.re2_engine import lazy_pattern


def test_it_finds_what_the_compiled_pattern_finds() -> None:
    """The second use, too, when it is compiled already."""
    pattern, same = lazy_pattern(r"(?P<word>\w+)!", re.IGNORECASE), re.compile(r"(?P<word>\w+)!")

    assert [pattern.sub("", "a! b"), pattern.search("x hello!")["word"]] == [" b", "hello"]  # type: ignore[index]
    assert (pattern.pattern, dict(pattern.groupindex)) == (same.pattern, dict(same.groupindex))


def test_nothing_is_compiled_before_the_first_use() -> None:
    """A wrong expression is noticed when it is used; a function is asked once."""
    asked: list[str] = []

    def source() -> bytes:
        asked.append("source")
        return rb"\d+"

    wrong, made = lazy_pattern("("), lazy_pattern(source)

    assert not asked
    assert [made.fullmatch(b"12") is not None, made.fullmatch(b"x") is None] == [True, True]
    assert asked == ["source"]
    with pytest.raises(re.error):
        wrong.match("")


def test_it_has_no_other_attributes() -> None:
    """Who asks whether it has one is told so."""
    assert not hasattr(lazy_pattern("a"), "__fspath__")
