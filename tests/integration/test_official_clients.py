"""The fake provider, and the tape's proxy before it, judged by the providers' own Python clients.

The clients are no dependencies; where one is not installed its tests are skipped.
`.ci/run` installs them:

    pip install anthropic openai google-genai websockets

What they read is also held against their own models, required fields and all, because
they are lenient when they only read.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.tape.io.running_proxy import start_proxy

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
]

SCRIPT = """
version = 1
auth.require = "key"
[pace]
chunk_chars = 4
[[models]]
id = "first"
name = "The first"
[[models]]
id = "second"
[limits.anthropic]
status = "allowed"
five_hour = { utilization = 0.42, resets_in_s = 7200 }
requests = { limit = 50, remaining = 49, resets_in_s = 60 }
[limits.openai]
tokens = { limit = 30000, remaining = 29000, resets_in_s = 60 }
[[replies]]
times = 0
when = { prompt_contains = "say", after = "prompt" }
text = "hello from afar"
usage = { input = 1200, output = 34, cached_input = 200, reasoning_output = 4 }
[[replies]]
times = 0
when = { prompt_contains = "think" }
parts = [{ think = "let me see" }, { text = "here" }]
[[replies]]
times = 0
when = { prompt_contains = "look", after = "prompt" }
parts = [{ text = "Looking." }, { tool = "look", arguments = { at = "the sky", often = 3 } }]
[[replies]]
times = 0
when = { after = "tool", result_contains = "blue" }
text = "It is blue."
[[replies]]
times = 0
when = { prompt_contains = "limit" }
error = { status = 429, message = "slow down", retry_after_s = 7 }
[[replies]]
times = 0
when = { prompt_contains = "overload" }
error = { status = 529, message = "too much" }
[[replies]]
times = 0
when = { prompt_contains = "unavailable" }
error = { status = 503, message = "too much" }
[[replies]]
times = 0
when = { prompt_contains = "drop" }
disconnect = true
[[replies]]
times = 0
when = { prompt_contains = "break" }
text = "one two three four five six"
disconnect = true
after_events = 5
[[replies]]
times = 0
when = { prompt_contains = "fail" }
text = "one two three four five six"
error = { status = 529, message = "too much" }
after_events = 5
"""
# What the clients' HTTP libraries raise when a connection breaks; which one they use varies.
BROKEN: tuple[type[Exception], ...] = (ConnectionError,)
for name in ("httpx", "httpx2"):
    if importlib.util.find_spec(name) is not None:
        BROKEN = (*BROKEN, importlib.import_module(name).HTTPError)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"at": {"type": "string"}, "often": {"type": "integer"}},
    "required": ["at"],
}
WANTED = {"at": "the sky", "often": 3}


class BehindProxy:
    """The fake provider as it looks from behind the proxy that records tapes."""

    def __init__(self, server: FakeProviderServer, url: str) -> None:
        self._server = server
        self.url, self.openai_url = url, f"{url}/v1"

    def __getattr__(self, name: str) -> Any:
        """All else."""
        return getattr(self._server, name)


@pytest.fixture(params=["direct", "behind the tape's proxy"])
def provider(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """The script, served; whatever was unexpected fails the test."""
    with FakeProviderServer(Script.parse(SCRIPT)) as server:
        if request.param == "direct":
            yield server
        else:
            journal = tmp_path / "a.tape"
            with start_proxy(journal=journal, provider=server.url, environment={}) as proxy:
                yield BehindProxy(server, proxy.environment["ANTHROPIC_BASE_URL"])
                assert (proxy.problem, proxy.reports) == (None, [])
    assert server.problems == ()


def held(told: Any) -> Any:
    """An object of a client, held against the model that it says it is."""
    type(told).model_validate(told.to_dict(mode="json"))
    return told


class TestAnthropic:
    """The Messages API."""

    @pytest.fixture
    def client(self, provider: FakeProviderServer) -> Any:
        """A client that does not try twice."""
        module = pytest.importorskip("anthropic")
        return module.Anthropic(base_url=provider.url, api_key="k", max_retries=0)

    @staticmethod
    def ask(prompt: str, **more: Any) -> dict[str, Any]:
        """The arguments of a call."""
        messages = [{"role": "user", "content": prompt}]
        return {"model": "first", "max_tokens": 100, "messages": messages, **more}

    def test_an_answer_and_its_usage(self, client: Any) -> None:
        """Cached input counts beside the rest."""
        told = held(client.messages.create(**self.ask("say it", system="be short")))

        assert (told.content[0].text, told.stop_reason) == ("hello from afar", "end_turn")
        assert (told.usage.input_tokens, told.usage.cache_read_input_tokens) == (1000, 200)
        assert told.usage.output_tokens == 34

    def test_a_stream(self, client: Any) -> None:
        """Event by event, and put together by the client."""
        with client.messages.stream(**self.ask("say it")) as stream:
            events = [held(event) for event in stream if event.type != "text"]
            text = stream.get_final_text()
            final = held(stream.get_final_message())

        assert text == "hello from afar"
        assert (events[0].type, events[-1].type) == ("message_start", "message_stop")
        assert final.usage.output_tokens == 34

    def test_thoughts(self, client: Any) -> None:
        """With a signature, before the text."""
        thinking = {"type": "enabled", "budget_tokens": 1024}
        with client.messages.stream(**self.ask("think", thinking=thinking)) as stream:
            final = held(stream.get_final_message())

        assert [block.type for block in final.content] == ["thinking", "text"]
        assert (final.content[0].thinking, bool(final.content[0].signature)) == ("let me see", True)

    def test_a_tool_call_and_its_result(self, client: Any) -> None:
        """Streamed arguments come together; the result is taken."""
        tools = [{"name": "look", "description": "d", "input_schema": SCHEMA}]
        asked = self.ask("look up", tools=tools)
        with client.messages.stream(**asked) as stream:
            final = held(stream.get_final_message())
        call = final.content[1]
        asked["messages"] += [
            {"role": "assistant", "content": final.content},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "blue"}],
            },
        ]
        told = held(client.messages.create(**asked))

        assert (call.name, call.input, final.stop_reason) == ("look", WANTED, "tool_use")
        assert told.content[0].text == "It is blue."

    def test_models_and_counts(self, client: Any) -> None:
        """The list, one of them, and a count."""
        listed = [held(one) for one in client.models.list()]
        asked = self.ask("say it")
        del asked["max_tokens"]

        assert [one.display_name for one in listed] == ["The first", "second"]
        assert held(client.models.retrieve("second")).id == "second"
        assert held(client.messages.count_tokens(**asked)).input_tokens > 0

    def test_headers(self, client: Any) -> None:
        """Limits and the id of the request."""
        raw = client.messages.with_raw_response.create(**self.ask("say it"))

        assert raw.headers["anthropic-ratelimit-requests-remaining"] == "49"
        assert raw.headers["anthropic-ratelimit-unified-5h-utilization"] == "0.42"
        assert raw.request_id == raw.parse()._request_id != ""

    def test_errors_have_the_clients_own_types(self, client: Any) -> None:
        """401, 429 with its wait, 529, a broken connection."""
        anthropic = pytest.importorskip("anthropic")

        locked = Script.parse("version = 1\nauth.require = 'impossible'")
        with (
            FakeProviderServer(locked) as server,
            pytest.raises(anthropic.AuthenticationError) as refused,
        ):
            client.with_options(base_url=server.url).messages.create(**self.ask("say it"))
        with pytest.raises(anthropic.RateLimitError) as limited:
            client.messages.create(**self.ask("limit"))
        with pytest.raises(anthropic.InternalServerError) as overloaded:
            client.messages.create(**self.ask("overload"))
        with pytest.raises(anthropic.APIConnectionError):
            client.messages.create(**self.ask("drop"))

        assert refused.value.body["error"]["type"] == "authentication_error"
        assert limited.value.response.headers["retry-after"] == "7"
        assert overloaded.value.status_code == 529
        assert overloaded.value.body["error"]["type"] == "overloaded_error"

    def test_streams_break(self, client: Any) -> None:
        """By an error event, and without a word."""
        anthropic = pytest.importorskip("anthropic")

        with (
            pytest.raises(anthropic.APIStatusError, match="too much"),
            client.messages.stream(**self.ask("fail")) as stream,
        ):
            stream.until_done()
        with (
            pytest.raises((*BROKEN, anthropic.APIConnectionError)),
            client.messages.stream(**self.ask("break")) as stream,
        ):
            stream.until_done()


class OpenAi:
    """What both APIs of OpenAI share."""

    @pytest.fixture
    def client(self, provider: FakeProviderServer) -> Any:
        """A client that does not try twice."""
        module = pytest.importorskip("openai")
        return module.OpenAI(base_url=provider.openai_url, api_key="k", max_retries=0)


class TestChatCompletions(OpenAi):
    """The older API of OpenAI."""

    @staticmethod
    def ask(prompt: str, **more: Any) -> dict[str, Any]:
        """The arguments of a call."""
        return {"model": "first", "messages": [{"role": "user", "content": prompt}], **more}

    def test_an_answer_and_its_usage(self, client: Any) -> None:
        """Cached and reasoning tokens are parts of the counts."""
        told = held(client.chat.completions.create(**self.ask("say it")))

        assert told.choices[0].message.content == "hello from afar"
        assert (told.usage.prompt_tokens, told.usage.completion_tokens) == (1200, 34)
        assert told.usage.prompt_tokens_details.cached_tokens == 200
        assert told.usage.completion_tokens_details.reasoning_tokens == 4

    def test_a_stream(self, client: Any) -> None:
        """With usage where it was asked for."""
        asked = self.ask("say it", stream=True, stream_options={"include_usage": True})
        chunks = [held(chunk) for chunk in client.chat.completions.create(**asked)]
        text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)

        assert text == "hello from afar"
        assert chunks[-1].usage.completion_tokens == 34
        assert chunks[-2].choices[0].finish_reason == "stop"

    def test_a_tool_call_and_its_result(self, client: Any) -> None:
        """Put together by the client's own helper for streams."""
        tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
        asked = self.ask("look up", tools=tools)
        with client.chat.completions.stream(**asked) as stream:
            stream.until_done()
            message = stream.get_final_completion().choices[0].message
        (call,) = message.tool_calls
        asked["messages"] += [
            {
                "role": "assistant",
                "content": message.content,
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {
                            "name": call.function.name,
                            "arguments": call.function.arguments,
                        },
                    }
                ],
            },
            {"role": "tool", "tool_call_id": call.id, "content": "blue"},
        ]
        told = held(client.chat.completions.create(**asked))

        assert json.loads(call.function.arguments) == WANTED
        assert told.choices[0].message.content == "It is blue."

    def test_models(self, client: Any) -> None:
        """The list, and one of them."""
        assert [held(one).id for one in client.models.list()] == ["first", "second"]
        assert held(client.models.retrieve("second")).id == "second"

    def test_headers(self, client: Any) -> None:
        """Limits and the id of the request."""
        raw = client.chat.completions.with_raw_response.create(**self.ask("say it"))

        assert raw.headers["x-ratelimit-remaining-tokens"] == "29000"
        assert raw.parse()._request_id

    def test_errors_have_the_clients_own_types(self, client: Any) -> None:
        """401, 429 with its wait, 503, a broken connection, a broken stream."""
        openai = pytest.importorskip("openai")

        with pytest.raises(openai.AuthenticationError) as refused:
            client.chat.completions.create(
                **self.ask("say it"), extra_headers={"authorization": ""}
            )
        with pytest.raises(openai.RateLimitError) as limited:
            client.chat.completions.create(**self.ask("limit"))
        with pytest.raises(openai.InternalServerError) as overloaded:
            client.chat.completions.create(**self.ask("unavailable"))
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(**self.ask("drop"))
        with pytest.raises((*BROKEN, openai.APIConnectionError)):
            list(client.chat.completions.create(**self.ask("break", stream=True)))
        with pytest.raises(openai.APIError, match="too much"):
            list(client.chat.completions.create(**self.ask("fail", stream=True)))

        assert refused.value.code is not None
        assert limited.value.response.headers["retry-after"] == "7"
        assert overloaded.value.status_code == 503


class TestResponses(OpenAi):
    """The newer API of OpenAI."""

    TOOLS = ({"type": "function", "name": "look", "parameters": SCHEMA, "strict": False},)

    def test_an_answer_and_its_usage(self, client: Any) -> None:
        """As one object."""
        told = held(client.responses.create(model="first", input="say it"))

        assert (told.output_text, told.status) == ("hello from afar", "completed")
        assert (told.usage.input_tokens, told.usage.output_tokens) == (1200, 34)
        assert told.usage.input_tokens_details.cached_tokens == 200
        assert told.usage.output_tokens_details.reasoning_tokens == 4

    def test_a_stream(self, client: Any) -> None:
        """Event by event, numbered, and put together by the client."""
        with client.responses.stream(model="first", input="say it") as stream:
            events = list(stream)
            final = held(stream.get_final_response())

        assert final.output_text == "hello from afar"
        assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
        assert [event.sequence_number for event in events] == list(range(len(events)))

    def test_raw_events_are_what_the_client_knows(self, client: Any) -> None:
        """Thoughts, text and a tool call: no event of an unknown kind, no field missing."""
        for prompt in ("say it", "think", "look up"):
            stream = client.responses.create(
                model="first", input=prompt, stream=True, tools=self.TOOLS
            )
            kinds = [held(event).type for event in stream]

            assert kinds[-1] == "response.completed"

    def test_a_tool_call_and_its_result(self, client: Any) -> None:
        """Going on from the earlier answer."""
        first = held(client.responses.create(model="first", input="look up", tools=self.TOOLS))
        (call,) = [item for item in first.output if item.type == "function_call"]
        told = client.responses.create(
            model="first",
            tools=self.TOOLS,
            previous_response_id=first.id,
            input=[{"type": "function_call_output", "call_id": call.call_id, "output": "blue"}],
        )

        assert json.loads(call.arguments) == WANTED
        assert held(told).output_text == "It is blue."

    def test_errors_have_the_clients_own_types(self, client: Any) -> None:
        """401, 429, a broken connection, a stream that fails."""
        openai = pytest.importorskip("openai")

        with pytest.raises(openai.AuthenticationError):
            client.responses.create(
                model="first", input="say it", extra_headers={"authorization": ""}
            )
        with pytest.raises(openai.RateLimitError):
            client.responses.create(model="first", input="limit")
        with pytest.raises(openai.APIConnectionError):
            client.responses.create(model="first", input="drop")
        with pytest.raises((*BROKEN, openai.APIConnectionError)):
            list(client.responses.create(model="first", input="break", stream=True))
        events = list(client.responses.create(model="first", input="fail", stream=True))

        assert held(events[-1]).type in {"response.failed", "error"}

    def test_the_same_over_a_websocket(self, provider: FakeProviderServer) -> None:
        """Another library's connection; each message is an event that the client knows."""
        openai = pytest.importorskip("openai")
        pydantic = pytest.importorskip("pydantic")
        sync = pytest.importorskip("websockets.sync.client")
        known = pydantic.TypeAdapter(openai.types.responses.ResponseStreamEvent)
        url = provider.openai_url.replace("http", "ws") + "/responses"
        message = {
            "type": "response.create",
            "model": "first",
            "input": "look up",
            "tools": self.TOOLS,
        }
        with sync.connect(url, additional_headers={"authorization": "Bearer k"}) as talk:
            talk.send(json.dumps(message))
            events = []
            while not events or events[-1].type != "response.completed":
                events.append(known.validate_json(talk.recv(timeout=90)))
            call = events[-1].response.output[-1]
            more = {
                "previous_response_id": events[-1].response.id,
                "input": [
                    {"type": "function_call_output", "call_id": call.call_id, "output": "blue"}
                ],
            }
            talk.send(json.dumps({**message, **more}))
            while events[-1].response.output_text != "It is blue.":
                event = known.validate_json(talk.recv(timeout=90))
                if event.type == "response.completed":
                    events.append(event)

        assert json.loads(call.arguments) == WANTED


class TestGemini:
    """Google's API, whose client refuses fields that it does not know."""

    @pytest.fixture
    def client(self, provider: FakeProviderServer) -> Any:
        """A client of the public API."""
        genai = pytest.importorskip("google.genai")
        options = {"base_url": provider.url, "retry_options": {"attempts": 1}}
        return genai.Client(api_key="k", http_options=options)

    @staticmethod
    def config() -> dict[str, Any]:
        """With the tool."""
        declared = {"name": "look", "parameters_json_schema": SCHEMA}
        return {
            "tools": [{"function_declarations": [declared]}],
            "automatic_function_calling": {"disable": True},
        }

    def test_an_answer_and_its_usage(self, client: Any) -> None:
        """Reasoning counts beside the answer."""
        told = client.models.generate_content(model="first", contents="say it")
        usage = told.usage_metadata

        assert told.text == "hello from afar"
        assert (usage.prompt_token_count, usage.cached_content_token_count) == (1200, 200)
        assert usage.candidates_token_count + (usage.thoughts_token_count or 0) == 34

    def test_a_stream(self, client: Any) -> None:
        """Chunk by chunk."""
        chunks = list(client.models.generate_content_stream(model="first", contents="say it"))

        assert "".join(chunk.text or "" for chunk in chunks) == "hello from afar"
        assert chunks[-1].candidates[0].finish_reason == "STOP"

    def test_a_tool_call_and_its_result(self, client: Any) -> None:
        """The history goes back as the client keeps it."""
        types = pytest.importorskip("google.genai.types")

        chat = client.chats.create(model="first", config=self.config())
        first = chat.send_message("look up")
        (call,) = first.function_calls
        part = types.Part.from_function_response(name="look", response={"output": "blue"})
        told = chat.send_message(part)

        assert (call.name, call.args) == ("look", WANTED)
        assert told.text == "It is blue."

    def test_models_and_counts(self, client: Any) -> None:
        """The list, one of them, and a count."""
        assert [one.name for one in client.models.list()] == ["models/first", "models/second"]
        assert client.models.get(model="second").name == "models/second"
        assert client.models.count_tokens(model="first", contents="say it").total_tokens > 0

    def test_errors_have_the_clients_own_types(
        self, client: Any, provider: FakeProviderServer
    ) -> None:
        """401, 429, 503, a broken connection."""
        genai = pytest.importorskip("google.genai")
        errors = genai.errors

        options = {"base_url": provider.url, "headers": {"x-goog-api-key": ""}}
        keyless = genai.Client(api_key="k", http_options=options)
        with pytest.raises(errors.ClientError) as refused:
            keyless.models.generate_content(model="first", contents="say it")
        with pytest.raises(errors.ClientError) as limited:
            client.models.generate_content(model="first", contents="limit")
        with pytest.raises(errors.ServerError) as overloaded:
            client.models.generate_content(model="first", contents="unavailable")
        with pytest.raises(BROKEN):
            client.models.generate_content(model="first", contents="drop")

        assert refused.value.code in {400, 401, 403}
        assert (limited.value.code, limited.value.status) == (429, "RESOURCE_EXHAUSTED")
        assert (overloaded.value.code, overloaded.value.status) == (503, "UNAVAILABLE")
