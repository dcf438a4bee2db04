"""The Gemini API."""

from __future__ import annotations

from typing import Any

import pytest

BASE = "/v1beta/models/g-1"
PARTS = """
[[replies]]
parts = [{ think = "hm" }, { text = "hello you" }, { tool = "ls", arguments = { path = "." } }]
usage = { input = 100, output = 20, cached_input = 40, reasoning_output = 3 }
[pace]
chunk_chars = 5
"""
TOOLS = [{"functionDeclarations": [{"name": "ls"}]}, {"google_search": {}}]


def body(**more: Any) -> dict[str, Any]:
    """A request that this API takes."""
    return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": TOOLS, **more}


def test_an_answer_in_one_piece(talk: Any) -> None:
    """One candidate with all parts, with Gemini's token counts."""
    said = talk(PARTS)
    answer = said.json(said.ask(f"{BASE}:generateContent", body()))
    parts = answer["candidates"][0]["content"]["parts"]

    assert parts[0] == {"text": "hm", "thought": True}
    assert parts[2]["functionCall"]["args"] == {"path": "."}
    assert answer["usageMetadata"] == {
        "promptTokenCount": 100,
        "candidatesTokenCount": 17,
        "totalTokenCount": 120,
        "cachedContentTokenCount": 40,
        "thoughtsTokenCount": 3,
    }


def test_both_streams_say_the_same(talk: Any) -> None:
    """Server-sent events and the JSON array hold the same partial responses."""
    path = f"{BASE}:streamGenerateContent"
    one, two = talk(PARTS), talk(PARTS)
    events = one.events(one.ask(f"{path}?alt=sse", body()))
    array = two.json(two.ask(path, body()))
    texts = [event["candidates"][0]["content"]["parts"][0].get("text", "") for event in events]

    assert events == array
    assert "".join(texts) == "hmhello you"
    assert [event["candidates"][0].get("finishReason") for event in events][-2:] == [None, "STOP"]


def test_a_conversation_with_tools_is_understood(talk: Any) -> None:
    """Both spellings of field names, function calls and responses, other parts."""
    said = talk("[[replies]]\ntext = 'ok'\nwhen = { system_contains = 'be', after = 'tool' }")
    history = [
        {"role": "user", "parts": [{"text": "look"}, {"inline_data": {}}]},
        {
            "role": "model",
            "parts": [{"text": "t", "thought": True}, {"functionCall": {"name": "a"}}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"x": 1}}}]},
    ]
    request = body(contents=history, system_instruction={"parts": [{"text": "be good"}]})

    assert said.ask(f"{BASE}:generateContent", request).status == 200
    assert said.provider.problems == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"surprise": 1}, "surprise"),
        ({"contents": [{"role": "robot"}]}, "unknown role"),
        ({"contents": [{"parts": [{"x": 1}]}]}, "unknown part"),
        ({"tools": [{"magic": {}}]}, "unknown tool 'magic'"),
        ({"tools": [{"functionDeclarations": {}}]}, "expected a list"),
    ],
)
def test_what_is_unknown_is_refused(talk: Any, change: dict[str, Any], told: str) -> None:
    """A wrong request is a 400 in the words of google.rpc.Status."""
    said = talk("[[replies]]\ntext = 'a'")
    exchange = said.ask(f"{BASE}:generateContent", body(**change))

    assert said.json(exchange)["error"]["status"] == "INVALID_ARGUMENT"
    assert told in said.provider.problems[0]


def test_a_body_that_is_no_object_is_refused(talk: Any) -> None:
    """Neither a list nor nonsense is a request."""
    said = talk("")

    assert said.ask(f"{BASE}:generateContent", []).status == 400
    assert said.ask(f"{BASE}:generateContent", b"{").status == 400


def test_tokens_are_counted(talk: Any) -> None:
    """Contents, or a whole request to count."""
    said = talk("")
    contents = {"contents": [{"parts": [{"text": "x" * 40}]}]}
    whole = {"generateContentRequest": contents}

    assert said.json(said.ask(f"{BASE}:countTokens", contents)) == {"totalTokens": 10}
    assert said.json(said.ask(f"{BASE}:countTokens", whole)) == {"totalTokens": 10}


def test_models_are_listed_and_told_one_by_one(talk: Any) -> None:
    """Names carry the prefix of the API."""
    said = talk('[[models]]\nid = "g-1"\nname = "G One"')

    assert said.json(said.ask("/v1beta/models"))["models"][0]["displayName"] == "G One"
    assert said.json(said.ask(BASE))["name"] == "models/g-1"


def test_an_empty_answer_still_ends(talk: Any) -> None:
    """An error breaks a stream off after no events at all."""
    said = talk("[[replies]]\ntext = 'a'\nerror = { status = 503 }\nafter_events = 0")
    events = said.events(said.ask(f"{BASE}:streamGenerateContent?alt=sse", body()))

    assert [event["error"]["status"] for event in events] == ["UNAVAILABLE"]


def test_a_scripted_error_may_have_details(talk: Any) -> None:
    """Clients tell a daily quota from a short one by them."""
    said = talk("[[replies]]\nerror = { status = 429, details = [{ '@type' = 'x' }] }")
    exchange = said.ask(f"{BASE}:generateContent", body())

    assert said.json(exchange)["error"]["details"] == [{"@type": "x"}]


@pytest.mark.parametrize(
    ("headers", "status", "told"),
    [({}, 403, "unregistered"), ({"x_goog_api_key": "k"}, 400, "not valid")],
)
def test_keys_are_refused_in_its_words(
    talk: Any, headers: dict[str, str], status: int, told: str
) -> None:
    """A wrong key is a bad request here."""
    exchange = talk("auth.require = 'impossible'").ask(f"{BASE}:generateContent", body(), **headers)

    assert exchange.status == status
    assert told in exchange.steps[0].data.decode()


def test_free_input_does_not_exist_here(talk: Any) -> None:
    """A tool call with free text is a mistake of the script."""
    said = talk("[[replies]]\nparts = [{ tool = 'ls', input = 'free' }]")

    assert said.ask(f"{BASE}:generateContent", body()).status == 500


def test_a_result_may_name_its_function_alone(talk: Any) -> None:
    """The oldest call of that function which has none yet gets it; one too few is a mistake."""
    said = talk("[[replies]]\ntimes = 0\nwhen = { after = 'tool' }\ntext = 'thanks'")
    calls = [{"functionCall": {"id": one, "name": "ls", "args": {}}} for one in ("a", "b")]
    result = {"functionResponse": {"name": "ls", "response": {"output": "x"}}}

    def status(*results: dict[str, Any]) -> int:
        contents = [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": calls},
            {"role": "user", "parts": list(results)},
        ]
        exchange = said.ask("/v1beta/models/g:generateContent", {"contents": contents})
        return int(exchange.status)

    assert (status(result, result), status(result)) == (200, 400)
    assert said.provider.problems[0].endswith("no tool result for the call 'b'")


def test_its_clients_are_known_at_a_path_that_others_share(talk: Any) -> None:
    """By the header that carries the key."""
    said = talk("[[models]]\nid = 'g'")
    listed = said.json(said.ask("/v1/models", x_goog_api_key="k"))
    one = said.json(said.ask("/v1/models/g", x_goog_api_key="k"))

    assert [model["name"] for model in listed["models"]] == ["models/g"]
    assert one["name"] == "models/g"
