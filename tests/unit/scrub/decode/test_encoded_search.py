"""Known values in encodings that do not look like text: what is read, and what is left alone."""

from __future__ import annotations

import base64

import pytest

from ptycassette.scrub.decode.decoder import EncodedSearch
from ptycassette.scrub.match import canonical
from ptycassette.testing import scrub_chunks

UMLAUTS = "\u00e4K7\u00f6\u00fc\u00df\u00e9" + "\u00f1\u00e7B\u00f8\u00e5\u017e\u01422"
SIGNS = "\u6f22\u5b57\u5bc6\u78bc\u79d8" + "\u9375\u5c71\u5ddd7x"
SHORT = "k7Qz" + "w9Lm"


def sought(*values: str) -> EncodedSearch:
    """What looks for values."""
    result = EncodedSearch()
    for value in values:
        result.add(canonical(value))
    return result


def test_of_a_run_of_ascii_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoder reads it: what is done for a long value with one other letter is little."""
    encoded: list[bytes] = []

    def counted(raw: bytes) -> bytes:
        encoded.append(raw)
        return base64.b64encode(raw)

    monkeypatch.setattr("ptycassette.scrub.decode.decoder.b64encode", counted)
    few, many = sought("\u00fc" + "q7Kz" * 20), sought("\u00fc" + "q7Kz" * 400 + "\u00fc")
    text = base64.b64encode(("q7Kz" * 400 + "\u00fc").encode()).decode()

    assert len(encoded) < 100
    assert not list(few.views(text))
    assert list(many.views(text))


@pytest.mark.parametrize("skip", range(4))
@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("value", [UMLAUTS, SIGNS, SHORT, SHORT[:6]])
def test_such_a_value_is_read_in_base64_at_every_place(value: str, shift: int, skip: int) -> None:
    """Whatever stands before it in the text and in the encoding, and in both alphabets."""
    raw = bytes(shift) + value.encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = "A" * skip + encode(raw).decode().rstrip("=")
        (view,) = sought(value).views(text)
        start = view.text.index(canonical(value))

        assert view.source(start, start + 3) == (
            skip + shift * 8 // 6,
            skip + -(-(shift + 3) * 8 // 6),
        )


@pytest.mark.parametrize("value", [UMLAUTS, SIGNS, SHORT])
def test_such_a_value_is_read_in_hexadecimal(value: str) -> None:
    """In pairs as programs print them, beginning at an odd digit too."""
    raw = value.encode()
    listed = ", ".join(f"0x{byte:02X}" for byte in raw)
    for text in (raw.hex(), "0" + raw.hex(" "), raw.hex().upper() + "7", listed):
        (view,) = [one for one in sought(value).views(text) if canonical(value) in one.text]
        start = view.text.index(canonical(value))
        first, last = view.source(start, start + 2)

        assert text[first:last].replace(", 0x", "").replace(" ", "").lower() == raw[:2].hex()


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(bytes(range(256))).decode(),
        bytes(range(256)).hex(),
        base64.b64encode(b"a text of words and more").decode(),
        b"a text of words and more".hex(),
    ],
)
def test_nothing_else_is_read(text: str) -> None:
    """What holds no such value, and what the decoder reads."""
    assert list(sought(UMLAUTS, SHORT).views(text)) == []


def test_values_that_the_decoder_reads_are_not_sought() -> None:
    """Nor is what is too short, or comes when there are too many."""
    some = sought("a" * 10, "b" * 5, *(f"w{number:05}" for number in range(600)))

    assert list(some.views(base64.b64encode(b"aaaaaaaaaa").decode())) == []
    assert list(some.views(base64.b64encode(b"w00511").decode())) != []
    assert list(some.views(base64.b64encode(b"w00512").decode())) == []


@pytest.mark.parametrize("value", [UMLAUTS, SIGNS, SHORT])
def test_such_a_value_is_masked_in_its_encoding(value: str) -> None:
    """What stands around it stays, and so does its length."""
    text = f"say {value} friend"
    shown = base64.b64encode(text.encode()) + b" " + text.encode().hex().encode() + b"\r\n"
    (after,) = scrub_chunks([shown], rows=24, cols=200, known=[value])
    encoded, pairs = after.split()
    width = len(value.encode())

    assert len(after) == len(shown)
    assert base64.b64decode(encoded).decode() == f"say {'x' * width} friend"
    assert bytes.fromhex(pairs.decode()).decode() == f"say {'x' * width} friend"
    assert scrub_chunks([after], rows=24, cols=200, known=[value]) == [after]
