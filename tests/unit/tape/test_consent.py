"""What may leave the machine: approval, forbidden inputs, a budget that stops in time."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.errors import PreflightError, UsageError
from ptycassette.tape import consent
from ptycassette.tape.consent.terms import (
    FORBIDDEN,
    Amount,
    Approval,
    ApprovalNeededError,
    Limit,
    Prices,
    Terms,
    TermsGate,
    approved,
    forbidden_paths,
    search_body,
    without_forbidden,
)
from ptycassette.tape.routing import Origin, OutgoingRequest, QuestionRefusedError

FAR = Origin("https", "api.anthropic.com", 443)
HERE = Origin("http", "127.0.0.1", 9)
PRICES = Prices.parse(Path(consent.__file__).with_name("prices.toml").read_text())
TABLE = Prices.parse("""
version = 1
date = 2026-11-24
[models]
small = { input = 1.0, output = 10.0, context = 5000, max_output = 400 }
""")


def asked(body: Any, *, exchange: int = 1, origin: Origin = HERE, **more: Any) -> OutgoingRequest:
    """A question."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return OutgoingRequest(
        exchange=exchange, origin=origin, method="POST", target="/v1/messages", body=data, **more
    )


def gate(**terms: Any) -> TermsGate:
    """A gate with the small table of prices."""
    return TermsGate(Terms(**terms), TABLE)


def spend(one: TermsGate, exchange: int, usage: dict[str, int], *, status: int = 200) -> None:
    """Answer an exchange."""
    one.begun(exchange, status, {"content-type": "application/json"})
    one.answered(exchange, json.dumps({"id": f"r{exchange}", "usage": usage}).encode())
    one.over(exchange, sent=True)


ASK = {"model": "small", "max_tokens": 100, "messages": []}
BOUND = 1000 + len(json.dumps(ASK)) + 100


def test_what_is_on_this_machine_needs_no_approval() -> None:
    """Nothing leaves it."""
    upstreams = {"a": "http://127.0.0.1:9/v1", "b": "https://elsewhere.example"}

    approved(Terms(), upstreams, "a")
    approved(Terms(), {"a": "http://localhost:9"}, "a")
    assert not Terms().allows(Origin("https", "elsewhere.example", 443))


def test_it_is_shown_what_is_sent_where_and_how_much() -> None:
    """To whoever may agree."""
    upstreams = {"b": "http://[::1]:9", "c": "https://c.example", "a": "https://a.example/x"}
    with pytest.raises(ApprovalNeededError) as raised:
        approved(Terms(limit=Limit(usd=2.5)), upstreams, "a")

    assert raised.value.exit_status == 6
    assert raised.value.text == (
        "what the program sends to its model goes, with your key, to\n"
        "  https://a.example\n"
        "  https://c.example\n"
        "at most: 2.50 USD\n"
        "refused: inputs under the keys holdout, vault, secret, token, auth"
    )


@pytest.mark.parametrize("upstreams", [("*",), ("https://api.openai.com",)])
def test_what_was_approved_passes(upstreams: tuple[str, ...]) -> None:
    """By name, or everything."""
    terms = Terms(upstreams=upstreams)

    approved(terms, {"a": "https://api.openai.com/v1"}, "a")
    approved(terms, {}, "")
    assert terms.allows(Origin("https", "api.openai.com", 443))
    assert terms.allows(FAR) == ("*" in upstreams)


def test_any_host_needs_an_approval() -> None:
    """Of an HTTP proxy nobody knows beforehand where it goes."""
    with pytest.raises(ApprovalNeededError, match="any host that the program asks for"):
        approved(Terms(), {}, "")


def test_an_approval_file_narrows_what_was_asked_for() -> None:
    """The smaller of two limits counts."""
    found = Approval.parse(
        "version = 1\nupstreams = ['https://api.anthropic.com/v1']\n"
        "limit = { requests = 9, usd = 1.0 }\nuntil = 2026-12-01",
        where="a.toml",
    )
    terms = found.terms(Terms(limit=Limit(requests=20, tokens=5)), today=date(2026, 12, 1))

    assert terms.limit == Limit(requests=9, tokens=5, usd=1.0)
    assert terms.allows(FAR)


def test_an_approval_ends() -> None:
    """After its last day."""
    found = Approval.parse(
        "version = 1\nupstreams = ['*']\nlimit = {}\nuntil = 2026-12-01", where="a.toml"
    )

    with pytest.raises(PreflightError, match="held until 2026-12-01"):
        found.terms(Terms(), today=date(2026, 12, 2))


@pytest.mark.parametrize(
    "text",
    [
        "version = 1\nupstreams = ['nowhere']\nlimit = {}",
        "version = 1\nupstreams = ['*']",
        "version = 1\nupstreams = ['*']\nlimit = { usd = -1.0 }",
        "version = 1\nupstreams = ['*']\nlimit = { token = 1 }",
    ],
)
def test_a_wrong_approval_file_is_an_error(text: str) -> None:
    """A limit that is misspelt must not be no limit."""
    with pytest.raises(UsageError):
        Approval.parse(text, where="a.toml")


INPUTS = {
    "a.auth": {"a": {"auth": "x"}},
    "m[1].apiToken": {"m": [1, {"apiToken": "x"}]},
    "vault_path": {"vault_path": ["x"]},
    "HOLDOUT": {"HOLDOUT": {"x": 1}},
    "c.arguments.secret": {"c": {"arguments": '{"secret": "x", "b": 1}'}},
    "HoldOut_Set": {"HoldOut_Set": "x"},
    "hold-out": {"hold-out": "x"},
    "holdouts": {"holdouts": ["x"]},
    "authorization": {"authorization": "x"},
    "oauth2": {"oauth2": "x"},
    "apitoken": {"apitoken": "x"},
    "tokens": {"tokens": ["x"]},
    "clientSecrets": {"clientSecrets": "x"},
    "m[0].content.vault": {"m": [{"role": "tool", "content": '{"vault": "x"}'}]},
    "content[0].text[0].vault": {"content": [{"text": '[{"vault": "x"}]'}]},
    "output.vault": {"output": 'exit 0\n```json\n{\n  "vault": "x"\n}\n```'},
    "output.a.vault": {"output": '{"a": "{\\"vault\\": 1}"}'},
}


@pytest.mark.parametrize("path", INPUTS)
def test_inputs_under_forbidden_keys_are_found(path: str) -> None:
    """At any depth, in any spelling, within the arguments of a call."""
    assert forbidden_paths(INPUTS[path], FORBIDDEN) == [path]


@pytest.mark.parametrize(
    "body",
    [
        {"max_tokens": 1, "author": "x", "authority": 2, "secretary": "x"},
        {"tokens": 5, "budgetTokens": 1, "tokenizer": "x", "authors": ["x"], "metadata": {"a": 1}},
        {"threshold": 1, "output": "x", "hold": 1, "text": "{ token: x }"},
        {"tools": [{"parameters": {"properties": {"token": {"type": "string"}}}}]},
        {"auth": None, "token": "", "secret": False, "vault": []},
        {"text": "my secret token", "arguments": "auth: no JSON"},
    ],
)
def test_other_keys_pass(body: Any) -> None:
    """Names of parameters, empty values, other words."""
    assert forbidden_paths(body, FORBIDDEN) == []


def test_forbidden_inputs_are_left_out_if_asked_for() -> None:
    """The rest is sent on."""
    one = gate(upstreams=("*",), strip=True)

    assert json.loads(one.judge(asked({"a": {"auth": "x", "b": 1}}, origin=FAR)).body) == {
        "a": {"b": 1}
    }


BODIES = {
    "json lines": (b'{"a": 1}\n{"auth": "x"}\n', ""),
    "utf-16": ('{"auth": "x"}'.encode("utf-16"), "application/json"),
    "utf-16 without a mark": ('{"auth": "x"}'.encode("utf-16-le"), ""),
    "utf-8 with a mark": (b'\xef\xbb\xbf{"auth": "x"}', ""),
    "twice": (b'{"auth": "x", "auth": ""}', ""),
    "form": (b"a=1&auth=x", "application/x-www-form-urlencoded"),
    "form, escaped": (b"a=1&%61uth=x", ""),
    "json in a form": (b"a=%7B%22auth%22%3A1%7D", ""),
    "multipart": (
        b'--b\r\ncontent-disposition: form-data; name="auth"\r\n\r\nx\r\n--b--\r\n',
        "multipart/form-data; boundary=b",
    ),
    "json in a multipart": (
        b'--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n{"auth": 1}\r\n--b--\r\n',
        'Multipart/form-data; boundary="b"',
    ),
}


def sent(body: bytes, kind: str) -> OutgoingRequest:
    """A request with a body and its type."""
    headers = (("content-type", kind),) if kind else ()
    return msgspec.structs.replace(asked(body, origin=FAR), headers=headers)


@pytest.mark.parametrize("form", BODIES)
def test_forbidden_inputs_are_found_in_other_bodies(form: str) -> None:
    """Whatever the header claims."""
    with pytest.raises(QuestionRefusedError, match=r"forbidden keys: .*auth"):
        gate(upstreams=("*",)).judge(sent(*BODIES[form]))


UNREAD = {
    "broken": b'{"auth": "x"',
    "protobuf": b"\x0a\x04auth\x12\x01x",
    "text": b"auth is x",
    "broken utf-8": b'{"auth": "\xff"}',
    "too deep": b'{"a":' * 100 + b"1" + b"}" * 100,
}


@pytest.mark.parametrize("form", UNREAD)
def test_a_body_that_cannot_be_searched_is_refused(form: str) -> None:
    """Unless the user lets such bodies pass, or forbids nothing."""
    question = asked(UNREAD[form], origin=FAR)
    with pytest.raises(QuestionRefusedError, match="cannot be ruled out"):
        gate(upstreams=("*",)).judge(question)

    for more in ({"unsearched": True}, {"forbidden": ()}):
        assert gate(upstreams=("*",), **more).judge(question).body == UNREAD[form]


def test_a_form_is_not_rewritten() -> None:
    """``--strip`` changes JSON only; JSON lines stay lines."""
    one = gate(upstreams=("*",), strip=True)
    with pytest.raises(QuestionRefusedError, match="only JSON"):
        one.judge(sent(*BODIES["form"]))

    assert one.judge(sent(*BODIES["json lines"])).body == b'{"a":1}\n{}\n'


PACKED = gzip.compress(b'{"auth": "x"}')


@pytest.mark.parametrize(
    ("upstreams", "question", "says"),
    [
        ((), asked(b"", origin=FAR), r"sending data to https://api.anthropic.com"),
        (("*",), asked({"a": {"auth": "x"}}, origin=FAR), r"forbidden keys: a\.auth$"),
        (("*",), asked(PACKED, origin=FAR, packing="gzip"), "auth"),
        (("*",), asked(PACKED[:-9], origin=FAR, packing="gzip"), "cannot be looked at"),
    ],
    ids=["nobody agreed, not even without a body", "forbidden", "packed", "packed and broken"],
)
def test_a_question_is_refused(
    upstreams: tuple[str, ...], question: OutgoingRequest, says: str
) -> None:
    """The reason names places, never values."""
    with pytest.raises(QuestionRefusedError, match=says):
        gate(upstreams=upstreams).judge(question)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["a", "auth", "myToken", "properties"]), inner)
        ),
        max_leaves=20,
    )
)
def test_nothing_forbidden_is_left(value: Any) -> None:
    """What was taken out is not found again."""
    assert forbidden_paths(without_forbidden(value, FORBIDDEN), FORBIDDEN) == []


@pytest.mark.parametrize(
    ("limit", "left"),
    [
        (Limit(requests=0), "up to 1 requests, and 0 of 0 are left"),
        (Limit(tokens=BOUND - 1), rf"up to {BOUND:,} tokens, and {BOUND - 1:,} of"),
        (Limit(usd=0.001), "USD, and 0.0010 of 0.0010 are left"),
    ],
)
def test_a_question_that_may_exceed_the_budget_is_not_sent(limit: Limit, left: str) -> None:
    """Before anything was spent."""
    with pytest.raises(QuestionRefusedError, match=left):
        gate(limit=limit).judge(asked(ASK))


def test_questions_under_way_count() -> None:
    """Two at once may not cost what only one may."""
    one = gate(limit=Limit(tokens=2 * BOUND - 1))
    one.judge(asked(ASK, exchange=1))
    with pytest.raises(QuestionRefusedError):
        one.judge(asked(ASK, exchange=2))


@pytest.mark.parametrize(
    ("more", "taken"),
    [
        ({"max_tokens": -5}, 400),
        ({"max_tokens": 10, "n": -3}, 10),
        ({"max_tokens": 10, "n": 3}, 30),
        ({"max_tokens": None, "generationConfig": {"maxOutputTokens": 7, "candidateCount": 2}}, 14),
        ({"max_tokens": "many"}, 400),
    ],
)
def test_an_answer_may_be_as_long_as_was_asked_for(more: dict[str, Any], taken: int) -> None:
    """Or as the model can; no number makes room for others."""
    one = gate(limit=Limit(tokens=10**6))
    body = {**ASK, **more}
    one.judge(asked(body))
    one.over(1, sent=True)

    assert one.spent.tokens == 1000 + len(json.dumps(body)) + taken


def test_what_was_used_counts_in_place_of_what_might_have_been() -> None:
    """So the budget lasts."""
    one = gate(limit=Limit(tokens=BOUND + 30))
    for exchange in range(3):
        one.judge(asked(ASK, exchange=exchange))
        spend(one, exchange, {"input_tokens": 7, "output_tokens": 3})

    assert one.spent == Amount(3, 30, pytest.approx(3 * (7 + 30) / 1e6))


def test_an_answer_that_says_nothing_has_cost_all_that_it_might_have() -> None:
    """It may have been billed."""
    one = gate(limit=Limit(tokens=10**6))
    one.judge(asked(ASK))
    one.over(1, sent=True)

    assert one.spent.tokens == BOUND


@pytest.mark.parametrize("sent", [True, False])
def test_what_failed_costs_a_request(sent: bool) -> None:
    """Providers do not bill errors."""
    one = gate(limit=Limit(tokens=10**6))
    one.judge(asked(ASK))
    if sent:
        one.begun(1, 429, {})
    one.over(1, sent=sent)

    assert (one.spent.requests, one.spent.tokens) == (1, 0)


def test_an_unknown_model_is_refused_unless_told() -> None:
    """Where tokens or money are limited."""
    body = {"model": "never-heard-of", "max_tokens": 1}
    with pytest.raises(QuestionRefusedError, match=r"'never-heard-of'.*2026-11-24"):
        gate(limit=Limit(usd=100.0)).judge(asked(body))

    gate(limit=Limit(usd=100.0), unknown_models=True).judge(asked(body))
    gate(limit=Limit(requests=1)).judge(asked(body))


def test_what_the_provider_holds_counts_as_input() -> None:
    """An earlier response with what it took, a file with all that the model takes."""
    one = gate(limit=Limit(tokens=10**6))
    one.judge(asked(ASK, exchange=1))
    spend(one, 1, {"input_tokens": 70, "output_tokens": 3})
    spent = one.spent.tokens
    follow = {**ASK, "previous_response_id": "r1"}
    one.judge(asked(follow, exchange=2))
    one.over(2, sent=True)
    known = one.spent.tokens - spent
    one.judge(asked({**ASK, "previous_response_id": "lost"}, exchange=3))
    one.over(3, sent=True)

    assert known == 1000 + len(json.dumps(follow)) + 73 + 100
    assert one.spent.tokens - spent - known == 1000 + 5000 + 100


@pytest.mark.parametrize("earlier", [["r1"], {"id": "r1"}, 7])
def test_an_earlier_response_that_is_no_text_counts_as_unknown(earlier: object) -> None:
    """The provider refuses it; the proxy must not fail before."""
    one = gate(limit=Limit(tokens=10**6))
    one.judge(asked({**ASK, "previous_response_id": earlier}, exchange=1))
    one.over(1, sent=True)

    assert one.spent.tokens == 1000 + 5000 + 100


def test_requests_that_ask_no_model_are_not_limited() -> None:
    """Lists of models, counts of tokens."""
    one = gate(limit=Limit(requests=0))
    one.judge(asked(b""))
    one.judge(
        OutgoingRequest(**{**_fields(asked(ASK)), "target": "/v1/messages/count_tokens?beta=true"})
    )


def _fields(question: OutgoingRequest) -> dict[str, Any]:
    return {name: getattr(question, name) for name in question.__struct_fields__}


def test_messages_over_a_websocket_are_counted_each() -> None:
    """One exchange holds many questions."""
    one = gate(limit=Limit(requests=2))
    for _ in range(2):
        one.judge(asked({"type": "response.create", **ASK}, over_websocket=True))
        one.said(1, b'{"type": "response.completed", "response": {"id": "r", "usage":'
                    b' {"input_tokens": 5, "output_tokens": 1}}}')  # fmt: skip
    with pytest.raises(QuestionRefusedError, match="budget"):
        one.judge(asked({"type": "response.create", **ASK}, over_websocket=True))

    assert one.spent.tokens == 12


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-5-20250929",
        "gpt-5.1-codex",
        "gpt-4o-2024-08-06",
        "models/gemini-2.5-flash",
        "openai/gpt-4o",
        "claude-3-5-haiku-latest",
    ],
)
def test_models_of_today_are_in_the_table(name: str) -> None:
    """With a vendor before them or a date behind them."""
    assert PRICES.model(name) is not None


@pytest.mark.parametrize("name", ["", "gpt-4o-realtime", "gpt", "claude-sonnet-9"])
def test_a_name_that_only_begins_like_one_is_not_it(name: str) -> None:
    """It may cost something else."""
    assert PRICES.model(name) is None


@pytest.mark.parametrize("odd", ['"\\ud83d"', "123456789012345678901234567890", '"\\ud83d\\ude00"'])
@pytest.mark.parametrize(
    "form",
    [
        '{"odd": %s, "holdout": 1}',
        '{"odd": %s, "holdout": 1}\n{"a": 1}',
        '{"messages": [{"content": "{\\"odd\\": 1, \\"holdout\\": 2}", "odd": %s}]}',
    ],
)
def test_what_only_some_writers_of_json_write_is_left_out_too(form: str, odd: str) -> None:
    """Halves of characters and large integers are read, so the rest of the body is written."""
    body = (form % odd).encode()
    searched = search_body(body, ("holdout",))

    assert len(searched.paths) == 1
    assert searched.left is not None
    assert b"holdout" not in searched.left
    assert odd in "".join(json.dumps(json.loads(line)) for line in searched.left.splitlines())
