"""Blanks that are not ASCII blanks: plus signs of forms, no-break and wide blanks."""

from __future__ import annotations

import pytest

from ptycassette.scrub.decode import PLUGS, Decoded, Plug
from ptycassette.scrub.decode._fields import form_fields
from ptycassette.scrub.match import canonical
from ptycassette.testing import scrub_chunks

VALUE = "qP7xR2mK9vT4" + "nB8sL3wZ"


def said(text: str) -> list[str]:
    """What the fields in a text say."""
    return [view.text for view in form_fields(text, iter(()))]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a=login+c%21&d=e", ["a=login c!"]),
        ("see login+bot+-p+x&z=1", ["see login bot -p x"]),
        ("a=Basic+b+c", ["a=Basic b c"]),
        ("token+a+b&d=token+e", ["token a b", "token+a+b&d=token e"]),
        ("-----BEGIN+A+KEY-----%0AMII%3D", ["-----BEGIN A KEY-----\nMII="]),
    ],
)
def test_a_plus_is_a_blank_in_a_field(text: str, meaning: list[str]) -> None:
    """Behind its name, or beside a word that names a value; it ends before the next one."""
    assert said(text) == meaning


@pytest.mark.parametrize(
    "text", ["a + b", "a+b", "a = b+c", "a==+b", "a=b+c%21", "key + value", "+ diff", "none=here"]
)
def test_other_plus_signs_stay(text: str) -> None:
    """Those of code, of base64 and of diffs."""
    assert said(text) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("q=machine+git.corp.example+login+bot+password+", "&z=1"),
        ("tool+login+--token+", "+--yes"),
        ("q=x+--token+", "+--yes&z=1"),
    ],
)
def test_a_secret_in_a_field_is_masked(before: str, after: str) -> None:
    """By rules, and nothing else in the field."""
    (masked,) = scrub_chunks([f"{before}{VALUE}{after}\r\n".encode()], rows=24, cols=80)

    assert masked.decode() == f"{before}{'x' * len(VALUE)}{after}\r\n"


def test_a_private_key_in_a_field_is_masked_whole() -> None:
    """Its line ends are escapes, and so are some of its characters."""
    head, tail = (f"-----{word}+RSA+PRIVATE+" + "KEY-----" for word in ("BEGIN", "END"))
    body = "%0A".join(["MIIEvQ%2BIBADANBgkqhkiG9w0BAQEFAASCBKcw"] * 5)
    (masked,) = scrub_chunks([f"k={head}%0A{body}%0A{tail}&x=1\r\n".encode()], rows=24, cols=80)
    shown = "%78".join(["xxxxxx%78" + "x" * 30] * 5)

    assert masked.decode() == f"k={head}%78{shown}%78{tail}&x=1\r\n"


def blanks(text: str) -> list[Decoded]:
    """What is read of other blanks in a text."""
    (row,) = [row for rows in PLUGS for row in rows if row.name == "other blanks"]
    return list(Plug(row).read(canonical(text)))


BLANKS = "\u00a0\u2000\u2007\u200a\u202f\u205f\u3000"


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize(
    "text", ["token:_abc", '"token"_:_"abc"', "say --token_abc_now", "Basic_abc", "a_=_b"]
)
def test_a_blank_is_one_beside_a_name(text: str, blank: str) -> None:
    """Whatever it looks like."""
    (view,) = blanks(text.replace("_", blank))

    assert view.text == text.replace("_", " ")


@pytest.mark.parametrize("text", ["token: abc", ">_some_words", "caf\u00e9_au_lait", "12_000_km"])
def test_blanks_that_pad_are_not_read(text: str) -> None:
    """Nor is text that has none."""
    assert blanks(text.replace("_", "\u00a0")) == []


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
