"""Uploads of real clients: each draws another boundary, and the replay answers them."""

# ruff: noqa: E402 - the packages of a user's clients may be missing

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")
HTTPX = next((name for name in ("httpx", "httpx2") if find_spec(name)), "httpx")
httpx = pytest.importorskip(HTTPX)

import aiohttp

from ptycassette import drift, open_cassette, use_tape
from ptycassette.errors import DivergenceError
from tests.commands import ptycassette

pytestmark = pytest.mark.integration

BINARY = bytes(range(256)) * 20
FILE = {
    "id": "file-1",
    "object": "file",
    "bytes": 3,
    "created_at": 1,
    "filename": "a",
    "purpose": "batch",
    "status": "processed",
    "text": "hello",
    "file": {"name": "files/1", "uri": "u", "mimeType": "text/plain"},
}
SECRETS = ["sk-" + "proj-" + "".join(f"{one}{mark}q" for one in range(16)) for mark in "Ab"]


class Handler(BaseHTTPRequestHandler):
    """Takes any file, and tells where Gemini wants one."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer with the description of a file, and with the number of the request as its size."""
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({**FILE, "bytes": next(self.server.numbers)}).encode()  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        command = self.headers.get("x-goog-upload-command", "")
        if command == "start":
            place = f"http://127.0.0.1:{self.server.server_port}/upload/v1beta/files"  # type: ignore[attr-defined]
            self.send_header(
                "x-goog-upload-url", f"{place}?upload_id=7&{self.path.partition('?')[2]}"
            )
        if command:
            self.send_header("x-goog-upload-status", "final" if "final" in command else "active")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def provider() -> Iterator[str]:
    """The URL of a provider that counts its requests."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.numbers = iter(range(100))  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def of_httpx(url: str) -> Any:
    """A form with a field and a file."""
    with httpx.Client() as client:
        return client.post(f"{url}/v1/files", files={"f": ("a", BINARY)}, data={"p": "q"}).json()


def of_requests(url: str) -> Any:
    """The same from requests and urllib3."""
    requests = pytest.importorskip("requests")
    return requests.post(f"{url}/v1/files", files={"f": ("a", BINARY)}, data={"p": "q"}).json()


def of_aiohttp(url: str) -> Any:
    """The same from aiohttp."""

    async def send() -> Any:
        form = aiohttp.FormData({"p": "q"})
        form.add_field("f", BINARY, filename="a")
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/v1/files", data=form) as answer,
        ):
            return await answer.json()

    return asyncio.run(send())


def of_openai(url: str) -> Any:
    """Files, audio and images."""
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    file = client.files.create(file=("a.jsonl", b"{}\n"), purpose="batch")
    heard = client.audio.transcriptions.create(file=("a.wav", BINARY), model="whisper-1")
    images = [("a.png", BINARY), ("b.png", BINARY)]
    client.images.edit(image=images, prompt="x", model="gpt-image-1")
    return file.bytes, heard.text


def of_gemini(url: str) -> Any:
    """The provider tells in a header where the file belongs."""
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": url})
    return client.files.upload(file=io.BytesIO(b"hello"), config={"mime_type": "text/plain"}).name


@pytest.mark.parametrize("send", [of_httpx, of_requests, of_aiohttp, of_openai, of_gemini])
def test_an_upload_of_a_client_is_replayed(
    send: Callable[[str], Any], tmp_path: Path, provider: str
) -> None:
    """Twice, and no request goes to the provider."""
    name = str(tmp_path / "upload.cassette")
    with use_tape(name, mode="record"):
        recorded = send(provider)
    for _ in range(2):
        with use_tape(name, mode="replay"):
            assert send(provider) == recorded


def test_another_field_is_a_divergence_that_names_it(tmp_path: Path, provider: str) -> None:
    """Contents that are no text are shown by size and digest."""
    name = str(tmp_path / "upload.cassette")

    def send(field: str, data: bytes) -> None:
        with httpx.Client() as client:
            client.post(f"{provider}/v1/files", files={"f": ("a", data)}, data={"p": field})

    with use_tape(name, mode="record"):
        send("q", BINARY)
    with pytest.raises(DivergenceError) as found, use_tape(name, mode="replay"):
        send("other", BINARY[1:])

    said = str(found.value)
    assert "part 1 (p): recorded 'q', asked 'other'" in said
    assert "part 2 (f): recorded '5,120 bytes, SHA-256 " in said
    assert "5,119 bytes" in said


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_key_in_an_upload_is_masked_and_replayed(
    order: tuple[int, int], tmp_path: Path, provider: str
) -> None:
    """In a field and in the name of a file; both uploads get their own answers in any order."""
    path = tmp_path / "upload.cassette"

    def send(secret: str) -> Any:
        files = {"f": (f"{secret}.txt", f"key: {secret}".encode())}
        with httpx.Client() as client:
            return client.post(f"{provider}/v1/files", files=files, data={"k": secret}).json()

    with use_tape(str(path), mode="record"):
        recorded = [send(secret) for secret in SECRETS]
    with use_tape(str(path), mode="replay", order="loose"):
        replayed = {which: send(SECRETS[which]) for which in order}
    with open_cassette(path) as cassette:
        stored = b"".join(one.question() for one in cassette.tape())

    assert [replayed[0], replayed[1]] == recorded
    assert b"form-data" in stored
    assert not any(secret.encode() in stored for secret in SECRETS)
    assert ptycassette("verify-scrub", str(path)).returncode == 0


def test_a_place_for_an_upload_holds_no_key(tmp_path: Path, provider: str) -> None:
    """A provider repeats the query of a request in the URL that it returns."""
    path = tmp_path / "upload.cassette"

    def send() -> int:
        headers = {"x-goog-upload-command": "start"}
        with httpx.Client() as client:
            first = client.post(f"{provider}/upload?key={SECRETS[0]}", headers=headers)
            place = first.headers["x-goog-upload-url"]
            return int(client.post(place, content=b"x").status_code)

    with use_tape(str(path), mode="record"):
        assert send() == 200
    with use_tape(str(path), mode="replay"):
        assert send() == 200
    assert not any(SECRETS[0].encode() in one.read_bytes() for one in path.iterdir())


def test_two_recordings_of_an_upload_do_not_drift(tmp_path: Path, provider: str) -> None:
    """Their boundaries are no change; the answers, which are numbered, are one."""
    old, new = (str(tmp_path / f"{name}.cassette") for name in ("old", "new"))
    for name in (old, new):
        with use_tape(name, mode="record"):
            of_httpx(provider)
    [change] = drift(old, new).exchanges

    assert "boundary" not in f"{change.expected}{change.got}"
    assert change.expected.replace('"bytes": 0', '"bytes": 1') == change.got


PROGRAM = """
import os, subprocess, sys, urllib.request, uuid
url, boundary = os.environ["OPENAI_BASE_URL"] + "/files", uuid.uuid4().hex
line = ("--" + boundary).encode()
field = b'\\r\\nContent-Disposition: form-data; name="p"\\r\\n\\r\\nq\\r\\n'
body = line + field + line + b"--\\r\\n"
kind = {"content-type": "multipart/form-data; boundary=" + boundary}
print(urllib.request.urlopen(urllib.request.Request(url, body, kind)).status)
curl, node = sys.argv[1:]
if curl:
    subprocess.run([curl, "-sSf", "-F", "p=q", "-F", "f=@data.bin", url], check=True)
if node:
    script = '''const form = new FormData()
    form.append("f", new Blob([Buffer.alloc(99, 255)]), "n.bin")
    fetch(process.argv[1], {method: "POST", body: form}).then(a => process.exit(a.ok ? 0 : 1))'''
    subprocess.run([node, "-e", script, url], check=True)
"""


@pytest.mark.slow
def test_uploads_of_programs_are_rerun(tmp_path: Path, provider: str) -> None:
    """Through the proxy: a program of its own, curl, and Node if it is there."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "data.bin").write_bytes(BINARY)
    tools = [shutil.which("curl") or "", shutil.which("node") or ""]
    names = ("PATH", "LANG", "HOME", "VIRTUAL_ENV")
    env = {name: os.environ[name] for name in names if name in os.environ}
    env["PTYCASSETTE_STATE_DIR"] = str(tmp_path / "state")

    def run(*words: str) -> str:
        return str(ptycassette(*words, cwd=work, env=env, status=0).stdout)

    words = ("rec", "-q", "--headless", "--tape", "--provider", provider, "../up.cassette")
    run(*words, "--", sys.executable, "-c", PROGRAM, *tools)
    run("verify", "../up.cassette")
    report = run("rerun", "--trust", "--cwd", ".", "../up.cassette")

    count = 1 + sum(map(bool, tools))
    assert f"requests: {count} of {count} on the tape asked for and equal" in report
