"""What a fork's server passed to the program and got from it, noted as a recorder's proxy does.

Everything is in the journal before it goes on. So the child has a tape of its own: of the prefix as
it was served again, and of what came after the change.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ptycassette.model.ports import Clock
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.recording.io._running_tape import RunningTape
from ptycassette.system.closing import Closing
from ptycassette.tape.io.journal_file import TapeJournalFile
from ptycassette.tape.items import (
    AnswerBegun,
    AnswerData,
    ExchangeEnded,
    RequestBegun,
    RequestComplete,
    RequestData,
    SocketMessage,
    TapeItem,
)
from ptycassette.tape.matching.question import Question

_PIECE_BYTES = 1 << 20
_PACKING = "content-encoding"


class TapeNotes(Closing):
    """The journal of a child's tape. A ``RunningTape``.

    Args:
        clock: the recorder's.
        described: what the manifest says of how the program is pointed at its provider.
    """

    def __init__(self, clock: Clock, described: Mapping[str, Any]) -> None:
        self.environment: Mapping[str, str] = {}
        self.arguments: Sequence[str] = ()
        self.secrets: Sequence[str] = ()
        self.address = ""
        self.reports: Sequence[str] = ()
        self.described = described
        self.needed = False
        self._clock = clock
        self._lock = threading.Lock()
        self._file: TapeJournalFile | None = None
        self._connections: dict[Any, int] = {}
        self._open: set[int] = set()
        self._count = 0

    def start(self, journal: Path, environment: Mapping[str, str]) -> RunningTape:
        """Begin the journal. A ``TapeStarter``."""
        del environment
        self._file = TapeJournalFile(journal, origin_us=0)
        return self

    @property
    def problem(self) -> str | None:
        """See ``RunningTape.problem``."""
        failure = None if self._file is None else self._file.failure
        return None if failure is None else failure.message

    def close(self) -> None:
        """See ``RunningTape.close``."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._open.clear()

    def begin(self, question: Question, *, upstream: str, connection: object) -> int:
        """Note a request with its body; returns the number of the exchange."""
        with self._lock:
            self._count += 1
            number = self._count
            self._open.add(number)
            known = self._connections.setdefault(connection, len(self._connections) + 1)
        self._note(
            RequestBegun(
                t_us=self._now,
                exchange=number,
                connection=known,
                kind="websocket" if question.kind == "websocket" else "http",
                method=question.method,
                upstream=upstream,
                target=question.target,
                headers=tuple(one for one in question.headers if one[0] != _PACKING),
            )
        )
        for at in range(0, len(question.body), _PIECE_BYTES):
            data = question.body[at : at + _PIECE_BYTES]
            self._note(RequestData(t_us=self._now, exchange=number, data=data))
        self._note(RequestComplete(t_us=self._now, exchange=number))
        return number

    def answer(self, number: int, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Note the head of an answer."""
        kept = tuple((name.lower(), value) for name, value in headers)
        self._put(number, AnswerBegun(t_us=self._now, exchange=number, status=status, headers=kept))

    def data(self, number: int, data: bytes) -> None:
        """Note a piece of an answer."""
        for at in range(0, len(data), _PIECE_BYTES):
            piece = data[at : at + _PIECE_BYTES]
            self._put(number, AnswerData(t_us=self._now, exchange=number, data=piece))

    def message(self, number: int, data: bytes, *, provider: bool, binary: bool) -> None:
        """Note a message over a WebSocket."""
        item = SocketMessage(
            t_us=self._now,
            exchange=number,
            sender="provider" if provider else "client",
            data=data,
            binary=binary,
        )
        self._put(number, item)

    def ended(self, number: int, outcome: ExchangeOutcome, close_code: int | None = None) -> None:
        """Note the end of an exchange; only the first one counts."""
        item = ExchangeEnded(
            t_us=self._now, exchange=number, outcome=outcome, close_code=close_code
        )
        self._put(number, item)
        self._open.discard(number)

    @property
    def _now(self) -> int:
        return self._clock.now_us()

    def _put(self, number: int, item: TapeItem) -> None:
        if number in self._open:
            self._note(item)

    def _note(self, item: TapeItem) -> None:
        with self._lock:
            if self._file is not None and item.exchange in self._open:
                self._file.note(item)
