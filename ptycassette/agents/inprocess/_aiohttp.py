"""Record and answer the sessions of aiohttp while a block is entered.

The patch of ``ClientSession._request`` adds an innermost middleware, below redirects and the
program's own middlewares. In replay no connection is made. WebSockets pass unchanged, and a
recording has a note of them, and of answers of the mock aioresponses. aiohttp is not imported here.
"""

# ruff: noqa: SLF001 - no public way leads to a response without a connection

from __future__ import annotations

import asyncio
import errno
import http.client
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from ptycassette.agents.inprocess.active import Patch, below, client_tape, unknown_client
from ptycassette.agents.inprocess.calls import (
    CANCELLED,
    MISS_HEADERS,
    MISS_STATUS,
    AnswerBody,
    Asked,
    CallLog,
    broken_answer,
    failure_of,
    is_held,
    miss_body,
    served_headers,
)
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss

if TYPE_CHECKING:
    from ptycassette.agents.inprocess.using_tape import OpenTape

_SEND = "_request"
_MIDDLEWARES = "middlewares"
_READS = ("read", "readany", "readchunk", "readexactly", "readline", "readuntil")
_HELD_S = 60.0
"""How long an answer that the recorded client did not wait for is held back."""
_HOLD = b""
"""In place of a piece: the recorded client was cancelled here, so the answer is held back."""


def patches_of(module: ModuleType) -> Iterator[Patch]:
    """The patches for aiohttp, aioresponses and websockets; empty while one is being imported.

    A version without middlewares may only send through a proxy (``tape.environment``).
    """
    kind: Any = module
    if mock := getattr(kind, "aioresponses", None):
        yield mock, "match", _noted_match
        return
    if protocol := getattr(kind, "ClientProtocol", None):
        yield protocol, "connect", _noted_connect
        return
    session: Any = getattr(kind, "ClientSession", None)
    send = getattr(session, _SEND, None)
    if send is None:
        return
    if _MIDDLEWARES not in inspect.signature(send).parameters:

        def refuse(original: Callable[..., Any]) -> Callable[..., Any]:
            async def refused(self: Any, *args: Any, **more: Any) -> Any:
                tape = client_tape()
                proxies = [more.get("proxy"), getattr(self, "_default_proxy", None)]
                if self.trust_env:
                    proxies += getproxies().values()
                if tape is None or any(
                    tape.is_own_proxy(urlsplit(str(one)).netloc.rpartition("@")[2])
                    for one in proxies
                    if one
                ):
                    return await original(self, *args, **more)
                raise unknown_client(kind, "aiohttp 3.12")

            return refused

        yield session, _SEND, refuse
        return
    middleware = _Middleware(kind)

    def patch(original: Callable[..., Any]) -> Callable[..., Any]:
        async def request(
            self: Any, method: Any, url: Any, *, middlewares: Any = None, **more: Any
        ) -> Any:
            if client_tape() is not None:
                given = self._middlewares if middlewares is None else middlewares
                middlewares = (*given, middleware)
            return await original(self, method, url, middlewares=middlewares, **more)

        return request

    yield session, _SEND, patch


def _noted_match(match: Callable[..., Any]) -> Callable[..., Any]:
    """Note that a mock of aioresponses, which replaces our patch, has answered."""

    async def matched(self: Any, *args: Any, **more: Any) -> Any:
        tape, passes = client_tape(), False
        try:
            answer = await match(self, *args, **more)
            passes = answer is None and self.passthrough_unmatched
        finally:
            if tape is not None and not passes:
                tape.note(
                    "aioresponses answered a request of aiohttp in place of a connection, so the"
                    " call did not reach the tape"
                )
        return answer

    return matched


def _noted_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    def connected(self: Any) -> Any:
        _note_web_socket("websockets")
        return connect(self)

    return connected


def _note_web_socket(client: str) -> None:
    """Note that a recording does not have the messages of a WebSocket."""
    tape = client_tape()
    if tape is not None and tape.records:
        tape.note(
            f"{client} opened a WebSocket, whose messages are not on the tape, and a replay has no"
            " network for it: use rec --tape for such programs"
        )


class _Middleware:
    """Records the answer to a request, or gives the recorded one."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._noted = _noted_content(module)
        self._served = _served_content(module)

    async def __call__(self, request: Any, handler: Callable[..., Any]) -> Any:
        tape, proxy = client_tape(), request.proxy
        if tape is None:
            return await handler(request)
        if "upgrade" in request.headers:
            _note_web_socket("aiohttp")
            return await handler(request)
        if proxy is not None and tape.is_own_proxy(f"{proxy.host}:{proxy.port}"):
            return await handler(request)
        asked = await _asked(request)
        answer = await asyncio.to_thread(tape.ask, asked) if tape.waits else tape.ask(asked)
        if not isinstance(answer, CallLog):
            return await self._answered(answer, tape, request, asked)
        number = answer.ask(asked)
        try:
            with below():
                response = await handler(request)
        except BaseException as exc:
            answer.end(number, *failure_of(exc))
            raise
        body = self._note(answer, number, response, unpacks=request.session.auto_decompress)
        response.content = self._noted(response.content, body, tape.reading(asked))
        return response

    # -- recording ------------------------------------------------------------------------

    def _note(self, log: CallLog, number: int, response: Any, *, unpacks: bool) -> AnswerBody:
        """Note the head of an answer; its body is noted while the client reads it."""
        headers = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in response.raw_headers
        )
        if unpacks and "content-encoding" in response.headers:
            of_the_packed = ("content-encoding", "content-length")
            headers = tuple(pair for pair in headers if pair[0] not in of_the_packed)
        log.begin_answer(number, response.status, response.reason or "", headers)
        body = AnswerBody(log, number, dict(headers).get("content-length", ""))

        def noted(original: Callable[[], Any]) -> Callable[[], Any]:
            def closing() -> Any:
                body.closed()
                return original()

            return closing

        response.close, response.release = noted(response.close), noted(response.release)
        return body

    # -- replaying ------------------------------------------------------------------------

    async def _answered(
        self, answer: Hit | Miss, tape: OpenTape, request: Any, asked: Asked
    ) -> Any:
        if isinstance(answer, Hit) and not answer.status:
            if answer.entry.outcome == "client-gone":
                await asyncio.sleep(_HELD_S)  # the recorded client cancelled its task
            raise self._broken(answer, tape, request, in_body=False)
        module = self._module
        response = request.response_class(
            request.method,
            request.original_url,
            writer=None,
            continue100=None,
            timer=None,
            request_info=request.request_info,
            traces=[],
            loop=request.loop,
            session=request.session,
            **_stream_writer(request.response_class),
        )
        headers = (
            MISS_HEADERS if isinstance(answer, Miss) else served_headers(answer, waits=tape.waits)
        )
        raw = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)
        names = module.client_reqrep.CIMultiDict(headers)
        response.version = module.HttpVersion11
        response.status = MISS_STATUS if isinstance(answer, Miss) else answer.status
        response.reason = http.client.responses.get(response.status or 0, "")
        response._headers = module.client_reqrep.CIMultiDictProxy(names)
        response._raw_headers = raw
        response._raw_cookie_headers = tuple(names.getall("set-cookie", ())) or None
        pieces = self._pieces(answer, tape, request)
        response.content = self._served(pieces, request.loop, tape.reading(asked))
        return response

    def _pieces(self, answer: Hit | Miss, tape: OpenTape, request: Any) -> Iterator[bytes]:
        if isinstance(answer, Miss):
            yield miss_body(answer)
            return
        delays_s = getattr(answer, "delays_s", ())  # of a fault
        timeout = request.session.timeout
        patience_s = timeout.sock_read or timeout.total
        for number, (_, data) in enumerate(answer.pieces):
            late_s = delays_s[number] if number < len(delays_s) else 0.0
            if patience_s is not None and late_s > patience_s:
                raise self._module.SocketTimeoutError("the answer stopped, on purpose")
            if data:
                yield data
        if is_held(answer):
            yield _HOLD
        if answer.entry.outcome != "complete":
            raise self._broken(answer, tape, request, in_body=True)

    def _broken(self, answer: Hit, tape: OpenTape, request: Any, *, in_body: bool) -> Exception:
        """The error of the recorded client: the same class of exception with the same text."""
        module = self._module
        if answer.entry.outcome == "client-gone":
            tape.report_further_reading(answer.entry)
        name, text = broken_answer(answer)
        text = text or "the recorded answer ends here"
        found = getattr(module, name, None) or {"TimeoutError": TimeoutError}.get(name)
        if isinstance(found, type) and issubclass(found, Exception):
            reason = OSError(errno.ECONNREFUSED, text.rpartition("[")[2].rstrip("]"))
            for args in ((text,), (request.connection_key, reason)):
                try:
                    return found(*args)
                except TypeError:  # it takes other arguments
                    continue
        made: Exception = (
            module.ClientPayloadError(text) if in_body else module.ServerDisconnectedError(text)
        )
        return made


async def _asked(request: Any) -> Asked:
    url, body = request.url, request.body
    return Asked(
        method=request.method,
        upstream=str(url.origin()),
        target=url.raw_path_qs,
        headers=tuple((name.lower(), value) for name, value in request.headers.items()),
        body=await body.as_bytes() if body else b"",
    )


def _stream_writer(response_class: Any) -> dict[str, Any]:
    """Newer versions ask the response how much was sent."""
    if "stream_writer" not in inspect.signature(response_class.__init__).parameters:
        return {}

    class Sent:
        output_size = 0

    return {"stream_writer": Sent()}


def _noted_content(module: Any) -> Callable[..., Any]:
    """Makes the content of a recorded response, which notes what the program reads."""
    reader = module.StreamReader

    class NotedContent:
        def __init__(self, content: Any, body: AnswerBody, check: Callable[[], None]) -> None:
            self._content, self._body, self._check = content, body, check

        def __getattr__(self, name: str) -> Any:
            found = getattr(self._content, name)
            return self._noting(found) if name in _READS else found

        def _noting(self, read: Callable[..., Any]) -> Callable[..., Any]:
            async def noting(*args: Any, **more: Any) -> Any:
                self._check()
                try:
                    got = await read(*args, **more)
                except asyncio.CancelledError:
                    self._body.end("client-gone", CANCELLED)
                    raise
                except Exception as exc:
                    self._body.end(*failure_of(exc))
                    raise
                self._take(got[0] if isinstance(got, tuple) else got)
                return got

            return noting

        async def read(self, n: int = -1) -> bytes:
            if n >= 0:
                return bytes(await self._noting(self._content.read)(n))
            read_any, blocks = self._noting(self._content.readany), []
            while block := await read_any():
                blocks.append(block)
            return b"".join(blocks)

        def read_nowait(self, n: int = -1) -> bytes:
            self._check()
            data = bytes(self._content.read_nowait(n))
            self._take(data)
            return data

        def _take(self, data: bytes) -> None:
            self._body.data(data)
            if self._content.at_eof():
                self._body.end("complete")

        def __aiter__(self) -> Any:
            return reader.__aiter__(self)

        def iter_chunked(self, n: int) -> Any:
            return reader.iter_chunked(self, n)

        def iter_any(self) -> Any:
            return reader.iter_any(self)

        def iter_chunks(self) -> Any:
            return reader.iter_chunks(self)

    return NotedContent


def _served_content(module: Any) -> Callable[..., Any]:
    """Makes the content of a served response, which gives a piece when the client waits for one."""

    class Connection:
        connected = True

        def pause_reading(self, **more: object) -> None:
            """Do nothing: no data flows."""

        resume_reading = pause_reading
        _reading_paused = False

    class ServedContent(module.StreamReader):  # type: ignore[misc]
        def __init__(self, pieces: Iterator[bytes], loop: Any, check: Callable[[], None]) -> None:
            super().__init__(Connection(), 2**16, loop=loop)
            self._pieces, self._check = pieces, check

        async def _wait(self, func_name: str) -> None:
            del func_name
            self._check()
            piece = next(self._pieces, None)
            if piece == _HOLD:
                await asyncio.sleep(_HELD_S)
                piece = next(self._pieces, None)
            if piece is None:
                self.feed_eof()
                return
            self.begin_http_chunk_receiving()
            self.feed_data(piece)
            self.end_http_chunk_receiving()

        def set_read_chunk_size(self, n: int) -> None:
            """Do nothing: the content is not packed."""

    return ServedContent
