"""Bodies of requests: unpacked and decoded within bounds."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest

from ptycassette.agents.harness.fake.script import MAX_BODY_BYTES, read_body, unpacked
from ptycassette.tape.providers.neutral import WireError

from .conftest import Talk

RAW = zlib.compressobj(wbits=-15)
BOMB = zlib.compress(bytes(MAX_BODY_BYTES + 1))


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (b"{}", ""),
        (b"{}", "identity"),
        (gzip.compress(b"{}"), "gzip"),
        (gzip.compress(b"{}"), " X-GZIP "),
        (zlib.compress(b"{}"), "deflate"),
        (RAW.compress(b"{}") + RAW.flush(), "deflate"),
    ],
    ids=["plain", "identity", "gzip", "x-gzip", "deflate", "raw"],  # packed, it holds the time
)
def test_a_packed_body_is_unpacked(packed: bytes, encoding: str) -> None:
    """As HTTP knows it, and deflate without a header, which many send."""
    assert unpacked(packed, encoding) == b"{}"


@pytest.mark.parametrize(
    ("packed", "encoding", "status", "reason"),
    [
        (BOMB, "deflate", 413, "more than 16777216 bytes"),
        (bytes(MAX_BODY_BYTES + 1), "", 413, "more than 16777216 bytes"),
        (b"nonsense", "gzip", 400, "is not gzip"),
        (b"", "deflate", 400, "cut short"),
        (gzip.compress(b"{}")[:-9], "gzip", 400, "cut short"),
        (b"{}", "zstd", 415, "send gzip, deflate or none"),
        (b"{}", "gzip, gzip", 415, "send gzip, deflate or none"),
    ],
    ids=["bomb", "long", "no gzip", "empty", "half", "zstd", "twice"],
)
def test_what_cannot_be_unpacked_is_refused(
    packed: bytes, encoding: str, status: int, reason: str
) -> None:
    """With the status for it."""
    with pytest.raises(WireError, match=reason) as caught:
        unpacked(packed, encoding)

    assert caught.value.status == status


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b"[" * 65 + b"]" * 65, 400, "deeper than 64 levels"),
        (b"[" * 90_000 + b"]" * 90_000, 400, "deeper than 64 levels"),
        (b"[" + b"{}," * 100_000 + b"{}]", 413, "JSON values"),
        (b"[" + b'"",' * 100_000 + b"1]", 413, "JSON values"),
        (b'""' * 300_000 + b"," * 100_001, 413, "JSON values"),
        (b"{", 400, "not JSON"),
        (b"\xff", 400, "not JSON"),
    ],
    ids=["65 levels", "levels", "objects", "texts", "not JSON, texts", "half", "no UTF-8"],
)
def test_a_body_that_is_not_taken_says_why(
    data: bytes, status: int, reason: str, talk: Callable[..., Talk]
) -> None:
    """To the client, in the words of its API, and among the problems."""
    sent = read_body(data)
    chat = talk('[[replies]]\ntext = "hi"')
    answer = chat.ask("/v1/chat/completions", data, authorization="Bearer k")

    assert sent.shown == data.decode("utf-8", "replace")
    assert sent.wrong is not None
    assert reason in sent.wrong.message
    assert (answer.status, reason in chat.json(answer)["error"]["message"]) == (status, True)
    assert reason in chat.provider.problems[0]


@pytest.mark.parametrize(
    "data",
    [b"[" * 64 + b"]" * 64, b'["' + b"," * 200_000 + b'"]', b"1", b'{"a":[{}]}'],
    ids=["64 levels", "commas", "number", "object"],
)
def test_what_is_within_the_bounds_is_taken(data: bytes) -> None:
    """Commas in texts do not count."""
    assert read_body(data).wrong is None


def test_a_message_does_not_quote_megabytes(talk: Callable[..., Talk]) -> None:
    """It goes to the client, the log and the terminal."""
    chat = talk('[[replies]]\ntext = "hi"')
    body = {"model": "m", "messages": [], "x" * 1_000_000: 1}
    answer = chat.ask("/v1/chat/completions", body, authorization="Bearer k")

    assert len(answer.steps[0].data) < 5000
    assert len(chat.provider.problems[0]) < 5000
