"""Connections of the proxy: read with look-ahead, write with backpressure, connect to providers."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from ptycassette.tape.io.journal_file import TapeSink
from ptycassette.tape.retries import Retries
from ptycassette.tape.routing import Gate, Origin, OutgoingRequest

BLOCK = 64 << 10


class Wire:
    """A connection to a client or to a provider.

    Args:
        reader: the bytes that the other side sends.
        writer: takes bytes for it. Nothing is buffered: ``write`` returns when the kernel has it
            all.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._put_back = b""
        # With a limit of 0, asyncio's TLS pauses writers even when nothing waits, and for good.
        over_tls = writer.get_extra_info("ssl_object") is not None
        writer.transport.set_write_buffer_limits(high=1 if over_tls else 0, low=0)

    @property
    def put_back(self) -> bytes:
        """The bytes that were put back and not read again yet."""
        return self._put_back

    @property
    def transport(self) -> asyncio.Transport:
        """The transport, for everything besides reading and writing."""
        return self._writer.transport  # type: ignore[return-value]  # streams have no other

    async def read(self) -> bytes:
        """Some bytes; empty at the end.

        Raises:
            OSError: the connection broke.
        """
        if self._put_back:
            data, self._put_back = self._put_back, b""
            return data
        return await self._reader.read(BLOCK)

    async def read_ahead(self) -> bool:
        """Wait for bytes and keep them for ``read``; False at the end.

        Raises:
            OSError: the connection broke.
        """
        data = await self._reader.read(BLOCK)
        self._put_back += data
        return bool(data)

    def unread(self, data: bytes) -> None:
        """Put bytes back, to be read next."""
        self._put_back = data + self._put_back

    async def write(self, data: bytes) -> None:
        """Write all of it.

        Raises:
            OSError: the connection broke.
        """
        if data:
            self._writer.write(data)
            await self._writer.drain()

    def end_writing(self) -> bool:
        """Signal the end of our data; False if the connection cannot do that (TLS)."""
        if not self._writer.can_write_eof():
            return False
        with suppress(OSError):
            self._writer.write_eof()
        return True

    @property
    def ended(self) -> bool:
        """Whether the other side is known to have closed the connection."""
        return self._reader.at_eof() or self.transport.is_closing()

    def abort(self) -> None:
        """Close the connection at once, without sending pending data."""
        self.transport.abort()

    async def close(self) -> None:
        """Close the connection after pending data was sent."""
        self._writer.close()
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), 1)


async def first_byte(connection: socket.socket) -> int:
    """Wait for the first byte and return it without consuming it.

    Raises:
        OSError: the connection ended.
    """
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(connection, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(connection)
    byte = connection.recv(1, socket.MSG_PEEK)
    if not byte:
        raise ConnectionResetError("ended")
    return byte[0]


# Connections to providers: over TLS for https, never back to the proxy itself.


_CONNECT_TIMEOUT_S = 60.0
_ALPN = ["http/1.1"]
"""The proxy's protocol. Providers with HTTP/2 also support this."""


class UnreachableError(Exception):
    """The provider cannot be reached; gives the reason."""


class Upstreams:
    """Makes connections to providers.

    Args:
        own_port: the proxy's own port, which cannot be a provider.
        context: the TLS context.
    """

    def __init__(self, *, own_port: int, context: ssl.SSLContext) -> None:
        self._own_port, self._context = own_port, context

    async def connect(self, origin: Origin) -> Wire:
        """A new connection.

        Raises:
            UnreachableError: it cannot be made.
        """
        secure = origin.scheme == "https"
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                reader, writer = await asyncio.open_connection(
                    origin.host,
                    origin.port,
                    limit=BLOCK,
                    ssl=self._context if secure else None,
                    server_hostname=origin.host if secure else None,
                )
        except (TimeoutError, OSError, ssl.SSLError, UnicodeError) as failed:
            raise UnreachableError(f"{origin}: {str(failed) or 'no answer'}") from failed
        wire = Wire(reader, writer)
        host, port = writer.get_extra_info("peername")[:2]
        if port == self._own_port and host == "127.0.0.1":
            wire.abort()
            raise UnreachableError(f"{origin} is this proxy itself")
        return wire


def provider_context(authorities: Iterable[Path] = ()) -> ssl.SSLContext:
    """The TLS context for providers: the usual one, plus authorities that the user's CLI trusts.

    Args:
        authorities: files of certificates; unreadable ones are left out.
    """
    context = ssl.create_default_context()
    context.set_alpn_protocols(_ALPN)
    for path in authorities:
        try:
            context.load_verify_locations(cafile=os.fspath(path))
        except (OSError, ssl.SSLError):
            continue  # the connection itself will report what is missing, as it would to the CLI
    return context


# The state that all exchanges share, and the ways in which either end can break off.


class ClientGoneError(Exception):
    """The client went away; describes what is incomplete."""


class ProviderGoneError(Exception):
    """The provider broke off; describes how."""


class RecordedAnswer(msgspec.Struct, frozen=True):
    """An answer of another recording: status, content type, unpacked body."""

    status: int
    kind: str
    body: bytes


class ExchangeContext(msgspec.Struct, frozen=True, kw_only=True):
    """The state that exchanges share.

    Attributes:
        sink: takes the noted items.
        upstreams: makes connections to providers.
        gate: decides what may leave the machine.
        now_us: microseconds since the recording began.
        report: takes a line for the user.
        number: the number of the next exchange.
        retries: how to repeat failed requests; None to pass errors of providers on.
        recorded_answer: gives a recording's answer to a question; None if it has no answer.
    """

    sink: TapeSink
    upstreams: Upstreams
    gate: Gate
    now_us: Callable[[], int]
    report: Callable[[str], None]
    number: Callable[[], int]
    retries: Retries | None = None
    recorded_answer: Callable[[OutgoingRequest], RecordedAnswer | None] = lambda question: None  # noqa: ARG005


async def write_to_client(client: Wire, data: bytes) -> None:
    """Write, and wait until the kernel has all bytes.

    Raises:
        ClientGoneError: the connection broke.
    """
    try:
        await client.write(data)
    except OSError as broken:
        raise ClientGoneError(str(broken)) from broken
