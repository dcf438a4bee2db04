"""The fake provider on 127.0.0.1: HTTP and WebSocket around the pure state machine.

Needs the extra ``provider`` (aiohttp). ``FakeProviderServer`` runs the server in a thread of its
own, so that synchronous tests and recorders can use it; ``ProviderApp`` is the same inside a
running event loop.

The state machine plans the answers. This module adds waits, broken connections, and the log: one
JSON object per finished request. If the log cannot be written, clients are still served.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import ssl
import stat
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import trustme
from aiohttp import WSMsgType, web
from aiohttp.typedefs import Handler

from ptycassette.agents.harness.fake.engine import FakeProvider
from ptycassette.agents.harness.fake.script import (
    MAX_BODY_BYTES,
    HttpRequest,
    PlannedAnswer,
    Script,
    too_large,
    unpacked,
    withheld_values,
)
from ptycassette.errors import NotFoundError, StorageError, UnreadableError, UsageError
from ptycassette.keys.quantities import time_text
from ptycassette.model.ports import Clock
from ptycassette.model.records import NOT_JSON
from ptycassette.model.toml_text import MAX_TOML_BYTES
from ptycassette.scrub.io.conceal import process_scrubber
from ptycassette.system.clock import MonotonicClock
from ptycassette.system.files.whole_file import read_plain
from ptycassette.tape.io.recorded_answers import belongs_to_another_user
from ptycassette.tape.providers.neutral import WireError

# The request log of the fake provider: entries in memory, and lines of JSON in a file.


_WITHHELD = "(withheld: it could not be scrubbed)"
_FREE_TEXT = ("body", "path", "query", "headers", "problem", "unknown_fields")
"""The fields of an entry that may contain a client's words."""
MAX_LOGGED_BYTES = 400_000
"""The limit for a request and its body: clients wait for its scrubbing, up to 2.5 s per MB."""
_SHORTEST = 8
"""Shorter keys are words such as ``test``, which would be removed from everything."""


class RequestLog:
    """Records the outcome of each request. Used by the provider's thread only.

    Args:
        clock: ``t_ms`` counts from the moment the log was opened.
        path: a file to append to, readable by its owner only; None keeps entries in memory
            only.
        known: secret values, including the accepted keys.
        tell: called once, from another thread, when the file cannot be written any more.

    Raises:
        StorageError: the file cannot be opened.
        UsageError: the configuration of scrubbing is wrong.
    """

    def __init__(
        self,
        clock: Clock,
        path: Path | None,
        *,
        known: Iterable[str] = (),
        tell: Callable[[StorageError], None] | None = None,
    ) -> None:
        self._clock = clock
        self._start_us = clock.now_us()
        self.entries: list[dict[str, Any]] = []
        self._file = None if path is None else _ScrubbedLines(path, known=known, tell=tell)

    def now_us(self) -> int:
        """Microseconds since the log was opened."""
        return self._clock.now_us() - self._start_us

    def learn(self, secrets: Iterable[str]) -> None:
        """Learn the keys of a client, so that they are masked in bodies, too."""
        if self._file is not None:
            self._file.learn(secrets)

    def add(
        self, exchange: PlannedAnswer, *, began_us: int, sent: int, outcome: str
    ) -> Future[None] | None:
        """Record a request that is over.

        Args:
            exchange: the planned answer.
            began_us: when the request had arrived.
            sent: bytes of the body that were written to the connection.
            outcome: ``complete``, ``disconnect`` (as planned) or ``client-gone``.

        Returns:
            A future that is done when the line is in the file; None without a file.
        """
        entry = {
            **exchange.entry,
            "t_ms": began_us // 1000,
            "took_ms": (self.now_us() - began_us) // 1000,
            "sent_bytes": sent,
            "outcome": outcome,
        }
        self.entries.append(entry)
        return None if self._file is None else self._file.add(entry)

    def close(self) -> None:
        """Write remaining lines, search all lines again, and close the file.

        Raises:
            StorageError: the log could not be written, or searched again, completely.
                A second call does nothing.
        """
        file, self._file = self._file, None
        if file is not None:
            file.close()


class _ScrubbedLines:
    """A file of JSON lines, appended to by a thread of its own."""

    def __init__(
        self, path: Path, *, known: Iterable[str], tell: Callable[[StorageError], None] | None
    ) -> None:
        self._path = path.absolute()
        self._tell = tell
        self._failure: StorageError | None = None
        self._scrubber = process_scrubber(
            known=[value for value in known if len(value.strip()) >= _SHORTEST]
        )
        self._learnt: set[str] = set()
        self._lines: list[tuple[int, int]] = []
        """Offset and length of each of our lines."""
        self._fd, self._seekable = _opened(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fake-provider-log")

    def learn(self, secrets: Iterable[str]) -> None:
        """Have the scrubber learn values; each once only."""
        new = [text for text in secrets if len(text) >= _SHORTEST and text not in self._learnt]
        if new:
            self._learnt.update(new)
            api_keys = msgspec.json.encode([{"api_key": text} for text in new])
            self._thread.submit(self._scrubber.traffic, [api_keys])

    def add(self, entry: dict[str, Any]) -> Future[None]:
        """Queue a line for the file."""
        return self._thread.submit(self._write, entry)

    def close(self) -> None:
        """See ``RequestLog.close``."""
        self._thread.shutdown(wait=True)
        try:
            if self._seekable:
                self._look_again()
        except OSError as refused:
            self._fail(
                f"the request log could not be looked through again: {refused.strerror}",
                hint="do not commit it: earlier lines may hold a secret that a later one showed",
            )
        try:
            os.close(self._fd)
        except OSError as refused:
            self._refused(refused)
        if self._failure is not None:
            raise self._failure

    def _write(self, entry: dict[str, Any]) -> None:
        """Write one line, whole or not at all."""
        if self._failure is not None:
            return
        line = self._clean(entry) + b"\n"
        written = 0
        try:
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError as refused:
            self._take_back(written)
            self._refused(refused)
            return
        if self._seekable:  # appended, so the position is after it, even if other processes append
            self._lines.append((os.lseek(self._fd, 0, os.SEEK_CUR) - len(line), len(line)))

    def _take_back(self, written: int) -> None:
        """Remove an incomplete line, unless another process has written after it."""
        if not self._seekable or not written:
            return
        end = os.lseek(self._fd, 0, os.SEEK_CUR)
        if os.fstat(self._fd).st_size == end:
            os.ftruncate(self._fd, end - written)

    def _clean(self, entry: dict[str, Any]) -> bytes:
        """The line of an entry, without its end."""
        raw = msgspec.json.encode(entry)
        if len(raw) > MAX_LOGGED_BYTES:
            entry = {**entry, "body": f"(left out: {len(raw)} bytes)"}
            raw = msgspec.json.encode(entry)
        # As traffic first: values are found by the names of their keys, and from then on
        # everywhere. Then string by string, with placeholders for removed text.
        if self._scrubber.traffic([raw]) == [raw]:
            return raw
        named = msgspec.json.encode(self._scrubber.value(entry, channel="provider"))
        [line] = self._scrubber.traffic([named])
        return line if _is_json(line) else msgspec.json.encode(_emptied(entry))

    def _look_again(self) -> None:
        """Mask secrets that were learnt after their lines were written."""
        if not self._lines:
            return
        fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)  # writes to an appending one move
        try:
            if not os.path.sameopenfile(fd, self._fd):
                return  # it was moved meanwhile, and another file has its name
            for offset, length in self._lines:
                line = os.pread(fd, length, offset)
                again = self._clean_in_place(line)
                if again != line:
                    _write_at(fd, again, offset)
        finally:
            os.close(fd)

    def _clean_in_place(self, line: bytes) -> bytes:
        """Scrub a line again, keeping its length."""
        [again] = self._scrubber.traffic([line])
        if again == line or _is_json(again):
            return again
        entry = msgspec.json.encode(_emptied(msgspec.json.decode(line)))
        return (entry if len(entry) < len(line) else b"{}").ljust(len(line) - 1) + b"\n"

    def _refused(self, refused: OSError) -> None:
        number = len(self._lines)
        counted = f"{number} whole request" + ("s" if number != 1 else "")
        whole = f"it holds {counted}; " if self._seekable else ""
        self._fail(
            f"the request log cannot be written any more: {refused.strerror}",
            hint=f"{whole}the provider continued to answer",
        )

    def _fail(self, message: str, *, hint: str) -> None:
        """Stop writing, and report it once."""
        if self._failure is None:
            self._failure = StorageError(message, where=str(self._path), hint=hint)
            if self._tell is not None:
                self._tell(self._failure)


def _opened(path: Path) -> tuple[int, bool]:
    """A descriptor for appending, and whether it is a regular file, in which we can seek."""
    # Otherwise opening a pipe without a reader would wait for ever.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    if not str(path).startswith(("/dev/", "/proc/")):  # /dev/stdout is a link of the system
        flags |= os.O_NOFOLLOW
    try:
        fd = os.open(path, flags, 0o600)
        os.set_blocking(fd, True)
        return fd, stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError as failed:
        link = failed.errno == errno.ELOOP and path.is_symlink()
        raise StorageError(
            f"the request log cannot be written: {'it is a link' if link else failed.strerror}",
            where=str(path),
            hint="name the file that it leads to" if link else None,
        ) from failed


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except NOT_JSON:
        return False
    return True


def _emptied(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without the fields in which a client could have put a secret."""
    return {name: _WITHHELD if name in _FREE_TEXT else value for name, value in entry.items()}


def _write_at(fd: int, data: bytes, offset: int) -> None:
    """Overwrite the file with all of ``data`` at an offset."""
    written = 0
    while written < len(data):
        written += os.pwrite(fd, data[written:], offset + written)


# TLS for the fake provider: an authority and a certificate for the lifetime of the server.


def server_context(host: str, ca_file: Path) -> ssl.SSLContext:
    """A server's TLS context for ``host``, and the authority's certificate in ``ca_file``.

    The keys are made anew each time and never written to disk.

    Raises:
        StorageError: ``ca_file`` cannot be written.
    """
    authority = trustme.CA()
    try:
        authority.cert_pem.write_to_path(str(ca_file))
    except OSError as failed:
        raise StorageError(
            f"the certificate cannot be written: {failed.strerror}", where=str(ca_file)
        ) from failed
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(host).configure_cert(context)
    return context


# A server on 127.0.0.1 in a thread of its own, so that synchronous code can use it.


HOST = "127.0.0.1"
_START_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 5.0


class ServerThread:
    """Serves an aiohttp application until it is stopped.

    Args:
        name: the name of the thread, and of the server in messages.
        make: makes the application, in the thread.
        port: 0 for any free port.
        tls: the TLS context; None for plain HTTP.
        beside: runs as long as the server, in its loop; receives the HTTP protocol factory.

    Attributes:
        port: the port that it listens on; 0 before the start.
        loop: the event loop of the thread, once started.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], web.Application],
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        beside: Callable[[Callable[[], asyncio.Protocol]], AbstractAsyncContextManager[None]]
        | None = None,
    ) -> None:
        self._name, self._make, self._wanted_port, self._tls = name, make, port, tls
        self._beside = beside
        self.port = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name.replace(" ", "-"), daemon=True)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, or https."""
        return f"{'https' if self._tls else 'http'}://{HOST}:{self.port}"

    def start(self) -> None:
        """Listen. Returns when connections are accepted.

        Raises:
            UsageError: the port is taken.
            StorageError: the thread did not start.
        """
        self._thread.start()
        if not self._ready.wait(_START_TIMEOUT_S):
            raise StorageError(f"the {self._name} did not start in {time_text(_START_TIMEOUT_S)}")
        if self._failed is not None:
            raise UsageError(
                f"cannot listen on {HOST}:{self._wanted_port}: {self._failed}",
                hint="choose another port, or 0 for a free one",
            ) from self._failed

    def stop(self) -> None:
        """Stop listening and end every answer that is under way. Does nothing the second time."""
        if self.loop is not None and self._stop is not None and self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(2 * _STOP_TIMEOUT_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as failed:
            self._failed = failed
            self._ready.set()

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        application = self._make()
        application.middlewares.insert(0, _not_for_others)
        runner = web.AppRunner(
            application,
            handler_cancellation=True,
            shutdown_timeout=0.1,
            access_log=None,
            auto_decompress=False,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, self._wanted_port, ssl_context=self._tls)
            await site.start()
            self.port = runner.addresses[0][1]
            assert runner.server is not None  # noqa: S101 - it was set up
            async with self._beside(runner.server) if self._beside else nullcontext():
                self._ready.set()
                await self._stop.wait()
        finally:
            await asyncio.wait_for(runner.cleanup(), _STOP_TIMEOUT_S)


@web.middleware
async def _not_for_others(request: web.Request, handler: Handler) -> web.StreamResponse:
    transport = request.transport
    own, peer = (
        transport.get_extra_info(name) if transport is not None else None
        for name in ("sockname", "peername")
    )
    if own is not None and peer is not None and belongs_to_another_user(peer, own):
        raise web.HTTPForbidden(text="this server is for the user who started it")
    return await handler(request)


def read_script(path: Path, variables: Mapping[str, str] | None = None) -> Script:
    """The script in a file.

    Raises:
        NotFoundError, UnreadableError: no such file, or it may not be read.
        UsageError: not a valid script.
        UnsafeFileError, LimitError: not a regular file, or far too large.
    """
    try:
        text = read_plain(path, max_bytes=MAX_TOML_BYTES).decode("utf-8")
    except (NotFoundError, UnreadableError) as failed:
        raise type(failed)(
            f"the script cannot be read: {failed.message}", where=str(path)
        ) from failed
    except UnicodeDecodeError as wrong:
        raise UsageError("the script is not UTF-8 text", where=str(path)) from wrong
    return Script.parse(text, where=str(path), variables=dict(variables or {}))


class ProviderApp:
    """The aiohttp application around one ``FakeProvider``."""

    def __init__(self, provider: FakeProvider, log: RequestLog) -> None:
        self._provider = provider
        self._log = log
        self.app = web.Application(client_max_size=MAX_BODY_BYTES)
        self.app.router.add_route("*", "/{path:.*}", self._handle)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = HttpRequest(
            method=request.method,
            path=request.path,
            query=tuple(request.query.items()),
            headers={name.lower(): value for name, value in request.headers.items()},
        )
        self._log.learn(withheld_values(asked))
        if _wants_websocket(request):
            return await self._converse(request, asked)
        try:
            body = await _body(request)
        except WireError as wrong:
            return await self._carry_out(request, self._provider.refuse(asked, wrong))
        asked = msgspec.structs.replace(asked, body=body)
        return await self._carry_out(request, self._provider.http(asked))

    async def _carry_out(self, request: web.Request, exchange: PlannedAnswer) -> web.StreamResponse:
        response = web.StreamResponse(status=exchange.status or 200, headers=exchange.headers)
        began_us = self._log.now_us()
        sent, outcome = await self._send(request, response, exchange)
        # Before the last byte, so that a client with the answer finds it in the log.
        await self._note(exchange, began_us=began_us, sent=sent, outcome=outcome)
        if outcome == "complete":
            with contextlib.suppress(ConnectionError):
                await response.write_eof()
        return response

    async def _send(
        self, request: web.Request, response: web.StreamResponse, exchange: PlannedAnswer
    ) -> tuple[int, str]:
        """Send the steps; return the number of bytes sent, and the outcome."""
        sent = 0
        try:
            for step in exchange.steps:
                await asyncio.sleep(step.delay_ms / 1000)
                if step.data:
                    if not response.prepared:
                        await response.prepare(request)
                    await response.write(step.data)
                    sent += len(step.data)
            if exchange.ending == "disconnect":
                _break_off(request)
            elif not response.prepared:
                await response.prepare(request)
        except (ConnectionError, asyncio.CancelledError):
            return sent, "client-gone"
        return sent, exchange.ending

    async def _note(
        self, exchange: PlannedAnswer, *, began_us: int, sent: int, outcome: str
    ) -> None:
        """Log a finished request; return when it is in the log."""
        line = self._log.add(exchange, began_us=began_us, sent=sent, outcome=outcome)
        if line is not None:
            # If the client leaves, only the waiting ends; the line is still written.
            await asyncio.shield(asyncio.wrap_future(line))

    async def _converse(self, request: web.Request, asked: HttpRequest) -> web.StreamResponse:
        """Serve a WebSocket: a handshake, then messages until one side closes."""
        handshake = self._provider.connect(asked)
        if handshake.status != HTTPStatus.SWITCHING_PROTOCOLS:
            return await self._carry_out(request, handshake)
        socket = web.WebSocketResponse(max_msg_size=MAX_BODY_BYTES, autoping=True)
        await socket.prepare(request)
        await self._note(handshake, began_us=self._log.now_us(), sent=0, outcome="complete")
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                exchange = self._provider.message(message.data, asked)
                if not await self._speak(request, socket, exchange):
                    break
        return socket

    async def _speak(
        self, request: web.Request, socket: web.WebSocketResponse, exchange: PlannedAnswer
    ) -> bool:
        """Send the planned messages; False if the connection is over."""
        sent = 0
        outcome = "client-gone"
        began_us = self._log.now_us()
        try:
            for step in exchange.steps:
                await asyncio.sleep(step.delay_ms / 1000)
                if step.data:
                    await socket.send_str(step.data.decode())
                    sent += len(step.data)
            outcome = exchange.ending
            if outcome == "disconnect":
                _break_off(request)
        except ConnectionError:
            pass  # the client went away; the log has that
        finally:
            await self._note(exchange, began_us=began_us, sent=sent, outcome=outcome)
        return outcome == "complete"


async def _body(request: web.Request) -> bytes:
    """The decompressed body. aiohttp would decompress all of it before it checks the limit.

    Raises:
        WireError: too large, or in an encoding that is not accepted.
    """
    try:
        packed = await request.read()
    except web.HTTPRequestEntityTooLarge as large:
        raise too_large() from large
    return unpacked(packed, request.headers.get("content-encoding", ""))


def _wants_websocket(request: web.Request) -> bool:
    return request.headers.get("upgrade", "").lower() == "websocket"


def _break_off(request: web.Request) -> None:
    """Close the connection as a crash would: no last chunk, no close frame."""
    if request.transport is not None:
        request.transport.abort()


class FakeProviderServer:
    """A fake provider that listens, in a thread of its own. A context manager.

    Args:
        script: a checked script, or the path of one.
        port: 0 for any free port.
        log: a file to which each request is appended as one line of JSON, scrubbed; see
            ``close`` for a file that cannot be written.
        variables: values of ``${name}`` in a script given by its path.
        accepted_keys: if given, only these API keys are accepted.
        clock: time, for tests.
        ca_file: if given, use TLS, and write the certificate of the authority that
            clients must trust (``SSL_CERT_FILE``, ``NODE_EXTRA_CA_CERTS``) to this file.
        tell: called once, from another thread, as soon as the log cannot be written.

    Raises:
        UsageError: the script is wrong, or the port is taken.
        StorageError: the log or ``ca_file`` cannot be written.
    """

    def __init__(
        self,
        script: Script | Path | str,
        *,
        port: int = 0,
        log: Path | None = None,
        variables: Mapping[str, str] | None = None,
        accepted_keys: frozenset[str] | None = None,
        clock: Clock | None = None,
        ca_file: Path | None = None,
        tell: Callable[[StorageError], None] | None = None,
    ) -> None:
        checked = script if isinstance(script, Script) else read_script(Path(script), variables)
        self._clock = clock or MonotonicClock()
        self._provider = FakeProvider(checked, self._clock, accepted_keys=accepted_keys)
        self._tls = None if ca_file is None else server_context(HOST, ca_file)
        self._log = RequestLog(self._clock, log, known=accepted_keys or (), tell=tell)
        self._server = ServerThread(
            "fake provider",
            lambda: ProviderApp(self._provider, self._log).app,
            port=port,
            tls=self._tls,
        )

    def start(self) -> Self:
        """Listen. Returns when connections are accepted."""
        try:
            self._server.start()
        except UsageError:
            self._log.close()
            raise
        return self

    def close(self) -> None:
        """Stop listening and abort answers in progress. Does nothing the second time.

        Raises:
            StorageError: the log is incomplete, because the disk refused. All requests were
                still answered, and ``requests`` has them all.
        """
        self._server.stop()
        self._log.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except StorageError as unlogged:
            if error is None:
                raise
            error.add_note(str(unlogged))  # the first error is raised

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._server.port

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``: the base URL for Anthropic and Gemini clients."""
        return self._server.url

    @property
    def openai_url(self) -> str:
        """``http://127.0.0.1:PORT/v1``: the base URL for OpenAI clients."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> tuple[dict[str, Any], ...]:
        """The finished requests in order; unlike the log, not scrubbed.

        Keys and cookies are left out here, too.
        """
        return tuple(self._log.entries)

    @property
    def problems(self) -> tuple[str, ...]:
        """Requests that neither the script nor the APIs expect, one line each."""
        return tuple(self._provider.problems)

    @property
    def unused(self) -> tuple[str, ...]:
        """Replies of the script that were not requested, or not often enough."""
        return self._provider.unused
