"""Define the items that the proxy notes while traffic passes, and make entries of a tape from them.

An exchange is one HTTP request with its answer, or one WebSocket from handshake to end. Exchanges
are numbered from 1 in the order in which their requests began. ``t_us`` are microseconds of the
monotonic clock since the recording began, taken before the bytes go on to the other side.
Bytes are as received, neither unpacked nor scrubbed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ptycassette.model.records import Noted, TapeMoment, Traffic, decoded_json
from ptycassette.model.tape import ExchangeOutcome
from ptycassette.model.toml_text import package_table
from ptycassette.tape.unpacking import PIECE_BYTES, Unpacker, unpacker_for

# The readers of provider APIs are loaded by the first entry: most recordings have no tape.
if TYPE_CHECKING:
    from ptycassette.tape.providers.answers import AnswerFacts


class RequestBegun(msgspec.Struct, frozen=True, kw_only=True, tag="request"):
    """The head of a request.

    ``connection`` numbers the client's connections from 1. ``target`` is path and query as sent;
    ``upstream`` is scheme and authority of the provider (``https://api.openai.com``). ``headers``
    are all headers in order, names in lower case.
    """

    t_us: int
    exchange: int
    connection: int
    kind: Literal["http", "websocket"]
    method: str
    upstream: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()


class RequestData(msgspec.Struct, frozen=True, kw_only=True, tag="request-data"):
    """A piece of the body of a request, as sent."""

    t_us: int
    exchange: int
    data: bytes


class RequestComplete(msgspec.Struct, frozen=True, kw_only=True, tag="request-complete"):
    """The body of a request is complete."""

    t_us: int
    exchange: int


class AnswerBegun(msgspec.Struct, frozen=True, kw_only=True, tag="answer"):
    """The head of an answer; 101 for a WebSocket."""

    t_us: int
    exchange: int
    status: int
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class AnswerData(msgspec.Struct, frozen=True, kw_only=True, tag="answer-data"):
    """A piece of the body of an answer, as received."""

    t_us: int
    exchange: int
    data: bytes


class SocketMessage(msgspec.Struct, frozen=True, kw_only=True, tag="message"):
    """A complete message of a WebSocket, unpacked (permessage-deflate is undone)."""

    t_us: int
    exchange: int
    sender: Literal["client", "provider"]
    data: bytes
    binary: bool = False


class ExchangeEnded(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """The end of an exchange. ``detail`` is the reason for people if it broke off.

    ``close_code`` is the code of a WebSocket's closing frame, if there was one.
    """

    t_us: int
    exchange: int
    outcome: ExchangeOutcome
    detail: str = ""
    close_code: int | None = None


TapeItem = (
    RequestBegun
    | RequestData
    | RequestComplete
    | AnswerBegun
    | AnswerData
    | SocketMessage
    | ExchangeEnded
)


# The parts of a head that are kept: which headers, and which parts of a target.


_SECRET = re.compile(
    r"(?i)(?<=[?&])((?:api[_-]?)?key|access[_-]?token|(?:auth|id|refresh)[_-]?token|token|sig"
    r"|signature|code|x-amz-(?:signature|credential|security-token))=([^&#]+)"
)

_MASK = "x" * 8


@cache
def _listed() -> tuple[frozenset[str], tuple[str, ...]]:
    """Names on the list, and prefixes of names."""
    table: dict[str, dict[str, list[str]]] = package_table(__package__, "headers.toml")
    names = [name for senders in table.values() for some in senders.values() for name in some]
    beginnings = tuple(name[:-1] for name in names if name.endswith("*"))
    return frozenset(name for name in names if not name.endswith("*")), beginnings


Headers = tuple[tuple[str, str], ...]


def kept_headers(headers: Iterable[tuple[str, str]]) -> tuple[Headers, tuple[str, ...]]:
    """The headers that a tape keeps, and the lines of the dropped ones."""
    kept, dropped = [], []
    names, beginnings = _listed()
    for name, value in headers:
        if name in names or name.startswith(beginnings):
            kept.append((name, value))
        else:
            dropped.append(f"{name}: {value}")
    return tuple(kept), tuple(dropped)


def kept_target(target: str) -> tuple[str, tuple[str, ...]]:
    """A target with the credentials in its query masked, and the credentials.

    A parameter with the name of a key is treated as one, whatever its value looks like. All masks
    are the same, so that a replay's target is stored like the recorded one.
    """
    secrets = tuple(f"{match[1]}={match[2]}" for match in _SECRET.finditer(target))
    return _SECRET.sub(lambda match: f"{match[1]}={_MASK}", target), secrets


# The service events about entries of the tape, and the sums over all entries.


def request_payload(
    number: int, document: Any, *, model_from: str = "", **about: Any
) -> dict[str, Any]:
    """The event for a question.

    Args:
        number: the number of the entry.
        document: the decoded question; None if it is not JSON.
        model_from: the target of the request, which may name the model.
        about: other fields of the event.
    """
    from ptycassette.tape.providers.questions import question_model  # noqa: PLC0415

    model = question_model(document, model_from)
    asked = {} if model is None else {"model": model}
    return {"type": "model-request", "entry": number, **about, **asked}


def answer_payload(number: int, status: int | None) -> dict[str, Any]:
    """The event for the beginning of an answer; a message of a WebSocket has no status."""
    payload = {"type": "model-answer", "entry": number}
    return payload if status is None else {**payload, "status": status}


def end_payload(number: int, head: dict[str, Any]) -> dict[str, Any]:
    """The event for the end of an entry: the fields of its head that are set."""
    set_fields = {name: value for name, value in head.items() if value not in {"", None}}
    return {"type": "model-end", "entry": number, **set_fields}


class TapeTotals:
    """Makes the events for tools and tokens, and sums over all entries.

    Attributes:
        usage: the tokens and costs of all answers.
        models: how often each model answered.
        usage_by_model: ``usage`` for each model, with the number of ``requests`` that reported it;
            the name is empty if the answer did not name the model.
        outcomes: how often each outcome occurred.
    """

    def __init__(self) -> None:
        self._results: set[str] = set()
        self.usage: dict[str, int | float] = {}
        self.models: dict[str, int] = {}
        self.usage_by_model: dict[str, dict[str, int | float]] = {}
        self.outcomes: dict[str, int] = {}

    def question(self, number: int, document: Any, t_us: int) -> Iterator[Noted]:
        """The tool results that this question sends to the provider for the first time."""
        from ptycassette.tape.providers.questions import tool_results  # noqa: PLC0415

        for call_id in (place.call for place in tool_results(document)):
            if call_id and call_id not in self._results:
                self._results.add(call_id)
                yield Noted(t_us, {"type": "tool-result", "entry": number, "call_id": call_id})

    def end(
        self, number: int, facts: AnswerFacts, outcome: ExchangeOutcome, t_us: int
    ) -> Iterator[Noted]:
        """The tool calls and tokens of an entry that has ended."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        for call_id, name in facts.calls.items():
            call = {"type": "tool-call", "entry": number, "call_id": call_id, "name": name}
            yield Noted(t_us, call)
        model, usage = facts.model, facts.usage
        if usage:
            by = {} if model is None else {"model": model}
            yield Noted(t_us, {"type": "usage", "entry": number, **usage, **by})
            _add(self.usage, usage)
            _add(self.usage_by_model.setdefault(model or "", {}), {"requests": 1, **usage})
        if model is not None:
            self.models[model] = self.models.get(model, 0) + 1


def _add(total: dict[str, int | float], counts: Mapping[str, int | float]) -> None:
    for name, count in counts.items():
        total[name] = total.get(name, 0) + count


# The moments of an entry of the tape, and the pieces of its bodies.


MessageForm = Literal["", "text", "binary"]


def _answer_facts(content_type: str = "") -> AnswerFacts:
    from ptycassette.tape.providers.answers import AnswerFacts  # noqa: PLC0415

    return AnswerFacts(content_type)


class OpenEntry:
    """An entry that has not ended yet."""

    def __init__(self, number: int, *, form: MessageForm = "") -> None:
        self.number = number
        self.form = form
        self.facts = _answer_facts()
        self.answered = False


def answer_moment(
    entry: OpenEntry, item: AnswerBegun | SocketMessage, *, packing: str = ""
) -> TapeMoment:
    """The moment at which the answer of an entry begins."""
    status = item.status if isinstance(item, AnswerBegun) else None
    headers, dropped = kept_headers(item.headers if isinstance(item, AnswerBegun) else ())
    return TapeMoment(
        item.t_us,
        answer_payload(entry.number, status),
        entry=entry.number,
        moment="answer",
        head={"status": status, "headers": headers, "packing": packing},
        dropped=dropped,
    )


def piece_of(
    t_us: int,
    entry: OpenEntry,
    side: Literal["question", "answer"],
    data: bytes,
    *,
    form: MessageForm = "",
    continues: bool = False,
    last: bool = False,
) -> Traffic:
    """A piece of a body of an entry."""
    return Traffic(
        t_us=t_us,
        entry=entry.number,
        side=side,
        data=data,
        form=form,
        continues=continues,
        last=last,
    )


def packing_of(headers: tuple[tuple[str, str], ...]) -> str:
    """The content encoding that was undone."""
    encoding = header_value(headers, "content-encoding")
    return "" if encoding.strip().lower() == "identity" else encoding


def header_value(headers: tuple[tuple[str, str], ...], name: str) -> str:
    """All values of a header, joined with commas; empty if it is missing."""
    return ", ".join(value for one, value in headers if one == name)


# Items of the proxy in, entries of the tape out: their moments, and the pieces of their bodies.


_MOST_HELD = 64 << 20
"""A longer question gets its number before its end, so that no more of it is held."""
_MOST_READ = 8 << 20
"""A longer question is not parsed for its model and tool results."""

Made = TapeMoment | Traffic | Noted


class _Exchange:
    """An exchange that has not ended yet.

    Attributes:
        entry: the entry of the request; None until it has a number.
        message: the entry of the client's last message.
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
    """Makes entries from items.

    Attributes:
        totals: sums over all entries.
        entries: how many entries there are.
    """

    def __init__(self) -> None:
        self._exchanges: dict[int, _Exchange] = {}
        self.totals = TapeTotals()
        self.entries = 0

    def take(self, item: TapeItem) -> Iterator[Made]:
        """The results of one more item.

        Raises:
            CassetteError: no installed library unpacks a body.
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
        """Close everything that is still open when the recording ends."""
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
        """Number the request, once; the data that was held for it follows."""
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
        entry.facts = _answer_facts(header_value(item.headers, "content-type"))
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
    """The parts of the bodies that are left out, in words."""
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
