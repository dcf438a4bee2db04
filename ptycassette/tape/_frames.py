"""Read WebSocket messages from frames while the frames themselves pass through unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, TextMessage
from wsproto.extensions import Extension, PerMessageDeflate
from wsproto.frame_protocol import CloseReason, FrameDecoder, FrameProtocol, Opcode, RsvBits

from ptycassette.tape.journal_codec import MAX_ITEM_BYTES


class NotFollowedError(Exception):
    """The messages of a WebSocket cannot be read, so they cannot be recorded; gives the reason."""


class WholeMessage(msgspec.Struct, frozen=True):
    """A complete message, unpacked."""

    data: bytes
    binary: bool


class MessageFollower:
    """Reads one direction of a WebSocket.

    Args:
        sender: the side that sends these frames.
        extensions: the header ``Sec-WebSocket-Extensions`` of the provider's answer.

    Raises:
        NotFollowedError: an extension is not supported.
    """

    def __init__(self, sender: Literal["client", "provider"], extensions: str) -> None:
        role = ConnectionType.SERVER if sender == "client" else ConnectionType.CLIENT
        self._connection = Connection(role, _extensions(extensions))
        self._parts: list[bytes] = []
        self._size = 0
        self._binary = False
        self.close_code: int | None = None
        """The code of the closing frame, once it has arrived."""

    @property
    def within_message(self) -> bool:
        """Whether a message has begun that is not complete yet."""
        return bool(self._parts)

    def feed(self, data: bytes) -> Sequence[WholeMessage]:
        """The messages that these bytes complete.

        Raises:
            NotFollowedError: a message is too large.
        """
        self._connection.receive_data(data)
        whole = []
        for event in self._connection.events():
            if isinstance(event, CloseConnection):
                self.close_code = int(event.code)
            elif isinstance(event, TextMessage | BytesMessage):
                self._take(event)
                if event.message_finished:
                    whole.append(WholeMessage(b"".join(self._parts), self._binary))
                    self._parts, self._size = [], 0
        return whole

    def _take(self, event: TextMessage | BytesMessage) -> None:
        part = event.data.encode() if isinstance(event.data, str) else bytes(event.data)
        self._binary = isinstance(event, BytesMessage)
        self._parts.append(part)
        self._size += len(part)
        if self._size > MAX_ITEM_BYTES:
            raise NotFollowedError(f"a message is larger than {MAX_ITEM_BYTES} bytes")


class _Deflate(PerMessageDeflate):
    """Works around wsproto 1.3: a ping between fragments makes it forget that they are packed."""

    def frame_inbound_header(
        self, proto: FrameDecoder | FrameProtocol, opcode: Opcode, rsv: RsvBits, payload_length: int
    ) -> CloseReason | RsvBits:
        self._of_message = self._inbound_compressed
        return super().frame_inbound_header(proto, opcode, rsv, payload_length)

    def frame_inbound_complete(
        self,
        proto: FrameDecoder | FrameProtocol,
        fin: bool,  # noqa: FBT001 - as the library has it
    ) -> bytes | CloseReason | None:
        found = super().frame_inbound_complete(proto, fin)
        if not self._inbound_is_compressible:
            self._inbound_compressed = self._of_message
        return found


def _extensions(offered: str) -> list[Extension]:
    found: list[Extension] = []
    for one in filter(None, (part.strip() for part in offered.split(","))):
        if one.split(";")[0].strip().lower() != PerMessageDeflate.name:
            raise NotFollowedError(f"the extension {one!r} is not known")
        deflate = _Deflate()
        try:
            deflate.finalize(one)
        except (ValueError, IndexError) as wrong:
            raise NotFollowedError(f"the extension {one!r}: {wrong}") from wrong
        found.append(deflate)
    return found
