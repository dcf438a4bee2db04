"""The fake provider over real sockets: HTTP, WebSocket, TLS, the command line."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ptycassette.agents.harness.fake.script import MAX_BODY_BYTES, Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer, read_script
from ptycassette.errors import NotFoundError, StorageError, UsageError

pytestmark = pytest.mark.integration

COMMAND = str(Path(sys.executable).with_name("ptycassette"))
HELLO = "[[replies]]\ntimes = 0\ntext = 'hello from afar'\n"
CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def script(text: str) -> Script:
    """A script from its text without the version line."""
    return Script.parse("version = 1\n" + text)


async def post(url: str, body: dict[str, Any], **options: Any) -> tuple[int, str]:
    """Status and text of an answer."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/chat/completions", json=body, **options) as response,
    ):
        return response.status, await response.text()


@pytest.mark.asyncio
async def test_an_answer_comes_over_http() -> None:
    """Whole and streamed; the log knows both."""
    with FakeProviderServer(script(HELLO)) as server:
        status, text = await post(server.url, CHAT)
        _, stream = await post(server.url, {**CHAT, "stream": True})

    assert (status, json.loads(text)["choices"][0]["message"]["content"]) == (
        200,
        "hello from afar",
    )
    assert stream.endswith("data: [DONE]\n\n")
    assert [entry["outcome"] for entry in server.requests] == ["complete", "complete"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("data", "encoding", "status"),
    [
        (gzip.compress(json.dumps(CHAT).encode()), "gzip", 200),
        (gzip.compress(bytes(50_000_000)), "gzip", 413),
        (bytes(MAX_BODY_BYTES + 1), "identity", 413),
        (b"nonsense", "gzip", 400),
        (b"{}", "zstd", 415),
        (b"[" * 90_000, "identity", 400),
    ],
    ids=["gzip", "gzip bomb", "long", "damaged", "zstd", "deep"],
)
async def test_a_body_is_unpacked_or_refused(data: bytes, encoding: str, status: int) -> None:
    """In the words of the API, and the provider goes on; the log has it, too."""
    with FakeProviderServer(script(HELLO)) as server:
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.post(
                f"{server.url}/v1/chat/completions",
                data=io.BytesIO(data),
                headers={"content-encoding": encoding},
            ) as response,
        ):
            told = await response.json()
        again, _ = await post(server.url, CHAT)

    assert (response.status, again) == (status, 200)
    assert ("error" in told) is (status != 200)
    assert [entry["status"] for entry in server.requests] == [status, 200]
    assert len(server.problems) == (status != 200)


@pytest.mark.asyncio
async def test_an_answer_comes_over_a_websocket() -> None:
    """Two turns over one connection."""
    message = {"type": "response.create", "model": "m", "input": "hi"}
    with FakeProviderServer(script(HELLO)) as server:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{server.openai_url}/responses") as talk,
        ):
            for _ in range(2):
                await talk.send_json(message)
                kinds: list[str] = []
                while not kinds or kinds[-1] != "response.completed":
                    kinds.append((await talk.receive_json())["type"])

    assert kinds[0] == "response.created"
    assert [entry["status"] for entry in server.requests] == [101, 200, 200]


@pytest.mark.asyncio
async def test_a_websocket_can_be_refused() -> None:
    """The handshake gets a plain answer."""
    with FakeProviderServer(script("websocket = false\n" + HELLO)) as server:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await session.ws_connect(f"{server.openai_url}/responses")

    assert caught.value.status == 426


@pytest.mark.asyncio
async def test_a_websocket_breaks_off() -> None:
    """Without a close frame, as when a server dies."""
    cut = "[[replies]]\ntext='hello'\ndisconnect=true\nafter_events=2"
    with FakeProviderServer(script(cut)) as server:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{server.openai_url}/responses") as talk,
        ):
            await talk.send_json({"type": "response.create", "model": "m", "input": "hi"})
            kinds = [(await talk.receive()).type for _ in range(3)]

    assert kinds[:2] == [aiohttp.WSMsgType.TEXT] * 2
    assert kinds[2] in {aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR}
    assert talk.close_code == aiohttp.WSCloseCode.ABNORMAL_CLOSURE


@pytest.mark.parametrize("after", ["", "text='hello'\nafter_events=1\n"])
@pytest.mark.asyncio
async def test_http_breaks_off(after: str) -> None:
    """Before the answer and in the middle of it."""
    server = FakeProviderServer(script(f"[[replies]]\ndisconnect=true\n{after}"))
    with server, pytest.raises(aiohttp.ClientError):
        await post(server.url, {**CHAT, "stream": True})

    assert server.requests[0]["outcome"] == "disconnect"


@pytest.mark.asyncio
async def test_a_client_that_leaves_is_noted(tmp_path: Path) -> None:
    """The answer is not finished for nobody; the log has a line of it all the same."""
    pace = "[pace]\neach_ms = 50\nchunk_chars = 1\n"
    slow = f"{pace}[[replies]]\ntext = '{'hello ' * 600}'\n"  # minutes of it
    log = tmp_path / "log.jsonl"
    with FakeProviderServer(script(slow), log=log) as server:
        async with aiohttp.ClientSession() as session:
            asked = {**CHAT, "stream": True}
            answer = await session.post(f"{server.url}/v1/chat/completions", json=asked)
            await answer.content.readany()
            answer.close()
        deadline = time.monotonic() + 90
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.02)  # noqa: ASYNC251 - the server has a thread of its own

    assert server.requests[0]["outcome"] == "client-gone"
    assert json.loads(log.read_text())["outcome"] == "client-gone"


@pytest.mark.asyncio
async def test_a_script_paces_its_answers() -> None:
    """The answer takes at least as long as the script says."""
    with FakeProviderServer(script("[pace]\nfirst_ms = 150\n" + HELLO)) as server:
        await post(server.url, CHAT)

    assert server.requests[0]["took_ms"] >= 150


@pytest.mark.asyncio
async def test_tls_is_trusted_through_the_written_authority(tmp_path: Path) -> None:
    """Clients need the one file, and nothing else."""
    authority = tmp_path / "ca.pem"
    with FakeProviderServer(script(HELLO), ca_file=authority) as server:
        context = ssl.create_default_context(cafile=str(authority))
        status, _ = await post(server.url, CHAT, ssl=context)
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await post(server.url, CHAT)

    assert server.url.startswith("https://")
    assert status == 200


@pytest.mark.asyncio
async def test_the_log_is_lines_of_json(tmp_path: Path) -> None:
    """One line per request, appended at once, without keys."""
    log = tmp_path / "log.jsonl"
    log.write_text('{"old": 1}\n')
    key = "sk-" + "0" * 20
    with FakeProviderServer(script(HELLO), log=log) as server:
        await post(server.url, CHAT, headers={"authorization": f"Bearer {key}"})
        lines = log.read_text().splitlines()

    assert json.loads(lines[1])["operation"] == "chat.generate"
    assert key not in lines[1]


def test_a_taken_port_is_an_error() -> None:
    """It says which, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError) as caught:
            FakeProviderServer(script(""), port=taken.getsockname()[1]).start()

    assert "cannot listen" in caught.value.message


def test_closing_twice_does_nothing() -> None:
    """Also without ever having started."""
    server = FakeProviderServer(script(""))
    server.close()
    server.start().close()
    server.close()

    assert server.problems == ()


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """A script that is missing or no text, a log and an authority without a folder."""
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff")
    with pytest.raises(NotFoundError, match="no such file"):
        read_script(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_script(binary)
    with pytest.raises(StorageError, match="log"):
        FakeProviderServer(script(""), log=tmp_path / "no" / "log")
    with pytest.raises(StorageError, match="certificate"):
        FakeProviderServer(script(""), ca_file=tmp_path / "no" / "ca")


@pytest.mark.slow
@pytest.mark.asyncio
async def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """It tells its addresses as JSON, and at the end what went wrong."""
    path = tmp_path / "s.toml"
    path.write_text("version = 1\n[[replies]]\ntext = '${word}'\n[[replies]]\ntext = 'never'\n")
    command = [COMMAND, "fake-provider", str(path)]
    options = ["--json", "--set", "word=set", "--accept-key-env", "KEY", "--all-replies"]
    process = subprocess.Popen(  # noqa: ASYNC220 - it runs beside us
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KEY": "k"},
    )
    try:
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())
        refused, _ = await post(where["anthropic"], CHAT)
        _, text = await post(where["anthropic"], CHAT, headers={"x-api-key": "k"})
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=90)
    finally:
        process.kill()
        process.wait()

    assert (refused, json.loads(text)["choices"][0]["message"]["content"]) == (401, "set")
    assert process.returncode == 1
    assert "replies[1]: not asked for" in told


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_log_that_may_not_grow_costs_no_answer(tmp_path: Path) -> None:
    """The kernel refuses after 1024 bytes: the command says so, goes on, and ends with 125."""
    path = tmp_path / "s.toml"
    path.write_text("version = 1\n" + HELLO)
    command = [COMMAND, "fake-provider", str(path), "--json", "--log", str(tmp_path / "log.jsonl")]
    process = subprocess.Popen(  # noqa: ASYNC220 - it runs beside us
        ["/bin/sh", "-c", 'ulimit -f 2; exec "$@"', "sh", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())
        statuses = [(await post(where["anthropic"], CHAT))[0] for _ in range(6)]
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=90)
    finally:
        process.kill()
        process.wait()
    lines = (tmp_path / "log.jsonl").read_text().splitlines()

    assert (statuses, process.returncode) == ([200] * 6, 125)
    assert [json.loads(line)["n"] for line in lines] == list(range(1, len(lines) + 1))
    assert told.startswith("warning: the request log cannot be written any more: File too large\n")
    assert f"it holds {len(lines)} whole request" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--check"], 0, "ok, 1 replies"),
        (["--set", "novalue"], 2, "NAME=VALUE"),
        (["--accept-key-env", "PTYCASSETTE_NOT_SET"], 2, "is not set"),
    ],
)
def test_the_command_checks_what_it_is_given(
    tmp_path: Path, options: list[str], status: int, told: str
) -> None:
    """A script can be checked alone; wrong options are usage errors."""
    path = tmp_path / "s.toml"
    path.write_text("version = 1\n" + HELLO)
    command = [COMMAND, "fake-provider", str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)

    assert done.returncode == status
    assert told in done.stdout + done.stderr
