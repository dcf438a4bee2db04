"""The tape's server, judged by the providers' own Python clients: they read what they read before.

Each client talks to the fake provider through the proxy that records. Then it says the same to
the published tape, whose answers it must read alike: objects, streams event by event, errors.
`test_official_clients` says how the clients are installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from ptycassette import open_cassette
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.io.tape_server import TapeServer
from ptycassette.agents.rerun.report import TapeDesk
from ptycassette.model.records import Begun, ExitStatus, Finished, Harness, SessionMeta
from ptycassette.model.screen import Size
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.scrub.session import default_scrubber
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.io.running_proxy import start_proxy
from ptycassette.testing import fixed_id

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
]

KEY = "ab" * 32
META = SessionMeta(
    id=fixed_id(1), argv=("x",), size=Size(5, 80), recorded_at="2026-01-01T00:00:00Z",
    harness=Harness(name="x"),
    os="linux", arch="amd64", recorder_version="test",
    options={"tape": {"key": KEY, "secrets": []}},
)  # fmt: skip
END = Finished(t_us=90_000_000, exit=ExitStatus(code=0, exited=True, signaled=False))
SCRIPT = """
version = 1
[pace]
chunk_chars = 4
[[replies]]
times = 0
when = { prompt_contains = "look", after = "prompt" }
parts = [{ text = "Looking at \\u00e9." }, { tool = "look", arguments = { at = "the sky" } }]
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
when = { prompt_contains = "unavailable" }
error = { status = 503, message = "too much" }
[[replies]]
times = 0
when = { prompt_contains = "break" }
text = "one two three four five six"
disconnect = true
after_events = 5
[[replies]]
times = 0
text = "hello from afar"
usage = { input = 1200, output = 34, cached_input = 200, reasoning_output = 4 }
"""
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
TOOLS = [{"type": "function", "name": "look", "parameters": SCHEMA, "strict": False}]
Said = list[Any]


def plain(told: Any) -> Any:
    """An object of a client as JSON, held against the model that it says it is."""
    document = told.model_dump(mode="json")
    type(told).model_validate(document)
    return document


def failure(call: Callable[[], Any], header: str = "retry-after") -> Said:
    """How a client reports an error: its type, its status and the header."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - a client's own type, which is compared
        call()
    response = getattr(caught.value, "response", None)
    headers = getattr(response, "headers", {})
    status = getattr(caught.value, "status_code", getattr(caught.value, "code", None))
    return [type(caught.value).__name__, status, headers.get(header)]


def anthropic(url: str) -> Said:
    """The Messages API."""
    client = pytest.importorskip("anthropic").Anthropic(base_url=url, api_key="k", max_retries=0)

    def asked(prompt: str, **more: Any) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt}]
        return {"model": "first", "max_tokens": 100, "messages": messages, **more}

    raw = client.messages.with_raw_response.create(**asked("hello"))
    said = [plain(raw.parse()), raw.request_id]
    question = asked("look", tools=[{"name": "look", "description": "d", "input_schema": SCHEMA}])
    with client.messages.stream(**question) as stream:
        said += [plain(event) for event in stream]
        final = stream.get_final_message()
    result = {"type": "tool_result", "tool_use_id": final.content[1].id, "content": "blue"}
    question["messages"] += [
        {"role": "assistant", "content": final.content},
        {"role": "user", "content": [result]},
    ]
    said.append(plain(client.messages.create(**question)))

    def broken() -> None:
        with client.messages.stream(**asked("break")) as stream:
            said.extend(plain(event) for event in stream)

    said += [
        failure(partial(client.messages.create, **asked(word))) for word in ("limit", "unavailable")
    ]
    return [*said, failure(broken)]


def chat(url: str) -> Said:
    """The older API of OpenAI."""
    client = _openai(url)

    def asked(prompt: str, **more: Any) -> Any:
        messages = [{"role": "user", "content": prompt}]
        return client.chat.completions.create(model="first", messages=messages, **more)

    said = [plain(asked("hello"))]
    usage = {"include_usage": True}
    said += [plain(chunk) for chunk in asked("hello you", stream=True, stream_options=usage)]
    said += [failure(partial(asked, word)) for word in ("limit", "unavailable")]
    return [*said, failure(lambda: said.extend(map(plain, asked("break", stream=True))))]


def responses(url: str) -> Said:
    """The newer API of OpenAI."""
    create = _openai(url).responses.create
    said = [plain(create(model="first", input="hello"))]
    events = list(create(model="first", input="look", tools=TOOLS, stream=True))
    last = events[-1].response
    said += map(plain, events)
    result = {"type": "function_call_output", "call_id": last.output[-1].call_id, "output": "blue"}
    more = create(model="first", input=[result], tools=TOOLS, previous_response_id=last.id)
    said.append(plain(more))
    return [*said, failure(lambda: create(model="first", input="limit"))]


def websocket(url: str) -> Said:
    """The newer API of OpenAI over the connection of another library."""
    connect = pytest.importorskip("websockets.sync.client").connect
    opened = connect(
        f"{url.replace('http', 'ws', 1)}/v1/responses",
        additional_headers={"authorization": "Bearer k"},
    )
    said: Said = []
    with opened as talk:
        for prompt in ("look", "hello"):
            message = {"type": "response.create", "model": "first", "input": prompt}
            talk.send(json.dumps({**message, "tools": TOOLS}))
            said.append(json.loads(talk.recv(timeout=90)))
            while said[-1]["type"] != "response.completed":
                said.append(json.loads(talk.recv(timeout=90)))
    return said


def gemini(url: str) -> Said:
    """Google's API."""
    genai = pytest.importorskip("google.genai")
    options = {"base_url": url, "retry_options": {"attempts": 1}}
    client = genai.Client(api_key="k", http_options=options)
    declared = {"name": "look", "parameters_json_schema": SCHEMA}
    tools = {
        "tools": [{"function_declarations": [declared]}],
        "automatic_function_calling": {"disable": True},
    }
    models = client.models
    talk = client.chats.create(model="first", config=tools)
    first = talk.send_message("look")
    part = genai.types.Part.from_function_response(name="look", response={"output": "blue"})
    said = [plain_google(first), plain_google(talk.send_message(part))]
    stream = models.generate_content_stream(model="first", contents="hello")
    said += [plain_google(chunk) for chunk in stream]
    return said + [
        failure(partial(models.generate_content, model="first", contents=word))
        for word in ("limit", "unavailable")
    ]


def plain_google(told: Any) -> Any:
    """An answer without what the client itself notes about the connection."""
    return told.model_dump(mode="json", exclude={"sdk_http_response"})


def _openai(url: str) -> Any:
    module = pytest.importorskip("openai")
    return module.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)


@pytest.mark.parametrize("talk", [anthropic, chat, responses, websocket, gemini])
def test_a_client_reads_from_the_tape_what_it_read_before(
    talk: Callable[[str], Said], tmp_path: Path
) -> None:
    """Every object, event and error; a wait that the provider asks for, too."""
    journal = tmp_path / "1.tape"
    with (
        FakeProviderServer(Script.parse(SCRIPT)) as provider,
        start_proxy(journal=journal, provider=provider.url, environment={}) as proxy,
    ):
        recorded = talk(proxy.environment["ANTHROPIC_BASE_URL"])
    Finaliser(tape=journal).publish(META, lambda: iter([Begun(0, 0), END]), tmp_path / "c")
    with TapeServer(Gates([]), hold_s=20) as server, open_cassette(tmp_path / "c") as cassette:
        rules = load_matching_rules((), env={"HOME": str(tmp_path)})
        desk = TapeDesk(
            list(cassette.tape()), rules, key=bytes.fromhex(KEY), declared={},
            scrubber=default_scrubber,
        )  # fmt: skip
        server.desk = desk
        again = talk(server.url)

    assert again == recorded
    assert (desk.misses, desk.unasked()) == ([], [])
    assert talk is websocket or ["429", "7"] in [
        [str(one[1]), str(one[2])] for one in again if isinstance(one, list)
    ]
