"""Secrets in what went to pipes: each stream is a text of its own."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.model.records import (
    Harness,
    JournalEvent,
    Output,
    OutputStream,
    SessionMeta,
    StreamKinds,
    Typed,
)
from ptycassette.model.screen import Size
from ptycassette.scrub.session import default_scrubber

PIPES = StreamKinds(stdin="pipe", stdout="pipe", stderr="pipe")
_PARTS = ("gh", "p_", "A1b2C3d4E5f6G7h8I9", "j0K1l2M3n4O5p6Q7r8")
TOKEN = "".join(_PARTS)
SHORT = 12  # of a token: what must not be left in one piece


def scrubbed(meta: SessionMeta, *events: JournalEvent) -> dict[str, bytes]:
    """What is published of each stream."""
    head = msgspec.structs.replace(meta, streams=PIPES)
    texts: dict[str, bytes] = {}
    for event in default_scrubber().events(head, lambda: iter(events)):
        assert isinstance(event, Output | Typed)
        name = event.stream or "" if isinstance(event, Output) else "stdin"
        texts[name] = texts.get(name, b"") + event.data
    return texts


def pieces(text: bytes, cuts: list[int]) -> list[bytes]:
    """``text`` cut there."""
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(places)]


@given(cuts=st.lists(st.integers(0, 10_000), max_size=8), noise=st.booleans())
def test_law_of_splits(cuts: list[int], noise: bool) -> None:
    """However stdout is read, and whatever stderr says in between, the token goes."""
    meta = SessionMeta(
        id="0", argv=("x",), size=Size(24, 80),
        recorded_at="2026-01-01T00:00:00Z", harness=Harness(name="agent"),
    )  # fmt: skip
    text = b'{"log": "' + b"y" * 150 + b'", "token": "' + TOKEN.encode() + b'"}\n'
    events: list[JournalEvent] = []
    for number, piece in enumerate(pieces(text, cuts)):
        events.append(Output(number, piece, "stdout"))
        if noise:
            events.append(Output(number, b"stderr says this\n", "stderr"))
    found = scrubbed(meta, *events)

    assert len(found["stdout"]) == len(text)
    assert found["stdout"] == text.replace(TOKEN.encode(), b"x" * len(TOKEN))
    assert found.get("stderr", b"").replace(b"stderr says this\n", b"") == b""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_each_stream_is_searched(meta: SessionMeta, stream: OutputStream) -> None:
    """A secret goes from the stream that it is in."""
    other: OutputStream = "stderr" if stream == "stdout" else "stdout"
    found = scrubbed(
        meta, Output(0, f"key {TOKEN}\n".encode(), stream), Output(1, b"plain\n", other)
    )

    assert TOKEN[:SHORT].encode() not in found[stream]
    assert found[other] == b"plain\n"


def test_halves_in_two_streams_are_no_secret(meta: SessionMeta) -> None:
    """What one stream ends with and the other one begins with is not one word."""
    found = scrubbed(meta, Output(0, b"fine words", "stdout"), Output(1, b" and more\n", "stderr"))

    assert found == {"stdout": b"fine words", "stderr": b" and more\n"}


def test_stdin_is_searched_over_its_reads(meta: SessionMeta) -> None:
    """Input is a text, too, of which no key is pressed."""
    data = b'{"key": "' + TOKEN.encode() + b'"}'
    found = scrubbed(meta, Typed(0, data[:20]), Typed(1, data[20:], eof=True))

    assert found["stdin"] == data.replace(TOKEN.encode(), b"x" * len(TOKEN))


def test_secret_of_one_stream_goes_from_all(meta: SessionMeta, value: str) -> None:
    """A value that stdin names as a password goes from what the program says of it."""
    found = scrubbed(
        meta,
        Output(0, f"using {value}\n".encode(), "stderr"),
        Typed(1, f"password: {value}\n".encode(), eof=True),
    )

    assert value.encode() not in found["stderr"] + found["stdin"]


def test_what_only_a_screen_shows_is_searched(meta: SessionMeta) -> None:
    """A token that is painted cell by cell is read where it stands, and not over another stream."""
    painted = "".join(f"\x1b[5;{column}H{char}" for column, char in enumerate(TOKEN, 3)).encode()
    found = scrubbed(meta, Output(0, painted, "stdout"), Output(1, b"words\n", "stderr"))
    shown = found["stdout"].decode()

    assert "".join(shown.split("H")[n + 1][:1] for n in range(len(TOKEN))) == "x" * len(TOKEN)
    assert found["stderr"] == b"words\n"
