"""The messages between a recorder and its saver, over a pair of sockets.

They contain declared secrets, so they are never passed in arguments, in the environment or on
disk. A message is its length (four bytes, little-endian) and MessagePack.
"""

from __future__ import annotations

import socket

import msgspec

from ptycassette.model.json_values import as_msgpack, from_msgpack
from ptycassette.model.manifest import Manifest


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """Recorder to saver: the journal exists.

    Attributes:
        journal: its path.
        target: where the cassette is to be published.
        overwrite: as ``Finaliser.publish`` takes it.
        known: secrets that only the recorder knows.
        unseen: whether nothing may be made beside the target before the program has ended.
    """

    journal: str
    target: str
    overwrite: bool
    known: tuple[str, ...]
    unseen: bool = False


class Finish(msgspec.Struct, frozen=True, kw_only=True, tag="finish"):
    """Recorder to saver: the journal is complete, and somebody waits."""


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """Saver to recorder: the number of bytes of output that are done."""

    done_bytes: int


class Published(msgspec.Struct, frozen=True, kw_only=True, tag="published"):
    """Saver to recorder: the cassette is durable.

    Attributes:
        manifest: as published.
        read_bytes: how much of the journal had been read when ``Finish`` came.
        done_bytes: how much output had been written to the cassette by then.
    """

    manifest: Manifest
    read_bytes: int
    done_bytes: int


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """Saver to recorder: the session must not become a cassette; a diagnostic says why.

    Attributes:
        error: the name of the exception.
        message, where, hint: as in ``CassetteError``.
        stage: of a ``RunFailedError``.
    """

    error: str
    message: str
    where: str | None
    hint: str | None
    stage: str


Message = Begin | Finish | Progress | Published | Failed

_LENGTH_BYTES = 4


def send(control: socket.socket, message: Message) -> None:
    """Send one message.

    Raises:
        OSError: the other side is gone.
    """
    body = as_msgpack(message)
    control.sendall(len(body).to_bytes(_LENGTH_BYTES, "little") + body)


class Inbox:
    """Takes messages from a socket.

    Attributes:
        closed: the other side has closed the connection.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._buffer = bytearray()
        self.closed = False

    def receive(self) -> list[Message]:
        """Wait for data or the end of the connection; returns the complete messages."""
        try:
            block = self._control.recv(1 << 16)
        except OSError:
            block = b""
        if not block:
            self.closed = True
        self._buffer += block
        messages: list[Message] = []
        while len(self._buffer) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self._buffer[:_LENGTH_BYTES], "little")
            if len(self._buffer) < end:
                break
            messages.append(from_msgpack(bytes(self._buffer[_LENGTH_BYTES:end]), Message))
            del self._buffer[:end]
        return messages
