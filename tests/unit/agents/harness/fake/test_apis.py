"""What holds for each API: Anthropic's Messages, Chat Completions, Responses, Gemini's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.places import at, held

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
GEMINI = "/v1beta/models/g-1:generateContent"
GEMINI_STREAM = "/v1beta/models/g-1:streamGenerateContent?alt=sse"
USER = {"role": "user", "content": "hi"}
FUNCTION = {"type": "function", "function": {"name": "ls"}}
CUSTOM = [{"type": "function", "name": "ls"}, {"type": "custom", "name": "patch"}]
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"model": "m", "messages": [USER], "tools": [FUNCTION]},
    MESSAGES: {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [{"name": "ls"}]},
    RESPONSES: {"model": "m", "input": "hi", "tools": CUSTOM},
    GEMINI: {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "ls"}]}, {"google_search": {}}],
    },
}
PARTS = """
[[replies]]
parts = [{ think = "hm" }, { text = "hello you" }, { tool = "ls", arguments = { path = "." } }]
usage = { input = 100, output = 20, cached_input = 40, reasoning_output = 3 }
[pace]
chunk_chars = 5
"""


def streamed(said: Any, api: str, **more: Any) -> list[dict[str, Any]]:
    """The events of a stream."""
    if api == GEMINI:
        return list(said.events(said.ask(GEMINI_STREAM, BODIES[api])))
    return list(said.events(said.ask(api, {**BODIES[api], "stream": True, **more})))


WHOLE: dict[str, dict[str, Any]] = {
    CHAT: {
        "choices.0.message.content": "hello you",
        "choices.0.message.reasoning_content": "hm",
        "choices.0.message.tool_calls.0.function": {"name": "ls", "arguments": '{"path":"."}'},
        "choices.0.finish_reason": "tool_calls",
        "usage.prompt_tokens_details.cached_tokens": 40,
    },
    MESSAGES: {
        "content.0.type": "thinking", "content.1.type": "text", "content.2.type": "tool_use",
        "stop_reason": "tool_use",
        "usage.input_tokens": 60, "usage.cache_read_input_tokens": 40,
    },
    RESPONSES: {
        "output.0.type": "reasoning", "output.1.type": "message",
        "output.2.type": "function_call", "status": "completed",
        "usage.output_tokens_details": {"reasoning_tokens": 3},
    },
    GEMINI: {
        "candidates.0.content.parts.0": {"text": "hm", "thought": True},
        "candidates.0.content.parts.2.functionCall.args": {"path": "."},
        "usageMetadata": {
            "promptTokenCount": 100, "candidatesTokenCount": 17, "totalTokenCount": 120,
            "cachedContentTokenCount": 40, "thoughtsTokenCount": 3,
        },
    },
}  # fmt: skip


@pytest.mark.parametrize("api", WHOLE)
def test_an_answer_in_one_piece(talk: Any, api: str) -> None:
    """Reasoning, text and a tool call, with the token counts of the API."""
    said = talk(PARTS)
    answer = said.json(said.ask(api, BODIES[api]))

    assert held(answer, WHOLE[api]) == WHOLE[api]


# Of the events, what is at a place, joined; and what is at places of the last ones.
STREAMED: list[tuple[str, dict[str, str], dict[str, object]]] = [
    (CHAT,
     {"choices.0.delta.content": "hello you",
      "choices.0.delta.tool_calls.0.function.arguments": '{"path":"."}'},
     {"-1.usage.total_tokens": 120}),
    (MESSAGES,
     {"delta.text": "hello you", "delta.partial_json": '{"path":"."}'},
     {"0.type": "message_start", "-2.type": "message_delta", "-1.type": "message_stop",
      "-2.delta.stop_reason": "tool_use"}),
    (GEMINI,
     {"candidates.0.content.parts.0.text": "hmhello you"},
     {"-1.candidates.0.finishReason": "STOP", "-2.candidates.0.finishReason": None}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "joined", "ends"), STREAMED)
def test_a_stream_says_the_same_in_pieces(
    talk: Any, api: str, joined: dict[str, str], ends: dict[str, object]
) -> None:
    """Put together they are the whole."""
    more = {"stream_options": {"include_usage": True}} if api == CHAT else {}
    events = streamed(talk(PARTS), api, **more)

    assert {place: "".join(at(one, place) or "" for one in events) for place in joined} == joined
    assert held(events, ends) == ends


def test_a_stream_of_chat_ends_with_done_and_tells_usage_where_it_is_asked_for(talk: Any) -> None:
    """Without ``include_usage`` it has none."""
    exchange = talk(PARTS).ask(CHAT, {**BODIES[CHAT], "stream": True})

    assert exchange.steps[-1].data == b"data: [DONE]\n\n"
    assert all("usage" not in event for event in talk(PARTS).events(exchange))


def test_both_streams_of_gemini_say_the_same(talk: Any) -> None:
    """Server-sent events and the JSON array hold the same partial responses."""
    said = talk(PARTS)

    array = said.json(said.ask(GEMINI_STREAM.partition("?")[0], BODIES[GEMINI]))
    assert array == streamed(talk(PARTS), GEMINI)


UNDERSTOOD: list[tuple[str, str, dict[str, Any]]] = [
    # An API, the condition of the reply, and a request with every role, block and tool.
    (CHAT, "result_contains = 'a f', system_contains = 'd'", {"messages": [
        {"role": "developer", "content": "d"},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", **FUNCTION}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a file"},
    ]}),
    (MESSAGES, "result_contains = 'file', after = 'tool'", {"system": "be good", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {}},
        ]},
        {"role": "user", "content": [{
            "type": "tool_result", "tool_use_id": "t1",
            "content": [{"type": "text", "text": "a file"}],
        }]},
        {"role": "system", "content": "more"},
    ]}),
    (RESPONSES, "result_contains = 'a file', tools = true", {
        "instructions": "be good",
        "tools": [*CUSTOM, {"type": "web_search"},
                  {"type": "namespace", "name": "n", "tools": CUSTOM}],
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "d"}]},
            {"type": "message", "role": "user", "content": "look"},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": ""},
            {"type": "function_call_output", "call_id": "c1", "output": "a file"},
            {"type": "custom_tool_call_output", "call_id": "c2",
             "output": [{"type": "input_text", "text": "done"}]},
        ],
    }),
    (GEMINI, "system_contains = 'be', after = 'tool'", {
        "system_instruction": {"parts": [{"text": "be good"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "look"}, {"inline_data": {}}]},
            {"role": "model", "parts": [
                {"text": "t", "thought": True}, {"functionCall": {"name": "a"}},
            ]},
            {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"x": 1}}}]},
        ],
    }),
]  # fmt: skip


@pytest.mark.parametrize(("api", "when", "change"), UNDERSTOOD)
def test_a_conversation_with_tools_is_understood(
    talk: Any, api: str, when: str, change: dict[str, Any]
) -> None:
    """Replies can match a tool's result, wherever an API has it."""
    said = talk(f"[[replies]]\ntext = 'ok'\nwhen = {{ {when} }}")
    exchange = said.ask(api, {**BODIES[api], **change})

    assert (exchange.status, said.provider.problems) == (200, [])
    assert "ok" in str(said.json(exchange))


REFUSED: list[tuple[str, Any, str]] = [
    (MESSAGES, {"max_tokens": None}, "max_tokens"),
    (MESSAGES, {"model": 1}, "$.model"),
    (MESSAGES, {"surprise": 1}, "unknown request field: surprise"),
    (MESSAGES, {"messages": [{"role": "robot", "content": ""}]}, "unknown role 'robot'"),
    (MESSAGES, {"messages": [{"role": "user", "content": 1}]}, "expected a list"),
    (MESSAGES, {"messages": [{"role": "user", "content": [{"type": "x"}]}]},
     "unknown block type 'x'"),
    (MESSAGES, {"messages": [1]}, "expected an object"),
    (MESSAGES, {"tools": [{}]}, "tools[0].name"),
    (MESSAGES, {"messages": [{"role": "user", "content": [{"type": "reasoning"}]}]},
     "messages[0].content[0].type: unknown block type 'reasoning'"),
    (CHAT, {"n": 2}, "one choice"),
    (CHAT, {"messages": [{"role": "robot"}]}, "unknown role"),
    (CHAT, {"tools": [{"type": "magic"}]}, "unknown tool type"),
    (CHAT, {"tools": [{"type": "function"}]}, "tools[0].function"),
    (GEMINI, {"surprise": 1}, "surprise"),
    (GEMINI, {"contents": [{"role": "robot"}]}, "unknown role"),
    (GEMINI, {"contents": [{"parts": [{"x": 1}]}]}, "unknown part"),
    (GEMINI, {"tools": [{"magic": {}}]}, "unknown tool 'magic'"),
    (GEMINI, {"tools": [{"functionDeclarations": {}}]}, "expected a list"),
    (GEMINI, [], "must be a JSON object"),
    (GEMINI, b"{", "not JSON"),
    (RESPONSES, {"input": None}, "input: missing"),
    (RESPONSES, {"background": True}, "background"),
    (RESPONSES, {"tools": [{"type": "magic"}]}, "unknown tool type 'magic'"),
    (RESPONSES, {"input": [{"type": "magic"}]}, "unknown item type 'magic'"),
    (RESPONSES, {"input": [{"type": "local_shell_call", "call_id": "c", "name": "ls"}]},
     "unknown item type 'local_shell_call'"),
    (RESPONSES, {"input": [{"type": ["message"], "role": "user", "content": ""}]},
     "input[0].type: expected a string"),
    (RESPONSES, {"input": [{"role": "robot", "content": ""}]}, "unknown role 'robot'"),
    (RESPONSES, {"previous_response_id": "resp_x"}, "not found"),
    (RESPONSES, {"input": [{"type": "function_call_output", "call_id": "c", "output": ""}]},
     "no call has"),
    (RESPONSES, {"input": [{"type": "function_call", "call_id": "c", "name": "ls"}]},
     "no tool result for the call 'c'"),
]  # fmt: skip


@pytest.mark.parametrize(("api", "change", "told"), REFUSED)
def test_what_an_api_refuses_is_refused_in_its_words(
    talk: Any, api: str, change: Any, told: str
) -> None:
    """A wrong request is a 400 with the error object of the API, and a problem of the run."""
    said = talk("unknown_fields = 'reject'\n[[replies]]\ntext = 'a'")
    exchange = said.ask(api, {**BODIES[api], **change} if isinstance(change, dict) else change)
    error = said.json(exchange)["error"]

    assert exchange.status == 400
    assert {error.get("type"), error.get("status")} & {
        "invalid_request_error", "previous_response_not_found", "INVALID_ARGUMENT",
    }  # fmt: skip
    assert told in error["message"]
    assert told in said.provider.problems[0]


@pytest.mark.parametrize("api", [CHAT, MESSAGES, GEMINI])
def test_free_input_exists_in_responses_alone(talk: Any, api: str) -> None:
    """A tool call with free text is a mistake of the script elsewhere."""
    said = talk("[[replies]]\nparts = [{ tool = 'ls', input = 'free' }]")

    assert said.ask(api, BODIES[api]).status == 500
    assert "free input" in said.provider.problems[0]


@pytest.mark.parametrize(
    ("api", "status", "after", "wanted"),
    [
        (CHAT, 500, 1, {"error.type": "server_error"}),
        (MESSAGES, 529, 2, {"error.type": "overloaded_error"}),
        (RESPONSES, 429, 1,
         {"type": "response.failed", "response.error.code": "rate_limit_exceeded"}),
        (GEMINI, 503, 0, {"error.status": "UNAVAILABLE"}),
    ],
)  # fmt: skip
def test_an_error_breaks_a_stream_off(
    talk: Any, api: str, status: int, after: int, wanted: dict[str, str]
) -> None:
    """After the events that were asked for comes one error in the words of the API, and no more."""
    script = f"[[replies]]\ntext = 'a'\nerror = {{ status = {status} }}\nafter_events = {after}"
    *before, last = streamed(talk(script), api)

    assert len(before) == after
    assert held(last, wanted) == wanted


COUNTED = {"contents": [{"parts": [{"text": "x" * 40}]}]}
MODELS = "[[models]]\nid = 'g-1'\nname = 'G One'\n[[models]]\nid = 'x'\napis = ['gemini']\n"
ANTHROPIC = {"anthropic_version": "2023-06-01"}
GOOGLE = {"x_goog_api_key": "k"}
ASIDE: list[tuple[str, Any, dict[str, str], dict[str, object]]] = [
    # A path, its body and headers, and what is where in the answer; None: nothing.
    ("/v1/models", None, {}, {"data.0.id": "g-1", "data.1": None}),
    ("/v1/models", None, ANTHROPIC,
     {"data.0.id": "g-1", "data.0.display_name": "G One", "data.1": None}),
    ("/v1/models/g-1", None, ANTHROPIC, {"id": "g-1"}),
    ("/v1/models/x", None, ANTHROPIC, {"type": "error"}),
    ("/v1/models", None, GOOGLE, {"models.0.name": "models/g-1"}),
    ("/v1/models/g-1", None, GOOGLE, {"name": "models/g-1"}),
    ("/v1beta/models", None, {}, {"models.0.displayName": "G One"}),
    ("/v1beta/models/g-1", None, {}, {"name": "models/g-1"}),
    ("/v1/messages/count_tokens", {"model": "m", "messages": [{**USER, "content": "x" * 400}]}, {},
     {"input_tokens": 100}),
    ("/v1beta/models/g-1:countTokens", COUNTED, {}, {"totalTokens": 10}),
    ("/v1beta/models/g-1:countTokens", {"generateContentRequest": COUNTED}, {},
     {"totalTokens": 10}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "headers", "wanted"), ASIDE)
def test_models_are_listed_and_tokens_counted(
    talk: Any, path: str, body: Any, headers: dict[str, str], wanted: dict[str, object]
) -> None:
    """As each API does it; where two share a path, the headers say whose client asks."""
    said = talk(MODELS)
    answer = said.json(said.ask(path, body, **headers))

    assert held(answer, wanted) == wanted


def test_a_scripted_error_may_have_details(talk: Any) -> None:
    """Clients of Gemini tell a daily quota from a short one by them."""
    said = talk("[[replies]]\nerror = { status = 429, details = [{ '@type' = 'x' }] }")

    answer = said.json(said.ask(GEMINI, BODIES[GEMINI]))
    assert answer["error"]["details"] == [{"@type": "x"}]


@pytest.mark.parametrize(
    ("headers", "status", "told"), [({}, 403, "unregistered"), (GOOGLE, 400, "not valid")]
)
def test_keys_are_refused_in_the_words_of_gemini(
    talk: Any, headers: dict[str, str], status: int, told: str
) -> None:
    """A wrong key is a bad request there."""
    exchange = talk("auth.require = 'impossible'").ask(GEMINI, BODIES[GEMINI], **headers)

    assert exchange.status == status
    assert told in exchange.steps[0].data.decode()


def test_a_result_of_gemini_may_name_its_function_alone(talk: Any) -> None:
    """The oldest call of that function which has none yet gets it; one too few is a mistake."""
    said = talk("[[replies]]\ntimes = 0\nwhen = { after = 'tool' }\ntext = 'thanks'")
    calls: list[Any] = [
        {"functionCall": {"id": one, "name": "ls", "args": {}}} for one in ("a", "b")
    ]
    result = {"functionResponse": {"name": "ls", "response": {"output": "x"}}}
    statuses: list[int] = []
    for results in ([result, result], [result]):
        turns = [*BODIES[GEMINI]["contents"], {"role": "model", "parts": calls},
                 {"role": "user", "parts": results}]  # fmt: skip
        statuses.append(said.ask(GEMINI, {"contents": turns}).status)

    assert statuses == [200, 400]
    assert said.provider.problems[0].endswith("no tool result for the call 'b'")


NEW = [(api, {"safeguards": {"level": 1}, "new_thing": [1]}) for api in BODIES]


@pytest.mark.parametrize(("api", "fields"), NEW)
def test_a_field_of_a_newer_client_is_let_through_and_named_in_the_log(
    talk: Any, api: str, fields: dict[str, Any]
) -> None:
    """It changes no answer; the log lists it."""
    said = talk("[[replies]]\ntext = 'a'")
    exchange = said.ask(api, {**BODIES[api], **fields})

    assert (exchange.status, said.provider.problems) == (200, [])
    names = [name.replace("_", "").lower() for name in exchange.entry["unknown_fields"]]
    assert names == ["newthing", "safeguards"]


MISTYPED = [
    (MESSAGES, "max_token", "max_tokens"),
    (MESSAGES, "stopSequences", "stop_sequences"),
    (CHAT, "temprature", "temperature"),
    (RESPONSES, "previous_response", "previous_response_id"),
    (RESPONSES, "Instructions", "instructions"),
    (GEMINI, "generationConfigs", "generationConfig"),
]


@pytest.mark.parametrize(("api", "wrong", "right"), MISTYPED)
def test_a_mistyped_field_is_refused(talk: Any, api: str, wrong: str, right: str) -> None:
    """The API would refuse it, and its author wants to know."""
    said = talk("[[replies]]\ntext = 'a'")
    exchange = said.ask(api, {**BODIES[api], wrong: 1})

    assert exchange.status == 400
    assert f"did you mean {right}?" in said.provider.problems[0]
