"""The tape of a cassette as the events that it was made of, to be scrubbed once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.model.journal import HeadSecret, Noted, TapeMoment, Traffic
from ptycassette.model.tape import MaskedDigest, TapeEntry, VolatileToken
from ptycassette.tape.matching.checking import TapeCheck

_BLOCK = 1 << 20
_HEADS = {
    "question": (
        *("kind", "connection", "method", "upstream", "target", "within", "headers", "form"),
        "packing",
    ),
    "answer": ("status", "headers", "packing"),
    "end": ("outcome", "detail", "close_code"),
}


class TapeAgain:
    """Turns the service events that entries name back into moments. ``EntryKeys``, too.

    Args:
        cassette: open.
    """

    def __init__(self, cassette: Cassette) -> None:
        self._entries: dict[int, tuple[str, RecordedExchange]] = {}
        self._keys: dict[int, TapeEntry] = {}
        for exchange in cassette.tape() if cassette.has_tape else ():
            entry = exchange.entry
            self._keys[entry.entry] = entry
            self._entries[entry.seq] = "question", exchange
            if entry.answer is not None:
                self._entries[entry.answer.seq] = "answer", exchange
            if entry.end_seq is not None:
                self._entries[entry.end_seq] = "end", exchange

    def events(self, seq: int, noted: Noted) -> Iterator[Noted | Traffic]:
        """A service event, and the bodies that belong to it, a question's with its beginning."""
        named = self._entries.get(seq)
        if named is None:
            yield noted
            return
        moment, exchange = named
        yield _moment(noted, moment, exchange.entry)
        if moment != "end":
            yield from _traffic(exchange, moment)

    @property
    def described(self) -> Mapping[str, Any]:
        """See ``EntryKeys``: the manifest stays as it is."""
        return {}

    def of(
        self,
        head: Mapping[str, Any],
        body: bytes,
        stored: bytes,
        secrets: Sequence[HeadSecret] = (),
    ) -> tuple[str, Sequence[VolatileToken], Sequence[MaskedDigest]]:
        """See ``EntryKeys``: as it was, unless more of the question was scrubbed.

        The key is one of the question as it was asked, which nobody has any more.
        """
        if body != stored or secrets:
            return "", (), ()
        entry = self._keys[head["entry"]]
        return entry.key, entry.tokens, entry.digests

    def check(self, exchanges: Sequence[Any]) -> TapeCheck:
        """See ``EntryKeys``: it was checked when it was recorded."""
        del exchanges
        return TapeCheck()


def _moment(noted: Noted, moment: Any, entry: TapeEntry) -> TapeMoment:
    fields: Mapping[str, Any] = msgspec.to_builtins(entry.answer if moment == "answer" else entry)
    head = {name: fields[name] for name in _HEADS[moment] if name in fields}
    return TapeMoment(noted.t_us, noted.payload, entry=entry.entry, moment=moment, head=head)


def _traffic(exchange: RecordedExchange, side: Any) -> Iterator[Traffic]:
    """The pieces of one body."""
    entry = exchange.entry
    number = entry.entry
    if side == "question":
        body = exchange.question()
        for at in range(0, len(body), _BLOCK):
            yield Traffic(
                t_us=entry.t_us, entry=number, side="question", data=body[at : at + _BLOCK]
            )
        yield Traffic(t_us=entry.t_us, entry=number, side="question", last=True)
        return
    for chunk, data in exchange.pieces():
        for at in range(0, max(1, len(data)), _BLOCK):
            yield Traffic(
                t_us=chunk.t_us, entry=number, side="answer", data=data[at : at + _BLOCK],
                form=chunk.form, continues=at > 0,
            )  # fmt: skip
    t_us = entry.answer.t_us if entry.answer is not None else entry.t_us
    yield Traffic(t_us=t_us, entry=number, side="answer", continues=True, last=True)
