"""``use_tape``: model and tool calls of code in this process, over real sockets and real SDKs."""

# ruff: noqa: E402, PT012, SIM117 - what is tested are blocks that raise when they are left

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime as dt
import enum
import gc
import gzip
import importlib
import ipaddress
import json
import os
import random
import re
import shlex
import socket
import string
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("aiohttp")
HTTPX = next((name for name in ("httpx", "httpx2") if find_spec(name)), "httpx")
httpx = pytest.importorskip(HTTPX)

from ptycassette import (
    TapeFork,
    drift,
    open_cassette,
    semantic_drift,
    semantic_match,
    tape_tool,
    tool_call,
    use_tape,
)
from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer
from ptycassette.agents.inprocess.active import current_owner
from ptycassette.agents.inprocess.calls import ToolError, ToolOutcome, calls_before
from ptycassette.errors import (
    DivergenceError,
    LockedError,
    NotFoundError,
    RefusedError,
    SealError,
    SessionClosedError,
    TapeError,
    UsageError,
)
from ptycassette.system.network_block import NetworkBlockedError
from ptycassette.tape.routing import known_providers, place_variables
from ptycassette.viewing import with_turns
from tests import snippets
from tests.commands import COMMAND, ptycassette
from tests.tampering import TamperedTape

pytestmark = pytest.mark.integration

NOWHERE = "http://127.0.0.1:9"
Answer = tuple[int, bytes]


class Provider:
    """A provider on 127.0.0.1 that gives its answers in turn, and echoes when it has none left."""

    def __init__(self) -> None:
        self.answers: list[Answer | Callable[[BaseHTTPRequestHandler], None]] = []
        self.bodies: list[Any] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                provider.bodies.append(body)
                answer = provider.answers.pop(0) if provider.answers else (200, chat(said(body)))
                if callable(answer):
                    answer(self)
                    return
                self.send_response(answer[0])
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer[1])))
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(answer[1])

            def log_message(self, *args: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def said(body: Any) -> str:
    """What the provider says to a question when it has no other answer."""
    return f"you said {body['messages'][-1]['content']}"


def chat(text: str) -> bytes:
    """An answer of the Chat Completions API."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    document = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps({**document, "choices": choices}).encode()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider, for the recording of a test."""
    made = Provider()
    yield made
    made.close()


def question(text: str) -> dict[str, Any]:
    """A question of the Chat Completions API."""
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def ask(url: str, text: str) -> str:
    """What an agent does: one question, with a client of its own."""
    with httpx.Client() as client:
        answer = client.post(f"{url}/v1/chat/completions", json=question(text))
    answer.raise_for_status()
    return str(answer.json()["choices"][0]["message"]["content"])


async def ask_later(url: str, text: str) -> str:
    """The same in a task."""
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{url}/v1/chat/completions", json=question(text))
    answer.raise_for_status()
    return str(answer.json()["choices"][0]["message"]["content"])


def recorded(path: Path, *texts: str) -> Path:
    """A cassette of these questions."""
    provider = Provider()
    try:
        with use_tape(path, mode="record"):
            for text in texts:
                ask(provider.url, text)
    finally:
        provider.close()
    return path


# -- the ways in ---------------------------------------------------------------------------


def test_a_block_records_and_replays_without_a_provider(tmp_path: Path, provider: Provider) -> None:
    """Another port is the same provider, where both are on this machine."""
    path = tmp_path / "run.cassette"
    with use_tape(path, mode="record"):
        first = ask(provider.url, "milk")
    for _ in range(3):
        use = use_tape(path)
        with use:
            assert ask(NOWHERE, "milk") == first == "you said milk"

    assert use.result.action == "replay"
    assert use.result.fingerprint == use.result.expected_fingerprint
    assert len(provider.bodies) == 1


def test_a_decorator_takes_functions_coroutines_and_generators(
    tmp_path: Path, provider: Provider
) -> None:
    """Each records its own calls; ``tape`` is given to those that take it."""
    use = use_tape(tmp_path / "run.cassette", mode="auto")

    @use
    def plain(text: str, *, url: str) -> str:
        return ask(url, text)

    @use
    async def coroutine(text: str, tape: Any) -> str:
        assert tape.path == tmp_path / "run.cassette"
        return await ask_later(NOWHERE, text)

    @use
    def generator(text: str) -> Iterator[str]:
        yield ask(NOWHERE, text)

    @use
    async def async_generator(text: str) -> Any:
        yield await ask_later(NOWHERE, text)

    async def first(items: Any) -> str:
        return str(await anext(aiter(items)))

    assert plain("milk", url=provider.url) == "you said milk"
    assert asyncio.run(coroutine("milk")) == "you said milk"  # type: ignore[call-arg]
    assert list(generator("milk")) == ["you said milk"]
    assert asyncio.run(first(async_generator("milk"))) == "you said milk"
    assert len(provider.bodies) == 1


def together(*blocks: Callable[[], object]) -> list[BaseException | None]:
    """The error of each block, of which each runs in a thread while the others are entered."""
    failed: list[BaseException | None] = [None] * len(blocks)

    def run(number: int) -> None:
        try:
            blocks[number]()
        except BaseException as exc:  # noqa: BLE001 - which one is looked at by the test
            failed[number] = exc

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(blocks))]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    return failed


OTHER_PROCESS = """
import sys
from ptycassette import tool_call, use_tape

with use_tape(sys.argv[1], mode="record"):
    with tool_call("count") as call:
        call.result = 2
    print("in", flush=True)
    sys.stdin.read()
"""


def test_a_cassette_is_recorded_by_one_process_at_a_time(tmp_path: Path) -> None:
    """As by workers of pytest-xdist. The second one may record when the first one is done."""
    path = tmp_path / "run.cassette"
    with subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"in\n"
        with pytest.raises(LockedError, match=f"is being recorded by process {other.pid}"):
            use_tape(path, mode="record").__enter__()
        other.communicate()
    assert other.returncode == 0
    for mode in ("replay", "record"):
        with use_tape(path, mode=mode), tool_call("count") as call:
            call.result = 2


@pytest.mark.parametrize("way", ["inside", "thread", "task", "link"])
def test_a_cassette_is_recorded_by_one_block_at_a_time(
    way: str, tmp_path: Path, provider: Provider
) -> None:
    """The last one to end would overwrite the others."""
    path = tmp_path / "run.cassette"
    other = path
    if way == "link":
        (tmp_path / "link").symlink_to(tmp_path)
        other = tmp_path / "link" / "run.cassette"

    def second() -> None:
        with pytest.raises(UsageError, match="another block of use_tape records this cassette"):
            use_tape(other, mode="record").__enter__()
        with pytest.raises(UsageError, match=r"records this cassette now, so .* cannot replay it"):
            use_tape(other).__enter__()

    async def task() -> None:
        second()

    with use_tape(path, mode="record"):
        ask(provider.url, "one")
        match way:
            case "thread":
                assert together(second) == [None]
            case "task":
                asyncio.run(task())
            case _:
                second()
    with use_tape(path):
        with pytest.raises(UsageError, match=r"replays this cassette now, so .* cannot record it"):
            use_tape(other, mode="rewrite").__enter__()
        with use_tape(other, mode="rerecord", lenient=True), suppress(RefusedError):
            ask(provider.url, "one")
        assert ask(NOWHERE, "one") == "you said one"
    with use_tape(other, mode="rewrite"):  # no block uses it any more
        ask(provider.url, "two")


def test_a_cassette_is_replayed_by_several_blocks_at_a_time(tmp_path: Path) -> None:
    """Each has the whole recording."""
    path = recorded(tmp_path / "run.cassette", "one", "two")
    met = threading.Barrier(2, timeout=60)

    def run() -> None:
        with use_tape(path):
            met.wait()
            assert [ask(NOWHERE, text) for text in ("one", "two")]
            met.wait()

    assert together(run, run) == [None, None]
    with use_tape(path):
        with use_tape(path):
            assert [ask(NOWHERE, text) for text in ("one", "two")]
        assert [ask(NOWHERE, text) for text in ("one", "two")] == ["you said one", "you said two"]


def test_a_class_is_not_decorated(tmp_path: Path) -> None:
    """It would become a function: pytest would no longer find its tests, and report no failure."""
    with pytest.raises(UsageError, match="Tests is a class") as refused:

        @use_tape(tmp_path / "run.cassette")
        class Tests:
            pass

    assert "pytest.mark.ptycassette_tape" in str(refused.value.hint)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("made", ["whole", "stream"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_transport_in_memory_is_recorded_as_the_network_is(
    kind: str, made: str, packed: bool, tmp_path: Path
) -> None:
    """Tests of clients have one; a response that it makes whole is read before anybody asks."""
    asked: list[bytes] = []

    def answer(request: Any) -> Any:
        asked.append(request.content)
        data = json.dumps({"echo": len(asked), "of": json.loads(request.content)}).encode()
        headers = {"content-type": "application/json"}
        if packed:
            data, headers["content-encoding"] = gzip.compress(data), "gzip"
        if made == "whole":
            return httpx.Response(200, headers=headers, content=data)

        class Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):  # type: ignore[misc]
            def __iter__(self) -> Iterator[bytes]:
                yield data

            async def __aiter__(self) -> Any:
                yield data

        return httpx.Response(200, headers=headers, stream=Pieces())

    async def later(text: str) -> Any:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            return (await client.post("http://model.test/v1", json={"text": text})).json()

    def now(text: str) -> Any:
        if kind == "async":
            return asyncio.run(later(text))
        with httpx.Client(transport=httpx.MockTransport(answer)) as client:
            return client.post("http://model.test/v1", json={"text": text}).json()

    texts = ["one", "two", "one"]
    with use_tape(tmp_path / "c", mode="record"):
        was = [now(text) for text in texts]
    with use_tape(tmp_path / "c", mode="replay"):
        assert [now(text) for text in texts] == was
    assert len(asked) == 3
    with open_cassette(tmp_path / "c") as cassette:
        assert [one.entry.outcome for one in cassette.tape()] == ["complete"] * 3


@pytest.mark.asyncio
async def test_an_asynchronous_block_records_like_a_synchronous_one(
    tmp_path: Path, provider: Provider
) -> None:
    """Concurrent questions too, which are answered in any order."""
    texts = [f"q{number}" for number in range(5)]
    async with use_tape(tmp_path / "run.cassette", mode="record"):
        answers = await asyncio.gather(*(ask_later(provider.url, text) for text in texts))
    async with use_tape(tmp_path / "run.cassette"):
        again = await asyncio.gather(*(ask_later(NOWHERE, text) for text in reversed(texts)))

    assert again[::-1] == answers == [f"you said {text}" for text in texts]


def test_a_client_that_was_made_before_the_block_is_recorded(
    tmp_path: Path, provider: Provider
) -> None:
    """SDKs keep their clients for long; nothing is patched when the block is over."""
    before = httpx.Client._transport_for_url, threading.Thread.start, socket.socket.connect
    client = httpx.Client()
    with use_tape(tmp_path / "run.cassette", mode="record"):
        client.post(f"{provider.url}/v1/chat/completions", json=question("milk"))
        assert httpx.Client._transport_for_url is not before[0]
    client.post(f"{provider.url}/v1/chat/completions", json=question("not recorded"))
    client.close()

    with open_cassette(tmp_path / "run.cassette") as cassette:
        assert len(list(cassette.tape())) == 1
    assert before == (
        httpx.Client._transport_for_url,
        threading.Thread.start,
        socket.socket.connect,
    )


def test_a_client_that_was_made_in_replay_connects_after_the_block(
    tmp_path: Path, provider: Provider
) -> None:
    """Replay needs no connections, and a client may live longer than its block."""
    path, url = recorded(tmp_path / "run.cassette", "milk", "bread"), provider.url
    url += "/v1/chat/completions"

    async def ask_and_close() -> None:
        (await later.post(url, json=question("e"))).raise_for_status()
        await later.aclose()

    with use_tape(path):
        client, later = httpx.Client(), httpx.AsyncClient()
        client.post(url, json=question("milk"))
        asyncio.run(later.post(url, json=question("bread"))).raise_for_status()
        assert "_pool" not in vars(client._transport)
        assert "_pool" not in vars(later._transport)

    with ThreadPoolExecutor(4) as pool:  # all of them need the connections first
        asked = [pool.submit(client.post, url, json=question(text)) for text in "abcd"]
        pools = {id(client._transport._pool) for one in asked if one.result().is_success}
    asyncio.run(ask_and_close())
    client.close()

    assert len(pools) == 1
    assert sorted(map(said, provider.bodies)) == [f"you said {text}" for text in "abcde"]
    assert type(client._transport) is httpx.HTTPTransport
    assert type(later._transport) is httpx.AsyncHTTPTransport


def test_a_client_that_was_made_in_replay_and_never_asked_is_closed(tmp_path: Path) -> None:
    """With its transport entered or not, and by a subclass too."""

    class Own(httpx.HTTPTransport):  # type: ignore[misc,name-defined]
        closed = False

        def close(self) -> None:
            self.closed = self._pool is not None
            super().close()

    async def closed() -> None:
        async with httpx.AsyncClient() as later:
            assert isinstance(later._transport, httpx.AsyncHTTPTransport)
        await httpx.AsyncClient().aclose()

    with use_tape(recorded(tmp_path / "run.cassette", "milk"), allow_unplayed=True):
        with httpx.Client() as client:
            assert isinstance(client._transport, httpx.HTTPTransport)
            assert repr(client._transport).startswith(f"<{HTTPX}.HTTPTransport object")
            with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
                client._transport.nonsense  # noqa: B018
        httpx.Client().close()
        own = Own()
        httpx.Client(transport=own).close()
        asyncio.run(closed())

    assert own.closed


NO_FILE = "/there/is/no.pem"
NO_TRANSPORTS: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"nonsense": 1}, TypeError),
    ({"limits": None}, AttributeError),
    ({"verify": NO_FILE}, OSError),
    ({"cert": NO_FILE}, OSError),
    ({"proxy": "gopher://127.0.0.1:1"}, ValueError),
    ({}, OSError),
]


@pytest.mark.parametrize(
    ("wrong", "error"), NO_TRANSPORTS, ids=["unknown", "limits", "verify", "cert", "proxy", "file"]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_transport_that_cannot_be_made_is_refused_in_replay_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], error: type[Exception]
) -> None:
    """At the place that makes it, with the same error as outside of the block."""
    path = recorded(tmp_path / "run.cassette", "milk")
    if not wrong:
        monkeypatch.setenv("SSL_CERT_FILE", NO_FILE)
    for kind in (httpx.HTTPTransport, httpx.AsyncHTTPTransport):
        with pytest.raises(error) as outside:
            kind(**wrong)
        with use_tape(path, allow_unplayed=True), pytest.raises(error) as inside:
            kind(**wrong)
        assert str(inside.value) == str(outside.value)


LOADED_BY_A_REPLAY = f"""
import sys
import {HTTPX} as httpx
from ptycassette import use_tape

with use_tape(sys.argv[1]):
    body = {{"model": "m", "messages": [{{"role": "user", "content": "milk"}}]}}
    httpx.Client().post("{NOWHERE}/v1/chat/completions", json=body).raise_for_status()
print(*sys.modules)
"""


def test_a_replay_loads_no_connections_and_nothing_that_records(tmp_path: Path) -> None:
    """The first block of a process waits for each module that it loads."""
    code = f"import {HTTPX}, sys; print(*sys.modules)"
    alone, loaded = (
        set(
            subprocess.run(
                [sys.executable, "-c", *words], check=True, capture_output=True, text=True
            ).stdout.split()
        )
        for words in (
            [code],
            [LOADED_BY_A_REPLAY, str(recorded(tmp_path / "run.cassette", "milk"))],
        )
    )
    heavy = (
        "asyncio",
        "email.policy",
        f"{HTTPX.replace('httpx', 'httpcore')}",
        "logging.config",
        "ptycassette.agents.faults",
        "ptycassette.agents.fork",
        "ptycassette.agents.harness",
        "ptycassette.agents.inprocess.drifting",
        "ptycassette.agents.inprocess.forking",
        "ptycassette.tape.providers",
        "ptycassette.agents.rerun.made_answers",
        "ptycassette.cassette.io.writer",
        "ptycassette.formats",
        "ptycassette.recording",
        "ptycassette.replaying.standin",
        "ptycassette.scrub.rules",
        "ptycassette.scrub.search",
        "ptycassette.scrub.session",
        "ptycassette.seal.bundle",
        "ptycassette.system.pty",
        "ptycassette.tape.consent",
        "ptycassette.tape.io._wire",
        "ptycassette.terminal",
        "pyte",
        "subprocess",
        "uuid",
    )
    roots = tuple(f"{name}." for name in heavy)
    assert [name for name in sorted(loaded - alone) if f"{name}.".startswith(roots)] == []


def test_an_unknown_version_of_a_client_is_an_error_and_nothing_stays_patched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls would be recorded nowhere."""
    before = threading.Thread.start, socket.socket.connect
    with monkeypatch.context() as patch:
        patch.delattr(httpx.AsyncClient, "_transport_for_url")
        with pytest.raises(UsageError, match=f"this version of {HTTPX}"):
            with use_tape(tmp_path / "run.cassette", mode="record"):
                pass

    assert before == (threading.Thread.start, socket.socket.connect)
    recorded(tmp_path / "run.cassette", "one")


def test_an_old_version_of_a_client_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it sends in a block: urllib3 1 and aiohttp 3.11 send in another way."""
    urllib3, aiohttp = pytest.importorskip("urllib3"), pytest.importorskip("aiohttp")

    def make_request(self: Any, conn: Any, method: str, url: str, **more: Any) -> Any:
        raise OSError("it was sent")

    async def request(self: Any, method: str, url: str, **more: Any) -> Any:
        raise OSError("it was sent")

    monkeypatch.setattr(urllib3.HTTPConnectionPool, "_make_request", make_request)
    monkeypatch.setattr(aiohttp.ClientSession, "_request", request)

    def send_old() -> None:
        urllib3.PoolManager(retries=False).request("GET", NOWHERE, retries=False)

    async def send_later() -> None:
        async with aiohttp.ClientSession() as session, session.get(NOWHERE):
            pass

    for known, send in (
        ("urllib3 2", send_old),
        ("aiohttp 3.12", lambda: asyncio.run(send_later())),
    ):
        with (
            pytest.raises(UsageError, match=f"records {known} and newer, and this is"),
            use_tape(tmp_path / "run.cassette", mode="record"),
        ):
            send()
        with (
            pytest.raises((OSError, urllib3.exceptions.HTTPError), match="it was sent"),
            use_tape(tmp_path / "run.cassette", mode="live"),
        ):
            send()


def test_a_client_that_is_imported_in_the_block_is_recorded(
    tmp_path: Path, provider: Provider
) -> None:
    """Agents are often imported by the test itself. Nothing of ours imports httpx."""
    code = f"""
import sys
from ptycassette import use_tape
assert {HTTPX!r} not in sys.modules
with use_tape({str(tmp_path / "run.cassette")!r}, mode="record"):
    import {HTTPX} as httpx
    httpx.post({provider.url!r} + "/v1/chat/completions", json={question("milk")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)

    with use_tape(tmp_path / "run.cassette"):
        assert ask(NOWHERE, "milk") == "you said milk"


def test_threads_and_pools_of_the_block_belong_to_it(tmp_path: Path, provider: Provider) -> None:
    """A pool that is older than the block, too."""
    path = tmp_path / "run.cassette"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()

        def run(url: str) -> list[str]:
            found: list[str] = []
            thread = threading.Thread(target=lambda: found.append(ask(url, "from a thread")))
            thread.start()
            thread.join()
            found.append(pool.submit(ask, url, "from a pool").result())
            return found

        with use_tape(path, mode="record"):
            first = run(provider.url)
        with use_tape(path):
            assert run(NOWHERE) == first


def test_a_finalizer_may_begin_a_task_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of OpenAI's asynchronous client does, when the garbage is collected in our code."""
    closed: list[int] = []

    class Client:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            asyncio.get_running_loop().create_task(self.close())

        @staticmethod
        async def close() -> None:
            closed.append(1)

    @tape_tool
    def tool() -> int:
        return 1

    def owner_after_collection() -> Any:
        gc.collect()
        return current_owner()

    monkeypatch.setattr(f"{calls_before.__module__}.current_owner", owner_after_collection)

    async def run() -> None:
        with use_tape(tmp_path / "run.cassette", mode="record"):
            Client()
            await asyncio.to_thread(tool)
            await asyncio.sleep(0)

    gc.disable()
    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    try:
        thread.start()
        thread.join(60)
    finally:
        gc.enable()
    assert not thread.is_alive(), "the log waits for itself"
    assert closed == [1]
    with use_tape(tmp_path / "run.cassette"):
        assert tool() == 1


PROGRAM = """
import json, sys, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": sys.argv[2]}]}).encode()
request = urllib.request.Request(sys.argv[1] + "/v1/chat/completions", body)
request.add_header("content-type", "application/json")
try:
    with urllib.request.urlopen(request, timeout=60) as answer:
        print(json.load(answer)["choices"][0]["message"]["content"])
except urllib.error.HTTPError as exc:
    print("status", exc.code)
"""


def test_programs_of_the_block_are_recorded_through_a_proxy(
    tmp_path: Path, provider: Provider
) -> None:
    """In order with the calls of the block itself, and answered by the same rules."""
    pytest.importorskip("trustme")

    def run(tape: Any, url: str, text: str = "from a program") -> list[str]:
        first = ask(url, "from the block")
        environment = {**os.environ, **tape.environment, "NO_PROXY": "", "no_proxy": ""}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, url, text],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [first, done.stdout.strip(), ask(url, "at last")]

    path = tmp_path / "run.cassette"
    with use_tape(path, mode="record") as tape:
        first = run(tape, provider.url)
    with open_cassette(path) as cassette:
        entries = [(one.entry.entry, one.entry.upstream) for one in cassette.tape()]
    assert first == ["you said from the block", "you said from a program", "you said at last"]
    assert entries == [(number, provider.url) for number in (1, 2, 3)]
    with use_tape(path) as tape:
        assert run(tape, provider.url) == first
    assert len(provider.bodies) == 3
    with pytest.raises(DivergenceError, match="call-changed"), use_tape(path) as tape:
        assert run(tape, provider.url, "something else")[1] == "status 404"
    with use_tape(path, mode="live") as tape:
        assert tape.environment == {}
    assert len(provider.bodies) == 3


# -- clients that are not on httpx ---------------------------------------------------------

CHAT = "/v1/chat/completions"


def streamed(handler: BaseHTTPRequestHandler) -> None:
    """A stream of events, in chunks."""
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for piece in (b"data: milk\n\n", b"data: bread\n\n", b"data: [DONE]\n\n"):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
    handler.wfile.write(b"0\r\n\r\n")


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    """Less than was announced."""
    handler.send_response(200)
    handler.send_header("content-length", "100")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.close_connection = True


def hung_up(handler: BaseHTTPRequestHandler) -> None:
    """No answer at all."""
    handler.close_connection = True


def packed(handler: BaseHTTPRequestHandler) -> None:
    """An answer in gzip."""
    body = gzip.compress(b"buy milk " * 10)
    handler.send_response(200)
    handler.send_header("content-encoding", "gzip")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def moved(handler: BaseHTTPRequestHandler) -> None:
    """A redirect to the same address."""
    handler.send_response(307)
    handler.send_header("location", CHAT)
    handler.send_header("content-length", "0")
    handler.end_headers()


ANSWERS = [(200, chat("hey")), streamed, cut_off, hung_up, packed, (429, b"{}"), moved]
WORDS = ("whole", "streamed", "cut off", "hung up", "packed", "refused", "moved")


def _outcome(error: Exception) -> tuple[str, str]:
    return type(error).__name__, str(error)


def by_requests(url: str, last: str = "the end") -> list[Any]:
    """What an agent on requests gets."""
    requests = pytest.importorskip("requests")
    got: list[Any] = []
    with requests.Session() as session:
        for word in (*WORDS, last):
            try:
                answer = session.post(url + CHAT, json=question(word), stream=word == "streamed")
                lines = list(answer.iter_lines()) if word == "streamed" else answer.text
                got.append((answer.status_code, answer.reason, len(answer.history), lines))
            except requests.RequestException as error:
                got.append(_outcome(error))
    return got


def by_urllib3(url: str, last: str = "the end") -> list[Any]:
    """What an agent on urllib3 gets, which asks again by itself."""
    urllib3 = pytest.importorskip("urllib3")
    got: list[Any] = []
    pool = urllib3.PoolManager(retries=urllib3.Retry(3, status_forcelist=[429], backoff_factor=0))
    for word in (*WORDS, last):
        try:
            answer = pool.request("POST", url + CHAT, json=question(word))
            got.append((answer.status, answer.reason, answer.data))
        except urllib3.exceptions.HTTPError as error:
            got.append((type(error).__name__, ""))
    return got


def by_aiohttp(url: str, last: str = "the end") -> list[Any]:
    """What an agent on aiohttp gets."""
    aiohttp = pytest.importorskip("aiohttp")

    async def asked() -> list[Any]:
        got: list[Any] = []
        async with aiohttp.ClientSession() as session:
            for word in (*WORDS, last):
                try:
                    async with session.post(url + CHAT, json=question(word)) as answer:
                        lines = [line async for line in answer.content]
                        got.append((answer.status, answer.reason, len(answer.history), lines))
                except aiohttp.ClientError as error:
                    got.append(_outcome(error))
        return got

    return asyncio.run(asked())


@pytest.mark.parametrize("run", [by_requests, by_urllib3, by_aiohttp])
def test_other_clients_get_what_they_got(
    tmp_path: Path, provider: Provider, run: Callable[..., list[Any]]
) -> None:
    """Status, streams, broken answers, packed ones, retries and redirects; and no socket."""
    provider.answers = [*ANSWERS]
    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = run(provider.url)
    asked = len(provider.bodies)
    for _ in range(2):
        with use_tape(tmp_path / "run.cassette") as tape:
            assert run(NOWHERE) == first
        assert tape.result.fingerprint == tape.result.expected_fingerprint
    with open_cassette(tmp_path / "run.cassette") as cassette:
        assert len(list(cassette.tape())) == asked == len(provider.bodies)
    with pytest.raises(DivergenceError, match="call-changed"), use_tape(tmp_path / "run.cassette"):
        assert run(NOWHERE, "not recorded")[-1][0] == 404
    assert run(provider.url)[-1] == first[-1]  # nothing stays patched
    assert len(provider.bodies) > asked


@pytest.mark.parametrize("run", [by_requests, by_urllib3, by_aiohttp])
def test_other_clients_outside_of_the_block_are_left_alone(
    tmp_path: Path, provider: Provider, run: Callable[..., list[Any]]
) -> None:
    """A thread that another test started asks the provider itself meanwhile."""
    begin, got = threading.Event(), []

    def other() -> None:
        begin.wait()
        got.append(run(provider.url)[-1])

    thread = threading.Thread(target=other)
    thread.start()
    with use_tape(tmp_path / "run.cassette", mode="record"):
        ask(provider.url, "mine")
        begin.set()
        thread.join()
    with open_cassette(tmp_path / "run.cassette") as cassette:
        assert [b"mine" in one.question() for one in cassette.tape()] == [True]
    assert got[0][0] == 200
    assert len(provider.bodies) > 1


@pytest.mark.parametrize("client", ["requests", "aiohttp", HTTPX])
def test_a_call_through_the_proxy_of_the_block_is_noted_once(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """Where a test points its own clients at ``tape.environment``."""
    pytest.importorskip("trustme")
    library: Any = pytest.importorskip(client)

    def run(url: str) -> int:
        if client != "aiohttp":
            return int(library.post(url + CHAT, json=question("once")).status_code)

        async def asked() -> int:
            async with library.ClientSession(trust_env=True) as session:
                async with session.post(url + CHAT, json=question("once")) as answer:
                    await answer.read()
                    return int(answer.status)

        return asyncio.run(asked())

    def used(mode: str, url: str) -> None:
        with use_tape(tmp_path / "run.cassette", mode=mode) as tape, monkeypatch.context() as here:
            for name, value in {**tape.environment, "NO_PROXY": "", "no_proxy": ""}.items():
                here.setenv(name, value)
            assert run(url) == 200

    used("record", provider.url)
    with open_cassette(tmp_path / "run.cassette") as cassette:
        assert [one.entry.entry for one in cassette.tape()] == [1]
    used("replay", provider.url)
    assert len(provider.bodies) == 1


# -- what an answer was --------------------------------------------------------------------


def test_status_and_retries_are_those_of_the_recording(tmp_path: Path, provider: Provider) -> None:
    """An SDK that asks again after 429 and 500 does the same in replay."""
    openai = pytest.importorskip("openai")
    provider.answers = [(429, b'{"error": {}}'), (500, b"{}"), (200, chat("third time"))]
    tries: list[int] = []

    def run(url: str) -> str:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k" * 20)
        answer = client.chat.completions.with_raw_response.create(**question("milk"))
        tries.append(answer.retries_taken)
        return str(answer.parse().choices[0].message.content)

    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = run(provider.url)
    with open_cassette(tmp_path / "run.cassette") as cassette:
        statuses = [one.entry.answer.status for one in cassette.tape() if one.entry.answer]
    with use_tape(tmp_path / "run.cassette"):
        assert run(NOWHERE) == first == "third time"

    assert statuses == [429, 500, 200]
    assert tries == [2, 2]


DATE = "Sat, 28 Nov 2026 12:00:%02d GMT"


@pytest.mark.parametrize(
    ("status", "headers", "at_once"),
    [
        (429, {"retry-after": "7"}, True),
        (429, {}, True),
        (503, {"retry-after-ms": "900"}, True),
        (429, {"retry-after": DATE % 9, "date": DATE % 2}, True),
        (429, {"retry-after": DATE % 9}, False),  # how long this is is not known
        (429, {"retry-after": "500"}, False),  # the SDK of OpenAI gives up
        (429, {"retry-after": "inf"}, False),
        (429, {"retry-after": "soon"}, True),
        (400, {"retry-after": "7"}, False),
        (200, {}, False),
    ],
)
def test_a_replay_does_not_wait_before_it_asks_again(
    tmp_path: Path, provider: Provider, status: int, headers: dict[str, str], at_once: bool
) -> None:
    """SDKs read ``retry-after-ms`` first; the recorded ``retry-after`` stays for other code."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response_only(status)
        for name, value in {**headers, "content-length": "2"}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(b"{}")

    def run(url: str) -> dict[str, str]:
        got = httpx.post(f"{url}/v1/messages", json=question("milk")).headers
        return {name: value for name, value in got.items() if "retry" in name}

    provider.answers = [answer]
    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = run(provider.url)
    with use_tape(tmp_path / "run.cassette"):
        assert run(NOWHERE) == ({**first, "retry-after-ms": "1"} if at_once else first)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the code would have slept."""
    times: list[float] = []
    monkeypatch.setattr("time.sleep", times.append)
    return times


def _limited(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(429)
    for name, value in {"retry-after": "7", "content-length": "2"}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(b"{}")


def _ask_openai(url: str) -> str:
    client = pytest.importorskip("openai").OpenAI(base_url=f"{url}/v1", api_key="k" * 20)
    return str(client.chat.completions.create(**question("milk")).choices[0].message.content)


def _ask_urllib3(url: str) -> str:
    urllib3 = pytest.importorskip("urllib3")
    retries = urllib3.Retry(3, status_forcelist=[429], allowed_methods=None, backoff_factor=5)
    with urllib3.PoolManager(retries=retries) as pool:
        answer = pool.request("POST", f"{url}/v1/chat/completions", json=question("milk"))
        return str(answer.json()["choices"][0]["message"]["content"])


@pytest.mark.parametrize("run", [_ask_openai, _ask_urllib3])
def test_a_client_that_waited_in_the_recording_does_not_wait_in_replay(
    tmp_path: Path, provider: Provider, slept: list[float], run: Callable[[str], str]
) -> None:
    """Also if the provider fails on purpose."""
    provider.answers = [_limited]
    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = run(provider.url)
    assert sum(slept) >= 7
    slept.clear()
    with use_tape(tmp_path / "run.cassette"):
        assert run(NOWHERE) == first
    with use_tape(tmp_path / "run.cassette", fault="rate-limit@2"):
        assert run(NOWHERE) == first
    assert sum(slept) < 0.1


@pytest.mark.parametrize("retries", ["legacy", "standard"])
def test_botocore_does_not_wait_in_replay(
    tmp_path: Path, provider: Provider, slept: list[float], retries: str
) -> None:
    """It has its own times to wait, which grow with each try."""
    pytest.importorskip("botocore")
    session = importlib.import_module("botocore.session")
    config = importlib.import_module("botocore.config").Config

    def run(url: str) -> None:
        client = session.Session().create_client(
            "bedrock-runtime", "us-east-1", endpoint_url=url,
            aws_access_key_id="k" * 20, aws_secret_access_key="k" * 20,
            config=config(retries={"mode": retries, "total_max_attempts": 4}),
        )  # fmt: skip
        client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "milk"}]}])

    provider.answers = [_limited, _limited]
    with use_tape(tmp_path / "run.cassette", mode="record"):
        run(provider.url)
    assert len(slept) == 2
    slept.clear()
    with use_tape(tmp_path / "run.cassette"):
        run(NOWHERE)
    assert slept == [0, 0]


def _half(handler: BaseHTTPRequestHandler) -> None:
    """The first half of an answer; then the connection breaks."""
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("content-length", "100")
    handler.end_headers()
    handler.wfile.write(b"data: one\n\n")
    handler.close_connection = True


def _gone(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


@pytest.mark.parametrize("breaks", [_half, _gone])
def test_a_broken_answer_breaks_in_the_same_way(
    tmp_path: Path, provider: Provider, breaks: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    """The same pieces, then the same class of error with the same text."""

    def run(url: str) -> tuple[list[bytes], str]:
        pieces: list[bytes] = []
        with pytest.raises(httpx.TransportError) as failed, httpx.Client() as client:
            with client.stream("POST", f"{url}/v1/messages", json=question("milk")) as answer:
                pieces.extend(answer.iter_raw())
        return pieces, repr(failed.value)

    provider.answers = [breaks]
    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = run(provider.url)
    with use_tape(tmp_path / "run.cassette"):
        assert run(NOWHERE) == first


def test_a_provider_that_cannot_be_reached_is_recorded(tmp_path: Path) -> None:
    """As the error that the client got."""

    def run() -> str:
        with pytest.raises(httpx.ConnectError) as failed:
            ask(NOWHERE, "milk")
        return str(failed.value)

    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = run()
    with use_tape(tmp_path / "run.cassette"):
        assert run() == first


def test_a_stream_comes_in_its_pieces(tmp_path: Path, provider: Provider) -> None:
    """A client that stops early stops at the same place; one that reads on is a divergence."""

    def streams(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for data in (b"data: one\n\n", b"data: two\n\n"):
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        handler.wfile.flush()
        with_client_gone.wait(30)
        handler.close_connection = True

    def run(url: str, *, all_of_it: bool) -> bytes:
        read = b""
        with httpx.stream("POST", f"{url}/v1/messages", json=question("milk")) as answer:
            for piece in answer.iter_raw():
                read += piece
                if read.endswith(b"two\n\n") and not all_of_it:
                    break
        return read

    with_client_gone = threading.Event()
    provider.answers = [streams]
    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = run(provider.url, all_of_it=False)
    with_client_gone.set()
    with use_tape(tmp_path / "run.cassette"):
        assert run(NOWHERE, all_of_it=False) == first
    with pytest.raises(DivergenceError, match="read further"), use_tape(tmp_path / "run.cassette"):
        run(NOWHERE, all_of_it=True)


# -- what must fail ------------------------------------------------------------------------


def test_a_question_that_was_not_recorded_fails_the_block(tmp_path: Path) -> None:
    """With the place where it differs."""
    path = recorded(tmp_path / "run.cassette", "buy milk")

    with pytest.raises(DivergenceError, match=r"messages\[0\].content") as failed, use_tape(path):
        ask(NOWHERE, "buy silk")

    assert "buy milk" in str(failed.value)
    assert isinstance(failed.value.__cause__, httpx.HTTPStatusError)


def test_an_error_that_the_agent_swallows_fails_the_block(tmp_path: Path) -> None:
    """The divergence is sticky, and the rest is answered all the same."""
    path = recorded(tmp_path / "run.cassette", "one", "two")
    use = use_tape(path, allow_unplayed=True, order="loose")

    with pytest.raises(DivergenceError, match="call-changed"), use:
        with pytest.raises(httpx.HTTPStatusError):
            ask(NOWHERE, "three")
        assert ask(NOWHERE, "two") == "you said two"

    assert [one.kind for one in use.result.divergences] == ["call-changed"]


def test_calls_that_were_never_made_are_reported(tmp_path: Path) -> None:
    """Each of them; ``allow_unplayed`` allows it."""
    path = recorded(tmp_path / "run.cassette", "one", "two", "three")

    with pytest.raises(DivergenceError, match="entry 2") as failed, use_tape(path):
        ask(NOWHERE, "one")
    assert any("entry 3" in note for note in failed.value.__notes__)
    with use_tape(path, allow_unplayed=True) as tape:
        ask(NOWHERE, "one")
    assert tape.result.fingerprint != tape.result.expected_fingerprint


def test_the_order_of_calls_is_enforced(tmp_path: Path) -> None:
    """The recorded one, unless any order will do; the fingerprint is that of the run."""
    path = recorded(tmp_path / "run.cassette", "one", "two")

    with pytest.raises(DivergenceError, match="call-order"), use_tape(path):
        ask(NOWHERE, "two")
        ask(NOWHERE, "one")
    with use_tape(path, order="loose"):
        assert ask(NOWHERE, "two") == "you said two"
        assert ask(NOWHERE, "one") == "you said one"
    with pytest.raises(ValueError, match="order is one of strict, loose"):
        use_tape(path, order="lose")  # type: ignore[arg-type]


def call(name: str) -> None:
    """A call of a tool, which takes no time."""
    with tool_call(name):
        pass


def side_by_side(way: str, order: Sequence[str]) -> None:
    """Two strands of calls, "a" and "b", between a first and a last call.

    ``order`` has the strand of each call: they are made so, whatever the system does.
    """
    turn = threading.Condition()
    left = list(order)

    def strand(name: str) -> None:
        for number in range(order.count(name)):
            with turn:
                assert turn.wait_for(lambda: left[0] == name, 60)
                call(f"{name}{number}")
                left.pop(0)
                turn.notify_all()

    async def task(name: str, turns: asyncio.Condition) -> None:
        for number in range(order.count(name)):
            async with turns:
                await turns.wait_for(lambda: left[0] == name)
                call(f"{name}{number}")
                left.pop(0)
                turns.notify_all()

    async def tasks() -> None:
        call("first")
        if way == "tasks":
            turns = asyncio.Condition()
            await asyncio.gather(task("a", turns), task("b", turns))
        else:
            await asyncio.gather(asyncio.to_thread(strand, "a"), asyncio.to_thread(strand, "b"))
        call("last")

    if way in {"tasks", "to_thread"}:
        asyncio.run(tasks())
        return
    call("first")
    if way == "pool":
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(strand, "ab"))
    else:
        threads = [threading.Thread(target=strand, args=(name,)) for name in "ab"]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    call("last")


@pytest.mark.parametrize("way", ["tasks", "to_thread", "pool", "threads"])
def test_calls_side_by_side_come_in_any_order(tmp_path: Path, way: str) -> None:
    """A replay waits for no provider, so tasks and threads go on in another order."""
    path = tmp_path / "run.cassette"
    for recorded_order in ("aabb", "abab"):
        with use_tape(path, mode="record"):
            side_by_side(way, recorded_order)
        for order in ("abab", "baab", "aabb", "bbaa"):
            with use_tape(path):
                side_by_side(way, order)
    if way == "tasks":  # a recording of a fork has them side by side, too
        child = tmp_path / "child.cassette"
        fork = TapeFork(at="tool:6", change="none", child=str(child))
        with use_tape(path, fork=fork):
            side_by_side(way, "baab")
        with use_tape(child):
            side_by_side(way, "aabb")


@pytest.mark.parametrize("way", ["tasks", "to_thread", "pool", "threads"])
def test_calls_of_one_task_or_thread_keep_their_order(tmp_path: Path, way: str) -> None:
    """And what came before or after both of them does."""
    path = tmp_path / "run.cassette"
    with use_tape(path, mode="record"):
        side_by_side(way, "abab")

    for calls in (
        ["first", "a1", "a0", "b0", "b1", "last"],
        ["a0", "first", "a1", "b0", "b1", "last"],
        ["first", "a0", "a1", "b0", "last", "b1"],
    ):
        with pytest.raises(DivergenceError, match="call-order"), use_tape(path):
            for name in calls:
                call(name)


def test_runs_of_loops_one_after_another_keep_their_order(tmp_path: Path) -> None:
    """The code has waited for each; nothing about them is in the manifest."""

    async def task(name: str) -> None:
        call(name)

    path = tmp_path / "run.cassette"
    with use_tape(path, mode="record"):
        for name in ("one", "two"):
            asyncio.run(task(name))
        call("three")

    for names in (("two", "one", "three"), ("one", "three", "two")):
        with pytest.raises(DivergenceError, match="call-order"), use_tape(path):
            for name in names:
                call(name)
    assert "after" not in (open_cassette(path).manifest.optional or {})["in_process"]


@pytest.mark.parametrize(
    "after", [None, 5, [], {}, {"run-1": 5, "run-2": ["run-2", 7], "x": {}}, {"run-2": ["run-1"]}]
)
def test_nonsense_about_the_order_of_calls_is_no_error(after: Any) -> None:
    """What a cassette has may be anything, circles too."""
    before = calls_before(after)
    assert before("run-1", "run-2") in {True, False}
    assert before("run-1", "run-9")
    assert before("run-1", "run-2") or "run-2" in after


def test_equal_questions_are_answered_in_their_order(tmp_path: Path, provider: Provider) -> None:
    """Once each: first in, first out."""
    provider.answers = [(200, chat("first")), (200, chat("second"))]
    with use_tape(tmp_path / "run.cassette", mode="record"):
        answers = [ask(provider.url, "again") for _ in range(2)]
    with use_tape(tmp_path / "run.cassette"):
        assert [ask(NOWHERE, "again") for _ in range(2)] == answers == ["first", "second"]
    with pytest.raises(DivergenceError), use_tape(tmp_path / "run.cassette"):
        for _ in range(3):
            ask(NOWHERE, "again")


@pytest.mark.parametrize("asked", [["one"], ["one", "three"], ["three"], ["one", "two", "two"]])
def test_a_fingerprint_is_computed_from_the_run(tmp_path: Path, asked: list[str]) -> None:
    """It is that of the recording only if all of it was asked."""
    path = recorded(tmp_path / "run.cassette", "one", "two")
    with use_tape(path) as whole:
        ask(NOWHERE, "one")
        ask(NOWHERE, "two")
    with use_tape(path, lenient=True) as tape:
        for text in asked:
            with suppress(httpx.HTTPStatusError):
                ask(NOWHERE, text)

    assert whole.result.fingerprint == whole.result.expected_fingerprint
    assert tape.result.expected_fingerprint == whole.result.expected_fingerprint
    same = tape.result.fingerprint == tape.result.expected_fingerprint
    assert same == (asked[:2] == ["one", "two"])  # what is asked too often is answered by nothing
    assert tape.result.divergences


def test_scrubbing_does_not_collapse_two_questions(tmp_path: Path, provider: Provider) -> None:
    """Two that differ only in a secret, both masked alike, keep their answers."""
    keys = ["sk-ant-api03-" + letter * 93 + "AA" for letter in "xy"]
    provider.answers = [(200, chat("the first")), (200, chat("the second"))]
    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = [ask(provider.url, f"my key is {key}") for key in keys]
    text = b"".join(one.read_bytes() for one in (tmp_path / "run.cassette").iterdir())
    assert not any(key.encode() in text for key in keys)
    with use_tape(tmp_path / "run.cassette"):
        assert [ask(NOWHERE, f"my key is {key}") for key in keys] == first


def test_an_unknown_mode_is_an_error_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the block, and for the variable too."""
    path = recorded(tmp_path / "run.cassette", "one")
    before = (path / "manifest.json").read_bytes()

    with pytest.raises(UsageError, match=r"^mode 'recrod' is not one of"):
        use_tape(path, mode="recrod")
    with pytest.raises(UsageError, match="this one is empty"):
        use_tape("")
    monkeypatch.setenv("PTYCASSETTE_MODE", "all")
    with pytest.raises(UsageError, match="PTYCASSETTE_MODE"), use_tape(path):
        pass
    assert (path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("mode", ["record", "rewrite", "auto", "rerecord"])
def test_a_block_that_fails_leaves_what_was_there(
    tmp_path: Path, provider: Provider, mode: str
) -> None:
    """No part of a cassette, and the old one if there was one."""
    path = tmp_path / "run.cassette"
    if mode in {"rewrite", "rerecord"}:
        recorded(path, "one")
    before = sorted(one.name for one in tmp_path.iterdir()), (path.exists())

    with pytest.raises(ZeroDivisionError), use_tape(path, mode=mode):
        ask(provider.url, "two")
        _ = 1 / 0

    assert (sorted(one.name for one in tmp_path.iterdir()), path.exists()) == before


@pytest.mark.parametrize("mode", ["record", "rewrite", "rerecord"])
def test_a_block_that_calls_nothing_is_no_recording(tmp_path: Path, mode: str) -> None:
    """Above all an asynchronous test whose coroutine nothing has run."""
    path = recorded(tmp_path / "old.cassette", "one") if mode != "record" else tmp_path / "new"

    with pytest.raises(RefusedError, match="no call of a model or a tool"):
        with use_tape(path, mode=mode):
            pass

    def makes_a_coroutine() -> Any:
        return ask_later(NOWHERE, "one")

    with pytest.raises(UsageError, match="makes_a_coroutine") as failed:
        use_tape(path, mode=mode)(makes_a_coroutine)()
    assert "async function itself" in (failed.value.hint or "")


def test_a_cassette_that_is_missing_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    """With where it was searched and how to record it; in CI ``auto`` records nothing."""
    with pytest.raises(NotFoundError, match="no such cassette") as failed:
        with use_tape("missing.cassette"):
            pass
    assert "PTYCASSETTE_MODE=auto" in (failed.value.hint or "")
    monkeypatch.setenv("CI", "1")
    with pytest.raises(NotFoundError), use_tape(tmp_path / "missing.cassette", mode="auto"):
        pass


def test_an_adapter_that_answers_before_the_tape_is_named(tmp_path: Path) -> None:
    """Mocks of requests are adapters, or replace the method of one."""
    requests = pytest.importorskip("requests")

    class Mock(requests.adapters.BaseAdapter):  # type: ignore[misc,name-defined]
        def send(self, request: Any, **more: Any) -> Any:
            del more
            response = requests.Response()
            response.status_code, response.request, response.url = 200, request, request.url
            return response

        def close(self) -> None:
            """Nothing is open."""

    @tape_tool
    def tool(number: int) -> int:
        return number

    def run(number: int) -> None:
        with requests.Session() as session:
            session.mount("http://", Mock())
            session.post("http://127.0.0.1:9/v1", json={})
        tool(number)

    path, said = tmp_path / "run.cassette", r"tests answered a request of requests \(POST\)"
    with pytest.raises(RefusedError, match=said), use_tape(path, mode="record"):
        with requests.Session() as session:
            session.mount("http://", Mock())
            session.post("http://127.0.0.1:9/v1", json={})
    with use_tape(path, mode="record") as tape:
        run(1)
    assert re.search(said, " ".join(tape.result.notes))
    with pytest.raises(DivergenceError) as failed, use_tape(path):
        run(2)
    assert re.search(said, " ".join(failed.value.__notes__))


def test_a_mock_of_responses_is_named(tmp_path: Path) -> None:
    """It replaces the method of an adapter, in the block or around it."""
    requests, responses = map(pytest.importorskip, ("requests", "responses"))

    with pytest.raises(RefusedError, match="responses answered a request of requests"):
        with use_tape(tmp_path / "run.cassette", mode="record"):
            with responses.RequestsMock() as mock:
                mock.post("http://127.0.0.1:9/v1", json={})
                requests.post("http://127.0.0.1:9/v1", json={}, timeout=5)


@pytest.mark.parametrize("when", ["before", "in"])
def test_a_mock_above_aiohttp_is_named(tmp_path: Path, when: str) -> None:
    """Nothing of its calls is on the tape; the mock may begin before the block."""
    aiohttp, mocks = pytest.importorskip("aiohttp"), pytest.importorskip("aioresponses")

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientPayloadError):
                await session.post(NOWHERE)

    block = use_tape(tmp_path / "run.cassette", mode="record")
    mock = mocks.aioresponses()
    with pytest.raises(RefusedError, match="aioresponses answered a request of aiohttp"):
        with mock if when == "before" else block, block if when == "before" else mock:
            # Its answers other than errors need an older aiohttp.
            mock.post(NOWHERE, exception=aiohttp.ClientPayloadError())
            asyncio.run(run())


def _by_aiohttp(url: str) -> None:
    aiohttp = pytest.importorskip("aiohttp")

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientError):
                await session.ws_connect(url)

    asyncio.run(run())


def _by_websockets(url: str) -> None:
    client = pytest.importorskip("websockets.asyncio.client")

    async def run() -> None:
        with pytest.raises(Exception, match="HTTP"):
            await client.connect(url.replace("http:", "ws:"))

    asyncio.run(run())


def _by_websockets_in_a_thread(url: str) -> None:
    client = pytest.importorskip("websockets.sync.client")
    with pytest.raises(Exception, match="HTTP"):
        client.connect(url.replace("http:", "ws:"))


@pytest.mark.parametrize("run", [_by_aiohttp, _by_websockets, _by_websockets_in_a_thread])
def test_a_web_socket_is_named(
    tmp_path: Path, provider: Provider, run: Callable[[str], None]
) -> None:
    """In the result, because a replay will have no network for it."""
    with use_tape(tmp_path / "run.cassette", mode="record") as tape:
        ask(provider.url, "one")
        run(provider.url)
    assert [note for note in tape.result.notes if "opened a WebSocket" in note]


def test_a_mock_of_respx_that_replay_does_not_ask_is_named(tmp_path: Path) -> None:
    """Its answers are recorded; in replay it complains that nothing has asked it."""
    respx = pytest.importorskip("respx")
    if HTTPX != "httpx":
        pytest.skip("respx mocks httpx")

    def run() -> None:
        with respx.mock() as mock:
            mock.post(f"{NOWHERE}/v1/chat/completions").respond(json=json.loads(chat("a")))
            assert ask(NOWHERE, "one") == "a"

    with use_tape(tmp_path / "run.cassette", mode="record"):
        run()
    with pytest.raises(AssertionError) as failed, use_tape(tmp_path / "run.cassette"):
        run()
    assert "a mock of respx is active, and is not asked" in failed.value.__notes__[0]


def test_generators_that_run_in_turns_keep_their_own_tapes(
    tmp_path: Path, provider: Provider
) -> None:
    """Also if the one that began first ends first; values and errors come to the right one."""

    def generators(mode: str, url: str) -> list[Any]:
        made = []
        for name in "ab":

            @use_tape(tmp_path / f"{name}.cassette", mode=mode)
            def steps(name: str = name) -> Any:
                sent = yield ask(url, f"{name}1")
                try:
                    yield ask(url, f"{name}{sent}")
                except ValueError as exc:
                    yield ask(url, f"{name}{exc}")
                return name

            made.append(steps())
        return made

    for mode, url in (("record", provider.url), ("replay", NOWHERE)):
        one, other = generators(mode, url)
        assert [next(one), next(other)] == ["you said a1", "you said b1"]
        assert [one.send("2"), other.send("3")] == ["you said a2", "you said b3"]
        assert one.throw(ValueError("4")) == "you said a4"
        with pytest.raises(StopIteration, match="a"):
            next(one)
        assert other.throw(ValueError("5")) == "you said b5"
        assert list(other) == []


@pytest.mark.asyncio
async def test_asynchronous_generators_that_run_in_turns_keep_their_own_tapes(
    tmp_path: Path, provider: Provider
) -> None:
    """The caller's own calls between steps belong to the innermost block."""

    def generators(mode: str, url: str) -> list[Any]:
        made = []
        for name in "ab":

            @use_tape(tmp_path / f"{name}.cassette", mode=mode)
            async def steps(name: str = name) -> Any:
                sent = yield await ask_later(url, f"{name}1")
                try:
                    yield await ask_later(url, f"{name}{sent}")
                except ValueError as exc:
                    yield await ask_later(url, f"{name}{exc}")

            made.append(steps())
        return made

    for mode, url in (("record", provider.url), ("replay", NOWHERE)):
        one, other = generators(mode, url)
        assert [await anext(one), await anext(other)] == ["you said a1", "you said b1"]
        assert [await one.asend("2"), await other.asend("3")] == ["you said a2", "you said b3"]
        assert await ask_later(url, "between") == "you said between"
        assert await one.athrow(ValueError("4")) == "you said a4"
        assert [item async for item in one] == []
        assert await other.athrow(ValueError("5")) == "you said b5"
        assert [item async for item in other] == []
    with open_cassette(tmp_path / "b.cassette") as cassette:
        assert len(list(cassette.tape())) == 4


def test_blocks_may_end_in_another_order(tmp_path: Path, provider: Provider) -> None:
    """What is asked then belongs to the one that is still entered."""
    for mode, url in (("record", provider.url), ("replay", NOWHERE)):
        first, second = (use_tape(tmp_path / f"{name}.cassette", mode=mode) for name in "ab")
        first.__enter__()
        ask(url, "first")
        second.__enter__()
        first.__exit__(None, None, None)
        ask(url, "second")
        second.__exit__(None, None, None)


def test_a_thread_may_have_a_block_of_its_own(tmp_path: Path, provider: Provider) -> None:
    """Before and after it, the thread belongs to the block that started it."""

    def run(mode: str, url: str) -> None:
        def inner() -> None:
            ask(url, "before")
            with use_tape(tmp_path / "inner.cassette", mode=mode):
                ask(url, "inner")
            ask(url, "after")

        with use_tape(tmp_path / "outer.cassette", mode=mode):
            assert together(inner) == [None]

    run("record", provider.url)
    run("replay", NOWHERE)
    for name, count in (("inner", 1), ("outer", 2)):
        with open_cassette(tmp_path / f"{name}.cassette") as cassette:
            assert len(list(cassette.tape())) == count


@pytest.mark.parametrize("what", ["call", "tool"])
@pytest.mark.asyncio
async def test_a_task_that_outlives_its_block_is_not_half_recorded(
    what: str, tmp_path: Path, provider: Provider
) -> None:
    """The error names the call; nothing is published."""
    begun, done = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def late(handler: BaseHTTPRequestHandler) -> None:
        loop.call_soon_threadsafe(begun.set)
        done.wait(60)
        with suppress(OSError):
            handler.send_error(500)

    @tape_tool
    async def tool() -> int:
        begun.set()
        await asyncio.to_thread(done.wait, 60)
        return 1

    provider.answers.append(late)
    path = tmp_path / "run.cassette"
    said = "tool tool was under way" if what == "tool" else "POST /v1/.* was under way"
    with pytest.raises(RefusedError, match=said):
        with use_tape(path, mode="record"):
            task = asyncio.create_task(tool() if what == "tool" else ask_later(provider.url, "one"))
            await begun.wait()
    done.set()
    await asyncio.gather(task, return_exceptions=True)
    assert not path.exists()


def test_a_tool_that_a_timeout_ends_is_recorded_without_a_result(tmp_path: Path) -> None:
    """In replay it runs again, also if it is served, and the timeout ends it again."""

    @tape_tool(replay="serve")
    async def tool(number: int) -> int:
        await asyncio.Event().wait()
        return number

    async def run() -> None:
        task = asyncio.create_task(tool(1))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for mode in ("record", "replay"):
        with use_tape(tmp_path / "run.cassette", mode=mode):
            asyncio.run(run())


@pytest.mark.parametrize("client", [HTTPX, "aiohttp"])
@pytest.mark.parametrize("where", ["head", "body"])
@pytest.mark.asyncio
async def test_an_answer_that_a_timeout_cut_is_cut_again(
    where: str, client: str, tmp_path: Path, provider: Provider
) -> None:
    """At the same place: in replay the code waits until its timeout cancels it again."""
    aiohttp, begun, done = pytest.importorskip("aiohttp"), threading.Event(), threading.Event()

    def cut(handler: BaseHTTPRequestHandler) -> None:
        if where == "body":
            handler.send_response(200)
            handler.send_header("content-length", "100")
            handler.end_headers()
            handler.wfile.write(b"abc")
            handler.wfile.flush()
        begun.set()
        done.wait(60)

    async def read(url: str, got: list[bytes]) -> None:
        if client == "aiohttp":
            async with aiohttp.ClientSession() as session:
                async with session.post(url, json=question("one")) as response:
                    async for data in response.content.iter_any():
                        got += [data]
        else:
            async with httpx.AsyncClient(timeout=None) as session:
                async with session.stream("POST", url, json=question("one")) as response:
                    async for data in response.aiter_bytes():
                        got += [data]

    async def run(url: str) -> list[bytes]:
        """Cancel the reader as a timeout does, when it waits."""
        got: list[bytes] = []
        task = asyncio.create_task(read(f"{url}/v1/chat/completions", got))
        while not begun.is_set() or (where == "body" and not got and not task.done()):  # noqa: ASYNC110 - both sides count
            await asyncio.sleep(0.001)
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return got

    provider.answers.append(cut)
    with use_tape(tmp_path / "run.cassette", mode="record"):
        first = await run(provider.url)
    done.set()
    with use_tape(tmp_path / "run.cassette"):
        again = await run(NOWHERE)
    assert first == again == ([b"abc"] if where == "body" else [])


@pytest.mark.parametrize("runner", ["asyncio", "trio"])
def test_groups_of_tasks_belong_to_the_block(
    runner: str, tmp_path: Path, provider: Provider
) -> None:
    """Those of asyncio, anyio and trio, and the threads that they start."""
    anyio = pytest.importorskip("anyio")
    trio = pytest.importorskip("trio") if runner == "trio" else None

    @tape_tool
    async def tool(number: int) -> int:
        return number

    async def run(url: str) -> None:
        await ask_later(url, "begin")
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(ask_later, url, f"{number}")
        await anyio.to_thread.run_sync(ask, url, "thread")
        if trio is not None:
            async with trio.open_nursery() as nursery:
                for number in range(3):
                    nursery.start_soon(tool, number)
            await trio.to_thread.run_sync(ask, url, "thread of trio")
        else:
            async with asyncio.TaskGroup() as tasks:
                for number in range(3):
                    tasks.create_task(tool(number))
            await asyncio.to_thread(ask, url, "thread of asyncio")
        await ask_later(url, "end")

    path = tmp_path / "run.cassette"
    for mode, url in (("record", provider.url), ("replay", NOWHERE)):
        with use_tape(path, mode=mode) as tape:
            anyio.run(run, url, backend=runner)
        assert tape.result.divergences == ()
    assert len(provider.bodies) == 7


def test_a_loop_of_uvloop_belongs_to_the_block(tmp_path: Path, provider: Provider) -> None:
    """Its tasks are made by a class of its own."""
    uvloop = pytest.importorskip("uvloop")

    async def run(url: str) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(ask_later(url, f"{number}"))
        await asyncio.to_thread(ask, url, "end")

    for mode, url in (("record", provider.url), ("replay", NOWHERE)):
        with use_tape(tmp_path / "run.cassette", mode=mode):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(run(url))


def test_tests_of_unittest_have_blocks(tmp_path: Path, provider: Provider) -> None:
    """As decorators, and for one test, one asynchronous test or a class."""

    def tests(mode: str, url: str) -> list[type[unittest.TestCase]]:
        def use(name: str) -> Any:
            return use_tape(tmp_path / f"{name}.cassette", mode=mode)

        class Plain(unittest.TestCase):
            def setUp(self) -> None:
                self.enterContext(use(f"set-up-{self._testMethodName}"))
                ask(url, "set up")

            @use("decorated")
            def test_decorated(self) -> None:
                assert ask(url, "decorated") == "you said decorated"

            def test_plain(self) -> None:
                assert ask(url, "plain") == "you said plain"

        class Asynchronous(unittest.IsolatedAsyncioTestCase):
            async def asyncSetUp(self) -> None:
                self.tape = await self.enterAsyncContext(use(self._testMethodName))

            @use("decorated-too")
            async def test_decorated_too(self) -> None:
                assert await ask_later(url, "decorated") == "you said decorated"
                assert not self.tape.result.over

            async def test_asynchronous(self) -> None:
                assert await ask_later(url, "one") == "you said one"

            async def asyncTearDown(self) -> None:
                await ask_later(url, "tear down")

        class OfAClass(unittest.TestCase):
            @classmethod
            def setUpClass(cls) -> None:
                cls.enterClassContext(use("class"))

            def test_one(self) -> None:
                ask(url, "one")

            def test_two(self) -> None:
                ask(url, "two")

        return [Plain, Asynchronous, OfAClass]

    for mode, url in (("record", provider.url), ("replay", NOWHERE)):
        result = unittest.TestResult()
        for case in tests(mode, url):
            unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        assert [text for _, text in [*result.errors, *result.failures]] == []
        assert result.testsRun == 6
    assert len(list(tmp_path.glob("*.cassette"))) == 7


def test_examples_of_hypothesis_share_a_block_around_them(
    tmp_path: Path, provider: Provider
) -> None:
    """Inside of them, each example would overwrite the recording of the one before."""
    examples = settings(max_examples=3, derandomize=True, database=None, deadline=None)

    def outside(mode: str, url: str) -> None:
        @use_tape(tmp_path / "outside.cassette", mode=mode)
        @examples
        @given(number=st.integers(0, 3))
        def agent(number: int) -> None:
            ask(url, f"{number}")

        agent()

    def inside(mode: str, url: str) -> None:
        @examples
        @given(number=st.integers(0, 3))
        @use_tape(tmp_path / "inside.cassette", mode=mode)
        def agent(number: int) -> None:
            ask(url, f"{number}")

        agent()

    outside("record", provider.url)
    outside("replay", NOWHERE)
    with pytest.raises(UsageError, match="another example of Hypothesis") as refused:
        inside("record", provider.url)
    assert "above @given" in str(refused.value)
    with pytest.raises(DivergenceError) as failed:
        inside("replay", NOWHERE)
    assert "a block of its own" in failed.value.__notes__[0]


def test_a_call_after_the_block_is_refused(tmp_path: Path, provider: Provider) -> None:
    """A task that outlives its block would be recorded nowhere, or reach the network."""
    path = recorded(tmp_path / "run.cassette", "one")

    def outlives(**options: Any) -> BaseException | None:
        failures: list[BaseException | None] = []
        over = threading.Event()

        def late() -> None:
            over.wait(30)
            try:
                ask(provider.url, "late")
            except SessionClosedError as exc:
                failures.append(exc)

        with use_tape(path, **options) as tape:
            ask(provider.url, "one")
            thread = threading.Thread(target=late)
            thread.start()
        assert tape.path == path
        over.set()
        thread.join()
        return failures[0] if failures else None

    assert "after its block" in str(outlives())
    assert "after its block" in str(outlives(mode="rerecord"))
    assert [body["messages"][0]["content"] for body in provider.bodies] == ["one"]


def _pieces(handler: BaseHTTPRequestHandler) -> None:
    """An answer in two pieces."""
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for data in (b"data: one\n\n", b"data: two\n\n", b""):
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))


def _begin_httpx(url: str) -> Callable[[], bytes]:
    client = httpx.Client()
    answer = client.send(client.build_request("POST", url, json=question("milk")), stream=True)
    pieces = answer.iter_raw()
    next(pieces)

    def rest() -> bytes:
        try:
            return b"".join(pieces)
        finally:
            answer.close()
            client.close()

    return rest


def _begin_requests(url: str) -> Callable[[], bytes]:
    requests = pytest.importorskip("requests")
    answer = requests.post(url, json=question("milk"), stream=True)
    pieces = answer.iter_content(None)
    next(pieces)

    def rest() -> bytes:
        try:
            return b"".join(pieces)
        finally:
            answer.close()

    return rest


def _begin_urllib3(url: str) -> Callable[[], bytes]:
    urllib3 = pytest.importorskip("urllib3")
    pool = urllib3.PoolManager()
    answer = pool.request("POST", url, json=question("milk"), preload_content=False)
    answer.read(4)

    def rest() -> bytes:
        try:
            return bytes(answer.read(100))
        finally:
            answer.close()
            pool.clear()

    return rest


def _in_a_loop(begin: Callable[[str], Any]) -> Callable[[str], Callable[[], bytes]]:
    """An asynchronous client, whose loop goes on after the block."""

    def begun(url: str) -> Callable[[], bytes]:
        runner = asyncio.Runner()
        later = runner.run(begin(url))

        def rest() -> bytes:
            with runner:
                return bytes(runner.run(later()))

        return rest

    return begun


async def _begin_async_httpx(url: str) -> Any:
    client = httpx.AsyncClient()
    request = client.build_request("POST", url, json=question("milk"))
    answer = await client.send(request, stream=True)
    pieces = answer.aiter_raw()
    await anext(pieces)

    async def rest() -> bytes:
        try:
            return b"".join([one async for one in pieces])
        finally:
            await answer.aclose()
            await client.aclose()

    return rest


async def _begin_aiohttp(url: str) -> Any:
    aiohttp = pytest.importorskip("aiohttp")
    session = aiohttp.ClientSession()
    answer = await session.post(url, json=question("milk"))
    await answer.content.readexactly(len(b"data: one\n\n"))

    async def rest() -> bytes:
        try:
            return bytes(await answer.content.read())
        finally:
            await session.close()

    return rest


@pytest.mark.parametrize(
    "begin",
    [
        _begin_httpx,
        _begin_requests,
        _begin_urllib3,
        _in_a_loop(_begin_async_httpx),
        _in_a_loop(_begin_aiohttp),
    ],
    ids=["httpx", "requests", "urllib3", "httpx later", "aiohttp"],
)
def test_an_answer_is_not_read_on_after_the_block(
    tmp_path: Path, provider: Provider, begin: Callable[[str], Callable[[], bytes]]
) -> None:
    """The same error in both modes, with the call; the recording has the part that was read."""
    provider.answers = [_pieces]
    for mode, url in (("record", provider.url), ("replay", NOWHERE)):
        with use_tape(tmp_path / "run.cassette", mode=mode):
            rest = begin(f"{url}/v1/messages")
        with pytest.raises(SessionClosedError, match="answer to POST /v1/messages was read on"):
            rest()
    with open_cassette(tmp_path / "run.cassette") as cassette:
        [entry] = [one.entry for one in cassette.tape()]
    assert entry.outcome == "client-gone"


def test_a_stream_that_is_left_alone_raises_nothing(tmp_path: Path, provider: Provider) -> None:
    """It is closed when it is collected, after the block."""
    provider.answers = [_pieces]
    for mode, url in (("record", provider.url), ("replay", NOWHERE)):
        client = httpx.Client()
        request = client.build_request("POST", f"{url}/v1/messages", json=question("milk"))
        with use_tape(tmp_path / "run.cassette", mode=mode):
            answer = client.send(request, stream=True)
            next(answer.iter_raw())
        answer.close()
        client.close()
        del answer
        gc.collect()


def test_the_network_is_off_in_replay(tmp_path: Path, provider: Provider) -> None:
    """For whatever the block does, in its threads as well; another thread has its network."""
    path = recorded(tmp_path / "run.cassette", "one")
    tried: list[str] = []

    def attempt() -> None:
        with socket.socket() as one:
            one.setblocking(False)
            tried.append("blocked" if isinstance(_connects(one), NetworkBlockedError) else "free")
        for look_up in (
            lambda name: socket.getaddrinfo(name, 443),
            socket.gethostbyname, socket.gethostbyname_ex, socket.gethostbyaddr,
        ):  # fmt: skip
            with pytest.raises(NetworkBlockedError):
                look_up("api.example.com")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            with pytest.raises(NetworkBlockedError):
                one.sendto(b"x", ("192.0.2.1", 53))
            with pytest.raises(NetworkBlockedError):
                one.sendmsg([b"x"], [], 0, ("192.0.2.1", 53))
        assert socket.gethostbyname("localhost") == "127.0.0.1"

    async def in_a_loop() -> None:
        with socket.socket() as one, pytest.raises(NetworkBlockedError):
            one.setblocking(False)
            await asyncio.get_running_loop().sock_connect(one, ("192.0.2.1", 80))

    ready, done = threading.Event(), threading.Event()

    def outside() -> None:
        ready.wait(30)
        with socket.socket() as other:
            other.setblocking(False)
            tried.append("blocked" if isinstance(_connects(other), NetworkBlockedError) else "free")
        done.set()

    thread = threading.Thread(target=outside)
    thread.start()
    with use_tape(path):
        ask(NOWHERE, "one")
        attempt()
        inside = threading.Thread(target=attempt)
        inside.start()
        inside.join()
        asyncio.run(in_a_loop())
        ready.set()
        done.wait(30)
    thread.join()

    assert tried == ["blocked"] * 2 + ["free"]
    assert ask(provider.url, "the block is over") == "you said the block is over"


def test_a_network_that_is_disabled_stays_off_in_every_mode(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider on this machine can be recorded all the same."""
    monkeypatch.setenv("PTYCASSETTE_DISABLE_NETWORK", "1")
    for mode in ("record", "live"):
        with use_tape(tmp_path / "run.cassette", mode=mode), socket.socket() as one:
            ask(provider.url, "one")
            one.setblocking(False)
            assert isinstance(_connects(one), NetworkBlockedError)


def _connects(one: socket.socket) -> BaseException | None:
    try:
        one.connect(("192.0.2.1", 80))
    except (OSError, NetworkBlockedError) as exc:
        return exc
    return None


def test_threads_and_tasks_with_tapes_of_their_own_never_mix(
    tmp_path: Path, provider: Provider
) -> None:
    """Recorded and replayed at once: each cassette has the calls of its own block."""
    together = threading.Barrier(4)

    def run(name: str, mode: str) -> list[str]:
        with use_tape(tmp_path / f"{name}.cassette", mode=mode):
            together.wait(30)
            answers = [ask(provider.url, f"{name} {number}") for number in range(3)]
            together.wait(30)
        return answers

    names = ["a", "b", "c", "d"]
    with ThreadPoolExecutor(4) as pool:
        first = list(pool.map(run, names, ["record"] * 4))
        asked = len(provider.bodies)
        again = list(pool.map(run, names, ["replay"] * 4))

    async def task(name: str) -> list[str]:
        async with use_tape(tmp_path / f"{name}.cassette"):
            return [await ask_later(NOWHERE, f"{name} {number}") for number in range(3)]

    async def tasks() -> list[list[str]]:
        return await asyncio.gather(*map(task, names))

    assert first == again == asyncio.run(tasks())
    assert (asked, len(provider.bodies)) == (12, 12)


# -- faults --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "got"),
    [
        ("rate-limit", "429"),
        ("overloaded@1", "529"),
        ("error", "500"),
        ("disconnect", "RemoteProtocolError"),
        ("truncated", "RemoteProtocolError"),
        ("stalled:30", "ReadTimeout"),
        ("dribble", "you said one"),
        ("empty", "None"),
        ("refusal", "I cannot help with that."),
    ],
)
def test_a_provider_fails_once_and_an_agent_that_asks_again_survives(
    tmp_path: Path, fault: str, got: str
) -> None:
    """Without waiting; an agent that does not ask again fails with the error of its client."""
    path = recorded(tmp_path / "run.cassette", "one", "two")
    met: list[str] = []

    def once(text: str) -> str:
        try:
            return ask(NOWHERE, text)
        except httpx.HTTPStatusError as exc:
            met.append(str(exc.response.status_code))
            raise
        except httpx.TransportError as exc:
            met.append(type(exc).__name__)
            raise

    def agent(text: str) -> str:
        try:
            return once(text)
        except httpx.HTTPError:
            return once(text)

    with use_tape(path, fault=fault) as tape:
        answers = [agent("one"), agent("two")]
    assert answers == (["you said one"] if met else [got]) + ["you said two"]
    assert met == ([got] if met else [])
    assert "struck at entry 1" in tape.result.notes[0]
    if met:
        with pytest.raises(httpx.HTTPError), use_tape(path, fault=fault):
            once("one")


def test_a_fault_of_requests_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No recorded answer can have it, so a run that asks for it would prove nothing."""
    path = recorded(tmp_path / "run.cassette", "one")
    with pytest.raises(UsageError, match="answers do not depend on the request"):
        use_tape(path, fault="swapped-tool-result")
    monkeypatch.setenv("PTYCASSETTE_FAULT", "swapped-tool-result")
    with pytest.raises(UsageError, match="do not depend on the request"), use_tape(path):
        pytest.fail("the block was entered")


def test_what_comes_behind_a_fault_is_not_compared(tmp_path: Path) -> None:
    """An agent may give up; before the fault all is compared, and an unknown fault is an error."""
    path = recorded(tmp_path / "run.cassette", "one", "two", "three")

    with use_tape(path, fault="error@2") as tape:
        ask(NOWHERE, "one")
        with pytest.raises(httpx.HTTPStatusError):
            ask(NOWHERE, "two")
    assert tape.result.notes == ("error@2 struck at entry 2; nothing is compared then",)
    with pytest.raises(DivergenceError), use_tape(path, fault="error@2") as tape:
        ask(NOWHERE, "another")
    assert tape.result.notes == ("error@2 was not met",)
    for fault, text in (
        ("eror", "is not a known fault"),
        ("login-screen", "a fault of the terminal"),
    ):
        with pytest.raises(UsageError, match=text):
            use_tape(path, fault=fault)
    with pytest.raises(NotFoundError, match="tape:9"), use_tape(path, fault="error@9"):
        pass


# -- tools ---------------------------------------------------------------------------------


class StockError(Exception):
    """An error of a program's own."""


def test_a_tool_runs_again_and_is_compared(tmp_path: Path) -> None:
    """Its result, or its exception with type and text; in order with the model calls."""
    stock = {"milk": 1}

    @tape_tool
    def count(name: str, *, factor: int = 1) -> int:
        if name not in stock:
            raise StockError(f"no {name}")
        return stock[name] * factor

    def run(url: str) -> None:
        ask(url, "one")
        assert count("milk", factor=stock["milk"]) == stock["milk"] ** 2
        with pytest.raises(StockError):
            count("silk")

    path = tmp_path / "run.cassette"
    provider = Provider()
    with use_tape(path, mode="record"):
        run(provider.url)
    provider.close()
    with use_tape(path):
        run(NOWHERE)
    with open_cassette(path) as cassette:
        events = [one.payload for one in cassette.service_events() if "entry" not in one.payload]
    assert [one["type"] for one in events] == ["tool-call", "tool-result"] * 2
    assert events[0]["arguments"] == {"name": "milk", "factor": 1}
    assert events[3]["error"] == {"type": "StockError", "message": "no silk", "args": ["no silk"]}
    assert events[1]["duration_ms"] >= 0

    with pytest.raises(DivergenceError, match="call-order"), use_tape(path):
        count("milk", factor=1)
        ask(NOWHERE, "one")
        with pytest.raises(StockError):
            count("silk")
    with pytest.raises(DivergenceError, match="with these arguments"), use_tape(path):
        ask(NOWHERE, "one")
        count("milk", factor=7)
    stock["silk"] = 3
    with pytest.raises(DivergenceError, match="tool-changed") as failed, use_tape(path):
        ask(NOWHERE, "one")
        count("milk")
        count("silk")
    assert "StockError: no silk" in str(failed.value)


def test_a_tool_is_served_and_does_not_run(tmp_path: Path) -> None:
    """With its recorded result, in the type that it declares, or its recorded exception."""
    ran: list[str] = []

    @tape_tool(replay="serve", raises=(StockError,), name="look_up")
    async def served(name: str) -> tuple[str, int]:
        ran.append(name)
        match name:
            case "milk":
                return name, 2
            case "key":
                raise KeyError(name)
            case "own":
                raise StockError(name, 3)
        raise subprocess.CalledProcessError(2, name)

    async def run() -> list[Any]:
        found: list[Any] = [await served("milk")]
        for name in ("key", "own", "other"):
            try:
                await served(name)
            except Exception as exc:  # noqa: BLE001 - which one is looked at below
                found.append(exc)
        return found

    with use_tape(tmp_path / "run.cassette", mode="record"):
        asyncio.run(run())
    with use_tape(tmp_path / "run.cassette"):
        milk, key, own, other = asyncio.run(run())

    assert milk == ("milk", 2)
    assert (type(key), key.args) == (KeyError, ("key",))
    assert (type(own), own.args) == (StockError, ("own", 3))
    assert isinstance(other, ToolError)
    assert other.type == "CalledProcessError"
    assert ran == ["milk", "key", "own", "other"]


class Colour(enum.Enum):
    """A type of a program's own."""

    RED = "red"


@dataclasses.dataclass(frozen=True)
class Item:
    """Another one."""

    name: str
    more: Any = None


class Row(NamedTuple):
    """Another one."""

    number: int


class Label(str):
    """A text that is not only a text."""

    __slots__ = ()


class Array:
    """As the arrays of numpy are."""

    def tolist(self) -> list[int]:
        """Its numbers."""
        return [1, 2]


def served(value: Any, declared: Any, path: Path) -> Any:
    """What a served tool gives in replay that returned this value in the recording."""

    def find() -> Any:
        return value

    if declared is not None:
        find.__annotations__["return"] = declared
    else:
        find.__annotations__.clear()
    tool = tape_tool(replay="serve")(find)
    with use_tape(path, mode="record"):
        assert tool() is value
    with use_tape(path):
        return tool()


WHEN = dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)
RETURNED = [
    ({1: 2}, dict[int, int]),
    ((1, "a"), tuple[int, str]),
    ({"b", "a"}, set[str]),
    ({Item("a"), Item("b")}, set[Item]),
    (WHEN, dt.datetime),
    (b"\x00", bytes),
    (Decimal("1.50"), Decimal),
    (Colour.RED, Colour),
    (Item("a", [1]), Item),
    ([Row(1)], list[Row]),
    (Path("a"), Path),
    ([Path("a")], list[Path]),
    (Label("a"), Label),
    (1j, complex),
    (ipaddress.ip_address("::1"), ipaddress.IPv6Address),
    (collections.Counter("aab"), collections.Counter),
    ({"a": [1, 2.5, None, True]}, None),
    ([1, 2.5], list[float]),
    (None, None),
]


@pytest.mark.parametrize(
    ("value", "declared"),
    RETURNED,
    ids=lambda one: "set" if isinstance(one, set) else repr(one)[:40],  # a set has no order
)
def test_a_served_result_equals_the_one_that_the_tool_returned(
    value: Any, declared: Any, tmp_path: Path
) -> None:
    """In type and value, and in the order of its keys, if the tool declares what it returns."""
    found = served(value, declared, tmp_path / "run.cassette")

    assert found == value
    assert repr(found) == repr(value) or isinstance(value, set)


def test_a_served_result_may_be_one_of_several_models(tmp_path: Path) -> None:
    """And lists of models."""
    pydantic = pytest.importorskip("pydantic")
    one = pydantic.create_model("One", a=int)
    other = pydantic.create_model("Other", b=(tuple[int, ...], ...))

    for value, declared in [
        (one(a=1), one),
        ([one(a=1)], list[one]),
        (other(b=(1,)), one | other),
        (collections.deque([1]), collections.deque[int]),
    ]:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.cassette"
        assert served(value, declared, path) == value


class Price(msgspec.Struct, frozen=True, rename="camel"):
    """A result whose fields have other names in JSON."""

    in_euro: float
    parts: tuple[float, ...] = ()


class Point(msgspec.Struct, array_like=True, tag=True):
    """A result that is an array in JSON."""

    x: float
    y: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Weight:
    """A result with fields that cannot be set."""

    kilos: float
    each: dict[int, float] = dataclasses.field(default_factory=dict)


class Place(NamedTuple):
    """A result that is a tuple."""

    x: float


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (3, float),
        (3.0, int),
        ({1: 2}, dict[int, float]),
        (collections.OrderedDict(a=1), collections.OrderedDict[str, float]),
        (collections.deque([1]), collections.deque[float]),
        (Weight(3, {1: 2}), Weight),
        ([Weight(3)], list[Weight]),
        (Price(3, (1, 2.5)), Price),
        (Point(1, 2), Point),
        (Place(1), Place),
    ],
    ids=repr,
)
def test_a_served_number_stays_an_int_where_a_float_is_declared(
    value: Any, declared: Any, tmp_path: Path
) -> None:
    """Python allows it; the code may send the text of the number to a model."""
    found = served(value, declared, tmp_path / "run.cassette")

    assert (found, repr(found)) == (value, repr(value))


def test_a_served_model_may_have_an_int_where_a_float_is_declared(tmp_path: Path) -> None:
    """Pydantic keeps one that is set later, but makes a float of it in JSON."""
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Priced", price=(float, ...), more=(list[float], []))
    value = model(price=1)
    value.price, value.more = 3, [1]

    assert served(value, model, tmp_path / "run.cassette") == value


@pytest.mark.parametrize(
    ("value", "declared", "said"),
    [
        (float("nan"), float, "result is nan, which JSON does not have"),
        ([1.0, float("inf")], None, "result[1] is inf"),
        ({1: 2}, None, "with keys of type int"),
        ({1: 2, "1": 3}, None, "with keys of type int, str"),
        ({"a": [(1, 2)]}, None, "result['a'][0] is of type tuple, and replay would give list"),
        ([(1, 2)], list, "result[0] is of type tuple"),
        (WHEN, None, "result is of type datetime, and replay would give str"),
        ({1}, None, "result is of type set"),
        (b"a", None, "result is of type bytes"),
        (Decimal(1), None, "result is of type Decimal"),
        (Colour.RED, None, "result is of type Colour"),
        (Item("a"), None, "result is of type Item, and replay would give dict"),
        (Item("a", (1,)), Item, "result.more is of type tuple"),
        (Row(1), None, "result is of type Row"),
        (Path("a"), None, "result is of type PosixPath"),
        (Label("a"), None, "result is of type Label"),
        (Array(), None, "result is of type Array, and replay would give list"),
        ((one for one in "ab"), None, "result is of type generator"),
        ({"a": Item("b", object())}, None, "result['a'].more is of type object"),
        ([2**64], None, "result[0] is of type int"),
        ({(1, 2): 3}, dict[tuple[int, int], int], "result is of type dict"),
    ],
)
def test_a_result_that_replay_would_change_is_refused_at_once(
    value: Any, declared: Any, said: str, tmp_path: Path
) -> None:
    """The error names the tool and the part, and the block fails even if the code swallows it."""
    path = tmp_path / "run.cassette"
    with pytest.raises(UsageError, match="tool find ") as failed:
        served(value, declared, path)
    assert said in str(failed.value)
    assert failed.value.hint
    with pytest.raises(UsageError, match="tool find "), use_tape(path, mode="record"):
        tool = tape_tool(replay="serve", name="find")(lambda: value)
        if declared is None or declared is list:
            with pytest.raises(UsageError):
                tool()
        else:
            with suppress(UsageError):
                tool()
    assert not path.exists()


def test_a_declared_type_that_python_cannot_resolve_is_named(tmp_path: Path) -> None:
    """Annotations are texts in many programs, and local classes are unknown where they are read."""

    @dataclasses.dataclass
    class Local:
        a: int

    @tape_tool(replay="serve")
    def find() -> Local:
        return Local(1)

    with pytest.raises(UsageError, match="'Local' is not defined"):
        with use_tape(tmp_path / "run.cassette", mode="record"):
            find()


def test_a_tool_that_runs_again_may_return_what_json_changes(tmp_path: Path) -> None:
    """And take it: paths, sets in any order, arrays, patterns, functions."""

    @tape_tool
    def find(*given: Any) -> Any:
        return {one if isinstance(one, str) else str(one) for one in given[0]}, Array(), WHEN

    def run(words: Sequence[str]) -> None:
        find(set(words), Path("a/b"), re.compile("x"), Array(), len, Label("c"), {1: 2}, WHEN)

    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from tests.integration import test_in_process as tests\n"
        "from ptycassette import tape_tool, use_tape\n"
        "tool = tape_tool(name='find')(lambda given: set(given))\n"
        f"with use_tape({str(tmp_path / 'other.cassette')!r}, mode='auto'): tool({{*'abcdefgh'}})\n"
    )
    with use_tape(tmp_path / "run.cassette", mode="record"):
        run("abc")
    with use_tape(tmp_path / "run.cassette"):
        run("cba")
    for seed in "123":  # sets of texts have another order in each process
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True
        )


def test_arguments_without_a_form_are_named(tmp_path: Path) -> None:
    """With the tool, and the part; the block fails even if the code swallows the error."""

    @tape_tool
    def find(given: Any) -> None:
        pytest.fail(f"it ran with {given}")

    with pytest.raises(
        UsageError, match=r"tool find .* arguments\['given'\]\[1\] is of type object"
    ):
        with use_tape(tmp_path / "run.cassette", mode="record"), suppress(UsageError):
            find([1, object()])
    with use_tape(tmp_path / "run.cassette", mode="live"):  # nothing is recorded
        with pytest.raises(pytest.fail.Exception, match="it ran"):
            find(object())


def test_a_tool_is_a_function_that_returns_a_value() -> None:
    """A generator would be recorded before it has given anything."""

    def items() -> Iterator[int]:
        yield 1

    with pytest.raises(UsageError, match="items is a generator"):
        tape_tool(items)
    with pytest.raises(UsageError, match="below @staticmethod"):
        tape_tool(property(items))  # type: ignore[type-var]


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.dates(),
        st.sets(st.integers() | st.text(), max_size=3),
    ),
    lambda one: (
        st.lists(one, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(), one, max_size=3)
        | st.tuples(one)
    ),
    max_leaves=5,
)


@given(value=ANYTHING, declared=st.sampled_from([None, Any, list, dict, dict[int, Any], float]))
@settings(max_examples=40, deadline=None)
def test_any_result_is_served_as_it_was_or_refused(value: Any, declared: Any) -> None:
    """Nothing in between."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = served(value, declared, Path(folder) / "run.cassette")
        except UsageError:
            return
    assert (found, repr(found)) == (value, repr(value))


@pytest.mark.parametrize(
    "name", ["os.system", "print", "SystemExit", "ExceptionGroup", "__import__"]
)
def test_nothing_that_a_cassette_names_is_imported(name: str) -> None:
    """A stranger may have written which exception a tool has raised."""
    for args in (("echo",), ("x", ["echo"]), ("x", [])):
        made = ToolOutcome(error=name, message="x", args=args).exception(())

        assert isinstance(made, ToolError)
        assert made.type == name


def test_a_block_is_a_tool_call(tmp_path: Path) -> None:
    """For code without a function; an argument or result without JSON is refused by name."""

    def run(found: Any) -> None:
        with tool_call("search", {"query": "milk"}) as call:
            call.result = found

    with use_tape(tmp_path / "run.cassette", mode="record"):
        run(["a"])
    with use_tape(tmp_path / "run.cassette"):
        run(["a"])
    with pytest.raises(DivergenceError, match="tool search"), use_tape(tmp_path / "run.cassette"):
        run(["b"])
    with pytest.raises(UsageError, match="the result of tool search"):
        with use_tape(tmp_path / "new.cassette", mode="record"):
            run(object())
    run(object())  # outside of a block it does nothing
    with pytest.raises(ValueError, match="replay is one of run, serve"):
        tape_tool(replay="mock")  # type: ignore[call-overload]


def test_arguments_and_results_are_scrubbed_and_compared_as_they_are_scrubbed(
    tmp_path: Path,
) -> None:
    """A secret is in no file, and its tool is found all the same."""
    token = "ghp_" + "aB3dE6gH9" * 4

    @tape_tool
    def login(token: str) -> dict[str, str]:
        return {"said": f"hello {token}"}

    with use_tape(tmp_path / "run.cassette", mode="record"):
        login(token)
    text = b"".join(one.read_bytes() for one in (tmp_path / "run.cassette").iterdir())
    assert token.encode() not in text
    with use_tape(tmp_path / "run.cassette"):
        assert login(token)["said"].endswith(token)


def test_tool_calls_that_differ_only_in_a_secret_get_their_own_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever order; another secret is none of them, and the error shows none."""
    path = tmp_path / "run.cassette"
    letters = string.ascii_letters + string.digits
    tokens = ["ghp_" + "".join(random.Random(n).choices(letters, k=36)) for n in range(3)]

    @tape_tool(replay="serve")
    def account(token: str) -> int:
        return tokens.index(token)

    with use_tape(path, mode="record"):
        assert [account(token) for token in tokens[:2]] == [0, 1]
    with use_tape(path, order="loose") as tape:
        assert [account(token) for token in tokens[1::-1]] == [1, 0]
    assert tape.result.notes == ()
    with pytest.raises(DivergenceError, match="masked values") as caught, use_tape(path):
        account(tokens[2])
    assert not [token for token in tokens if token[4:] in repr(caught.value) + str(caught.value)]
    monkeypatch.setenv("PTYCASSETTE_SECRETS", "any")
    with use_tape(path, allow_unplayed=True) as tape:
        assert account(tokens[2]) == 0
    assert "could not be compared" in " ".join(tape.result.notes)


def test_recordings_that_are_joined_keep_the_salt_of_each(tmp_path: Path) -> None:
    """Their calls are found again, and one secret in both has two digests."""
    letters = string.ascii_letters + string.digits
    tokens = ["ghp_" + "".join(random.Random(n).choices(letters, k=36)) for n in range(3)]

    @tape_tool(replay="serve")
    def account(token: str) -> int:
        return tokens.index(token)

    paths = [tmp_path / "first.cassette", tmp_path / "second.cassette"]
    for path, number in zip(paths, (1, 2), strict=True):
        with use_tape(path, mode="record"):
            assert [account(token) for token in tokens[:number]] == [*range(number)]
    joined = tmp_path / "joined.cassette"
    ptycassette("edit", "join", *map(str, paths), "--output", str(joined), status=0)

    with open_cassette(joined) as cassette:
        calls = [one.payload for one in cassette.service_events() if "digests" in one.payload]
    assert len({digest for call in calls for digest in call["digests"]}) == 3
    assert len({call.get("salt", "") for call in calls}) == 2
    with use_tape(joined) as tape:
        assert [account(token) for token in (tokens[0], *tokens[:2])] == [0, 0, 1]
    assert tape.result.notes == ()
    with pytest.raises(DivergenceError, match="masked values"), use_tape(joined):
        account(tokens[0])
        account(tokens[2])


def test_a_tool_call_is_found_that_was_masked_for_what_another_one_gives_away(
    tmp_path: Path,
) -> None:
    """Also where its name is masked; what is no mask is compared."""
    path = tmp_path / "run.cassette"
    password, token = "hunter" + "22x", "ghp_" + "aB3dE6gH9" * 4

    def run(command: str) -> None:
        with tool_call("shell", {"cmd": command}) as call:
            call.result = f"signed in with {password}"
        with tool_call(f"of-{token}", {"password": password, "n": 1}) as call:
            call.result = [1, True, None]

    with use_tape(path, mode="record"):
        run(f"login {password} now")
    text = b"".join(one.read_bytes() for one in path.iterdir())
    assert password.encode() not in text
    assert token[4:].encode() not in text
    with use_tape(path) as tape:
        run(f"login {password} now")
    [note] = tape.result.notes
    assert note == "masked values in calls of shell, of-<github-token> could not be compared"
    with pytest.raises(DivergenceError, match="with these arguments"), use_tape(path):
        run(f"logout {password} now")


def test_draws_are_recorded_and_served(tmp_path: Path) -> None:
    """Without any model traffic too; another draw, and one that is left, fail the block."""
    path = tmp_path / "run.cassette"

    @tape_tool
    def number() -> int:
        return 7

    with use_tape(path, mode="record") as tape:
        first = tape.draws.now(), tape.draws.uuid4(), tape.draws.random(), number()
    use = use_tape(path)
    with use as tape:
        assert (tape.draws.now(), tape.draws.uuid4(), tape.draws.random(), number()) == first
    assert use.result.fingerprint == use.result.expected_fingerprint
    with pytest.raises(DivergenceError, match="2 recorded draws"), use_tape(path) as tape:
        assert (tape.draws.now(), number()) == (first[0], 7)
    with pytest.raises(DivergenceError, match="draw 1 was"), use_tape(path) as tape:
        with pytest.raises(DivergenceError):
            tape.draws.random()
    with use_tape(path, mode="live") as tape:
        assert tape.draws.uuid4() != first[1]


def test_draws_alone_are_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of code that calls no model and no tool; the environment of then is served."""
    path = tmp_path / "run.cassette"
    monkeypatch.setenv("FEATURE", "on")
    with use_tape(path, mode="record") as tape:
        first = tape.draws.uuid4(), tape.draws.environ("FEATURE")
    monkeypatch.setenv("FEATURE", "off")
    with use_tape(path) as tape:
        assert (tape.draws.uuid4(), tape.draws.environ("FEATURE")) == first
    with pytest.raises(DivergenceError, match="1 recorded draws"), use_tape(path) as tape:
        tape.draws.uuid4()


def test_a_tape_that_somebody_wrote_again_is_not_served(tmp_path: Path) -> None:
    """Its digests fit, but its fingerprint is another one."""
    path = recorded(tmp_path / "run.cassette", "buy milk")
    changed = TamperedTape(path, tmp_path / "changed.cassette")
    changed.answers[1] = changed.answers[1].replace(b"buy milk", b"buy silk")

    with pytest.raises(TapeError, match="was changed"), use_tape(changed.publish()):
        pass


# -- drift ---------------------------------------------------------------------------------


def test_rerecord_reports_what_changed_and_keeps_the_recording(
    tmp_path: Path, provider: Provider
) -> None:
    """By turns: an answer, an added and a removed call; ``rewrite`` replaces it."""
    path = recorded(tmp_path / "run.cassette", "one", "two")
    before = (path / "manifest.json").read_bytes()
    provider.answers = [(200, chat("something else"))]
    use = use_tape(path, mode="rerecord")
    with use:
        ask(provider.url, "one")
    drift = use.result.drift
    assert drift is not None
    assert [(one.kind, one.what, one.old, one.new) for one in drift.exchanges] == [
        ("changed", "model", 1, 1),
        ("removed", "model", 2, 0),
    ]
    assert (drift.exchanges[0].expected, drift.exchanges[0].got) == (
        "you said one",
        "something else",
    )
    assert (path / "manifest.json").read_bytes() == before
    with use_tape(path, mode="rewrite") as tape:
        ask(provider.url, "one")
    assert [one.kind for one in tape.result.drift.exchanges] == ["removed"]
    with use_tape(path):
        ask(NOWHERE, "one")


def test_drift_in_meaning_reads_all_scripts(tmp_path: Path, provider: Provider) -> None:
    """The same Japanese text is no drift; another one is; a paraphrase passes its threshold."""
    provider.answers = [(200, chat("牛乳とパンを買う")), (200, chat("buy milk and fresh bread"))]
    path = tmp_path / "run.cassette"
    with use_tape(path, mode="record"):
        ask(provider.url, "メモには何とありますか")
        ask(provider.url, "in English?")
    provider.answers = [(200, chat("牛乳とパンを買う")), (200, chat("buy milk and old bread"))]
    use = use_tape(path, mode="rerecord")
    with use:
        ask(provider.url, "メモには何とありますか")
        ask(provider.url, "in English?")

    assert [one.new for one in use.result.drift.exchanges] == [2]  # type: ignore[union-attr]
    assert not use.result.semantic_drift(0.5)
    assert use.result.semantic_drift(0.999)
    assert semantic_match("牛乳とパンを買う", "牛乳とパンを買う", 0.9).score == 1
    with pytest.raises(ValueError, match="threshold"):
        use.result.semantic_drift(2)


# -- the cassette --------------------------------------------------------------------------


@tape_tool
def look_up(word: str) -> dict[str, str]:
    """A tool that knows milk."""
    if word != "milk":
        raise KeyError(word)
    return {"found": word}


def with_tools(path: Path, *words: str) -> Path:
    """A cassette of model and tool calls."""
    provider = Provider()
    try:
        with use_tape(path, mode="record"):
            for word in words:
                ask(provider.url, f"buy {word}")
                with suppress(KeyError):
                    look_up(word)
    finally:
        provider.close()
    return path


def commanded(*words: object) -> subprocess.CompletedProcess[str]:
    """The result of a command."""
    return subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False)


def output_of(*words: object) -> str:
    """What a command prints that succeeds."""
    done = commanded(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_an_ordinary_cassette(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands take it."""
    monkeypatch.setenv("PTYCASSETTE_STATE_DIR", str(tmp_path / "state"))
    path = recorded(tmp_path / "run.cassette", "buy milk")

    assert "valid" in output_of("verify", path)
    assert "nothing left" in output_of("verify-scrub", path)
    info = output_of("info", path)
    assert "in-process" in info
    assert "terminal" not in info
    assert "in-process" in output_of("ls", tmp_path)
    assert "/v1/chat/completions" in output_of("tape", path)
    assert "model-request" in output_of("events", path)
    for name in ("run.har", "run.html", "run.atif.json"):
        output_of("export", path, tmp_path / name)
        assert "buy milk" in (tmp_path / name).read_text()


TURNS = [
    "1 > buy milk",
    "1 < you said buy milk",
    '2 > tool look_up {"word":"milk"}',
    '2 < {"found":"milk"}',
    "3 > buy rum",
    "3 < you said buy rum",
    '4 > tool look_up {"word":"rum"}',
    "4 < KeyError: 'rum'",
]


def test_its_turns_are_its_screen(tmp_path: Path) -> None:
    """To every command that shows one; nothing of it is stored."""
    path = with_tools(tmp_path / "run.cassette", "milk", "rum")

    assert output_of("play", path).splitlines() == TURNS
    assert len(output_of("frames", path).splitlines()) == 1 + len(TURNS)
    assert output_of("frames", path, "--last").splitlines()[: len(TURNS)] == TURNS
    rendered = output_of("frames", path, "--render", "--at", "9:00")
    assert rendered.splitlines()[: len(TURNS)] == TURNS
    for name in ("run.txt", "run.md", "run.cast", "run.html", "run.svg", "run.ttyrec"):
        output_of("export", path, tmp_path / name)
        written = (tmp_path / name).read_text(errors="replace")
        assert "you said buy milk" in written.replace("\N{NO-BREAK SPACE}", " "), name
        assert "KeyError" in written, name
    output_of("export", path, tmp_path / "run.jsonl")
    assert "you said" not in (tmp_path / "run.jsonl").read_text()
    assert (path / "output.raw").read_bytes() == b""
    with open_cassette(path) as cassette:
        assert [event for event in cassette.events() if event.kind == "output"] == []
        shown = with_turns(cassette)
        assert b"".join(shown.raw()) == b"".join(
            event.data for event in shown.events() if event.kind == "output"
        )
        assert [shown.output_bytes(one) for one in shown.outputs()] == [
            event.data for event in shown.events() if event.kind == "output"
        ]


def test_nothing_of_a_turn_acts_on_a_terminal(tmp_path: Path) -> None:
    """Answers and arguments are other people's text."""
    path = with_tools(tmp_path / "run.cassette", "\x1b]0;owned\x07\x1b[2J\r\n\x9b31m")

    with open_cassette(path) as cassette:
        data = b"".join(with_turns(cassette).raw())
    for style in (b"\x1b[1m", b"\x1b[31m", b"\x1b[0m", b"\r\n"):
        data = data.replace(style, b"")
    assert "owned" in data.decode()
    assert [character for character in data.decode() if not character.isprintable()] == []


def test_two_of_them_are_compared_by_turn(tmp_path: Path) -> None:
    """By the command and by ``drift``, exactly and in meaning."""
    old = with_tools(tmp_path / "old.cassette", "milk", "rum")
    new = with_tools(tmp_path / "new.cassette", "milk", "gin", "tea")

    same = commanded("diff", old, old)
    differs = commanded("diff", old, new)

    assert (same.returncode, "are the same" in same.stdout) == (0, True)
    assert differs.returncode == 1
    assert "changed: 4 turns" in differs.stdout
    assert "turn 3 changed: model\n  - buy rum\n" in differs.stdout
    assert "turn 6 added: tool look_up" in differs.stdout
    assert [(one.kind, one.new) for one in drift(old, new).exchanges] == [
        ("changed", 3), ("changed", 4), ("added", 5), ("added", 6),
    ]  # fmt: skip
    with open_cassette(old) as one, open_cassette(new) as other:
        assert drift(one, other) == drift(old, new)
    assert not semantic_drift(old, old)
    assert len(semantic_drift(old, new, 0.01).exchanges) == 2
    assert commanded("diff", "--semantic", old, new).returncode == 1


@pytest.mark.parametrize(
    "words", [["cat"], ["rerun"], ["stand-in"], ["export", "--format", "python"]]
)
def test_what_needs_a_program_says_so(tmp_path: Path, words: list[str]) -> None:
    """A function was recorded."""
    path = recorded(tmp_path / "run.cassette", "buy milk")
    out = [tmp_path / "test_x.py"] if words[0] == "export" else []

    done = commanded(*words, path, *out)

    assert done.returncode == (125 if words[0] == "stand-in" else 2)
    assert "the recording of a Python function, not of a program" in done.stderr
    assert "use_tape" in done.stderr


def test_a_cassette_that_was_changed_is_not_served(tmp_path: Path) -> None:
    """Its digests are checked before the block begins."""
    path = recorded(tmp_path / "run.cassette", "buy milk")
    bodies = path / "tape-bodies.bin"
    data = bytearray(bodies.read_bytes())
    data[10] ^= 1
    bodies.write_bytes(data)

    with pytest.raises(Exception, match=r"tape-bodies\.bin"), use_tape(path):
        pass


def test_a_demanded_seal_is_demanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by every command that plays a cassette."""
    pytest.importorskip("securesystemslib")
    path = recorded(tmp_path / "run.cassette", "one")
    (tmp_path / "ptycassette.toml").write_text("[seal]\nrequired = true\n")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SealError), use_tape(path):
        pass


# -- keys ----------------------------------------------------------------------------------


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider has a key."""
    for name in known_providers().key_variables:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def keyed(tmp_path: Path, provider: Provider, keyless: None) -> Path:
    """A cassette that was recorded with a key of OpenAI in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "k" * 20)
        with use_tape(tmp_path / "keyed.cassette", mode="record"):
            keyed_call(provider.url)
    return tmp_path / "keyed.cassette"


def keys_set() -> set[str]:
    """The variables of providers that are set."""
    return {name for name in known_providers().key_variables if name in os.environ}


def keyed_call(url: str = NOWHERE) -> set[str]:
    """As an SDK: no request without a key. Returns the variables that are set."""
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    with httpx.Client(headers=headers) as client:
        client.post(f"{url}/v1/chat/completions", json=question("milk"))
    return keys_set()


def _by_context(path: Path) -> set[str]:
    with use_tape(path):
        return keyed_call()


def _by_auto(path: Path) -> set[str]:
    with use_tape(path, mode="auto"):
        return keyed_call()


def _by_decorator(path: Path) -> set[str]:
    return set(use_tape(path)(keyed_call)())


def _by_coroutine(path: Path) -> set[str]:
    @use_tape(path)
    async def later() -> set[str]:
        return await asyncio.to_thread(keyed_call)

    return set(asyncio.run(later()))


def _by_async_context(path: Path) -> set[str]:
    async def later() -> set[str]:
        async with use_tape(path):
            return await asyncio.to_thread(keyed_call)

    return asyncio.run(later())


def _by_fault(path: Path) -> set[str]:
    with use_tape(path, fault="rate-limit"):
        return keyed_call()


def _by_fork(path: Path) -> set[str]:
    with use_tape(path, fork=TapeFork(at="tape:1", change="response=bread")):
        return keyed_call()


@pytest.mark.parametrize(
    "way",
    [
        _by_context, _by_auto, _by_decorator, _by_coroutine, _by_async_context, _by_fault,
        _by_fork,
    ],
)  # fmt: skip
def test_a_replay_needs_no_key(keyed: Path, way: Callable[[Path], set[str]]) -> None:
    """It is made up for the block; the variables are as before then."""
    for _ in range(2):
        assert way(keyed) == {"OPENAI_API_KEY"}
        assert keys_set() == set()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_made_up_key_is_gone_after_a_failure(keyed: Path, error: type[BaseException]) -> None:
    """As after each block."""
    with suppress(error, DivergenceError):
        with use_tape(keyed):
            assert keys_set() == {"OPENAI_API_KEY"}
            raise error
    assert keys_set() == set()


def test_a_key_that_is_set_stays(keyed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the user is changed, in the block and after it."""
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    with use_tape(keyed):
        keyed_call()
        assert os.environ["OPENAI_API_KEY"] == "mine"
    assert os.environ["OPENAI_API_KEY"] == "mine"


@pytest.mark.parametrize("mode", ["record", "rewrite", "rerecord", "live"])
def test_only_a_replay_makes_up_a_key(keyed: Path, mode: str) -> None:
    """A provider never gets one."""
    seen: list[set[str]] = []
    with suppress(RefusedError):
        with use_tape(keyed, mode=mode):
            seen.append(keys_set())
    assert seen == [set()]


def test_each_key_of_the_recording_is_made_up(
    tmp_path: Path, keyless: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a client that never asks, and for a variable that only this program knows."""

    @tape_tool
    def tool() -> int:
        return 1

    names = {*known_providers().key_variables}
    with monkeypatch.context() as patch:
        for name in names:
            patch.setenv(name, "k" * 20)
        with use_tape(tmp_path / "run.cassette", mode="record"):
            tool()
    with use_tape(tmp_path / "run.cassette"):
        tool()
        assert keys_set() == names
    assert keys_set() == set()


def test_a_key_with_a_name_of_its_own_is_made_up(
    tmp_path: Path, provider: Provider, keyless: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that was sent as a key, and no other one that has a name like a key."""

    def call(url: str) -> None:
        headers = {"authorization": f"Bearer {os.environ['HOUSE_LLM_KEY']}"}
        httpx.post(f"{url}/v1/chat/completions", json=question("milk"), headers=headers)

    with monkeypatch.context() as patch:
        patch.setenv("HOUSE_LLM_KEY", "k" * 20)
        patch.setenv("OTHER_KEY", "o" * 20)
        with use_tape(tmp_path / "run.cassette", mode="record"):
            call(provider.url)
    with use_tape(tmp_path / "run.cassette"):
        call(NOWHERE)
        assert "OTHER_KEY" not in os.environ
    assert "HOUSE_LLM_KEY" not in os.environ


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/v1/chat/completions", {"OPENAI_API_KEY"}),
        ("/v1/responses", {"OPENAI_API_KEY"}),
        ("/v1/embeddings", {"OPENAI_API_KEY"}),
        ("/v1/messages", {"ANTHROPIC_API_KEY"}),
        ("/v1/messages/count_tokens?beta=true", {"ANTHROPIC_API_KEY"}),
        ("/v1beta/models/m:generateContent", {"GEMINI_API_KEY", "GOOGLE_API_KEY"}),
        ("/openai/deployments/m/chat/completions", {"AZURE_OPENAI_API_KEY"}),
        ("/v1/files", {"OPENAI_API_KEY"}),
        ("/v1/fine_tuning/jobs", {"OPENAI_API_KEY"}),
        ("/v1/vector_stores/v/search", {"OPENAI_API_KEY"}),
        ("/v1/files?beta=true", {"ANTHROPIC_API_KEY"}),
        ("/model/m/converse", {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}),
        ("/model/m/invoke-with-response-stream", {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}),
        ("/weather", set()),
        ("/files/photo", set()),
    ],
)
def test_without_a_recorded_key_the_api_decides(
    tmp_path: Path, provider: Provider, keyless: None, path: str, names: set[str]
) -> None:
    """And there is no key of another API: code may choose its provider by the keys there are."""
    with use_tape(tmp_path / "run.cassette", mode="record"):
        httpx.post(f"{provider.url}{path}", json=question("milk"))
    with use_tape(tmp_path / "run.cassette"):
        httpx.post(f"{NOWHERE}{path}", json=question("milk"))
        assert keys_set() == names
    assert keys_set() == set()


PLACES = {
    *("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_REGION_NAME"),
    *("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE", "AZURE_API_VERSION", "OPENAI_API_VERSION"),
}
"""The variables that are not secret, and that SDKs need, too."""


def places_set() -> dict[str, str]:
    """Those that are set."""
    return {name: os.environ[name] for name in PLACES if name in os.environ}


@pytest.mark.parametrize(
    ("key", "path", "places"),
    [
        ("AWS_ACCESS_KEY_ID", "/model/m/converse", {"AWS": "us-east-1"}),
        (
            "AZURE_OPENAI_API_KEY",
            "/base/openai/deployments/m/chat/completions?a=b&api-version=2024-06-01",
            {"BASE": "/base", "ENDPOINT": "/base", "VERSION": "2024-06-01"},
        ),
        ("OPENAI_API_KEY", "/openai/v1/responses?api-version=2024-06-01", {}),
    ],
)
@pytest.mark.usefixtures("keyless")
def test_a_replay_has_the_region_and_the_address_of_the_recording(
    tmp_path: Path, provider: Provider, key: str, path: str, places: dict[str, str]
) -> None:
    """SDKs of AWS and Azure make no client without them; what the user has set stays."""

    def run(url: str, mode: str) -> dict[str, str]:
        with use_tape(tmp_path / "run.cassette", mode=mode):
            httpx.post(f"{url}{path}", json=question("milk"))
            return places_set()

    expected = {
        name: provider.url + value if value.startswith("/") else value
        for name in PLACES
        for part, value in places.items()
        if part in name
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in PLACES:
            patch.delenv(name, raising=False)
        with patch.context() as keyed:
            keyed.setenv(key, "k" * 20)
            assert run(provider.url, "record") == {}
        for _ in range(2):
            assert run(NOWHERE, "replay") == expected
            assert places_set() == {}
        own = {name: expected.get(name, "mine") for name in PLACES}
        for name, value in own.items():
            patch.setenv(name, value)
        assert run(NOWHERE, "replay") == own
        assert places_set() == own


def test_the_region_is_the_one_that_was_asked() -> None:
    """A cassette sets no address that is not one of Azure."""

    def places(upstream: str, target: str, key: str) -> dict[str, str]:
        entry: Any = types.SimpleNamespace(upstream=upstream, target=target)
        return place_variables([entry], [key], {})

    asked = "https://bedrock-runtime.eu-west-1.amazonaws.com"
    assert set(places(asked, "/model/m/converse", "AWS_ACCESS_KEY_ID").values()) == {"eu-west-1"}
    target = "/openai/deployments/m/chat/completions?api-version=2024-06-01"
    good, bad = "https://me.openai.azure.com", "https://openai.azure.com.evil.example"
    assert places(good, target, "AZURE_API_KEY")["AZURE_API_BASE"] == good
    assert places(bad, target, "AZURE_API_KEY") == {}


def test_code_chooses_the_provider_that_it_chose(
    tmp_path: Path, provider: Provider, keyless: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its keys are those of the recording, although the API is that of another provider."""
    with monkeypatch.context() as patch:
        patch.setenv("MISTRAL_API_KEY", "k" * 20)
        with use_tape(tmp_path / "run.cassette", mode="record"):
            ask(provider.url, "milk")
    with use_tape(tmp_path / "run.cassette"):
        ask(NOWHERE, "milk")
        assert keys_set() == {"MISTRAL_API_KEY"}


def test_the_last_of_two_blocks_takes_the_key_back(keyed: Path) -> None:
    """Blocks of other threads still need it; each order of leaving is the same."""
    for first, second in ((0, 1), (1, 0)):
        blocks = [use_tape(keyed, allow_unplayed=True) for _ in range(2)]
        inside = [threading.Event() for _ in blocks]
        leave = [threading.Event() for _ in blocks]

        def run(
            number: int, blocks: Any = blocks, inside: Any = inside, leave: Any = leave
        ) -> None:
            with blocks[number]:
                inside[number].set()
                leave[number].wait(60)
                keyed_call()

        with ThreadPoolExecutor(2) as pool:
            done = []
            for number in range(2):
                done.append(pool.submit(run, number))
                assert inside[number].wait(60)
            leave[first].set()
            done[first].result(60)
            assert keys_set() == {"OPENAI_API_KEY"}
            leave[second].set()
            done[second].result(60)
        assert keys_set() == set()


def test_a_made_up_key_that_a_fixture_restores_is_removed(keyed: Path, provider: Provider) -> None:
    """Pytest's monkeypatch puts back, after the block, what it found in it."""
    patch = pytest.MonkeyPatch()
    with use_tape(keyed):
        patch.setenv("OPENAI_API_KEY", "mine")
        keyed_call()
    assert os.environ["OPENAI_API_KEY"] == "mine"
    patch.undo()

    with use_tape(keyed.with_name("new.cassette"), mode="record"):
        assert keys_set() == set()
        ask(provider.url, "milk")


def test_a_made_up_key_is_not_sent(keyed: Path, provider: Provider) -> None:
    """A client that was made in a replay does not ask a provider for a recording."""
    with use_tape(keyed):
        client = httpx.Client(headers={"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"})
        keyed_call()
    asked = len(provider.bodies)
    with pytest.raises(UsageError, match="made-up key"):
        with use_tape(keyed.with_name("new.cassette"), mode="record"):
            client.post(f"{provider.url}/v1/chat/completions", json=question("milk"))
    assert len(provider.bodies) == asked
    client.close()


def test_a_program_of_the_block_has_the_key(keyed: Path) -> None:
    """It is as its parent."""
    text = "import os; print(os.environ.get('OPENAI_API_KEY'))"
    with use_tape(keyed):
        keyed_call()
        printed = subprocess.check_output([sys.executable, "-c", text], text=True)
        assert printed.strip() == os.environ["OPENAI_API_KEY"]


def test_a_served_draw_of_the_environment_wins(
    tmp_path: Path, keyless: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorded value of a variable is what the code gets."""
    with use_tape(tmp_path / "run.cassette", mode="record") as tape:
        assert tape.draws.environ("OPENAI_API_KEY") is None
        monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    monkeypatch.delenv("OPENAI_API_KEY")
    with use_tape(tmp_path / "run.cassette") as tape:
        assert keys_set() == {"OPENAI_API_KEY"}
        assert tape.draws.environ("OPENAI_API_KEY") is None


def test_a_cassette_sets_no_variable_but_keys(keyed: Path) -> None:
    """A cassette of a stranger may name any variable."""
    bad = [
        "PATH_EXTRA",
        "LD_PRELOAD",
        "PYTHONSTARTUP",
        "PTYCASSETTE_X_KEY",
        "lower_key",
        "A\n_KEY",
        5,
    ]
    changed = TamperedTape(keyed, keyed.with_name("changed.cassette"))
    assert changed.optional["in_process"]["keys"] == ["OPENAI_API_KEY"]
    changed.optional["in_process"]["keys"] = ["OPENAI_API_KEY", "GOOD_KEY", *bad]
    before = {**os.environ}
    with use_tape(changed.publish()):
        keyed_call()
        assert os.environ.keys() - before.keys() == {"OPENAI_API_KEY", "GOOD_KEY"}
    assert os.environ == before


# -- official SDKs -------------------------------------------------------------------------

SCRIPT = "version = 1\n[[replies]]\ntimes = 0\ntext = 'buy milk and bread'\n"


def _openai(openai: Any, url: str) -> list[str]:
    client = openai.OpenAI(base_url=f"{url}/v1")
    stream = client.chat.completions.create(**question("milk?"), stream=True)
    chunks = [one.choices[0].delta.content or "" for one in stream if one.choices]
    events = client.responses.create(model="m", input="milk?", stream=True)
    return [
        client.chat.completions.create(**question("milk?")).choices[0].message.content,
        "".join(chunks),
        client.responses.create(model="m", input="milk?").output_text,
        [event.type for event in events][-1],
    ]


def _anthropic(anthropic: Any, url: str) -> list[str]:
    client = anthropic.Anthropic(base_url=url)
    asked = {**question("milk?"), "max_tokens": 10}
    with client.messages.stream(**asked) as stream:
        text = "".join(stream.text_stream)

    async def later() -> list[str]:
        async with anthropic.AsyncAnthropic(base_url=url) as other:
            async with other.messages.stream(**asked) as stream:
                pieces = "".join([one async for one in stream.text_stream])
            return [(await other.messages.create(**asked)).content[0].text, pieces]

    return [client.messages.create(**asked).content[0].text, text, *asyncio.run(later())]


def _genai(genai: Any, url: str) -> list[str]:
    client = genai.Client(http_options={"base_url": url})
    stream = client.models.generate_content_stream(model="m", contents="milk?")
    return [
        client.models.generate_content(model="m", contents="milk?").text,
        "".join(one.text or "" for one in stream),
    ]


def _pydantic_ai(pydantic_ai: Any, url: str) -> list[str]:
    models = importlib.import_module("pydantic_ai.models.openai")
    providers = importlib.import_module("pydantic_ai.providers.openai")
    provider = providers.OpenAIProvider(base_url=f"{url}/v1")
    return [pydantic_ai.Agent(models.OpenAIChatModel("m", provider=provider)).run_sync("hi").output]


def _langchain(langchain: Any, url: str) -> list[str]:
    model = langchain.ChatOpenAI(model="m", base_url=f"{url}/v1")

    async def later() -> str:
        return "".join([one.content async for one in model.astream("hi")])

    streamed = "".join(one.content for one in model.stream("hi"))
    return [model.invoke("hi").content, streamed, asyncio.run(later())]


def _litellm(litellm: Any, url: str) -> list[str]:
    asked = question("hi")
    openai = {**asked, "model": "openai/m", "api_base": f"{url}/v1"}
    anthropic = {**asked, "model": "anthropic/m", "api_base": url, "max_tokens": 10}
    streamed = litellm.completion(**openai, stream=True)
    later = asyncio.run(litellm.acompletion(**anthropic))  # over aiohttp
    return [
        litellm.completion(**openai).choices[0].message.content,
        "".join(one.choices[0].delta.content or "" for one in streamed),
        later.choices[0].message.content,
    ]


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("openai", _openai),
        ("anthropic", _anthropic),
        ("google.genai", _genai),
        ("pydantic_ai", _pydantic_ai),
        ("langchain_openai", _langchain),
        ("litellm", _litellm),
    ],
)
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of the packages are not ours
def test_an_official_sdk_replays_20_of_20(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    run: Callable[[Any, str], list[str]],
) -> None:
    """As it is, whole and streamed, without key and network; so does a framework on one."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # or its import asks for a file
    pytest.importorskip(name.partition(".")[0])
    sdk = importlib.import_module(name) if name == "google.genai" else pytest.importorskip(name)
    with FakeProviderServer(Script.parse(SCRIPT)) as server, monkeypatch.context() as with_keys:
        for variable in (one for group in known_providers().keys.values() for one in group[:1]):
            with_keys.setenv(variable, "k" * 20)
        with use_tape(tmp_path / "run.cassette", mode="record"):
            first = run(sdk, server.url)
    for _ in range(20):
        with use_tape(tmp_path / "run.cassette") as tape:
            assert run(sdk, NOWHERE) == first
        assert tape.result.fingerprint == tape.result.expected_fingerprint


# -- the page ------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "in-process.md"
NOTE = """version = 1
[[replies]]
when = { after = "prompt", tools = true }
times = 0
parts = [{ tool = "read_note", arguments = { path = "note.txt" } }]
[[replies]]
times = 0
text = "The note says: buy milk."
"""


@pytest.mark.slow
def test_the_examples_of_the_page_record_and_replay(tmp_path: Path) -> None:
    """Without a provider and a key, too; a changed question prints what the page shows."""
    pytest.importorskip("openai")
    shown = [block for block in snippets.blocks(PAGE) if block.skip]
    for block in shown:
        if block.language == "python" and block.source.startswith("# "):
            name = block.source.partition("\n")[0].removeprefix("# ")
            (tmp_path / name).write_text(block.source)
    variables = {*known_providers().key_variables}
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PTYCASSETTE") and name not in variables
        },
        "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}",
        "OPENAI_BASE_URL": f"{NOWHERE}/v1",
        "PTYCASSETTE_STATE_DIR": str(tmp_path / "state"),
    }
    alone = "-p no:xdist -p no:textual-snapshot -p no:cacheprovider"

    def run(words: str, status: int = 0, **more: str) -> str:
        done = subprocess.run(
            ["/usr/bin/env", *shlex.split(words)],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**environment, "PYTEST_ADDOPTS": alone, **more},
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    [record, replay] = next(one for one in shown if one.language == "console").commands()
    with FakeProviderServer(Script.parse(NOTE)) as server:
        live = {"OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "k" * 20}
        run(record, **live)
        asked = len(server.requests)
        assert run("python report.py", **live).endswith("record\n")
        run("pytest test_fixtures.py --ptycassette-mode=record", **live)
    assert asked == 2
    run(replay)
    assert run("python report.py").endswith("replay\n")
    run("pytest test_fixtures.py")
    test = (tmp_path / "test_my_agent.py").read_text()
    (tmp_path / "test_my_agent.py").write_text(
        test.replace("What does note.txt say?", "What is in note.txt?")
    )
    printed = " ".join(run(replay, status=1).split())
    expected, *_ = (block for block in shown if block.language == "text")
    for line in expected.source.splitlines():
        assert " ".join(line.partition("ms: ")[2].split() or line.split()) in printed
