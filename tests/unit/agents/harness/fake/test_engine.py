"""What the fake provider does around the APIs: doors, routes, choice, failures, the log."""

from __future__ import annotations

from typing import Any

import pytest

CHAT = "/v1/chat/completions"
ANY = "[[replies]]\ntimes = 0\ntext = 'a'\n"
KEYS = {"accepted_keys": frozenset({"k"})}


def chat(text: str = "hi", **more: Any) -> dict[str, Any]:
    """A request for Chat Completions."""
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def test_replies_are_used_up_in_order(talk: Any) -> None:
    """The first that fits answers; the run knows what was never asked for."""
    said = talk("[[replies]]\ntext='1'\n[[replies]]\ntext='2'\ntimes=2\n[[replies]]\ntext='3'")
    texts = [
        said.json(said.ask(CHAT, chat()))["choices"][0]["message"]["content"] for _ in range(3)
    ]

    assert texts == ["1", "2", "2"]
    assert said.provider.unused == ("replies[2]",)


def test_no_reply_left_says_why_for_each(talk: Any) -> None:
    """Used up, or which condition does not hold."""
    said = talk(
        "[[replies]]\nname='once'\ntext='1'\n"
        "[[replies]]\nname='other'\ntext='2'\nwhen={model='x*', prompt_contains='bye'}"
    )
    said.ask(CHAT, chat())
    exchange = said.ask(CHAT, chat())

    assert exchange.status == 400
    assert "once is used up" in said.provider.problems[0]
    assert "other does not fit (model, prompt_contains)" in said.provider.problems[0]


ONE = "[[replies]]\ntext = 'a'\n"
LOCKED = "auth.require = 'key'\n"
OLD = [
    {"role": "user", "content": "old"},
    {"role": "assistant", "content": "yes"},
    {"role": "user", "content": "new"},
]
JUDGED: dict[str, tuple[str, dict[str, Any], dict[str, Any], int, str]] = {
    # The script; options of the provider; the request, which asks for a chat if it says nothing
    # else; the status, and what the first problem says, or "" where there is none.
    "no replies": ("", {}, {}, 400, "the script has none"),
    **{
        f"when {when}": (f"{ONE}when = {{ {when} }}", {}, {}, *said)
        for when, said in {
            "api = 'chat'": (200, ""),
            "api = 'gemini'": (400, "(api)"),
            "model = 'm?'": (400, "(model)"),
            "after = 'prompt'": (200, ""),
            "after = 'tool'": (400, "(after)"),
            "tools = false": (200, ""),
            "tools = true": (400, "(tools)"),
            "system_contains = 'x'": (400, "(system_contains)"),
            "result_contains = 'x'": (400, "(result_contains)"),
        }.items()
    },
    "only the user's last words are the prompt":
        (f"{ONE}when.prompt_contains = 'old'", {}, {"body": chat(messages=OLD)},
         400, "(prompt_contains)"),
    "a tool that is not offered": ("[[replies]]\nparts=[{tool='rm'}]", {}, {}, 400, "offers: none"),
    "a tool that is not offered on purpose":
        ("[[replies]]\nparts=[{tool='rm', unoffered=true}]", {}, {}, 200, ""),
    "a field that nobody knows is let through and reported":
        ("unknown_fields = 'report'\n" + ANY, {}, {"body": chat(surprise=1)},
         200, "let through: surprise"),
    "an error in mid stream is a plain one without a stream":
        (f"{ONE}error={{status=500}}\nafter_events=1", {}, {}, 500, ""),
    "clients look at the root before they start":
        (ANY, {}, {"path": "/", "method": "HEAD", "body": None}, 200, ""),
    **{
        f"{method} {path}": (ANY, {}, {"path": path, "method": method, "body": None}, status, path)
        for path, method, status in (
            ("/v1/nope", "GET", 404), ("/v1/responses", "GET", 405), ("/v1/models", "POST", 405),
            ("/v1beta/models", "POST", 405), ("/v1beta/models/g:magic", "POST", 404),
            ("/backend-api/wham/usage", "GET", 404),
        )
    },
    "no key is asked for": (ANY, {}, {}, 200, ""),
    "no key": (LOCKED + ANY, {}, {}, 401, ""),
    "a key": (LOCKED + ANY, {}, {"authorization": "Bearer k"}, 200, ""),
    "another scheme": (LOCKED + ANY, {}, {"authorization": "Basic k"}, 401, ""),
    "no key is right": ("auth.require='impossible'\n" + ANY, {}, {"x_api_key": "k"}, 401, ""),
    "the right key": (ANY, KEYS, {"x_goog_api_key": "k"}, 200, ""),
    "the right key in the query": (ANY, KEYS, {"path": f"{CHAT}?key=k"}, 200, ""),
    "a wrong key": (ANY, KEYS, {"x_goog_api_key": "no"}, 401, ""),
    "no key where one is right": (ANY, KEYS, {}, 401, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", JUDGED)
def test_a_request_has_its_status_and_its_problem(talk: Any, case: str) -> None:
    """Who is let in, which reply fits, what no API has; being refused is no problem of the run."""
    script, options, request, status, problem = JUDGED[case]
    said = talk(script, **options)

    assert said.ask(**{"path": CHAT, "body": chat(), **request}).status == status
    assert len(said.provider.problems) == bool(problem)
    assert problem in "".join(said.provider.problems)


def test_scripted_routes_come_first(talk: Any) -> None:
    """JSON, text, status and headers of one path; no key is asked for."""
    said = talk(
        "auth.require = 'key'\n[[routes]]\npath='/v1/models'\njson={a=1}\nheaders={x-y='z'}\n"
        "[[routes]]\npath='/t'\nmethod='POST'\nstatus=204\n[[routes]]\npath='/s'\ntext='s'"
    )
    first = said.ask("/v1/models")

    assert (said.json(first), first.headers["x-y"]) == ({"a": 1}, "z")
    assert said.ask("/t", {}).steps == ()
    assert said.ask("/s").steps[0].data == b"s"


def test_the_log_keeps_what_was_sent_and_withholds_keys(talk: Any) -> None:
    """In the query of Gemini's clients too; what is no JSON is there to be looked at."""
    asked = talk(ANY).ask(f"{CHAT}?key=k", b"\xff{")

    assert asked.entry["query"] == {"key": "(withheld)"}
    assert asked.entry["body"] == "\ufffd{"


def test_the_log_counts_keys_and_withholds_them(talk: Any) -> None:
    """Two keys are two numbers; neither is written down."""
    said = talk(ANY)
    secret = "sk-" + "0" * 20
    first = said.ask(CHAT, chat(), authorization=f"Bearer {secret}")
    second = said.ask(CHAT, chat(), x_api_key="other")
    third = said.ask(CHAT, chat(), authorization=f"Bearer {secret}")

    assert [one.entry["key"] for one in (first, second, third)] == [1, 2, 1]
    assert secret not in str(first.entry)


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        (CHAT, chat(), "rate_limit_exceeded"),
        ("/v1/messages", chat(max_tokens=1), "rate_limit_error"),
        ("/v1beta/models/g:generateContent", {"contents": []}, "RESOURCE_EXHAUSTED"),
    ],
)
def test_a_scripted_failure_speaks_the_apis_words(
    talk: Any, path: str, body: dict[str, Any], kind: str
) -> None:
    """429 with ``retry-after``; it is what the script wants, so no problem."""
    said = talk("[[replies]]\nerror = { status = 429, message = 'slow', retry_after_s = 3 }")
    exchange = said.ask(path, body)

    assert (exchange.status, exchange.headers["retry-after"]) == (429, "3")
    assert kind in str(said.json(exchange))
    assert said.provider.problems == []


def test_disconnects_are_planned(talk: Any) -> None:
    """At once, in the middle of a stream, and in the middle of JSON."""
    cut = "[[replies]]\ntext='hello'\ndisconnect=true\nafter_events=2\ntimes=0"
    at_once = talk("[[replies]]\ndisconnect=true").ask(CHAT, chat())
    stream = talk(cut).ask(CHAT, chat(stream=True))
    whole = talk(cut).ask(CHAT, chat())

    assert (at_once.status, at_once.ending) == (0, "disconnect")
    assert (len(stream.steps), stream.ending) == (2, "disconnect")
    assert (len(whole.steps), whole.ending) == (1, "disconnect")


def test_a_plain_text_ends_the_turn(talk: Any) -> None:
    """Unless the script gives another reason to stop."""
    said = talk(ANY)
    plain = said.json(said.ask(CHAT, chat()))
    message = said.json(said.ask("/v1/messages", chat(max_tokens=1)))

    assert plain["choices"][0]["finish_reason"] == "stop"
    assert message["stop_reason"] == "end_turn"


def test_ids_are_spelled_as_each_api_spells_them(talk: Any) -> None:
    """Of requests, in headers, and of tool calls."""
    said = talk("[[replies]]\ntimes = 0\nparts = [{ tool = 'ls', unoffered = true }]")
    one, two = said.ask("/v1/messages", chat(max_tokens=1)), said.ask(CHAT, chat())
    call = said.json(two)["choices"][0]["message"]["tool_calls"][0]

    assert one.headers["request-id"] == "req_fake_000001"
    assert two.headers["x-request-id"] == "req_fake_000002"
    assert said.json(one)["content"][0]["id"] == "toolu_fake_000001"
    assert call["id"] == "call_fake_000002"


def test_pace(talk: Any) -> None:
    """A delay before the first step, one before each piece of text."""
    said = talk("[pace]\nfirst_ms=50\neach_ms=7\nchunk_chars=2\n[[replies]]\ntext='abcd'")
    steps = said.ask(CHAT, chat(stream=True)).steps

    assert [step.delay_ms for step in steps] == [50, 7, 7, 0, 0]


def test_the_same_requests_get_the_same_bytes(talk: Any) -> None:
    """Ids are counted, not drawn."""
    one, two = talk(ANY), talk(ANY)
    for _ in range(2):
        first = one.ask(CHAT, chat(stream=True))
        second = two.ask(CHAT, chat(stream=True))

    assert first == second
