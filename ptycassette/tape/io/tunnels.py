"""Tunnels of an HTTP proxy without an upstream: it answers as any host that a client asks for.

The client trusts the throw-away authority, because its variables name that authority. A connection
that begins with CONNECT then speaks TLS as the requested host, or plain if the client does not
begin a handshake. Every other connection stays as it is.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import h11

from ptycassette.tape._heads import MAX_HEAD_BYTES, end_of_head, own_answer, read_request
from ptycassette.tape.io._authority import Authority
from ptycassette.tape.io._wire import first_byte
from ptycassette.tape.routing import Origin

HOST = "127.0.0.1"
_TLS_HANDSHAKE = 0x16
_CONNECT = ord("C")  # only CONNECT begins with it
_BACKLOG = 256

Serve = Callable[[], asyncio.Protocol]


class Tunnels:
    """Listens as an HTTP proxy, in the running loop.

    Args:
        ca_file: the new file for the certificate that clients must trust.

    Attributes:
        port: the port that it listens on, once started.

    Raises:
        StorageError: the certificate cannot be written.
    """

    def __init__(self, ca_file: Path) -> None:
        self._authority = Authority()
        self._authority.write(ca_file, ())
        self._listener: socket.socket
        self._listening: asyncio.Task[None]
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self, serve: Serve) -> None:
        """Listen on any free port.

        Args:
            serve: makes the protocol that speaks HTTP on a connection.

        Raises:
            OSError: no port is free.
        """
        self._serve = serve
        self._listener = socket.create_server((HOST, 0), backlog=_BACKLOG)
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        self._listening = asyncio.get_running_loop().create_task(self._accept(self._listener))

    async def close(self) -> None:
        """Stop listening, and abort tunnels that are being opened."""
        tasks = [self._listening, *self._open]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(listener)
            task = asyncio.create_task(self._begin(connection))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

    async def _begin(self, connection: socket.socket) -> None:
        try:
            context = await self._context(connection)
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(self._serve, connection, ssl=context)
        except (OSError, ValueError, h11.RemoteProtocolError):
            connection.close()  # a client that does not trust the certificate reports that itself
        except asyncio.CancelledError:
            connection.close()
            raise

    async def _context(self, connection: socket.socket) -> ssl.SSLContext | None:
        """Answer the client's CONNECT; return the TLS context for it, or None for a plain client.

        Raises:
            OSError, ValueError, h11.RemoteProtocolError: it cannot be served.
        """
        if await first_byte(connection) != _CONNECT:
            return None
        loop = asyncio.get_running_loop()
        head = b""
        while not end_of_head(head):
            more = await loop.sock_recv(connection, MAX_HEAD_BYTES)
            if not more or len(head) > MAX_HEAD_BYTES:
                raise ConnectionResetError("not a whole head")
            head += more
        request, _ = read_request(head)
        if request.method != b"CONNECT" or end_of_head(head) != len(head):
            await loop.sock_sendall(connection, own_answer(400, b"this is a proxy for tunnels"))
            raise ValueError("not CONNECT")
        host = Origin.of("https", request.target.decode("ascii")).host
        await loop.sock_sendall(connection, b"HTTP/1.1 200 Connection established\r\n\r\n")
        secure = await first_byte(connection) == _TLS_HANDSHAKE
        return self._authority.context(host) if secure else None
