"""What decides whether a question may leave the machine, as the proxy asks it."""

from __future__ import annotations

from typing import Protocol

import msgspec

from ptycassette.tape.routing import Origin


class QuestionRefusedError(Exception):
    """A question does not leave the machine: the reason, for the user and for the CLI."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A request, or a message over a WebSocket, before it is sent on.

    ``packing`` is the content encoding of ``body``.
    """

    exchange: int
    origin: Origin
    method: str
    target: str
    body: bytes
    packing: str = ""
    over_websocket: bool = False


class Gate(Protocol):
    """Sees questions before they are sent on, and what comes back. Never waits."""

    def reads(self, origin: Origin) -> bool:
        """Whether questions to that provider must be held until they were judged."""

    def judge(self, question: Question) -> bytes:
        """The body to send on: that of the question, or less.

        Raises:
            QuestionRefusedError: nothing of it may be sent on.
        """

    def answered(self, exchange: int, data: bytes, packing: str) -> None:
        """Take a piece of the answer, as it came; or a message of the provider, unpacked."""

    def over(self, exchange: int) -> None:
        """Note that nothing more comes of an exchange."""


class OpenGate:
    """Lets everything pass, unread."""

    def reads(self, origin: Origin) -> bool:
        """Nothing is held."""
        del origin
        return False

    def judge(self, question: Question) -> bytes:
        """All of it."""
        return question.body

    def answered(self, exchange: int, data: bytes, packing: str) -> None:
        """Do nothing."""

    def over(self, exchange: int) -> None:
        """Do nothing."""
