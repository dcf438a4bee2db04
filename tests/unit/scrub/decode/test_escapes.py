"""Escapes: what each kind stands for, and where it stands."""

from __future__ import annotations

import pytest

from ptycassette.scrub.decode.decoder import Decoded, decoded_views
from ptycassette.testing import scrub_chunks


def decoded(text: str) -> list[Decoded]:
    """What ``text`` decodes to."""
    return list(decoded_views(text))


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("so: a%20b%41", ["so: a bA"]),
        (r"\u0061\u00e9", ["a\xc3\xa9"]),
        (r"\ud83d\udd11\uD83D\u0061", ["\xf0\x9f\x94\x91\xed\xa0\xbda"]),  # a key; half of one
        (r"so: \x41\x42", ["so: AB"]),
        (r"\U00000041\U0001F600\U00110000", ["A\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"]),
        (r"so: \101\102", ["so: AB"]),
        (r"say \"hi\"\/\n", ['say "hi"/\n']),
        ("%22the+key%22", ['"the key"']),
        ("a&amp;b &lt;c&gt; &quot;d&apos; &nothing; &#233;", ["a&b <c> \"d' &nothing; \xc3\xa9"]),
        (
            "?password%3DaB3%26c=d&z=1&amp;y=2 &c=3",
            ["?password=aB3&c=d\n&z=1&y=2 &c=3"],
        ),
    ],
)
def test_escapes_are_read(text: str, meanings: list[str]) -> None:
    """A plus sign behind percent signs is a blank, and an ampersand there ends a field."""
    assert [view.text for view in decoded(text)] == meanings


def test_escapes_lead_back_to_where_they_stand() -> None:
    """A character from an escape leads to the whole escape, also behind a field that ends."""
    (view,) = decoded("it: ab%41cd")
    (field,) = decoded("?password%3DaB3%26c=d&z=1")

    assert view.source(5, 8) == (5, 10)
    assert view.source(6, 7) == (6, 9)
    assert view.source(8, 9) == (10, 11)
    assert field.source(10, 17) == (12, 21)


def test_escapes_far_apart_are_two_stretches() -> None:
    """Ordinary text between them is read once, as it stands."""
    assert len(decoded("%41" + " " * 1000 + "%42")) == 2


def test_a_private_key_in_a_field_is_masked_whole() -> None:
    """Its line ends are escapes, and so are some of its characters."""
    head, tail = (f"-----{word}+RSA+PRIVATE+" + "KEY-----" for word in ("BEGIN", "END"))
    body = "%0A".join(["MIIEvQ%2BIBADANBgkqhkiG9w0BAQEFAASCBKcw"] * 5)
    (masked,) = scrub_chunks([f"k={head}%0A{body}%0A{tail}&x=1\r\n".encode()], rows=24, cols=80)
    shown = "%78".join(["xxxxxx%78" + "x" * 30] * 5)

    assert masked.decode() == f"k={head}%78{shown}%78{tail}&x=1\r\n"
