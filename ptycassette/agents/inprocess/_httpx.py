"""Record and answer the clients of httpx and httpx2 while a block is entered.

SDKs make their own clients, before the block or in it, so they cannot be given another one. The
patch replaces the choice of a transport, ``Client._transport_for_url`` and its asynchronous twin.
This is the only place below redirects, authentication and retries of SDKs, and above all
transports, including those on aiohttp. The chosen transport is wrapped. In replay it is never used,
so no socket is opened, and a transport that is made there connects only when it is used after the
block. Neither package is imported here.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ptycassette.agents.inprocess.active import Patch, below, client_tape
from ptycassette.agents.inprocess.calls import (
    CANCELLED,
    MISS_HEADERS,
    MISS_STATUS,
    AnswerBody,
    Asked,
    CallLog,
    Headers,
    broken_answer,
    failure_of,
    is_held,
    miss_body,
    served_headers,
)
from ptycassette.errors import UsageError
from ptycassette.tape.matching.matcher import Hit
from ptycassette.tape.matching.misses import Miss

if TYPE_CHECKING:
    from ptycassette.agents.inprocess.using_tape import OpenTape

_CHOICE = "_transport_for_url"
_LATE = "_ptycassette_late"
"""An attribute of a transport without connections: the function that makes them."""
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables that name other certificates, which may not be there."""
_HELD_S = 60.0
"""How long an answer that the recorded client did not wait for is held back."""


def patches_of(module: ModuleType) -> Iterator[Patch]:
    """The patches for httpx or httpx2; empty while it is still being imported.

    Raises:
        UsageError: this version is not supported.
    """
    kind: Any = module
    if not hasattr(kind, "AsyncClient"):
        return
    sync, asynchronous = _transports(kind)

    def patched(wrapper: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def patch(original: Callable[..., Any]) -> Callable[..., Any]:
            def transport_for_url(self: Any, url: Any) -> Any:
                chosen, tape = original(self, url), client_tape()
                if tape is None or tape.is_own_proxy(_proxy_of(chosen)):
                    return chosen
                return wrapper(chosen, tape)

            return transport_for_url

        return patch

    for client, wrapper in ((kind.Client, sync), (kind.AsyncClient, asynchronous)):
        if not hasattr(client, _CHOICE):
            raise UsageError(
                f"use_tape does not know this version of {module.__name__}: its clients have no"
                f" {_CHOICE}",
                hint="update ptycassette, or record the code as a program (ptycassette rec --tape)",
            )
        yield client, _CHOICE, patched(wrapper)
    for transport in (kind.HTTPTransport, kind.AsyncHTTPTransport):
        yield transport, "__init__", _made_late(transport, kind.Limits)


def _made_late(transport: type, limits: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a transport of httpx without its connections, in replay.

    Most of the time that a client takes to be made is for them: to import them, and to read the
    certificates of this machine. Replay never uses them. They are made when something asks for
    them, as the client may live longer than the block.
    """

    class Late(transport):  # type: ignore[misc]
        """The transport until then; only ``__init__`` of its class gives it attributes."""

        def __getattr__(self, name: str) -> Any:
            make = vars(self).get(_LATE)
            if make is None or name.startswith("__") or not make():
                raise AttributeError(f"{transport.__name__!r} object has no attribute {name!r}")
            return getattr(self, name)

        def close(self) -> None:
            """No connection is open."""

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *details: object) -> None:
            """No connection is open."""

        async def aclose(self) -> None:
            """No connection is open."""

        async def __aenter__(self) -> Any:
            return self

        async def __aexit__(self, *details: object) -> None:
            """No connection is open."""

    for name in ("__name__", "__qualname__", "__module__"):
        setattr(Late, name, getattr(transport, name))

    def patch(original: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(original)

        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            tape = client_tape()
            is_late = tape is not None and tape.is_offline and type(self) is transport
            if not is_late or _may_fail(signature, (self, *args), kwargs, limits):
                original(self, *args, **kwargs)
                return
            lock, begun = threading.RLock(), False

            def make() -> bool:
                """Make the connections; False while this very thread does."""
                nonlocal begun
                with lock:
                    if _LATE not in vars(self):
                        return True  # another thread has
                    if begun:
                        return False
                    begun = True
                    try:
                        original(self, *args, **kwargs)
                    finally:
                        begun = False
                    self.__class__ = transport
                    delattr(self, _LATE)
                    return True

            setattr(self, _LATE, make)
            self.__class__ = Late

        return init

    return patch


def _may_fail(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], limits: type
) -> bool:
    """Whether a transport with these arguments reads files that may not be there, or is refused."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return True
    bound.apply_defaults()
    given = bound.arguments
    verify = given.get("verify", True)
    files = [] if verify is not True else filter(None, map(os.environ.get, _CERTIFICATES))
    return (
        isinstance(verify, str | os.PathLike)
        or not all(map(os.path.exists, files))
        or not isinstance(given.get("limits"), limits)
        or given.get("cert") is not None
        or given.get("proxy") is not None
    )


def _proxy_of(transport: Any) -> str:
    """Host and port of the proxy of a transport; empty if it has no proxy."""
    if _LATE in getattr(transport, "__dict__", ()):
        return ""  # it has no connections yet
    url = getattr(getattr(transport, "_pool", None), "_proxy_url", None)
    return "" if url is None else f"{url.host.decode('ascii')}:{url.port}"


def _transports(module: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The wrappers of a transport, for synchronous and asynchronous clients."""
    answers = _Answers(module)

    class TapeTransport(module.BaseTransport):  # type: ignore[misc]
        def __init__(self, chosen: Any, tape: OpenTape) -> None:
            self._chosen, self._tape = chosen, tape

        def handle_request(self, request: Any) -> Any:
            asked = _asked(request, request.read())
            served = self._tape.ask(asked)
            if not isinstance(served, CallLog):
                _note_respx(self._tape)
                return answers.sync(served, self._tape, request, asked)
            number = served.ask(asked)
            try:
                with below():
                    response = self._chosen.handle_request(request)
            except BaseException as exc:
                served.end(number, *failure_of(exc))
                raise
            body = _begun(served, number, response)
            if not answers.was_read(response, body):
                response.stream = answers.recorded(response.stream, body, self._tape.reading(asked))
            return response

    class AsyncTapeTransport(module.AsyncBaseTransport):  # type: ignore[misc]
        def __init__(self, chosen: Any, tape: OpenTape) -> None:
            self._chosen, self._tape = chosen, tape

        async def handle_async_request(self, request: Any) -> Any:
            asked = _asked(request, await request.aread())
            if self._tape.waits:
                from anyio import to_thread  # httpx needs it anyway  # noqa: PLC0415

                served = await to_thread.run_sync(self._tape.ask, asked)
            else:
                served = self._tape.ask(asked)
            if not isinstance(served, CallLog):
                _note_respx(self._tape)
                return await answers.asynchronous(served, self._tape, request, asked)
            number = served.ask(asked)
            try:
                with below():
                    response = await self._chosen.handle_async_request(request)
            except BaseException as exc:
                served.end(number, *failure_of(exc))
                raise
            body = _begun(served, number, response)
            if not answers.was_read(response, body):
                response.stream = answers.recorded_async(
                    response.stream, body, self._tape.reading(asked)
                )
            return response

    return TapeTransport, AsyncTapeTransport


def _note_respx(tape: OpenTape) -> None:
    """Note that a mock of respx, which replaces connections, is not asked in replay."""
    mocks = getattr(sys.modules.get("respx"), "mocks", None)
    mockers = getattr(getattr(mocks, "Mocker", None), "registry", {})
    if any(getattr(one, "routers", ()) for one in mockers.values()):
        tape.note(
            "a mock of respx is active, and is not asked: replay answers from the cassette"
            " (set its assert_all_called to False, or leave it out)"
        )


# -- what is sent -------------------------------------------------------------------------


def _asked(request: Any, body: bytes) -> Asked:
    url = request.url
    return Asked(
        method=request.method,
        upstream=f"{url.scheme}://{url.netloc.decode('ascii')}",
        target=url.raw_path.decode("ascii"),
        headers=_headers(request.headers),
        body=body,
    )


def _headers(headers: Any) -> Headers:
    return tuple(
        (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers.raw
    )


# -- recording ----------------------------------------------------------------------------


def _begun(log: CallLog, number: int, response: Any) -> AnswerBody:
    """Note the head of an answer; its body is still to come."""
    reason = response.extensions.get("reason_phrase", b"").decode("latin-1")
    log.begin_answer(number, response.status_code, reason, _headers(response.headers))
    return AnswerBody(log, number, response.headers.get("content-length", ""))


# -- replaying ----------------------------------------------------------------------------


class _Answers:
    """Makes responses of one package, httpx or httpx2."""

    def __init__(self, module: Any) -> None:
        self._module = module
        sync_stream, async_stream = module.SyncByteStream, module.AsyncByteStream

        class RecordedStream(sync_stream):  # type: ignore[misc,valid-type]
            def __init__(self, stream: Any, body: AnswerBody, check: Callable[[], None]) -> None:
                self._stream, self._body, self._check = stream, body, check

            def __iter__(self) -> Iterator[bytes]:
                self._check()
                try:
                    for data in self._stream:
                        self._body.data(data)
                        yield data
                        self._check()
                except Exception as exc:
                    self._body.end(*failure_of(exc))
                    raise
                self._body.end("complete")

            def close(self) -> None:
                self._stream.close()
                self._body.closed()

        class RecordedAsyncStream(async_stream):  # type: ignore[misc,valid-type]
            def __init__(self, stream: Any, body: AnswerBody, check: Callable[[], None]) -> None:
                self._stream, self._body, self._check = stream, body, check

            async def __aiter__(self) -> AsyncIterator[bytes]:
                self._check()
                try:
                    async for data in self._stream:
                        self._body.data(data)
                        yield data
                        self._check()
                except GeneratorExit:
                    raise  # the client reads no further
                except Exception as exc:
                    self._body.end(*failure_of(exc))
                    raise
                except BaseException:
                    self._body.end("client-gone", CANCELLED)
                    raise
                self._body.end("complete")

            async def aclose(self) -> None:
                await self._stream.aclose()
                self._body.closed()

        class ServedStream(sync_stream, async_stream):  # type: ignore[misc,valid-type]
            def __init__(
                self,
                hit: Hit,
                broken: Callable[[], Exception],
                late: Callable[[float], None],
                check: Callable[[], None],
            ) -> None:
                self._hit, self._broken, self._late, self._check = hit, broken, late, check

            def __iter__(self) -> Iterator[bytes]:
                yield from self._pieces()
                self._end()

            def _pieces(self) -> Iterator[bytes]:
                delays_s = getattr(self._hit, "delays_s", ())  # of a fault
                self._check()
                for number, (_, data) in enumerate(self._hit.pieces):
                    if number < len(delays_s):
                        self._late(delays_s[number])
                    if data:
                        yield data
                        self._check()

            def _end(self) -> None:
                if self._hit.entry.outcome != "complete":
                    raise self._broken()

            async def __aiter__(self) -> AsyncIterator[bytes]:
                for data in self._pieces():
                    yield data
                if is_held(self._hit):
                    import anyio  # httpx needs it anyway  # noqa: PLC0415

                    await anyio.sleep(_HELD_S)
                self._end()

        self.recorded, self.recorded_async = RecordedStream, RecordedAsyncStream
        self._served = ServedStream

    def was_read(self, response: Any, body: AnswerBody) -> bool:
        """Record the body of a response that a transport in memory made whole.

        Nobody reads the stream of such a response again. False if it has to be read first.
        """
        whole = response.is_stream_consumed and isinstance(response.stream, self._module.ByteStream)
        if whole:
            body.data(b"".join(response.stream))
            body.end("complete")
        return bool(whole)

    def sync(self, answer: Hit | Miss, tape: OpenTape, request: Any, asked: Asked) -> Any:
        if isinstance(answer, Hit) and not answer.status:
            raise self._broken(answer, tape, request)
        return self._response(answer, tape, request, asked)

    async def asynchronous(
        self, answer: Hit | Miss, tape: OpenTape, request: Any, asked: Asked
    ) -> Any:
        if isinstance(answer, Hit) and not answer.status:
            if answer.entry.outcome == "client-gone":
                import anyio  # httpx needs it anyway  # noqa: PLC0415

                await anyio.sleep(_HELD_S)  # the recorded client cancelled its task
            raise self._broken(answer, tape, request)
        return self._response(answer, tape, request, asked)

    def _response(self, answer: Hit | Miss, tape: OpenTape, request: Any, asked: Asked) -> Any:
        if isinstance(answer, Miss):
            return self._module.Response(
                MISS_STATUS, headers=MISS_HEADERS, content=miss_body(answer), request=request
            )

        def late(delay_s: float) -> None:
            """A late piece: there is no wait, but the client's timeout counts."""
            patience_s = request.extensions.get("timeout", {}).get("read")
            if patience_s is not None and delay_s > patience_s:
                raise self._module.ReadTimeout("the answer stopped, on purpose", request=request)

        return self._module.Response(
            answer.status,
            headers=served_headers(answer, waits=tape.waits),
            stream=self._served(
                answer, lambda: self._broken(answer, tape, request), late, tape.reading(asked)
            ),
            request=request,
        )

    def _broken(self, answer: Hit, tape: OpenTape, request: Any) -> Exception:
        """The error of the recorded client: the same class of exception with the same text."""
        entry = answer.entry
        if entry.outcome == "client-gone":
            tape.report_further_reading(entry)
        name, text = broken_answer(answer)
        found = getattr(self._module, name, None)
        base = self._module.TransportError
        if not (isinstance(found, type) and issubclass(found, base)):
            found, text = self._module.RemoteProtocolError, entry.detail
        made: Exception = found(text or "the recorded answer ends here", request=request)
        return made
