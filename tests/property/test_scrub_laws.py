"""Laws of scrubbing: chunks change nothing, lengths stay, readers agree, bytes never harm."""

from __future__ import annotations

import base64
import importlib.util
import random
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ptycassette.scrub.decode.decoder import decoded_views
from ptycassette.scrub.mask import BASE64, ESCAPED, HEX, TEXT, VOLATILE, mask
from ptycassette.scrub.match import _stretches, canonical, squeeze
from ptycassette.scrub.views.view import PrintedView
from ptycassette.testing import scrub_chunks
from tests.examples import examples


def load() -> ModuleType:
    """The generator of cases."""
    path = Path(__file__).parents[1] / "unit" / "scrub" / "secret_cases.py"
    spec = importlib.util.spec_from_file_location("secret_cases_of_laws", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


CASES = load()
STREAM_FORMS = [form for form in CASES.FORMS if form not in CASES.SERVICE_FORMS]

PIECES = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [
            b"\x1b[2J", b"\x1b[H", b"\x1b[3;4H", b"\x1b[K", b"\x1b[31m", b"\r\n", b"\r", b"\b",
            b"\x1b[5@", b"\x1b[4P", b"\x1b[2L", b"\x1b[M", b"\x1b[4h", b"\x1b[4l", b"\x1b[3b",
            b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b]0;title\x07", b"\x1bM", b"\x1b7", b"\x1b8",
            b"\x1b[2;5r", b"\x1b(0", b"\x1b(B", b"\x1b[?7l", b"\x1b[?7h", "│─漢字é\u0301".encode(),
            b"plain words ", b"token=qP7xR2mK9vT4nB8sL3wZ ",
        ]
    ),
)  # fmt: skip
STREAMS = st.lists(PIECES, max_size=25).map(b"".join)


def cut(data: bytes, rng: random.Random) -> list[bytes]:
    """The same bytes in other chunks."""
    chunks, at = [], 0
    while at < len(data):
        step = rng.choice((1, 2, 5, 40, 300))
        chunks.append(data[at : at + step])
        at += step
    return chunks


@pytest.mark.slow
@examples(60)
@given(st.sampled_from(CASES.KINDS), st.sampled_from(STREAM_FORMS), st.integers(0, 1 << 20))
def test_chunks_change_nothing(kind: str, form: str, seed: int) -> None:
    """However the bytes are cut, the scrubbed bytes are the same, and as many."""
    case = CASES.make_case(kind, form, seed, lines=3)
    options: dict[str, Any] = {
        "rows": case.rows,
        "cols": case.cols,
        "known": [case.secret.value],
        "channel": case.channel,
    }
    whole = b"".join(scrub_chunks(case.chunks, **options))
    chunks = cut(b"".join(case.chunks), random.Random(seed))
    pieces = scrub_chunks(chunks, **options)

    if form == "insert-mode":  # docs/scrubbing.md, Limits: a neighbour of the value may go with it
        assert case.secret.value.encode() not in b"".join(pieces)
    else:
        assert b"".join(pieces) == whole
    assert [len(piece) for piece in pieces] == [len(chunk) for chunk in chunks]


@pytest.mark.slow
@examples(60)
@given(st.sampled_from(CASES.KINDS), st.sampled_from(STREAM_FORMS), st.integers(0, 1 << 20))
@example("curl-user", "base64-in-percent", 0)
@example("letters", "overwritten", 130469)
def test_a_known_value_is_gone(kind: str, form: str, seed: int) -> None:
    """In its bytes, whatever the form; scrubbing again changes nothing."""
    case = CASES.make_case(kind, form, seed, lines=3)
    options: dict[str, Any] = {
        "rows": case.rows,
        "cols": case.cols,
        "known": [case.secret.value],
        "channel": case.channel,
    }
    after = scrub_chunks(case.chunks, **options)

    assert case.secret.value.encode() not in b"".join(after)
    assert scrub_chunks(after, **options) == after


@examples(150)
@given(STREAMS)
def test_arbitrary_bytes_keep_their_length_and_controls(data: bytes) -> None:
    """Nothing raises; no control byte changes, and none appears."""
    (after,) = scrub_chunks([data], rows=6, cols=30) or [b""]

    assert len(after) == len(data)
    assert [b for b in after if b < 0x20] == [b for b in data if b < 0x20]


@pytest.mark.parametrize("form", [TEXT, HEX, ESCAPED, VOLATILE, BASE64, f"{BASE64}3"])
@given(
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass").decode("latin-1"))
)
def test_a_mask_keeps_the_length(form: str, text: str) -> None:
    """Of any text in any form; masking twice is masking once."""
    masked = mask(text, form)

    assert len(masked) == len(text)
    assert mask(masked, form) == masked


@given(st.text("ab |\n│", max_size=30), st.lists(st.integers(0, 30), max_size=6, unique=True))
def test_stretches_hold_the_squeezed_characters(text: str, cuts: list[int]) -> None:
    """Joined, the stretches of a span are the span; squeezed text leads back to text."""
    raw = canonical(text)
    squeezed = squeeze(raw)
    marks = sorted(cut for cut in cuts if cut <= len(squeezed))
    spans = [(start, end) for start, end in pairwise(marks) if end > start]
    stretches = _stretches(raw, spans)

    assert [squeeze("".join(raw[a:b] for a, b in parts)) for parts in stretches] == [
        squeezed[start:end] for start, end in spans
    ]


@examples(300)
@given(STREAMS)
def test_the_print_stream_leads_back_to_its_bytes(data: bytes) -> None:
    """Every character of it is the byte that it says; what has none is a line end."""
    raw = data.decode("latin-1")
    view = PrintedView(raw, base=7)
    places = dict.fromkeys(range(len(view.text)), -1)
    for at, length, offset in view.pieces(0, len(view.text)):
        places.update((at + step, offset + step - 7) for step in range(length))

    assert all(
        char == (raw[places[at]] if places[at] >= 0 else "\n") for at, char in enumerate(view.text)
    )


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=10, max_size=40),
       st.binary(max_size=3), st.binary(max_size=3), st.booleans())  # fmt: skip
def test_every_printable_text_in_base64_is_decoded(
    text: str, before: bytes, after: bytes, url_safe: bool
) -> None:
    """Whatever stands before it, and in either alphabet."""
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    encoded = "+" + encode(before + text.encode() + after).decode().rstrip("=")

    assert any(text in view.text for view in decoded_views(encoded))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=10, max_size=40),
       st.sampled_from(["", " ", ":", ", ", "0x"]), st.sampled_from(["", "a", "zz"]))  # fmt: skip
def test_every_printable_text_in_hexadecimal_is_decoded(
    text: str, between: str, before: str
) -> None:
    """However the pairs are set apart."""
    encoded = before + between.join(f"{byte:02x}" for byte in text.encode())

    assert any(text in view.text for view in decoded_views(encoded))
