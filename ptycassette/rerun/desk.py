"""What answers a program in a new run: the contract between the tape and its server. Pure."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from ptycassette.tape import ExchangeOutcome

__all__ = ["Asked", "Desk", "Piece", "Refusal", "Served"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question that the program asks now.

    ``kind`` is ``http``, ``websocket`` for a handshake, ``message`` for one over a WebSocket.
    ``connection`` numbers the connections of this run; ``body`` is as it was sent, unpacked.
    """

    kind: Literal["http", "websocket", "message"]
    connection: int
    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    form: Literal["", "text", "binary"] = ""


class Piece(msgspec.Struct, frozen=True):
    """A piece of an answer: when it came in the recording, its bytes, and what it was."""

    t_us: int
    data: bytes
    form: Literal["", "text", "binary"] = ""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded answer, renamed for this run. ``status`` is None where none had begun."""

    entry: int
    t_us: int
    status: int | None
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[Piece, ...]
    outcome: ExchangeOutcome
    close_code: int | None = None


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """No recorded question is this one. ``message`` is for the program's user."""

    message: str


class Desk(Protocol):
    """Answers from a tape. Called from one thread."""

    def ask(self, asked: Asked) -> Served | Refusal:
        """The recorded answer; asked once, an entry is used up."""
        ...
