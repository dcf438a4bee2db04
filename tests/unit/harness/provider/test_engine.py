"""What the fake provider does around the APIs: doors, routes, choice, failures, the log."""

from __future__ import annotations

from typing import Any

import pytest

CHAT = "/v1/chat/completions"
ANY = "[[replies]]\ntimes = 0\ntext = 'a'\n"


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


def test_a_script_without_replies_says_so(talk: Any) -> None:
    """Nothing to choose from."""
    said = talk("")
    said.ask(CHAT, chat())

    assert "the script has none" in said.provider.problems[0]


@pytest.mark.parametrize(
    ("when", "fits"),
    [
        ("api = 'chat'", True),
        ("api = 'gemini'", False),
        ("model = 'm?'", False),
        ("after = 'prompt'", True),
        ("after = 'tool'", False),
        ("tools = false", True),
        ("tools = true", False),
        ("system_contains = 'x'", False),
        ("result_contains = 'x'", False),
    ],
)
def test_conditions(talk: Any, when: str, fits: bool) -> None:
    """Each condition on its own."""
    said = talk(f"[[replies]]\ntext = 'a'\nwhen = {{ {when} }}")

    assert (said.ask(CHAT, chat()).status == 200) is fits


def test_only_the_users_last_words_are_the_prompt(talk: Any) -> None:
    """What the user said before the model's last answer does not count."""
    said = talk("[[replies]]\ntext='a'\nwhen={prompt_contains='old'}")
    history = [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "new"},
    ]

    assert said.ask(CHAT, chat(messages=history)).status == 400


def test_a_tool_that_is_not_offered_is_a_mistake(talk: Any) -> None:
    """Unless the script says that it is on purpose."""
    wrong = talk("[[replies]]\nparts=[{tool='rm'}]")
    meant = talk("[[replies]]\nparts=[{tool='rm', unoffered=true}]")

    assert wrong.ask(CHAT, chat()).status == 400
    assert "offers: none" in wrong.provider.problems[0]
    assert meant.ask(CHAT, chat()).status == 200


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


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/v1/nope", "GET", 404),
        ("/v1/responses", "GET", 405),
        ("/v1/models", "POST", 405),
        ("/v1beta/models", "POST", 405),
        ("/v1beta/models/g:magic", "POST", 404),
        ("/backend-api/wham/usage", "GET", 404),
    ],
)
def test_unknown_paths_and_methods_are_problems(
    talk: Any, path: str, method: str, status: int
) -> None:
    """What no API has is answered with an error and noted."""
    said = talk(ANY)

    assert said.ask(path, method=method).status == status
    assert len(said.provider.problems) == 1


def test_a_connectivity_check_is_answered(talk: Any) -> None:
    """Clients look at the root before they start."""
    said = talk(ANY)

    assert said.ask("/", method="HEAD").status == 200
    assert said.provider.problems == []


@pytest.mark.parametrize(
    ("script", "options", "headers", "status"),
    [
        ("", {}, {}, 200),
        ("auth.require='key'\n", {}, {}, 401),
        ("auth.require='key'\n", {}, {"authorization": "Bearer k"}, 200),
        ("auth.require='key'\n", {}, {"authorization": "Basic k"}, 401),
        ("auth.require='impossible'\n", {}, {"x_api_key": "k"}, 401),
        ("", {"accepted_keys": frozenset({"k"})}, {"x_goog_api_key": "k"}, 200),
        ("", {"accepted_keys": frozenset({"k"})}, {"x_goog_api_key": "no"}, 401),
        ("", {"accepted_keys": frozenset({"k"})}, {}, 401),
    ],
)
def test_keys(
    talk: Any, script: str, options: dict[str, Any], headers: dict[str, str], status: int
) -> None:
    """Who is let in; being refused is no problem of the run."""
    said = talk(script + ANY, **options)

    assert said.ask(CHAT, chat(), **headers).status == status
    assert said.provider.problems == []


def test_a_key_in_the_query_counts(talk: Any) -> None:
    """Gemini takes its key there, too; the log withholds it."""
    said = talk(ANY, accepted_keys=frozenset({"k"}))
    exchange = said.ask(f"{CHAT}?key=k", chat())

    assert exchange.status == 200
    assert exchange.entry["query"] == {"key": "(withheld)"}


def test_the_log_counts_keys_and_withholds_them(talk: Any) -> None:
    """Two keys are two numbers; neither is written down."""
    said = talk(ANY)
    secret = "sk-" + "0" * 20
    first = said.ask(CHAT, chat(), authorization=f"Bearer {secret}")
    second = said.ask(CHAT, chat(), x_api_key="other")
    third = said.ask(CHAT, chat(), authorization=f"Bearer {secret}")

    assert [one.entry["key"] for one in (first, second, third)] == [1, 2, 1]
    assert secret not in str(first.entry)


def test_the_log_keeps_bodies_that_are_no_json(talk: Any) -> None:
    """What was sent is there to be looked at."""
    exchange = talk(ANY).ask(CHAT, b"\xff{")

    assert exchange.entry["body"] == "\ufffd{"


def test_unknown_fields_can_be_let_through(talk: Any) -> None:
    """They are still reported."""
    said = talk("unknown_fields = 'report'\n" + ANY)

    assert said.ask(CHAT, chat(surprise=1)).status == 200
    assert "let through: surprise" in said.provider.problems[0]


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


def test_an_error_in_mid_stream_is_a_plain_error_without_a_stream(talk: Any) -> None:
    """JSON cannot be broken off with an error, so the error comes instead."""
    said = talk("[[replies]]\ntext='a'\nerror={status=500}\nafter_events=1")

    assert said.ask(CHAT, chat()).status == 500


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
