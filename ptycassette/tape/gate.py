"""What decides whether a question may leave the machine, as the proxy asks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from ptycassette.tape.routing import Origin


class QuestionRefusedError(Exception):
    """A question does not leave the machine: the reason, for the user and for the CLI."""


class OutgoingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, or a message over a WebSocket, before it is sent on.

    ``packing`` is the content encoding of ``body``; names in ``headers`` are in lower case.
    """

    exchange: int
    origin: Origin
    method: str
    target: str
    body: bytes
    packing: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    over_websocket: bool = False


class Permitted(NamedTuple):
    """What of a question may be sent on; ``left_out`` are the paths of what may not."""

    body: bytes
    left_out: tuple[str, ...] = ()


class Gate(Protocol):
    """Sees questions before they are sent on, and what comes back. Never waits."""

    def reads(self, origin: Origin) -> bool:
        """Whether questions to that provider must be held until they were judged."""

    def judge(self, question: OutgoingRequest) -> Permitted:
        """The body to send on: that of the question, or less.

        Raises:
            QuestionRefusedError: nothing of it may be sent on.
        """

    def begun(self, exchange: int, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of an answer, names in lower case."""

    def answered(self, exchange: int, data: bytes) -> None:
        """Take a piece of an answer, as it came."""

    def said(self, exchange: int, data: bytes) -> None:
        """Take a message of the provider over a WebSocket."""

    def over(self, exchange: int, *, sent: bool) -> None:
        """Note that nothing more comes of an exchange.

        Args:
            exchange: its number.
            sent: whether anything of it was sent to the provider.
        """
