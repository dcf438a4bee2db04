"""Items of the proxy in, entries of the tape out: their moments, and the pieces of their bodies.

An entry is a question with its answer. It is numbered when its question is complete, or as soon as
something else happens to it: an answer that begins before, or more than is worth holding. What
never ended has its end at the end of the recording. The same items give the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ptycassette.model.journal import Noted, TapeMoment, Traffic
from ptycassette.model.json_values import decoded_json
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.tape._facts import AnswerFacts
from ptycassette.tape._kept import kept_headers, kept_target
from ptycassette.tape._tape_events import (
    TapeTotals,
    end_payload,
    request_payload,
)
from ptycassette.tape._tape_moments import (
    MessageForm,
    OpenEntry,
    answer_moment,
    header_value,
    packing_of,
    piece_of,
)
from ptycassette.tape._unpacking import PIECE_BYTES, Unpacker, unpacker_for
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

_MOST_HELD = 64 << 20
"""Of a longer question no more is held: its number comes before its end."""
_MOST_READ = 8 << 20
"""Of a longer question it is not said what it asks for."""

Made = TapeMoment | Traffic | Noted


class _Exchange:
    """An exchange whose end is not there yet.

    Attributes:
        entry: of the request; None while it has no number.
        message: of the last message of the client.
    """

    def __init__(self, begun: RequestBegun) -> None:
        self.begun = begun
        self.unpacker = _unpacker_of(begun.headers)
        self.held = bytearray()
        self.asked = False
        self.entry: OpenEntry | None = None
        self.message: OpenEntry | None = None
        self.answer_unpacker: Unpacker | None = None


class Assembler:
    """Makes entries.

    Attributes:
        totals: what all entries add up to.
        entries: how many there are.
    """

    def __init__(self) -> None:
        self._exchanges: dict[int, _Exchange] = {}
        self.totals = TapeTotals()
        self.entries = 0

    def take(self, item: TapeItem) -> Iterator[Made]:
        """What an item adds.

        Raises:
            CassetteError: a body is packed in a way that nothing installed unpacks.
        """
        if isinstance(item, RequestBegun):
            self._exchanges[item.exchange] = _Exchange(item)
            return
        exchange = self._exchanges.get(item.exchange)
        if exchange is None:
            return
        match item:
            case RequestData():
                yield from self._question_data(exchange, item)
            case RequestComplete():
                yield from self._question_complete(exchange, item.t_us)
            case AnswerBegun():
                yield from self._answer_begun(exchange, item)
            case AnswerData():
                yield from self._answer_data(exchange, item)
            case SocketMessage(sender="client"):
                yield from self._asked_by_message(exchange, item)
            case SocketMessage():
                yield from self._answered_by_message(exchange, item)
            case ExchangeEnded():
                del self._exchanges[item.exchange]
                yield from self._ended(exchange, item)

    def end(self, t_us: int) -> Iterator[Made]:
        """What is left open when the recording ends."""
        for number in sorted(self._exchanges):
            yield from self.take(
                ExchangeEnded(
                    t_us=t_us,
                    exchange=number,
                    outcome="client-gone",
                    detail="it had not ended when the recording did",
                )
            )

    # -- questions ------------------------------------------------------------------------

    def _question_data(self, exchange: _Exchange, item: RequestData) -> Iterator[Made]:
        for piece in exchange.unpacker.feed(item.data):
            if exchange.entry is None:
                exchange.held += piece
            else:
                yield piece_of(item.t_us, exchange.entry, "question", piece)
        if len(exchange.held) > _MOST_HELD:
            yield from self._number(exchange, item.t_us)

    def _question_complete(self, exchange: _Exchange, t_us: int) -> Iterator[Made]:
        if exchange.asked:
            return
        exchange.asked = True
        exchange.unpacker.end()
        yield from self._number(exchange, t_us)
        assert exchange.entry is not None  # noqa: S101 - it has its number now
        yield piece_of(t_us, exchange.entry, "question", b"", last=True)

    def _number(self, exchange: _Exchange, t_us: int) -> Iterator[Made]:
        """Give the request its number, once; what was held of it comes right behind."""
        if exchange.entry is not None:
            return
        begun = exchange.begun
        entry = exchange.entry = self._new_entry()
        target, secrets = kept_target(begun.target)
        headers, dropped = kept_headers(begun.headers)
        body = bytes(exchange.held)
        exchange.held.clear()
        document = _document(body)
        head = {
            "kind": begun.kind,
            "connection": begun.connection,
            "method": begun.method,
            "upstream": begun.upstream,
            "target": target,
            "headers": headers,
            "packing": packing_of(begun.headers),
        }
        yield TapeMoment(
            t_us,
            request_payload(
                entry.number, document, model_from=begun.target, method=begun.method, target=target
            ),
            entry=entry.number,
            moment="question",
            head=head,
            dropped=(*secrets, *dropped),
        )
        yield from self.totals.question(entry.number, document, t_us)
        for at in range(0, len(body), PIECE_BYTES):
            yield piece_of(t_us, entry, "question", body[at : at + PIECE_BYTES])

    def _new_entry(self, form: MessageForm = "") -> OpenEntry:
        self.entries += 1
        return OpenEntry(self.entries, form=form)

    # -- answers --------------------------------------------------------------------------

    def _answer_begun(self, exchange: _Exchange, item: AnswerBegun) -> Iterator[Made]:
        yield from self._number(exchange, item.t_us)
        entry = exchange.entry
        assert entry is not None  # noqa: S101 - it has its number now
        exchange.answer_unpacker = _unpacker_of(item.headers)
        entry.facts = AnswerFacts(header_value(item.headers, "content-type"))
        entry.answered = True
        yield answer_moment(entry, item, packing=packing_of(item.headers))

    def _answer_data(self, exchange: _Exchange, item: AnswerData) -> Iterator[Made]:
        entry, unpacker = exchange.entry, exchange.answer_unpacker
        if entry is None or unpacker is None:
            return
        continues = False
        for piece in unpacker.feed(item.data):
            entry.facts.feed(piece)
            yield piece_of(item.t_us, entry, "answer", piece, continues=continues)
            continues = True
        if not continues:
            yield piece_of(item.t_us, entry, "answer", b"")

    def _asked_by_message(self, exchange: _Exchange, item: SocketMessage) -> Iterator[Made]:
        yield from self._number(exchange, item.t_us)
        handshake = exchange.entry
        assert handshake is not None  # noqa: S101 - it has its number now
        if exchange.message is not None:
            yield from self._end_of(exchange.message, item.t_us, outcome="complete")
        form: MessageForm = "binary" if item.binary else "text"
        entry = exchange.message = self._new_entry(form)
        document = _document(item.data)
        yield TapeMoment(
            item.t_us,
            request_payload(entry.number, document, within=handshake.number),
            entry=entry.number,
            moment="question",
            head={
                "kind": "message",
                "connection": exchange.begun.connection,
                "within": handshake.number,
                "form": form,
            },
        )
        yield from self.totals.question(entry.number, document, item.t_us)
        for at in range(0, len(item.data), PIECE_BYTES):
            part = item.data[at : at + PIECE_BYTES]
            yield piece_of(item.t_us, entry, "question", part)
        yield piece_of(item.t_us, entry, "question", b"", last=True)

    def _answered_by_message(self, exchange: _Exchange, item: SocketMessage) -> Iterator[Made]:
        entry = exchange.message or exchange.entry
        if entry is None:
            return
        if not entry.answered:
            entry.answered = True
            yield answer_moment(entry, item)
        entry.facts.feed(item.data)
        entry.facts.end()
        form: MessageForm = "binary" if item.binary else "text"
        for at in range(0, max(1, len(item.data)), PIECE_BYTES):
            part = item.data[at : at + PIECE_BYTES]
            yield piece_of(item.t_us, entry, "answer", part, form=form, continues=at > 0)

    # -- ends -----------------------------------------------------------------------------

    def _ended(self, exchange: _Exchange, item: ExchangeEnded) -> Iterator[Made]:
        yield from self._number(exchange, item.t_us)
        entry = exchange.entry
        assert entry is not None  # noqa: S101 - it has its number now
        if not exchange.asked:
            yield piece_of(item.t_us, entry, "question", b"", last=True)
        if exchange.message is not None:
            yield from self._end_of(exchange.message, item.t_us, outcome=item.outcome)
        detail = "; ".join(filter(None, (item.detail, *_problems(exchange, item))))
        yield from self._end_of(
            entry, item.t_us, outcome=item.outcome, detail=detail, close_code=item.close_code
        )

    def _end_of(
        self,
        entry: OpenEntry,
        t_us: int,
        *,
        outcome: ExchangeOutcome,
        detail: str = "",
        close_code: int | None = None,
    ) -> Iterator[Made]:
        if entry.answered:
            yield piece_of(t_us, entry, "answer", b"", last=True, continues=True)
        entry.facts.end()
        head = {"outcome": outcome, "detail": detail, "close_code": close_code}
        yield TapeMoment(
            t_us,
            end_payload(entry.number, head),
            entry=entry.number,
            moment="end",
            head=head,
        )
        yield from self.totals.end(entry.number, entry.facts, outcome, t_us)


def _problems(exchange: _Exchange, item: ExchangeEnded) -> Iterator[str]:
    """What of the bodies is left out."""
    if exchange.unpacker.problem is not None:
        yield f"question: {exchange.unpacker.problem}"
    unpacker = exchange.answer_unpacker
    if unpacker is not None:
        if item.outcome == "complete":
            unpacker.end()
        if unpacker.problem is not None:
            yield f"answer: {unpacker.problem}"


def _document(body: bytes) -> Any:
    return decoded_json(body) if len(body) <= _MOST_READ else None


def _unpacker_of(headers: tuple[tuple[str, str], ...]) -> Unpacker:
    return unpacker_for(header_value(headers, "content-encoding"))
