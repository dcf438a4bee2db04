"""Quoted-printable text in parts: which signs of equality are read so, and which are not."""

from __future__ import annotations

import pytest

from ptycassette.scrub.quoted import quoted
from ptycassette.testing import scrub_chunks

TOKEN = "np" + "m_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def said(text: str) -> list[str]:
    """What is read in a text."""
    return [view.text for view in quoted(text)]


def scattered(step: int) -> str:
    """The token with an escape here and there."""
    return "".join(f"={ord(c):02X}" if at % step == 0 else c for at, c in enumerate(TOKEN))


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 12])
def test_letters_of_a_word_may_be_escaped(step: int) -> None:
    """They have no need of it; who does it means it."""
    assert said(f"it is {scattered(step)} now") == [f"it is {TOKEN} now"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("log=69n=20builder", "login builder"),
        ("=6Dail to nobod=79@mailbox.com", "mail to nobody@mailbox.com"),
        ("B=65arer of it", "Bearer of it"),
        ('{"=41ccount": "9=371405918858"', '{"Account": "971405918858"'),
        ("pa=73sword: D!=35^f", "password: D!5^f"),
        ("the=20tok=65n", "the token"),
        ("pw =E7=81=AB=C3=A4 ok", "pw \xe7\x81\xab\xc3\xa4 ok"),
        ("nobody@mailbox=2Ecom", "nobody@mailbox.com"),
        ('{"passwo=72d": 1}', '{"password": 1}'),
        ('"password":=20"T=2Acs"', '"password": "T*cs"'),
        ("it is a1B2c3D4=65F6g7 now", "it is a1B2c3D4eF6g7 now"),
    ],
)
def test_letters_of_several_words_or_of_a_telling_one_may_be_escaped(text: str, meant: str) -> None:
    """One in each of them."""
    assert said(text) == [meant]


@pytest.mark.parametrize("end", ["=\n", "=\r\n"])
@pytest.mark.parametrize("width", [6, 12, 20])
def test_a_word_may_be_broken_anywhere(width: int, end: str) -> None:
    """Several times in a row, or once between what looks torn off."""
    text = end.join(TOKEN[at : at + width] for at in range(0, len(TOKEN), width))

    assert said(f"it is {text} now") == [f"it is {TOKEN} now"]


def test_words_of_letters_go_on_where_any_line_is_no_name() -> None:
    """And blanks stay at the ends of lines."""
    assert said("passph=\nrase: =\ncorrec=\nt") == ["passphrase: correct"]


@pytest.mark.parametrize(
    "text",
    [
        "API_KEY=\nDB_PASSWORD=\nexport TOKEN=\nuser.name=\n",
        "?rows=30&cols=48&x=61",
        "a=48 b=49",
        'a = "=4", b =4Eight',
        "=====\n=====\nab",
        "q83vEjRWeJASNFZ4kKvN7w8=\nq83vEjRWeJASNFZ4kKvN7w8=\n",
        "one short line=\nanother\nand one=\nmore",
        "key = aB3dE6gH9jK2=\n\nend",
        f"{'a' * 30}b=48\nc=49",
        "timeout=45s wait=60ms, height=75px;width=48px",
        "a=61nd nothing else, and a token a=61 b",
        "so=6De of it",
    ],
)
def test_other_signs_of_equality_stay(text: str) -> None:
    """Those of lists of variables, queries, headings and of what ends in padding."""
    assert said(text) == []


@pytest.mark.parametrize("text", [scattered(3), f"{TOKEN[:6]}=\r\n{TOKEN[6:12]}=\r\n{TOKEN[12:]}"])
def test_a_token_is_masked_as_it_stands(text: str) -> None:
    """By rules alone; the ends of its lines stay where they are."""
    shown = f"it is {text} now\r\n".encode()
    (after,) = scrub_chunks([shown], rows=24, cols=200)

    assert len(after) == len(shown)
    assert after.count(b"\r\n") == shown.count(b"\r\n")
    assert not set(after.decode()) & set("BDFGHJLMNPQR23459")
    assert scrub_chunks([after], rows=24, cols=200) == [after]


def test_many_broken_lines_are_one_text() -> None:
    """However many there are."""
    (one,) = said("aB3=\n" * 20_000)

    assert one == "aB3" * 20_000


def test_a_signature_in_a_query_ends_with_its_padding() -> None:
    """What the next line begins with is no part of it."""
    signature = "PevE3TvJHTZUupwxMIGQpyBZug7hUPvFDRo" + "aB3dE5gH"
    text = f"https://host.example/c/b?sv=2022-11-02&se=2026-12-01&sig={signature}=\nhttps://h.io"

    assert said(text) == []
