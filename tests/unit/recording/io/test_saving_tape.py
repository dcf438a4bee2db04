"""Model traffic becomes a part of the cassette: in its order, unpacked, scrubbed, pinned."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tape_doubles import END, IDS, META, SECRET, Saved, event, http

from ptycassette import open_cassette
from ptycassette.cassette.io.verdict import verify_cassette
from ptycassette.model.records import Begun, Noted, Output
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.recording.io.rescrub import find_secrets_left, scrub_cassette
from ptycassette.scrub.io.setup import session_scrubber
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.items import (
    AnswerBegun,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    SocketMessage,
    TapeItem,
)


def test_an_exchange_stands_where_it_happened(tmp_path: Path) -> None:
    """Between what was shown before and after it, with its chunks and their times."""
    answer = event(type="response.created"), event(type="response.completed")
    saved = Saved(
        tmp_path, http(1, {"model": "gpt-5"}, *answer), Output(500, b"before"), Output(1005, b"in"),
        Output(9000, b"after"),
    )  # fmt: skip
    [exchange] = saved.exchanges()
    entry = exchange.entry
    with open_cassette(saved.path) as cassette:
        kinds = [(one.kind, one.seq) for one in cassette.events() if one.kind != "frame"]

    assert [kind for kind, _ in kinds] == [
        *("output", "service-event", "output", "service-event", "service-event", "output", "final")
    ]
    assert [entry.seq, entry.answer and entry.answer.seq, entry.end_seq] == [
        seq for kind, seq in kinds if kind == "service-event"
    ]
    assert exchange.question() == b'{"model": "gpt-5"}'
    assert [(chunk.t_us, data) for chunk, data in exchange.pieces()] == [
        (1020, answer[0]),
        (1021, answer[1]),
    ]
    assert verify_cassette(str(saved.path)).ok


def test_times_count_from_the_start_of_the_program(tmp_path: Path) -> None:
    """The proxy was there before it."""
    tape = tmp_path / "1.tape"
    with TapeJournalFile(tape, origin_us=5_000) as file:
        for item in http(1, {}, b"{}", t_us=3_000):
            file.note(item)
    events = [Begun(0, 7_000), END]
    Finaliser(tape=tape).publish(META, lambda: iter(events), tmp_path / "c")

    [exchange] = open_cassette(tmp_path / "c").tape()
    assert exchange.entry.t_us == 1_000


@pytest.mark.parametrize("packing", ["gzip", "deflate", "zstd", "br"])
def test_bodies_are_unpacked_and_chunks_keep_their_times(tmp_path: Path, packing: str) -> None:
    """A chunk that unpacks to nothing is one of no bytes."""
    packed = _packed(packing, b'{"a": "hello hello hello"}')
    pieces = packed[:1], packed[1:-3], packed[-3:]
    headers = (("content-type", "application/json"), ("content-encoding", packing))
    saved = Saved(
        tmp_path, http(1, packed, *pieces, headers=headers, answer_headers=headers), Output(1, b"x")
    )
    [exchange] = saved.exchanges()
    entry = exchange.entry

    assert exchange.question() == exchange.answer() == b'{"a": "hello hello hello"}'
    assert (entry.packing, entry.answer and entry.answer.packing) == (packing, packing)
    assert entry.answer is not None
    assert [chunk.t_us for chunk in entry.answer.chunks] == [1020, 1021, 1022]
    assert entry.answer.chunks[0].length == 0


def _packed(packing: str, data: bytes) -> bytes:
    if packing == "gzip":
        return gzip.compress(data)
    if packing == "deflate":
        return zlib.compress(data)
    if packing == "zstd":
        zstd = pytest.importorskip("backports.zstd")
        return bytes(zstd.compress(data))
    return bytes(pytest.importorskip("brotli").compress(data))


@pytest.mark.parametrize("packing", ["gzip", "made-up"])
def test_what_cannot_be_unpacked_is_not_kept(tmp_path: Path, packing: str) -> None:
    """A secret in it could not be seen. The entry says so."""
    data = b"\x1f\x8bno gzip " + SECRET.encode()
    headers = (("content-encoding", packing),)
    saved = Saved(tmp_path, http(1, {}, data, answer_headers=headers), Output(1, b"x"))
    [exchange] = saved.exchanges()

    assert SECRET.encode() not in saved.everything()
    assert exchange.answer() == b""
    assert exchange.entry.detail.startswith("answer: ")


def test_a_secret_of_the_tape_is_masked_in_the_terminal(tmp_path: Path) -> None:
    """And one of the terminal in the tape. JSON stays JSON, and lengths stay."""
    question = {"input": f"the key is {SECRET}", "n": 1}
    shown = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi"
    answer = event(delta=f"I saw {shown}")
    half = SECRET[:14].encode()
    saved = Saved(
        tmp_path,
        http(1, question, answer[:20], answer[20:]),
        Output(10, half), Output(20, SECRET[14:].encode() + b"\r\n"),
        Output(5000, f"token {shown}\r\n".encode()),
    )  # fmt: skip
    [exchange] = saved.exchanges()
    everything = saved.everything()

    assert SECRET.encode() not in everything
    assert shown.encode() not in everything
    assert json.loads(exchange.question())["n"] == 1
    assert len(exchange.question()) == len(json.dumps(question))
    assert json.loads(exchange.answer()[6:])
    assert len(exchange.answer()) == len(answer)


def test_credentials_of_heads_are_kept_nowhere(tmp_path: Path) -> None:
    """Not in headers, nor in the target; what a header said is removed everywhere else."""
    password = "Tr0ub4dor" + "-and-3-horses"
    token = "q" + "W9zL4mN8vB2xC6kJ1hG5fD3sA7pO0iU"
    headers = (
        ("content-type", "application/json"),
        ("authorization", f"Bearer {token}"),
        ("x-internal", "whatever"),
    )
    saved = Saved(
        tmp_path,
        http(1, {"say": token}, b"{}", headers=headers, target=f"/v1/x?alt=sse&key={password}"),
        Output(10, f"the token is {token}\r\n".encode()),
    )
    [exchange] = saved.exchanges()

    assert token.encode() not in saved.everything()
    assert password.encode() not in saved.everything()
    assert exchange.entry.headers == (("content-type", "application/json"),)
    assert exchange.entry.target == "/v1/x?alt=sse&key=xxxxxxxx"


def test_ids_stay_as_they_are(tmp_path: Path) -> None:
    """A replay would be at a loss without them."""
    document = {"ids": IDS, "previous_response_id": IDS[2], "input": [{"call_id": IDS[0]}]}
    answer = event(id=IDS[3], response={"id": IDS[2]}, item={"call_id": IDS[0], "id": IDS[4]})
    saved = Saved(tmp_path, http(1, document, answer), Output(1, b"x"))
    [exchange] = saved.exchanges()

    assert json.loads(exchange.question()) == {**document, "ids": list(IDS)}
    assert exchange.answer() == answer


def test_calls_and_tokens_are_service_events_and_sums(tmp_path: Path) -> None:
    """In the words of session logs; the log's own sum is compared."""
    first = http(
        1, {"model": "gpt-5", "input": "hi"},
        event(type="response.output_item.done",
              item={"type": "function_call", "call_id": "call_1", "name": "shell"}),
        event(type="response.completed",
              response={"model": "gpt-5-2026", "usage": {"input_tokens": 4, "output_tokens": 2}}),
    )  # fmt: skip
    second = http(
        2, {"model": "gpt-5", "input": [{"type": "function_call_output", "call_id": "call_1"}]},
        event(type="response.completed",
              response={"model": "gpt-5-2026", "usage": {"input_tokens": 3, "output_tokens": 3}}),
        t_us=3000,
    )  # fmt: skip
    saved = Saved(tmp_path, [*first, *second], Output(1, b"x"))
    with open_cassette(saved.path) as cassette:
        final = cassette.final
    types = [(payload["type"], payload["entry"]) for payload in saved.events()]

    assert types == [
        ("model-request", 1), ("model-answer", 1), ("model-end", 1), ("tool-call", 1), ("usage", 1),
        ("model-request", 2), ("tool-result", 2), ("model-answer", 2), ("model-end", 2),
        ("usage", 2),
    ]  # fmt: skip
    assert final.usage == {"input_tokens": 7, "output_tokens": 5}
    assert final.metadata is not None
    assert final.metadata["tape"]["log_agrees"] is True


@pytest.mark.parametrize(
    ("models", "said", "expected"),
    [
        (
            ("gpt-5-2026-01-01", "gpt-5-nano"),
            {},
            {"cost_usd_at_most": 2 * 2.5 + 20.0 + 0.4, "prices_of": "2026-11-24"},
        ),
        (
            ("gpt-5", "made-up"),
            {},
            {"models_without_price": ["made-up"], "prices_of": "2026-11-24"},
        ),
        ((None, "gpt-5"), {}, {"models_without_price": [""], "prices_of": "2026-11-24"}),
        (("gpt-5", "gpt-5"), {"cost": 0.5}, {}),
    ],
)
def test_what_it_cost_at_most_is_said_where_nobody_says_what_it_cost(
    tmp_path: Path, models: Sequence[str | None], said: dict[str, float], expected: dict[str, Any]
) -> None:
    """By the dated table, for each model what it used; a model without a price has no figure."""
    items = http(9, {"model": "gpt-5"}, b"no tokens", t_us=9000)
    for number, model in enumerate(models, 1):
        usage = {"input_tokens": 1_000_000, "output_tokens": 1_000_000, **said}
        response = {"usage": usage} if model is None else {"model": model, "usage": usage}
        done = event(type="response.completed", response=response)
        items += http(number, {"input": "hi"}, done, t_us=1000 * number)
    saved = Saved(tmp_path, sorted(items, key=lambda item: item.t_us), Output(1, b"x"))
    with open_cassette(saved.path) as cassette:
        metadata = cassette.final.metadata
    assert metadata is not None
    tape = metadata["tape"]
    cost = {"cost_usd_at_most", "models_without_price", "prices_of"}

    assert {name: value for name, value in tape.items() if name in cost} == expected
    assert tape["requests_without_usage"] == 1
    assert set(tape["usage_by_model"]) == {model or "" for model in models}
    assert sum(one["requests"] for one in tape["usage_by_model"].values()) == 2


def test_each_message_of_a_client_is_a_question(tmp_path: Path) -> None:
    """With what came before the next, and the handshake an entry of its own."""
    items: list[TapeItem] = [
        RequestBegun(
            t_us=10, exchange=1, connection=1, kind="websocket", method="GET",
            upstream="https://api.openai.com", target="/v1/responses",
        ),
        RequestComplete(t_us=10, exchange=1),
        AnswerBegun(t_us=20, exchange=1, status=101),
        SocketMessage(t_us=30, exchange=1, sender="client", data=b'{"model":"m"}'),
        SocketMessage(t_us=40, exchange=1, sender="provider", data=b'{"a":1}'),
        SocketMessage(t_us=50, exchange=1, sender="provider", data=b"\0\1", binary=True),
        SocketMessage(t_us=60, exchange=1, sender="client", data=b"{}"),
        ExchangeEnded(t_us=70, exchange=1, outcome="provider-gone", close_code=1006),
    ]  # fmt: skip
    saved = Saved(tmp_path, items, Output(1, b"x"))
    handshake, first, second = saved.exchanges()
    chunks = first.entry.answer.chunks if first.entry.answer is not None else ()

    assert (handshake.entry.kind, handshake.entry.close_code) == ("websocket", 1006)
    assert (first.entry.within, first.question(), first.entry.outcome) == (
        1,
        b'{"model":"m"}',
        "complete",
    )
    assert [(chunk.form, chunk.length) for chunk in chunks] == [("text", 7), ("binary", 2)]
    assert (second.entry.answer, second.entry.outcome) == (None, "provider-gone")


def test_what_breaks_off_is_kept_as_such(tmp_path: Path) -> None:
    """A question without its end, an answer without its end, and no answer at all."""
    whole = http(1, {"a": 1}, b"{", outcome="provider-gone", detail="reset")
    cut = [item for item in http(2, {"a": 2}, t_us=2000) if not isinstance(item, ExchangeEnded)]
    torn = http(3, {"a": 3}, t_us=3000)[:2]
    saved = Saved(tmp_path, [*whole, *cut, *torn], Output(1, b"x"))
    outcomes = [(one.entry.outcome, one.entry.detail) for one in saved.exchanges()]
    left = ("client-gone", "it had not ended when the recording did")

    assert outcomes == [("provider-gone", "reset"), left, left]
    assert [one.entry.answer is None for one in saved.exchanges()] == [False, False, True]
    assert verify_cassette(str(saved.path)).ok


@pytest.mark.slow
def test_equal_bodies_are_stored_once(tmp_path: Path) -> None:
    """However often they were sent."""
    body = {"text": "lorem ipsum " * 100}
    items = [item for number in range(1, 20) for item in http(number, body, b"same")]
    saved = Saved(tmp_path, items, Output(1, b"x"))
    places = {one.entry.body for one in saved.exchanges()}

    assert len(places) == 1
    assert (saved.path / "tape-bodies.bin").stat().st_size < 400


def test_what_packs_too_well_is_stored_loosely(tmp_path: Path) -> None:
    """A reader would take it for a bomb."""
    saved = Saved(tmp_path, http(1, b"0" * 3_000_000, b"1"), Output(1, b"x"))

    assert saved.exchanges()[0].question() == b"0" * 3_000_000
    assert verify_cassette(str(saved.path)).ok


def test_no_traffic_is_a_tape_of_nothing(tmp_path: Path) -> None:
    """The manifest says that traffic was recorded, and that there was none."""
    saved = Saved(tmp_path, [], Output(1, b"x"))

    assert saved.manifest.optional is not None
    assert saved.manifest.optional["tape"]["entries"] == 0
    assert saved.exchanges() == []


def test_a_program_cannot_pass_events_off_as_the_tape(tmp_path: Path) -> None:
    """What it says in the side channel names no entry."""
    lie = {"type": "model-request", "entry": 1}
    saved = Saved(tmp_path, http(1, {}, b"{}"), Noted(1, lie), Output(2, b"x"))
    [exchange] = saved.exchanges()

    assert exchange.entry.seq > 1
    assert verify_cassette(str(saved.path)).ok


def test_a_cassette_with_a_tape_is_scrubbed_again(tmp_path: Path) -> None:
    """What somebody declares later is removed from bodies, too; the rest stays as it was."""
    word = "Zanzibar" + "Quokka77"
    saved = Saved(
        tmp_path,
        [*http(1, {"a": f"the {word} project"}, b"{}"), *http(2, {"b": 1}, b"[1]", t_us=4000)],
        Output(1, f"{word}\r\n".encode()),
    )
    before = [msgspec.to_builtins(one.entry) for one in saved.exchanges()]
    left = find_secrets_left(saved.path, session_scrubber(known=[word]), environment={})
    scrub_cassette(saved.path, session_scrubber(known=[word]), environment={})
    after = [msgspec.to_builtins(one.entry) for one in saved.exchanges()]
    bodies = [entry.pop("body") for entry in (*before, *after)]
    for entry in (*before, *after):
        entry["answer"]["body"].pop("at")
    keys = [entry.pop("key", "") for entry in (*before, *after)]
    for entry in (before[0], after[0]):
        entry.pop("tokens", ())

    assert any(line.startswith("tape:") for line in left)
    assert word.encode() not in saved.everything()
    assert bodies[0]["sha256"] != bodies[2]["sha256"]
    assert bodies[1]["sha256"] == bodies[3]["sha256"]
    assert after == before
    assert (keys[2], keys[3]) == ("", keys[1]), "the key is of a question that is gone"
    assert verify_cassette(str(saved.path)).ok
    assert not find_secrets_left(saved.path, session_scrubber(known=[word]), environment={})


def test_questions_have_keys_and_volatile_tokens(tmp_path: Path) -> None:
    """The same key where only those differ, another where anything else does."""
    first = {"model": "m", "input": [], "metadata": {"session_id": IDS[7]}}
    second = {**first, "metadata": {"session_id": "0" + IDS[7][1:]}}
    third = {**first, "model": "n"}
    items = [
        item
        for number, body in enumerate((first, second, third), 1)
        for item in http(number, body, b"{}", t_us=number * 1000)
    ]
    saved = Saved(tmp_path, items, Output(1, b"x"))
    one, two, three = (exchange.entry for exchange in saved.exchanges())
    question = saved.exchanges()[0].question()
    [token] = [token for token in one.tokens if not token.where]

    assert one.key == two.key != three.key
    assert question[token.offset : token.offset + token.length] == IDS[7].encode()
    assert saved.manifest.optional is not None
    assert "openai" in saved.manifest.optional["tape"]["rules"]
    assert len(saved.manifest.optional["tape"]["rules_digest"]) == 64


def test_a_secret_in_a_question_does_not_change_its_key(tmp_path: Path) -> None:
    """Another run has another secret of that length."""
    other = "sk-proj-" + SECRET[8:][::-1]
    items = [*http(1, {"a": SECRET}, b"{}"), *http(2, {"a": other}, b"{}", t_us=3000)]
    saved = Saved(tmp_path, items, Output(1, b"x"))
    one, two = (exchange.entry for exchange in saved.exchanges())

    assert one.key == two.key
    assert [token.type for token in one.tokens] == ["secret"]
    assert one.tokens[0].name != two.tokens[0].name


def test_the_id_of_a_session_is_no_secret(tmp_path: Path) -> None:
    """Although a request calls it a key; on the screen and in traffic it stays as it is."""
    body = {"prompt_cache_key": IDS[7], "session_id": IDS[7], "turn_id": IDS[7][:10] + "7d-9"}
    shown = Output(1, f"session id: {IDS[7]}\r\n".encode())
    saved = Saved(tmp_path, http(1, body, b"{}"), shown)

    assert json.loads(saved.exchanges()[0].question()) == body
    assert IDS[7].encode() in (saved.path / "output.raw").read_bytes()
