"""The tape's proxy in its own process: what passes is what was sent, and it was noted before."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ptycassette.errors import StorageError, UsageError
from ptycassette.tape.consent.terms import Limit, Terms
from ptycassette.tape.io.journal_file import TapeJournalReader
from ptycassette.tape.io.running_proxy import RunningProxy, start_proxy
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
    TapeItem,
)
from tests.conftest import PATIENCE_S

pytestmark = pytest.mark.integration

GET = b"GET %b HTTP/1.1\r\nHost: %b\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

Act = Callable[[socket.socket], None]


class RawProvider:
    """A provider that does to each connection what a test says, and keeps what it got."""

    def __init__(self, act: Act) -> None:
        self.got: list[bytes] = []
        self.connections = 0
        self._act = act
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):  # whoever asked may be gone, or killed
            self._act(connection)

    def close(self) -> None:
        """Listen no more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends accept
        self._listener.close()


class Rig:
    """A proxy before a raw provider, and a raw client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "a.tape"
        self.providers: list[RawProvider] = []
        self.proxy: RunningProxy | None = None

    def start(
        self, act: Act, *, proxy_env: bool = False, terms: Terms | None = None
    ) -> RawProvider:
        """Start both."""
        provider = RawProvider(act)
        self.providers.append(provider)
        self.proxy = start_proxy(
            journal=self.journal,
            provider=None if proxy_env else provider.url,
            proxy_env=proxy_env,
            environment={},
            terms=Terms(upstreams=("*",)) if proxy_env else terms,
        )
        return provider

    @property
    def running(self) -> RunningProxy:
        """The proxy."""
        assert self.proxy is not None
        return self.proxy

    def target(self, path: str) -> bytes:
        """A path as a client asks the proxy for it."""
        base = self.running.environment["ANTHROPIC_BASE_URL"].partition("/main")[0]
        return (base.split(str(self.running.port))[1] + "/main" + path).encode()

    @property
    def host(self) -> bytes:
        """Its address, as a client names it."""
        return f"127.0.0.1:{self.running.port}".encode()

    def connect(self) -> socket.socket:
        """A client's connection."""
        return socket.create_connection(("127.0.0.1", self.running.port), timeout=PATIENCE_S)

    def get(self, path: str) -> bytes:
        """A request."""
        return GET % (self.target(path), self.host)

    def ask(self, request: bytes) -> bytes:
        """All that comes back on a connection until it is closed by the proxy."""
        with self.connect() as client:
            client.sendall(request)
            return received(client)

    def items(self) -> list[TapeItem]:
        """What was noted. The proxy is ended."""
        self.running.close()
        return self.noted()

    def noted(self) -> list[TapeItem]:
        """What was noted so far."""
        with TapeJournalReader(self.journal) as reader:
            return list(reader.poll())


def received(connection: socket.socket) -> bytes:
    """All that comes until the connection ends."""
    data = b""
    try:
        while more := connection.recv(65536):
            data += more
    except ConnectionResetError:
        pass
    return data


def head_of(connection: socket.socket) -> bytes:
    """A request's head."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return data
        data += more
    return data


def answering(*pieces: bytes) -> Act:
    """Answer one request with these pieces, and end the connection."""

    def act(connection: socket.socket) -> None:
        head_of(connection)
        for piece in pieces:
            connection.sendall(piece)

    return act


def outcome(items: list[TapeItem]) -> str:
    """What became of the only exchange."""
    (end,) = [item for item in items if isinstance(item, ExchangeEnded)]
    return end.outcome


def body(items: list[TapeItem]) -> bytes:
    """All answers, one after the other."""
    return b"".join(item.data for item in items if isinstance(item, AnswerData))


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A proxy that a test starts."""
    made = Rig(tmp_path)
    yield made
    if made.proxy is not None:
        made.proxy.close()
    for provider in made.providers:
        provider.close()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ANSWERS = {
    "length": ((OK,), b"hi", "complete"),
    "odd head": (
        (b"HTTP/1.1 299 Just Because\r\nX-oDd: 1\r\nx-odd: 2\r\nCONTENT-length: 1\r\n\r\nx",),
        b"x",
        "complete",
    ),
    "chunks and trailers": (
        (CHUNKED, b"3;why=not\r\nabc\r\n", b"2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n"),
        b"abcde",
        "complete",
    ),
    "no content": ((b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",), b"", "complete"),
    "not modified": (
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\nConnection: close\r\n\r\n",),
        b"",
        "complete",
    ),
    "early hints": (
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", OK),
        b"hi",
        "complete",
    ),
    "to the end of the connection": (
        (b"HTTP/1.0 200 OK\r\n\r\nfirst", b" last"),
        b"first last",
        "complete",
    ),
    "packed": (
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",),
        b"\x1f\x8b\x08",
        "complete",
    ),
    "cut short": (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour",),
        b"four",
        "provider-gone",
    ),
    "broken chunk": ((CHUNKED, b"3\r\nabc\r\nzz\r\n"), b"abc", "provider-gone"),
    "no answer": ((), b"", "provider-gone"),
    "no HTTP": ((b"SSH-2.0-x\r\n\r\n",), b"", "provider-gone"),
    "error": (
        (b"HTTP/1.1 529 Overloaded\r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\nno",),
        b"no",
        "complete",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_client_gets_the_bytes_that_the_provider_sent(rig: Rig, name: str) -> None:
    """All of them, also what is broken, and the tape knows what became of it."""
    pieces, expected, became = ANSWERS[name]
    rig.start(answering(*pieces))

    got = rig.ask(rig.get("/v1/x"))
    items = rig.items()

    assert got == b"".join(pieces)
    assert (body(items), outcome(items)) == (expected, became)


def test_the_provider_gets_the_bytes_that_the_client_sent(rig: Rig) -> None:
    """Target and host are the provider's; all else is as it was, chunks and trailers too."""
    got: list[bytes] = []
    sent = b"4\r\nwith\r\n5\r\n body\r\n0\r\nX-After: 1\r\n\r\n"

    def act(connection: socket.socket) -> None:
        data = b""
        while not data.endswith(sent):
            data += connection.recv(65536)
        got.append(data)
        connection.sendall(OK)

    provider = rig.start(act)
    host = provider.url.removeprefix("http://").encode()
    rest = b"X-oDd: 1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + sent
    rig.ask(b"POST %b?q=%%20a HTTP/1.1\r\nHost: %b\r\n%b" % (rig.target("/v1/x"), rig.host, rest))
    items = rig.items()

    assert got == [b"POST /v1/x?q=%20a HTTP/1.1\r\nHost: " + host + b"\r\n" + rest]
    assert b"".join(i.data for i in items if isinstance(i, RequestData)) == b"with body"
    (begun,) = [item for item in items if isinstance(item, RequestBegun)]
    assert (begun.target, begun.upstream) == ("/v1/x?q=%20a", provider.url)
    assert all(rig.running.secrets[0] not in repr(item) for item in items)


def test_a_head_request_has_no_body(rig: Rig) -> None:
    """Though its answer names a length."""
    rig.start(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"))

    rig.ask(rig.get("/v1/x").replace(b"GET", b"HEAD"))

    assert outcome(rig.items()) == "complete"


def keeping(connection: socket.socket) -> None:
    """Answer request after request with its path."""
    while head := head_of(connection):
        path = head.split(b" ")[1]
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(path), path))


def test_requests_that_are_sent_at_once_are_answered_in_order(rig: Rig) -> None:
    """Pipelining: over one connection to the provider, one after the other."""
    provider = rig.start(keeping)
    with rig.connect() as client:
        client.sendall(b"".join(rig.get(f"/{n}") for n in range(5)))
        client.shutdown(socket.SHUT_WR)
        got = received(client)
    items = rig.items()

    assert [part.split(b"\r\n\r\n")[1] for part in got.split(b"HTTP/1.1 200 OK")[1:]] == [
        b"/%d" % n for n in range(5)
    ]
    assert [i.target for i in items if isinstance(i, RequestBegun)] == [f"/{n}" for n in range(5)]
    assert provider.connections == 1


def test_a_client_that_half_closes_gets_its_answer(rig: Rig) -> None:
    """The provider learns of it, and answers afterwards."""
    ended = threading.Event()

    def act(connection: socket.socket) -> None:
        head_of(connection)
        assert connection.recv(1) == b""
        ended.set()
        connection.sendall(OK)

    rig.start(act)
    with rig.connect() as client:
        client.sendall(rig.get("/v1/x"))
        client.shutdown(socket.SHUT_WR)
        got = received(client)

    assert ended.is_set()
    assert got == OK


def test_a_client_waits_for_100_continue(rig: Rig) -> None:
    """The provider says whether it wants the body, and nobody else."""

    def act(connection: socket.socket) -> None:
        head = head_of(connection)
        assert head.endswith(b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert connection.recv(10) == b"body"
        connection.sendall(OK)

    rig.start(act)
    head = b"POST %b HTTP/1.1\r\nHost: %b\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    with rig.connect() as client:
        client.sendall(head % (rig.target("/v1/x"), rig.host))
        first = head_of(client)
        client.sendall(b"body")
        got = first + received(client)

    assert got == b"HTTP/1.1 100 Continue\r\n\r\n" + OK


def test_an_answer_before_the_end_of_the_request_is_passed_on(rig: Rig) -> None:
    """A provider refuses a large body before it has read it."""
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    rig.start(answering(refusal))

    head = b"POST %b HTTP/1.1\r\nHost: %b\r\nContent-Length: 99999999\r\n\r\n"
    got = rig.ask(head % (rig.target("/v1/x"), rig.host) + bytes(1000))
    items = rig.items()

    assert got == refusal
    assert not [item for item in items if isinstance(item, RequestComplete)]


def test_a_client_that_leaves_ends_the_request_to_the_provider(rig: Rig) -> None:
    """The provider need not write what nobody reads."""
    ended = threading.Event()

    def act(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(CHUNKED + b"3\r\nabc\r\n")
        try:
            while True:
                connection.sendall(b"3\r\nabc\r\n")
                time.sleep(0.01)
        except OSError:
            ended.set()

    rig.start(act)
    with rig.connect() as client:
        client.sendall(rig.get("/v1/x"))
        client.recv(1000)

    assert ended.wait(PATIENCE_S)
    assert outcome(rig.items()) == "client-gone"


def test_a_provider_that_cannot_be_reached(rig: Rig) -> None:
    """The client sees a broken connection, the tape and the user the reason."""
    rig.start(answering(OK)).close()

    got = rig.ask(rig.get("/v1/x"))
    items = rig.items()

    assert (got, outcome(items)) == (b"", "unreachable")
    assert "Connect call failed" in rig.running.reports[0]


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda one: one.replace(b"/main", b"x/main", 1), b"404"),  # another token
        (lambda one: one.replace(b"Host: 127.0.0.1", b"Host: evil.example"), b"421"),
        (lambda one: b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"421"),
        (lambda one: b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
        (lambda one: b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", b"404"),
        (lambda one: one.replace(b"HTTP/1.1", b"HTTP/7"), b"400"),
        (lambda one: b"\x16\x03\x01 is TLS\r\n\r\n", b"400"),
        (lambda one: b"GET /" + b"a" * 300_000, b"431"),
    ],
)
def test_strangers_are_not_served(rig: Rig, spoil: Callable[[bytes], bytes], status: bytes) -> None:
    """Who does not know the token, or takes us for another host, reaches nobody and no tape."""
    provider = rig.start(keeping)

    got = rig.ask(spoil(rig.get("/v1/x")))

    assert got.split(b" ")[1] == status
    assert (provider.connections, rig.items()) == (0, [])


def test_it_is_nobodys_loop(rig: Rig) -> None:
    """A proxy that is asked for itself does not ask itself."""
    rig.start(keeping, proxy_env=True)
    user = rig.running.environment["HTTP_PROXY"].removeprefix("http://").partition("@")[0]
    code = base64.b64encode(user.encode())

    got = rig.ask(
        b"GET http://%b/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %b\r\n\r\n"
        % (rig.host, code)
    )
    items = rig.items()

    assert (got, outcome(items)) == (b"", "unreachable")
    assert "this proxy itself" in rig.running.reports[0]


def test_killed_it_loses_nothing_that_was_served(rig: Rig) -> None:
    """Every byte of an answer is in the journal before the client has it."""

    def act(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(CHUNKED)
        for number in range(100_000):
            connection.sendall(b"8\r\n%08d\r\n" % number)

    rig.start(act)
    with rig.connect() as client:
        client.sendall(rig.get("/v1/x"))
        got = b""
        while len(got) < 300_000:
            got += client.recv(65536)
        os.kill(rig.running._process.pid, signal.SIGKILL)
        got += received(client)
    served = b"".join(got.partition(b"\r\n\r\n")[2].split(b"\r\n")[1::2]).rstrip(b"\r")
    noted = body(rig.noted())

    assert len(served) > 100_000
    assert noted.startswith(served)
    wait_for(lambda: rig.running.problem == "the tape's proxy ended before the program did")


@pytest.mark.slow
def test_it_ends_with_its_recorder(tmp_path: Path) -> None:
    """Killed, the recorder leaves no proxy behind for longer than a second."""
    code = f"""
        import os, signal, sys, time
        from pathlib import Path
        from ptycassette.tape.io.running_proxy import start_proxy
        proxy = start_proxy(journal=Path({str(tmp_path)!r}) / "a.tape", provider="http://127.0.0.1:9",
                            environment={{}})
        print(proxy._process.pid, flush=True)
        time.sleep(100)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE
    ) as recorder:
        assert recorder.stdout is not None
        pid = int(recorder.stdout.readline())
        recorder.kill()

    wait_for(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.slow
def test_open_exchanges_have_an_end_when_the_recording_ends(rig: Rig) -> None:
    """They were broken off, and the tape says so."""

    def act(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(CHUNKED + b"3\r\nabc\r\n")
        connection.recv(1)

    rig.start(act)
    with rig.connect() as client:
        client.sendall(rig.get("/v1/x"))
        client.recv(1000)
        items = rig.items()

    assert outcome(items) == "client-gone"
    assert [item.status for item in items if isinstance(item, AnswerBegun)] == [200]


def test_what_cannot_be_noted_is_not_passed_on(tmp_path: Path) -> None:
    """A full disk breaks the exchange off, and the recorder learns why."""
    provider = RawProvider(keeping)
    code = f"""
        import resource, socket, sys
        from pathlib import Path
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        from ptycassette.tape.io.running_proxy import start_proxy
        proxy = start_proxy(journal=Path({str(tmp_path)!r}) / "a.tape",
                            provider={provider.url!r}, environment={{}})
        base = proxy.environment["OPENAI_BASE_URL"].removesuffix("/v1")
        path = base.split(str(proxy.port))[1] + "/" + "x" * 500
        answered = 0
        for _ in range(9):
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                head = f"GET {{path}} HTTP/1.1\\r\\nHost: 127.0.0.1:{{proxy.port}}\\r\\n\\r\\n"
                client.sendall(head.encode())
                try:
                    answered += bool(client.recv(10))
                except ConnectionResetError:
                    pass
        proxy.close()
        print(answered, proxy.problem)
    """
    printed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    provider.close()
    with TapeJournalReader(tmp_path / "a.tape") as reader:
        items = list(reader.poll())

    answered = len([item for item in items if isinstance(item, AnswerData)])
    assert printed.startswith(f"{answered} ")
    assert "cannot write the tape's journal: File too large" in printed
    assert 0 < answered < 9


@pytest.mark.parametrize("url", ["ftp://x", "http://", "https://user@x", "http://x/?q", "nobody"])
def test_what_is_no_provider_is_an_error(tmp_path: Path, url: str) -> None:
    """It says so before anything is started."""
    with pytest.raises(UsageError, match=r"not a base URL|no provider"):
        start_proxy(journal=tmp_path / "a.tape", provider=url, environment={})


def test_a_journal_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """The process says why it did not start."""
    with pytest.raises(StorageError, match="No such file or directory"):
        start_proxy(
            journal=tmp_path / "no" / "a.tape", provider="http://127.0.0.1:9", environment={}
        )


ASK = b'{"model": "gpt-4o", "max_tokens": 10, "auth": "x"}'


def post(rig: Rig, body: bytes, *headers: bytes) -> bytes:
    """A request with a body."""
    head = [b"POST %b HTTP/1.1" % rig.target("/v1/x"), b"Host: " + rig.host, *headers]
    return b"\r\n".join([*head, b"Content-Length: %d" % len(body), b"", body])


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        (Terms(forbidden=("auth",)), "it has inputs under forbidden keys: auth"),
        (Terms(limit=Limit(requests=0)), "budget: it may take up to 1 requests, and 0 of 0"),
        (Terms(limit=Limit(usd=0.001)), "budget: it may take up to 0.0"),
    ],
)
def test_what_must_not_be_sent_reaches_nobody(rig: Rig, terms: Terms, reason: str) -> None:
    """The CLI gets an error in the form of all APIs, and the user the reason."""
    provider = rig.start(keeping, terms=terms)

    got = rig.ask(post(rig, ASK))
    items = rig.items()

    assert got.startswith(b"HTTP/1.1 403 ")
    assert reason in json.loads(got.partition(b"\r\n\r\n")[2])["error"]["message"]
    assert (provider.connections, outcome(items)) == (0, "refused")
    assert not [item for item in items if isinstance(item, RequestData)]
    assert reason in rig.running.reports[0]


@pytest.mark.parametrize("packing", [b"identity", b"gzip"])
def test_what_is_left_out_is_not_in_the_tape(rig: Rig, packing: bytes) -> None:
    """The request is sent without it, unpacked, with its new length; the end says so."""
    got: list[bytes] = []

    def act(connection: socket.socket) -> None:
        data = b""
        while not data.endswith(b"}"):
            data += connection.recv(65536)
        got.append(data)
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)

    rig.start(act, terms=Terms(forbidden=("auth",), strip=True))
    asked = gzip.compress(ASK) if packing == b"gzip" else ASK
    rig.ask(post(rig, asked, b"Expect: 100-continue", b"Content-Encoding: " + packing))
    items = rig.items()
    begun = next(item for item in items if isinstance(item, RequestBegun))

    head, _, body = got[0].partition(b"\r\n\r\n")
    assert body == b'{"model":"gpt-4o","max_tokens":10}'
    assert head.endswith(b"\r\ncontent-length: %d" % len(body))
    assert b"".join(item.data for item in items if isinstance(item, RequestData)) == body
    assert "content-encoding" not in dict(begun.headers)
    assert [one.detail for one in items if isinstance(one, ExchangeEnded)] == ["sent without auth"]


def test_what_was_judged_passes_as_it_came(rig: Rig) -> None:
    """Chunk for chunk, though it was held."""
    got: list[bytes] = []
    sent = b'4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n'

    def act(connection: socket.socket) -> None:
        data = b""
        while not data.endswith(sent):
            data += connection.recv(65536)
        got.append(data)
        connection.sendall(OK)

    rig.start(act, terms=Terms(limit=Limit(requests=5)))
    head = b"POST %b HTTP/1.1\r\nHost: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = rig.ask(head % (rig.target("/v1/x"), rig.host) + sent)

    assert got[0].endswith(b"Transfer-Encoding: chunked\r\n\r\n" + sent)
    assert answer == OK


def mutated(data: bytes, source: random.Random) -> bytes:
    """The same with some bytes changed, left out or doubled."""
    changed = bytearray(data)
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(changed))
        match source.randrange(4):
            case 0:
                changed[at] = source.randrange(256)
            case 1:
                del changed[at : at + source.randint(1, 9)]
            case 2:
                changed[at:at] = changed[at : at + source.randint(1, 40)]
            case _:
                changed[at:at] = source.randbytes(source.randint(1, 20))
        changed = changed or bytearray(b"x")
    return bytes(changed)


def test_nothing_that_is_sent_to_it_ends_it(rig: Rig) -> None:
    """Requests and answers with errors in them: each has its end, and the next is served."""
    source = random.Random(11)
    answers = [b"".join(pieces) for pieces, _, _ in ANSWERS.values() if pieces]

    def act(connection: socket.socket) -> None:
        head = head_of(connection)
        answer = OK if b"/good" in head else mutated(source.choice(answers), source)
        with suppress(OSError):
            connection.sendall(answer)

    rig.start(act)
    whole = post(rig, b'{"a": 1}', b"Connection: keep-alive", b"Accept: */*")
    for number in range(120):
        with rig.connect() as client:
            with suppress(OSError):
                client.sendall(mutated(whole, source) if number % 2 else whole)
                client.shutdown(socket.SHUT_WR)
            received(client)
    good = rig.ask(rig.get("/good"))
    items = rig.items()

    assert good == OK
    begun = {item.exchange for item in items if isinstance(item, RequestBegun)}
    assert sorted(i.exchange for i in items if isinstance(i, ExchangeEnded)) == sorted(begun)
    assert rig.running.problem is None
