"""Laws of all decoders: what is encoded is read, led back and masked; the rest costs a look."""

from __future__ import annotations

import base64
import hashlib
import json
import quopri
from collections.abc import Callable
from urllib.parse import quote

import pytest

from ptycassette.scrub.decode.decoder import DECODERS, Decoded, DecoderRow, decoded_views
from ptycassette.scrub.mask import mask
from ptycassette.scrub.match import Pattern, canonical
from ptycassette.testing import scrub_chunks

WORDS = "the readable words"
TOKEN = "np" + "m_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def each(form: str) -> Callable[[str], str]:
    """Each character in a form."""
    return lambda text: "".join(form.format(ord(char)) for char in text)


def octal_dump(text: str, offset: str = "{:07o}") -> str:
    """As ``od -c`` prints it."""
    names = {"\n": "\\n", "\t": "\\t", "\0": "\\0", "\xe9": "351"}
    cells = [f"{names.get(char, char):>4}" for char in text]
    rows = [cells[at : at + 16] for at in range(0, len(cells), 16)]
    return "\n".join(f"{offset.format(16 * at)}{''.join(row)}" for at, row in enumerate(rows))


def hex_dump(text: str) -> str:
    """As ``xxd -c 8`` prints it."""
    parts = [text[at : at + 8] for at in range(0, len(text), 8)]
    return "\n".join(
        f"{8 * number:08x}: {part.encode().hex(' ', 2):19}  {part}"
        for number, part in enumerate(parts)
    )


def in_parts(text: str, between: str, width: int = 3) -> str:
    """Parts of a text with something between them."""
    return between.join(text[at : at + width] for at in range(0, len(text), width))


def encoded_message(text: str) -> str:
    """As mail programs send it."""
    return quopri.encodestring(text.encode()).decode()


ENCODINGS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(b"??" + text.encode()).decode().rstrip("="),
    "hex": lambda text: text.encode().hex(),
    "hex upper": lambda text: text.encode().hex().upper(),
    "hex at an odd digit": lambda text: "0" + text.encode().hex(),
    "hex pairs": lambda text: text.encode().hex(" "),
    "hex colons": lambda text: text.encode().hex(":"),
    "hex 0x": lambda text: ", ".join(f"0x{ord(char):02X}" for char in text),
    "hex lines": lambda text: in_parts(f"see {text} and more".encode().hex(), "\r\n", 32),
    "xxd": hex_dump,
    "hexdump -C": lambda text: hex_dump(text).replace(":", " ", 1),
    "od -c": octal_dump,
    "od -c -A x": lambda text: octal_dump(text, "{:07x}"),
    "od -c -A n": lambda text: octal_dump(text, ""),
    "percent": lambda text: quote(text, safe="") + "%21",
    "percent all": each("%{:02X}"),
    "\\u": each("\\u{:04x}"),
    "\\u{}": each("\\u{{{:x}}}"),
    "\\U": each("\\U{:08x}"),
    "\\x": each("\\x{:02x}"),
    "octal": each("\\{:03o}"),
    "json": lambda text: json.dumps(f'say "{text}"'),
    "html": lambda text: f"&lt;{text}&gt;",
    "html decimal": each("&#{};"),
    "html hex": each("&#x{:04X};"),
    "numbers": lambda text: str(list(text.encode())),
    "numbers in lines": lambda text: json.dumps(list(text.encode()), indent=2),
    "typed array": lambda text: f"Uint8Array(18) [\n  {', '.join(map(str, text.encode()))}\n]",
    "characters": lambda text: json.dumps(list(text)),
    "quoted-printable": lambda text: f"key=3D{text}=21",
    "quoted-printable letters": each("={:02X}"),
    "quoted-printable lines": lambda text: encoded_message(f"{'so ' * 23}{text}"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODINGS)
def test_what_is_encoded_is_read_and_masked(name: str) -> None:
    """What leads back is masked there: it decodes to a mask then, and nothing else changes."""
    shown = ENCODINGS[name](WORDS)

    def holding(text: str, words: str) -> list[Decoded]:
        return [v for v in decoded_views(text) if words in v.text.replace("_", " ")]

    view = holding(shown, WORDS)[0]
    start = view.text.replace("_", " ").index(WORDS)
    masked = list(shown)
    for first, last in view.sources(start, start + len(WORDS)):
        masked[first:last] = mask(shown[first:last], view.form_at(start))

    assert len(masked) == len(shown)
    assert not holding("".join(masked), WORDS)
    assert any(
        not set(v.text) & set("aeo") or "xxx" in v.text for v in decoded_views("".join(masked))
    )


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-23T17:01:02.345Z INFO worker id=4a6f686e20446f65 dur=12.345ms path=/x/y/123\n" * 9,
        "".join(f"{hashlib.sha1(bytes([n])).hexdigest()}  file{n}\n" for n in range(99)),  # noqa: S324
        "GET /a?rows=30&cols=48&x=61 timeout=45s wait=60ms\n" * 9,
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n* [x](y)\n* [ ] z\n",
        "[-h] [--all] {+} 'it' \"is\" a + b\n",
        canonical("\u2502 \u26a0\ufe0f \u4e2d\u6587 \u2588\u2588\u2591 50% \u00e9 \u2502\n"),
        "",
    ],
)  # fmt: skip
def test_nothing_is_read_in_ordinary_text(text: str) -> None:
    """Each view is searched again, which costs more than decoding."""
    assert list(decoded_views(text)) == []


@pytest.mark.parametrize("row", DECODERS, ids=lambda row: row.name)
def test_signs_and_hints_hide_nothing(row: DecoderRow) -> None:
    """What a decoder would read in a text has them."""
    for name, encode in ENCODINGS.items():
        text = encode(WORDS)
        hinted = Pattern(row.hint).spans(text) if row.hint else iter(())
        read = [view.text for view in row.read(text, hinted)]

        assert [view.text for view in row.views(text)] == read, name


def test_decoders_have_names_of_their_own() -> None:
    """A row of the table that is there twice would be read twice."""
    names = [row.name for row in DECODERS]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("outer", ["base64", "hex", "percent all", "\\x", "json"])
@pytest.mark.parametrize("inner", ["base64", "hex", "percent all", "\\u", "html decimal"])
def test_what_is_encoded_twice_is_masked(inner: str, outer: str) -> None:
    """By rules alone, and scrubbing again changes nothing."""
    shown = ENCODINGS[outer](ENCODINGS[inner](f"the token {TOKEN} is")).encode() + b"\r\n"
    (after,) = scrub_chunks([shown], rows=40, cols=200)

    assert len(after) == len(shown)
    assert after != shown
    assert scrub_chunks([after], rows=40, cols=200) == [after]
