"""Quoted-printable text: which signs of equality are read so, and which are not."""

from __future__ import annotations

import pytest

from ptycassette.scrub.decode.decoder import quoted_printable
from ptycassette.testing import scrub_chunks

TOKEN = "np" + "m_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
BEFORE = "and so forth, on and on, to the end of a line of seventy-six char"


def said(text: str) -> list[str]:
    """What is read in a text."""
    return [view.text for view in quoted_printable(text, iter(()))]


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
        (f"{BEFORE}the rea=\ndable words", f"{BEFORE}the readable words"),
        (f"{BEFORE}the rea=\r\ndable words", f"{BEFORE}the readable words"),
        ("key=3Dthe words=21", "key=the words!"),
        ("pw =E7=81=AB=C3=A4 ok", "pw \xe7\x81\xab\xc3\xa4 ok"),
        ("pa=24=24w=40rd", "pa$$w@rd"),
    ],
)
def test_quoted_printable_is_read_where_there_is_evidence(text: str, meant: str) -> None:
    """And then all of it that is near."""
    assert said(text) == [meant]


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
        "KEY=\nfirst a=12",
        "a=12 b=3F",
        f"{BEFORE}{BEFORE}=\n",
        "a short line=\nand one more",
    ],
)
def test_other_signs_of_equality_stay(text: str) -> None:
    """Those of lists of variables, queries, headings and of what ends in padding."""
    assert said(text) == []


@pytest.mark.parametrize("text", [scattered(3), f"{BEFORE}{TOKEN[:6]}=\r\n{TOKEN[6:]}"])
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
    line = "aB3 " * 18
    (one,) = said(f"{line}=\n" * 9000)

    assert one == line * 9000


def test_a_signature_in_a_query_ends_with_its_padding() -> None:
    """What the next line begins with is no part of it."""
    signature = "PevE3TvJHTZUupwxMIGQpyBZug7hUPvFDRo" + "aB3dE5gH"
    text = f"https://host.example/c/b?sv=2022-11-02&se=2026-12-01&sig={signature}=\nhttps://h.io"

    assert said(text) == []
