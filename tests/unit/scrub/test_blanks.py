"""Blanks that are none of ASCII: where they part a name from its value."""

from __future__ import annotations

import pytest

from ptycassette.scrub.blanks import blanks
from ptycassette.scrub.canonical import canonical
from ptycassette.testing import scrub_chunks

VALUE = "qP7xR2mK9vT4" + "nB8sL3wZ"
BLANKS = "\u00a0\u2000\u2007\u200a\u202f\u205f\u3000"


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize(
    "text", ["token:_abc", '"token"_:_"abc"', "say --token_abc_now", "Basic_abc", "a_=_b"]
)
def test_a_blank_is_one_beside_a_name(text: str, blank: str) -> None:
    """Whatever it looks like."""
    (view,) = blanks(canonical(text.replace("_", blank)))

    assert view.text == text.replace("_", " ")


@pytest.mark.parametrize("text", ["token: abc", ">_some_words", "caf\u00e9_au_lait", "12_000_km"])
def test_blanks_that_pad_are_not_read(text: str) -> None:
    """Nor is text that has none."""
    assert list(blanks(canonical(text.replace("_", "\u00a0")))) == []


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"cloudflare_api_token":_"', '"}'),
        ("DB_PASSWORD_=_", ""),
        ("Authorization:_Bearer_", "_now"),
        ("machine_git.corp.example_login_bot_password_", ""),
        ("deploy_--token_", "_--yes"),
    ],
)
def test_a_value_behind_such_a_blank_is_masked(before: str, after: str, blank: str) -> None:
    """By rules, and the blanks stay."""
    before, after = before.replace("_", blank), after.replace("_", blank)
    (masked,) = scrub_chunks([f"{before}{VALUE}{after}\r\n".encode()], rows=24, cols=100)

    assert masked.decode() == f"{before}{'x' * len(VALUE)}{after}\r\n"
