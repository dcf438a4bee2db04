"""Masks: as many bytes and cells as what they stand for, in its form."""

from __future__ import annotations

import base64
import textwrap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ptycassette.model.screen import Cursor, Size
from ptycassette.scrub.mask import BASE64, ESCAPED, HEX, NUMBERS, QUOTED, TEXT, VOLATILE, mask
from ptycassette.scrub.match import canonical
from ptycassette.scrub.views.view import View
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.widths import CLUSTER_CLASSES, _unpack
from ptycassette.testing import scrub_chunks
from tests.examples import examples


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (r"\u{68}\u{1F600}\u{9}\n", r"\u{78}\u{00078}\u{9}\n"),
        ("&#104;&#72;&#072;&#1078;&#9;&#128512;", "&#120;&#88;&#120;&#1093;&#9;&#120793;"),
        ("&#x68;&#X0048;&#xA;&amp;a&b", "&#x78;&#X0078;&#x78;&amp;xxx"),
        (r"\u0068\x68\150%68\\ %", r"\u0078\x78\170%78\\ x"),
        (r"\U00000068\U0001F600\Ux", r"\U00000078\U00000078\Ux"),
    ],
)
def test_masked_escapes_stay_escapes_of_the_same_length(text: str, masked: str) -> None:
    """They stand for x, or for what says as little and has as many digits."""
    masked = masked.replace("&#x78;&amp;", "&#xA;&amp;")  # one digit is a control, and stays

    assert mask(text, ESCAPED) == masked


def test_base64_is_masked_in_its_own_form_wherever_it_is_read() -> None:
    """In lines, beside others, in quoted-printable text: no plain letters come among its digits."""
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for before in range(4):
        digits = base64.b64encode(f"{' ' * before}the token {token}".encode() + b" and so on" * 9)
        lines = "\r\n".join(textwrap.wrap(digits.decode(), 76)).encode() + b"=\r\nmore of it\r\n"
        (after,) = scrub_chunks([lines], rows=24, cols=80)

        assert b"xxx" not in after.replace(b"eHh4", b"")
        assert b"xxxx" in base64.b64decode(after.partition(b"=")[0] + b"==")


def test_a_selector_keeps_what_is_before_it_wide() -> None:
    """A digit before U+FE0F is as wide as an emoji, and so is what stands for it."""
    text = "pin 7\xef\xb8\x8f4\xef\xb8\x8f"
    (whole,) = View(text).patches(4, len(text), TEXT)
    (digit,) = View(text).patches(4, 5, TEXT)

    assert whole == (4, b"0\xef\xb8\x8f0\xef\xb8\x8f")
    assert digit == (4, b"0")


CLUSTERS = [
    "a", "7", "#", " ", "\u00a0", "\u00e9", "e\u0301", "\u4e2d", "\uff21", "\u2026", "\u2502",
    "\U0001f1e9\U0001f1ea", "\U0001f1e9", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f44d\U0001f3fd", "\U0001f3fb", "\u2764\ufe0f", "\u26a0", "\u26a0\ufe0f", "7\ufe0f\u20e3",
    "#\u0301\ufe0f", "\u00a9\ufe0f", "\ufe0f", "\ufe0e", "\u200d", "\u200b", "\u00ad", "\u2060",
    "\u0915\u094d\u0937\u093f", "\u0e01\u0e33", "\u0600", "\U000110bd", "\u1112\u1161\u11ab",
    "\ud55c", "\ud55c\u11a8", "\u0bb7\u0bcd", "\U000e0041", "\U00020001",
    "\U0001f9d1\u200d\U0001f680",
]  # fmt: skip
SECRETS = st.lists(
    st.one_of(
        st.sampled_from(CLUSTERS),
        st.characters(exclude_categories=("Cc", "Cs")),
        st.sampled_from(CLUSTERS).map(lambda text: text[-1]),
    ),
    max_size=12,
).map("".join)


def painted(text: bytes) -> tuple[Cursor, list[list[bool]]]:
    """Where the cursor is behind a text, and which cells are the second of a wide character."""
    emulator = default_emulator(Size(rows=5, cols=16))
    emulator.feed(b"before " + text + b" behind")

    rows = emulator.terminal.buf.rows
    return emulator.snapshot().cursor, [[char == "" for char in row.chars] for row in rows]


@pytest.mark.slow
@examples(1000)
@given(SECRETS)
@example("7\u0301\ufe0f")
@example("\U0001f1e9\U0001f1ea\U0001f1eb")
def test_a_mask_takes_the_cells_of_what_it_stands_for(text: str) -> None:
    """Whatever joins into one cell; and as many bytes, which masking again leaves."""
    masked = mask(canonical(text)).encode("latin-1")

    assert len(masked) == len(text.encode())
    assert mask(masked.decode("latin-1")).encode("latin-1") == masked
    assert painted(masked) == painted(text.encode())


@given(SECRETS, st.data())
def test_a_mask_keeps_its_cells_whatever_is_painted_between(text: str, data: st.DataObject) -> None:
    """A colour parts what would join; each character stands for itself."""
    at = data.draw(st.integers(0, len(text)))
    masked = mask(canonical(text)).encode("latin-1").decode()
    shown = [f"{part[:at]}\x1b[1m{part[at:]}".encode() for part in (text, masked)]

    assert painted(shown[0]) == painted(shown[1])


def test_a_byte_order_mark_behind_a_colour_keeps_its_cells() -> None:
    """It paints nothing and joins nothing, and no other character is like that."""
    masked = mask(canonical("a\ufeffb")).encode("latin-1").decode()

    assert painted(f"{masked[:1]}\x1b[1m{masked[1:]}".encode()) == painted(
        "x\x1b[1m\ufeffx".encode()
    )


def test_every_class_of_characters_has_a_stand_in() -> None:
    """Those of the emulator's table, at each length in UTF-8."""
    codes = [
        code for packed in CLUSTER_CLASSES.values() for span in _unpack(packed) for code in span
    ]
    chars = [chr(code) for code in codes if code >= 0xA0]

    assert {mask(canonical(char)) == "" for char in chars} == {False}


def test_a_mask_of_letters_beyond_ascii_says_nothing() -> None:
    """Of two texts of one shape there is one mask."""
    one, other = (
        mask(canonical(text))
        for text in (
            "\u00e9\u4e2d\U0001f600e\u0301\U0001f1e9\U0001f1ea\u0915\u093f",
            "\u00fc\u6587\U0001f642o\u0308\U0001f1eb\U0001f1f7\u0916\u0940",
        )
    )

    assert one == other


@pytest.mark.parametrize(
    ("form", "text", "masked"),
    [
        ("text", "aB9-_ !", "xxxxx x"),
        ("text", canonical("é漢•\U0001f600\u0301"), canonical("·\uff38•\U0001f512\u034f")),
        (HEX, "41 0x4A:ff", "78 0x78:78"),
        (ESCAPED, r"a%41A\x41\101\nz", r"x%78x\x78\170\nx"),
        (VOLATILE, "2026-01-02T10:11:12Z", "0000-00-00X00:00:00X"),
        (NUMBERS, "104, 72,\n 9, 255", "120, 88,\n 9, 120"),
        # A sign of equality without digits is a character like any other.
        (QUOTED, "a=3Db=\nc=\r\nd==g", "x=78x=\nx=\r\nxxxx"),
        # An escape is one digit, the end of a line is none.
        (f"base641{QUOTED}", "QUJD=\nREVG=3DQUJD", "Hh4e=\nHh4e=78h4eH"),
        (TEXT, "a\xff", "x\xff"),  # a byte that is no character is not painted
    ],
)
def test_a_mask_keeps_length_and_form(form: str, text: str, masked: str) -> None:
    """What a secret looked like stays, what it said goes."""
    assert mask(text, form) == masked


@pytest.mark.parametrize("phase", range(4))
def test_masked_base64_decodes_to_x(phase: int) -> None:
    """Whoever decodes a masked stretch finds what masks leave behind."""
    whole = base64.b64encode(b"y" * 30).decode()
    masked = whole[:phase] + mask(whole[phase:], f"{BASE64}{phase}")

    assert set(base64.b64decode(masked)[3:]) == {ord("x")}


@pytest.mark.parametrize("phase", range(4))
def test_masked_base64_in_percent_decodes_to_x(phase: int) -> None:
    """An escape is one digit, and the digits behind it stay in step."""
    whole = base64.b64encode(b"y" * 30).decode()
    masked = mask(whole[phase:12] + "%2B" + whole[13:], f"{BASE64}{phase}{ESCAPED}")
    decoded = base64.b64decode(whole[:phase] + masked.replace("%78", "x"))

    assert "%78" in masked
    assert set(decoded[3:9] + decoded[12:]) == {ord("x")}
