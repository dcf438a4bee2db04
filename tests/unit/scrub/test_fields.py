"""What forms send: where a plus sign is a blank, and where it stays one."""

from __future__ import annotations

import pytest

from ptycassette.scrub.fields import fields
from ptycassette.testing import scrub_chunks

VALUE = "qP7xR2mK9vT4" + "nB8sL3wZ"


def said(text: str) -> list[str]:
    """What the fields in a text say."""
    return [view.text for view in fields(text)]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a=b+c%21&d=e", ["a=b c!"]),
        ("a=b&d=e+%2B+f g", ["a=b&d=e + f"]),
        ("see login+bot+-p+x&z=1", ["see login bot -p x"]),
        ("a=Basic+b+c", ["a=Basic b c"]),
        ("a=b+c&d=e&f=g+h&i", ["a=b c\nd=e&f=g h"]),
        (f"a=b+c&{'-' * 90}d=e+f", ["a=b c", f"{'-' * 62}d=e f"]),
        ("-----BEGIN+A+KEY-----%0AMII%3D", ["-----BEGIN A KEY-----\nMII="]),
    ],
)
def test_a_plus_is_a_blank_in_a_field(text: str, meaning: list[str]) -> None:
    """Behind its name, or beside a word that names a value; it ends before the next one."""
    assert said(text) == meaning


@pytest.mark.parametrize("text", ["a + b", "a+b", "a = b+c", "a==+b", "+ diff", "none=here"])
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
