"""One end of a connection, as the proxy uses it: bytes that are read can be put back."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

BLOCK = 64 << 10


class Wire:
    """A connection to a client or to a provider.

    Args:
        reader: what it sends.
        writer: what it gets. Nothing waits in it: ``write`` returns when the kernel has it all.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._put_back = b""
        # With a limit of 0, asyncio's TLS pauses writers even when nothing waits, and for good.
        over_tls = writer.get_extra_info("ssl_object") is not None
        writer.transport.set_write_buffer_limits(high=1 if over_tls else 0, low=0)

    @property
    def put_back(self) -> bytes:
        """What was put back and not yet read."""
        return self._put_back

    @property
    def transport(self) -> asyncio.Transport:
        """For what is not reading or writing."""
        return self._writer.transport  # type: ignore[return-value]  # streams have no other

    async def read(self) -> bytes:
        """Some bytes; none at the end.

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
        """Say that nothing more comes; False where that cannot be said (over TLS)."""
        if not self._writer.can_write_eof():
            return False
        with suppress(OSError):
            self._writer.write_eof()
        return True

    @property
    def ended(self) -> bool:
        """Whether the other side has closed it, as far as is known."""
        return self._reader.at_eof() or self.transport.is_closing()

    def abort(self) -> None:
        """Break it off."""
        self.transport.abort()

    async def close(self) -> None:
        """Close it, after what was written."""
        self._writer.close()
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), 1)


async def first_byte(connection: socket.socket) -> int:
    """The first byte that arrives, which stays to be read.

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
