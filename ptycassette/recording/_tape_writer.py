"""Writes the tape: entries out of moments and pieces of bodies, as they come from the scrubber."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ptycassette.model.journal import HeadSecret, TapeMoment, Traffic
from ptycassette.model.ports import BodySink, EntrySink
from ptycassette.model.resolved_types import resolved
from ptycassette.model.tape import Chunk, MaskedDigest, TapeAnswer, TapeEntry, VolatileToken
from ptycassette.scrub._traffic import whole_json

if TYPE_CHECKING:
    from ptycassette.tape.matching.checking import TapeCheck


class EntryKeys(Protocol):
    """Tells the questions of one tape apart; asked for each in their order."""

    @property
    def described(self) -> Mapping[str, Any]:
        """What the manifest says of how they are told apart."""
        ...

    def of(
        self,
        head: Mapping[str, Any],
        body: bytes,
        stored: bytes,
        secrets: Sequence[HeadSecret] = (),
    ) -> tuple[str, Sequence[VolatileToken], Sequence[MaskedDigest]]:
        """The key and the volatile tokens of a question, and digests of what was scrubbed.

        Args:
            head: as it is kept, with ``entry``.
            secrets: what was scrubbed of the head.
            body: as it was sent, unpacked.
            stored: as it is kept: scrubbed, and as long.
        """
        ...

    def check(self, exchanges: Sequence[Any]) -> TapeCheck:
        """Whether a tape can be trusted to answer."""
        ...


_MOST_CHUNKS = 50_000
"""What comes later belongs to the last one."""
_MOST_TOKENS = 50_000
_MOST_KEYED = 64 << 20
_HELD, _MOST_HELD = 1 << 20, 8 << 20


class TapeWriter:
    """The tape of one session on its way into a sink.

    Args:
        sink: where it goes.
        keys: tells questions apart.
    """

    def __init__(self, sink: EntrySink, *, keys: EntryKeys | None) -> None:
        self._sink, self._keys = sink, keys
        self._open: dict[int, _Entry] = {}
        self._done: dict[int, TapeEntry] = {}
        self._written = 0

    def moment(self, event: TapeMoment, *, seq: int, t_us: int) -> None:
        """Take what happened to an entry, and the number that it has in the cassette."""
        if event.moment == "question":
            entry = self._open[event.entry] = _Entry(self._sink)
            entry.begin(event, seq=seq, t_us=t_us)
            return
        open_entry = self._open.get(event.entry)
        if open_entry is None:
            return
        if event.moment == "answer":
            open_entry.answer(event, seq=seq, t_us=t_us)
            return
        del self._open[event.entry]
        self._done[event.entry] = open_entry.end(event, seq=seq, t_us=t_us)
        self._write()

    def piece(self, event: Traffic) -> None:
        """Take a piece of a body."""
        entry = self._open.get(event.entry)
        if entry is not None:
            entry.piece(event)
            if event.last and event.side == "question" and self._keys is not None:
                entry.tell_apart(self._keys)

    def finish(self) -> int:
        """Write what is left; returns the number of entries."""
        self._write()
        return self._written

    def _write(self) -> None:
        while (entry := self._done.pop(self._written + 1, None)) is not None:
            self._sink.add(entry)
            self._written += 1


class _Entry:
    """An entry that is not whole yet."""

    def __init__(self, sink: EntrySink) -> None:
        self._sink = sink
        self._fields: dict[str, Any] = {}
        self._head: Mapping[str, Any] = {}
        self._secrets: tuple[HeadSecret, ...] = ()
        self._question = _Body(sink, kept=True)
        self._raw: bytearray | None = bytearray()
        self._answer: dict[str, Any] | None = None
        self._answer_body: _Body | None = None
        self._chunks: list[Chunk] = []

    def begin(self, event: TapeMoment, *, seq: int, t_us: int) -> None:
        self._head = {**event.head, "entry": event.entry}
        self._secrets = event.secrets
        self._fields = {"entry": event.entry, "seq": seq, "t_us": t_us, **_filled(event.head)}

    def answer(self, event: TapeMoment, *, seq: int, t_us: int) -> None:
        self._answer = {"seq": seq, "t_us": t_us, **_filled(event.head)}
        self._answer_body = _Body(self._sink)

    def piece(self, event: Traffic) -> None:
        raw = event.data if event.unscrubbed is None else event.unscrubbed
        if event.side == "question":
            self._question.write(raw, event.data)
            self._remember(raw)
        elif self._answer_body is not None:
            self._answer_body.write(raw, event.data)
            self._count(event)

    def _remember(self, raw: bytes) -> None:
        """Keep a question for its key, unless it is too long for one."""
        if self._raw is None:
            return
        self._raw += raw
        if len(self._raw) > _MOST_KEYED:
            self._raw = self._question.kept = None

    def _count(self, event: Traffic) -> None:
        assert self._answer is not None  # noqa: S101 - it has a body
        last = self._chunks[-1] if self._chunks else None
        t_us = max(event.t_us, self._answer["t_us"] if last is None else last.t_us)
        if last is not None and (event.continues or len(self._chunks) >= _MOST_CHUNKS):
            length = last.length + len(event.data)
            self._chunks[-1] = Chunk(last.t_us, length, last.form)
        elif not event.last or event.data:
            self._chunks.append(Chunk(t_us, len(event.data), event.form))

    def tell_apart(self, keys: EntryKeys) -> None:
        """Give the question its key; what was held of it goes."""
        if self._raw is None:
            return
        raw, stored = bytes(self._raw), self._question.whole()
        self._raw = self._question.kept = None
        key, tokens, digests = keys.of(self._head, raw, stored, self._secrets)
        if len(tokens) <= _MOST_TOKENS:
            self._fields |= {"key": key, "tokens": tuple(tokens), "digests": tuple(digests)}

    def end(self, event: TapeMoment, *, seq: int, t_us: int) -> TapeEntry:
        fields = {**self._fields, **_filled(event.head), "end_seq": seq, "end_us": t_us}
        fields["body"] = self._question.finish()
        answer = None
        if self._answer is not None and self._answer_body is not None:
            answer = {
                **self._answer,
                "body": self._answer_body.finish(),
                "chunks": tuple(self._chunks),
            }
        made = {name: value for name, value in fields.items() if value is not None}
        if answer is not None:
            made["answer"] = msgspec.convert(answer, resolved(TapeAnswer))
        return msgspec.convert(made, resolved(TapeEntry))


class _Body:
    """A body on its way into the sink. Masked JSON is repaired, so that it is JSON.

    Attributes:
        kept: what was written so far, for the key of a question; None where nobody asks for it.
    """

    def __init__(self, sink: EntrySink, *, kept: bool = False) -> None:
        self._body: BodySink = sink.body()
        self.kept: bytearray | None = bytearray() if kept else None
        self._raw, self._masked = bytearray(), bytearray()

    def write(self, raw: bytes, masked: bytes) -> None:
        """Append a piece, unscrubbed and scrubbed. Of many lines held the whole ones go on."""
        self._raw += raw
        self._masked += masked
        if len(self._raw) < _HELD:
            return
        cut = self._raw.rfind(b"\n") + 1
        if cut or len(self._raw) > _MOST_HELD:
            self._pass_on(cut or len(self._raw))

    def whole(self) -> bytes:
        """All of a body that is kept, as it is stored. Nothing follows."""
        self._pass_on(len(self._raw))
        return bytes(self.kept or b"")

    def finish(self) -> Any:
        """See ``BodySink.finish``."""
        self._pass_on(len(self._raw))
        return self._body.finish()

    def _pass_on(self, cut: int) -> None:
        raw, masked = bytes(self._raw[:cut]), bytes(self._masked[:cut])
        del self._raw[:cut], self._masked[:cut]
        if raw != masked:
            masked = whole_json(raw.decode("latin-1"), masked.decode("latin-1")).encode("latin-1")
        self._body.write(masked)
        if self.kept is not None:
            self.kept += masked


def _filled(head: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in head.items() if value is not None}
