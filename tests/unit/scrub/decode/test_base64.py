"""Base64: in a line and over the ends of lines, and the digits that say it."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from ptycassette.scrub.decode.decoder import Decoded, decoded_views
from ptycassette.scrub.mask import BASE64, mask
from ptycassette.testing import scrub_chunks

TOKEN = "np" + "m_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
TEXT = f"# as it was on Monday, some \u00e9\n\ttoken = '{TOKEN}' # the second\nand a third line.\n"


def over_lines(text: str) -> list[Decoded]:
    """What goes over the ends of lines."""
    views = [view for view in decoded_views(text) if view.form == BASE64]
    return [view for view in views if "\n" in text[slice(*view.source(0, len(view.text)))]]


def lines(raw: bytes, width: int, *, indent: str = "") -> str:
    """``raw`` as programs print it."""
    digits = base64.b64encode(raw).decode()
    return "\n".join(indent + digits[at : at + width] for at in range(0, len(digits), width))


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("skip", range(4))
def test_text_is_read_at_every_alignment(skip: int, encode: Any) -> None:
    """What stands before the encoded text shifts it by any number of characters."""
    said = "k?=~?aB3>x"
    text = "A" * skip + encode(said.encode()).decode().rstrip("=")
    (view,) = [view for view in decoded_views(text) if said in view.text]
    start = view.text.index(said)

    assert view.source(start, start + len(said)) == (skip, skip + 14)


@pytest.mark.parametrize(
    "text", [base64.b64encode(bytes(60)).decode(), base64.b64encode(b"too short").decode(), "a" * 9]
)
def test_other_digits_are_not_read(text: str) -> None:
    """An image is not text; what is shorter than what rules find is left to known values."""
    assert list(decoded_views(text)) == []


@pytest.mark.parametrize("before", ["", "data: ", "data:x/y;base64,", "ab+", "abc/"])
@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize("width", [64, 70, 76])
def test_text_in_lines_is_one(width: int, indent: str, before: str) -> None:
    """Wherever the first line begins, and whatever stands before it."""
    text = f"{before}{lines(TEXT.encode(), width, indent=indent)}\nnothing else"
    views = [view for view in over_lines(text) if TOKEN in view.text]
    start = views[0].text.index(TOKEN)
    first, last = views[0].source(start, start + len(TOKEN))
    masked = text[:first] + mask(text[first:last], views[0].form_at(start)) + text[last:]
    digits = "".join(masked.removeprefix(before).removesuffix("nothing else").split())

    assert "x" * len(TOKEN) in base64.b64decode(digits).decode("latin-1")
    assert len(views) == 1


def test_two_blocks_are_two_texts() -> None:
    """Whatever the lengths of their lines."""
    one, two = (
        lines(f"{word} line of many words ".encode() * 4, 64) for word in ("first", "other")
    )

    for text in (f"{one}\n{two}\n", f"{one[:129]}{'A' * 70}\n{two}"):
        said = " ".join(view.text for view in over_lines(text))

        assert "first line of many words first" in said
        assert "other line of many words other" in said


@pytest.mark.parametrize(
    "text",
    [
        lines(b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(60)), 76),
        lines(b"only one line of words", 76),
        "a\nlist\nof\nwords",
        f"{'a' * 40}\n",
        "\n".join(hashlib.sha256(b"%d" % n).hexdigest() for n in range(9)),
    ],
)
def test_binary_data_and_lists_are_no_text(text: str) -> None:
    """They cost a look and give nothing to search."""
    assert over_lines(text) == []


def test_the_end_of_a_line_is_no_digit() -> None:
    """The digits behind it go on where those before it ended."""
    assert mask("ab\n  cdef", f"{BASE64}1") == "Hh\n  4eHh"


@pytest.mark.parametrize("cols", [40, 60, 200])
def test_a_token_is_masked_on_any_terminal(cols: int) -> None:
    """Also where a row is narrower than a line."""
    shown = lines(TEXT.encode(), 76).replace("\n", "\r\n").encode() + b"\r\n"
    (after,) = scrub_chunks([shown], rows=24, cols=cols)

    head, said, tail = base64.b64decode(after).partition(b"x" * len(TOKEN))

    assert [TEXT.encode().startswith(head[:-1]), TEXT.encode().endswith(tail[1:])] == [True, True]
    assert said
    assert scrub_chunks([after], rows=24, cols=cols) == [after]
