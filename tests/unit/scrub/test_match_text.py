"""Canonical and squeezed text, and patterns over it."""

from __future__ import annotations

import pytest

from ptycassette.model.re2_engine import PatternError
from ptycassette.scrub.match import Pattern, canonical, plain, squeeze


def test_a_pattern_gives_the_span_of_a_named_group() -> None:
    """Matches can be narrowed to one group; empty ones are left out."""
    pattern = Pattern(r"id=(?P<s>\d*)")

    assert list(pattern.matches("id=12 id= id=345", group="s")) == [(0, 3, 5), (10, 13, 16)]
    assert list(pattern.spans("id=12")) == [(0, 5)]
    assert not pattern.occurs("id")


@pytest.mark.parametrize("source", ["(?<=a)b", r"(a)\1", "a++", "(", "(?!x)y", "\u2502"])
def test_a_pattern_that_re2_does_not_read_is_refused(source: str) -> None:
    """When somebody asks for it, or when it is first needed."""
    with pytest.raises(PatternError):
        Pattern(source).check()


def test_a_pattern_sees_bytes_as_characters() -> None:
    """Canonical text beyond ASCII keeps its positions."""
    text = canonical("é" * 3) + "key"

    assert list(Pattern("key").spans(text)) == [(6, 9)]


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
