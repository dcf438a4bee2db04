"""Record and answer the pools of urllib3 2 (requests, botocore, ...) while a block is entered.

The patch replaces ``HTTPConnectionPool._make_request``, which sends one request: redirects and
retries are above it, so each of them is an exchange. In replay no connection is made. A pool whose
proxy is the tape's own is left alone, because that proxy notes the traffic itself. urllib3 is not
imported here.
"""

# ruff: noqa: FBT001, PLR0917, SLF001 - its methods, which have no public twins

from __future__ import annotations

import builtins
import http.client
import inspect
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ptycassette.agents.inprocess.active import Patch, below, client_tape, unknown_client
from ptycassette.agents.inprocess.calls import (
    MISS_HEADERS,
    MISS_STATUS,
    AnswerBody,
    Asked,
    CallLog,
    broken_answer,
    failure_of,
    miss_body,
    served_headers,
)
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss

if TYPE_CHECKING:
    from ptycassette.agents.inprocess.using_tape import OpenTape

_SEND = "_make_request"
_READS = ("_error_catcher", "_fp_read", "_handle_chunk")
"""Every piece of a body passes one of the last two, and every error passes the first."""
_PORTS = {"http": 80, "https": 443}
_SENDING = threading.local()
"""``reached`` is whether the request that this thread sends came to urllib3."""


def patches_of(module: ModuleType) -> Iterator[Patch]:
    """The patches for urllib3, requests and botocore; empty while a package is being imported.

    An unsupported version may only send through ``tape.environment``.
    """
    kind: Any = module
    if kind.__name__ == "requests":
        if hasattr(kind, "Session"):
            yield kind.Session, "send", _sent
        return
    if kind.__name__.startswith("botocore."):
        if handler := getattr(kind, "RetryHandler", None):
            yield handler, "needs_retry" if hasattr(handler, "needs_retry") else "__call__", _delay
        return
    pool: Any = getattr(kind, "HTTPConnectionPool", None)
    send, raw = getattr(pool, _SEND, None), getattr(kind, "HTTPResponse", None)
    if send is None:
        return
    if "preload_content" not in inspect.signature(send).parameters or not all(
        hasattr(raw, name) for name in _READS
    ):

        def refuse(original: Callable[..., Any]) -> Callable[..., Any]:
            def refused(self: Any, *args: Any, **more: Any) -> Any:
                tape = client_tape()
                if tape is None or (
                    self.proxy is not None and tape.is_own_proxy(self.proxy.netloc)
                ):
                    return original(self, *args, **more)
                raise unknown_client(kind, "urllib3 2")

            return refused

        yield pool, _SEND, refuse
        return
    served = _served_response(kind)

    def patch(original: Callable[..., Any]) -> Callable[..., Any]:
        def make_request(
            self: Any, conn: Any, method: str, url: str, body: Any = None, headers: Any = None,
            retries: Any = None, **more: Any,
        ) -> Any:  # fmt: skip
            tape = client_tape()
            _SENDING.reached = True
            if tape is None or (self.proxy is not None and tape.is_own_proxy(self.proxy.netloc)):
                return original(self, conn, method, url, body, headers, retries, **more)
            body = _bytes_of(body)
            asked = _asked(self, method, url, body or b"", headers)
            answer = tape.ask(asked)
            if not isinstance(answer, CallLog):
                if isinstance(answer, Hit) and not answer.status:
                    raise _broken(kind, answer, tape, (self, url))
                response = served(answer, tape, asked, pool=self, url=url, method=method, **more)
                response.retries = retries
                return response
            preload = more.pop("preload_content", True)
            number = answer.ask(asked)
            try:
                with below():
                    response = original(
                        self, conn, method, url, body, headers, retries, preload_content=False,
                        **more,
                    )  # fmt: skip
            except BaseException as exc:
                answer.end(number, *failure_of(exc))
                raise
            _note(answer, number, response, tape.reading(asked))
            if preload:
                response._body = response.read(decode_content=more.get("decode_content", True))
            return response

        return make_request

    yield pool, _SEND, patch

    def patch_sleep(original: Callable[..., None]) -> Callable[..., None]:
        def sleep(self: Any, response: Any = None) -> None:
            """Wait before the next try, but not in replay."""
            if not _is_replay():
                original(self, response)

        return sleep

    yield kind.Retry, "sleep", patch_sleep


def _is_replay() -> bool:
    """Whether the answers are recorded, so that no provider demands to wait."""
    tape = client_tape()
    return tape is not None and tape.is_offline and not tape.waits


def _delay(needs_retry: Callable[..., Any]) -> Callable[..., Any]:
    """Let botocore sleep for 0 seconds in replay before it asks again."""

    def delay_s(self: Any, *args: Any, **more: Any) -> Any:
        found = needs_retry(self, *args, **more)
        return 0 if found is not None and _is_replay() else found

    return delay_s


def _sent(send: Callable[..., Any]) -> Callable[..., Any]:
    """Notice a request of requests that another adapter answers, such as a mock."""

    def sent(self: Any, request: Any, **more: Any) -> Any:
        tape = client_tape()
        if tape is None:
            return send(self, request, **more)
        before, _SENDING.reached = getattr(_SENDING, "reached", False), False
        try:
            response = send(self, request, **more)
            if not _SENDING.reached:
                adapter = self.get_adapter(url=request.url)
                tape.note(
                    f"{type(adapter).send.__module__.partition('.')[0]} answered a request of"
                    f" requests ({request.method}) in place of urllib3, so the call did not reach"
                    " the tape"
                )
        finally:
            _SENDING.reached = before
        return response

    return sent


# -- what is sent -------------------------------------------------------------------------


def _bytes_of(body: Any) -> bytes | None:
    """A body as bytes: urllib3 also takes text, files, and iterables of pieces."""
    if body is None or isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    read = getattr(body, "read", None)
    if callable(read):
        body = [read()]
    elif not isinstance(body, bytearray | memoryview):
        body = list(body)
    else:
        return bytes(body)
    return b"".join(one.encode() if isinstance(one, str) else bytes(one) for one in body)


def _asked(pool: Any, method: str, url: str, body: bytes, headers: Any) -> Asked:
    host = f"[{pool.host}]" if ":" in pool.host and not pool.host.startswith("[") else pool.host
    port = "" if pool.port in {None, _PORTS.get(pool.scheme)} else f":{pool.port}"
    upstream, target = f"{pool.scheme}://{host}{port}", url
    if not url.startswith("/"):  # through a proxy, the whole address
        scheme, _, rest = url.partition("://")
        where, slash, path = rest.partition("/")
        upstream, target = f"{scheme}://{where}", f"{slash or '/'}{path}"
    given = pool.headers if headers is None else headers
    return Asked(
        method=method,
        upstream=upstream,
        target=target,
        headers=tuple((_text(name).lower(), _text(value)) for name, value in given.items()),
        body=body,
    )


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


# -- recording ----------------------------------------------------------------------------


def _note(log: CallLog, number: int, response: Any, check: Callable[[], None]) -> None:
    """Note the head of an answer, and its body while the client reads it."""
    headers = tuple((name.lower(), value) for name, value in response.headers.items())
    log.begin_answer(number, response.status, response.reason or "", headers)
    body = AnswerBody(log, number, response.headers.get("content-length", ""))
    catcher, read, chunk, close = (getattr(response, one) for one in (*_READS, "close"))

    @contextmanager
    def error_catcher() -> Iterator[None]:
        try:
            with catcher():
                yield
        except Exception as exc:
            body.end(*failure_of(exc))
            raise
        if response.isclosed():
            body.end("complete")

    def noted(original: Callable[..., bytes]) -> Callable[..., bytes]:
        def noting(*args: Any, **more: Any) -> bytes:
            check()
            data = original(*args, **more)
            body.data(data)
            return data

        return noting

    def closed() -> None:
        close()
        body.closed()

    response._error_catcher, response.close = error_catcher, closed
    response._fp_read, response._handle_chunk = noted(read), noted(chunk)
    if response.isclosed():  # there is no body
        body.end("complete")


# -- replaying ----------------------------------------------------------------------------


class _Pieces(io.RawIOBase):
    """The body of a recorded answer as a file; it breaks where the recorded one broke."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def next(self, most: int | None) -> bytes:
        """The next piece, or a part of it; empty at the end."""
        if not self._rest:
            self._rest = next(self._pieces, b"")
        if most is None or most < 0:
            most = len(self._rest)
        piece, self._rest = self._rest[:most], self._rest[most:]
        return piece

    def read1(self, size: int = -1) -> bytes:
        return self.next(size)

    def readinto(self, buffer: Any) -> int:
        piece = self.next(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def _served_response(module: Any) -> Callable[..., Any]:
    """Makes urllib3 responses from recorded answers."""

    class ServedResponse(module.HTTPResponse):  # type: ignore[misc]
        def stream(self, amt: int | None = 2**16, decode_content: bool | None = None) -> Any:
            """The recorded pieces, which are already unpacked."""
            del decode_content
            if amt == 0 or not isinstance(self._fp, _Pieces) or self._fp.closed:
                return
            while piece := self._fp.next(amt):
                yield piece
            self._fp.close()

    def served(
        answer: Hit | Miss,
        tape: OpenTape,
        asked: Asked,
        *,
        pool: Any,
        url: str,
        method: str,
        **more: Any,
    ) -> Any:
        check = tape.reading(asked)

        def pieces() -> Iterator[bytes]:
            if isinstance(answer, Miss):
                yield miss_body(answer)
                return
            delays_s = getattr(answer, "delays_s", ())  # of a fault
            check()
            for number, (_, data) in enumerate(answer.pieces):
                if number < len(delays_s):
                    _check_patience(module, pool, url, delays_s[number], more.get("timeout"))
                if data:
                    yield data
                    check()
            if answer.entry.outcome != "complete":
                raise _broken(module, answer, tape, (pool, url))

        status = MISS_STATUS if isinstance(answer, Miss) else answer.status
        headers = (
            MISS_HEADERS if isinstance(answer, Miss) else served_headers(answer, waits=tape.waits)
        )
        return ServedResponse(
            body=_Pieces(pieces()),
            headers=module.HTTPHeaderDict(headers),
            status=status,
            version=11,
            version_string="HTTP/1.1",
            reason=http.client.responses.get(status or 0, ""),
            preload_content=more.get("preload_content", True),
            decode_content=more.get("decode_content", True),
            enforce_content_length=False,  # it is the length of the packed body
            request_method=method,
            request_url=url,
        )

    return served


def _check_patience(module: Any, pool: Any, url: str, delay_s: float, timeout: Any) -> None:
    """A late piece: there is no wait, but the client's timeout counts."""
    patience_s = getattr(timeout, "read_timeout", timeout)
    if isinstance(patience_s, int | float) and delay_s > patience_s:
        raise module.exceptions.ReadTimeoutError(pool, url, "the answer stopped, on purpose")


def _broken(module: Any, answer: Hit, tape: OpenTape, where: tuple[Any, str]) -> Exception:
    """The error of the recorded client: the same class of exception with the same text."""
    if answer.entry.outcome == "client-gone":
        tape.report_further_reading(answer.entry)
    name, text = broken_answer(answer)
    text = text or "the recorded answer ends here"
    known = (getattr(place, name, None) for place in (module.exceptions, http.client, builtins))
    for found in known:
        if isinstance(found, type) and issubclass(found, Exception):
            for args in ((text,), (where[0], text), (*where, text)):
                try:
                    return found(*args)
                except TypeError:  # it takes other arguments
                    continue
    made: Exception = module.exceptions.ProtocolError(text)
    return made
