"""Connections to providers: over TLS where they ask for that, never back to the proxy itself."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterable
from pathlib import Path

from ptycassette.tape.io._wire import BLOCK, Wire
from ptycassette.tape.routing import Origin

_CONNECT_TIMEOUT_S = 60.0
_ALPN = ["http/1.1"]
"""What the proxy speaks. Providers that speak HTTP/2 speak this as well."""


class UnreachableError(Exception):
    """There is no connection to the provider: the reason."""


class Upstreams:
    """Makes connections.

    Args:
        own_port: that the proxy listens on, which is nobody's provider.
        context: how to speak TLS.
    """

    def __init__(self, *, own_port: int, context: ssl.SSLContext) -> None:
        self._own_port, self._context = own_port, context

    async def connect(self, origin: Origin) -> Wire:
        """A new connection.

        Raises:
            UnreachableError: there is none.
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
    """How to speak TLS with providers: as any client, plus authorities that the user's CLI trusts.

    Args:
        authorities: files of certificates; those that cannot be read are left out.
    """
    context = ssl.create_default_context()
    context.set_alpn_protocols(_ALPN)
    for path in authorities:
        try:
            context.load_verify_locations(cafile=os.fspath(path))
        except (OSError, ssl.SSLError):
            continue  # the CLI would find out for itself; the connection says what is missing
    return context
