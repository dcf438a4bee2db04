"""Has a client receive at once what is sent at once: TCP_CORK (tcp(7)), where there is one.

The pieces of an answer stay pieces. Without the cork each is a segment of its own, and on a busy
machine a client may read some of them before the others are sent. Some clients then paint a part
of a line, and not all take it back.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from ptycassette.system.closing import Closing

_TCP_CORK: int | None = getattr(socket, "TCP_CORK", None)


class Cork(Closing):
    """Holds back what is sent over a connection while it is in; out at first.

    The kernel keeps the last segment alone, for 200 ms at most: nothing is lost by it.
    """

    def __init__(self, transport: asyncio.BaseTransport | None) -> None:
        self._socket = None if transport is None else transport.get_extra_info("socket")

    def put_in(self) -> None:
        """Hold back what is sent from now on."""
        self._set(True)

    def take_out(self) -> None:
        """Send what was held back."""
        self._set(False)

    def close(self) -> None:
        """Send what was held back."""
        self.take_out()

    def _set(self, value: bool) -> None:  # noqa: FBT001 - the value of a flag
        if self._socket is not None and _TCP_CORK is not None:
            with suppress(OSError):  # it is closed
                self._socket.setsockopt(socket.IPPROTO_TCP, _TCP_CORK, value)
