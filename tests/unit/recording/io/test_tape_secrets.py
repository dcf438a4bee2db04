"""No secret of the traffic, the heads or the terminal is in a cassette with a tape."""

from __future__ import annotations

import base64
import gzip
import json
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tape_doubles import META, SECRET, Saved, event, http

from ptycassette.model.records import Output, Typed
from ptycassette.tape.items import (
    AnswerBegun,
    RequestBegun,
    RequestComplete,
    SocketMessage,
    TapeItem,
)

BARE = SECRET.removeprefix("sk-proj-")
WHOLE = event(delta=f"before {SECRET} behind")
PACKED = base64.b64encode(f"key: {SECRET} end of it".encode()).decode()


def pieces(data: bytes, size: int) -> list[bytes]:
    """``data`` cut into pieces."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def socket() -> list[TapeItem]:
    """A WebSocket whose handshake has a token, which comes back in pieces."""
    said = [json.dumps({"delta": part.decode()}).encode() for part in pieces(SECRET.encode(), 6)]
    return [
        RequestBegun(
            t_us=10, exchange=1, connection=1, kind="websocket", method="GET",
            upstream="https://x", target="/r", headers=(("authorization", f"Bearer {BARE}"),),
        ),
        RequestComplete(t_us=10, exchange=1),
        AnswerBegun(t_us=20, exchange=1, status=101),
        SocketMessage(t_us=30, exchange=1, sender="client", data=json.dumps({"k": BARE}).encode()),
        *(SocketMessage(t_us=40, exchange=1, sender="provider", data=data) for data in said),
    ]  # fmt: skip


CASES: dict[str, list[TapeItem]] = {
    "in a question": http(1, {"a": SECRET}, b"{}"),
    "over server-sent events": http(
        1, {}, *[event(delta=part.decode()) for part in pieces(SECRET.encode(), 5)]
    ),
    "over chunks": http(1, {}, *pieces(WHOLE, 3)),
    "in JSON in a string": http(1, {"arguments": json.dumps({"cmd": f"export K={SECRET}"})}, b"{}"),
    "in base64": http(1, {"data": PACKED}, b"{}"),
    "in a packed question": http(
        1,
        gzip.compress(json.dumps({"a": SECRET}).encode()),
        b"{}",
        headers=(("content-encoding", "gzip"),),
    ),
    "in a header that is kept": http(1, {}, b"{}", headers=(("user-agent", f"x {SECRET}"),)),
    "in a header that is dropped": http(1, {"a": BARE}, b"{}", headers=(("x-api-key", BARE),)),
    "in a cookie": http(1, {}, b"{}", answer_headers=(("set-cookie", f"session={SECRET}"),)),
    "in a query": http(1, {}, b"{}", target=f"/v1?key={BARE}"),
    "in a path": http(1, {}, b"{}", target=f"/bot/{SECRET}/x"),
    "in the reason of an end": http(1, {}, b"{}", outcome="provider-gone", detail=f"no {SECRET}"),
    "in the name of a model": http(1, {"model": SECRET}, b"{}"),
    "over messages of a socket": socket(),
}


@pytest.mark.parametrize("case", CASES)
def test_a_secret_is_nowhere(tmp_path: Path, case: str) -> None:
    """Neither as it is, nor in base64, nor in pieces that a reader puts together."""
    saved = Saved(tmp_path, CASES[case], Output(1, b"x"))
    everything = saved.everything()
    answers = b"".join(one.answer() for one in saved.exchanges())
    together = answers.replace(b'"}', b"").replace(b'{"delta": "', b"").replace(b"\n\ndata: ", b"")

    assert BARE.encode() not in everything
    assert PACKED.encode() not in everything
    assert BARE.encode() not in together


def test_what_was_typed_unseen_is_removed_from_bodies(tmp_path: Path) -> None:
    """Only the terminal knows that it is one."""
    word = "horse-" + "Battery9"
    items = http(1, {"q": f"my {word}"}, b"{}", t_us=9000)
    saved = Saved(tmp_path, items, Typed(100, f"{word}\r".encode(), masked=True), Output(1, b"x"))

    assert word.encode() not in saved.everything()


def test_what_the_environment_hides_is_removed_from_bodies(tmp_path: Path) -> None:
    """A value of a variable that is called a token."""
    value = "Xy7Pq2Lm" + "9Rt4Wv8Z"
    meta = msgspec.structs.replace(META, environment={"MY_TOKEN": value})
    saved = Saved(tmp_path, http(1, {"q": value}, b"{}"), Output(1, b"x"), meta=meta)

    assert value.encode() not in saved.everything()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, len(WHOLE) - 1), max_size=6))
def test_where_an_answer_was_cut_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    """Its body is the same however it came."""
    ends = [0, *sorted(set(cuts)), len(WHOLE)]
    parts = [WHOLE[start:end] for start, end in pairwise(ends)]
    saved = Saved(tmp_path_factory.mktemp("cut"), http(1, {}, *parts), Output(1, b"x"))
    [exchange] = saved.exchanges()

    assert exchange.answer() == WHOLE.replace(SECRET.encode(), b"x" * len(SECRET))
    assert [len(data) for _, data in exchange.pieces()] == [*map(len, parts)]


def test_json_stays_json_where_a_number_is_secret(tmp_path: Path) -> None:
    """A mask of letters would not be a number any more."""
    pin = "48392" + "01746"
    answer = event(pin=int(pin), text="ok")
    items = http(1, {"pin": int(pin), "n": 1}, answer, t_us=9000)
    saved = Saved(tmp_path, items, Typed(100, f"{pin}\r".encode(), masked=True), Output(1, b"x"))
    [exchange] = saved.exchanges()

    assert pin.encode() not in saved.everything()
    assert json.loads(exchange.question())["n"] == 1
    assert json.loads(exchange.answer()[6:])["text"] == "ok"


def test_the_address_of_the_proxy_is_masked_and_no_other(tmp_path: Path) -> None:
    """It is another one in each recording. Ports that begin alike are those of others."""
    options = {"tape": {"key": "ab" * 32, "secrets": [], "address": "127.0.0.1:39939"}}
    shown = b"at 127.0.0.1:39939/x, 127.0.0.1:39812, 127.0.0.1:399391\r\n"
    saved = Saved(
        tmp_path,
        http(1, {"local": "127.0.0.1:39812"}, b"{}"),
        Output(500, shown),
        meta=msgspec.structs.replace(META, options=options),
    )

    assert (saved.path / "output.raw").read_bytes() == shown.replace(
        b"127.0.0.1:39939/", b"x" * 15 + b"/"
    )
    assert b"127.0.0.1:39812" in saved.exchanges()[0].question()
