"""Reads the tape of a cassette: entries one by one, their bodies when they are asked for."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import chain

from ptycassette.cassette._lines import LineReader
from ptycassette.cassette._records import SERVICE_EVENT_CODEC
from ptycassette.cassette._tape_lines import (
    TAPE_CODEC,
    TapeDeclared,
    check_entries_fit,
    moments_of,
)
from ptycassette.cassette.io._events import record_batches
from ptycassette.cassette.layout import SERVICE_EVENTS
from ptycassette.errors import TapeError
from ptycassette.model.limits import Limits
from ptycassette.model.tape import TAPE, TAPE_BODIES, BodyPlace, Chunk, TapeEntry
from ptycassette.system.files.directory_handle import FileHandle

_BLOCK = 1 << 20


class Tape:
    """The model traffic of a session. Iterate over it for its exchanges, as often as wanted.

    Attributes:
        key: of the HMACs in the entries.
    """

    def __init__(
        self, files: Mapping[str, FileHandle], declared: TapeDeclared, limits: Limits
    ) -> None:
        self._entries, self._bodies = files[TAPE], files[TAPE_BODIES]
        self._declared, self._limits = declared, limits
        self.key = declared.key

    def __len__(self) -> int:
        """How many entries the manifest says there are."""
        return self._declared.entries

    def __iter__(self) -> Iterator[RecordedExchange]:
        """The exchanges, in the order of their numbers.

        Raises:
            InvalidCassetteError: while iterating, at a line that is not valid.
        """
        for entry in self.entries():
            yield RecordedExchange(entry, self)

    def entries(self) -> Iterator[TapeEntry]:
        """The entries alone. Raises as iterating does."""
        reader = LineReader(TAPE_CODEC, place=self._entries.place, limits=self._limits)
        number = 0
        for batch in record_batches(self._entries, reader):
            for entry in batch.records:
                number += 1
                check_entries_fit(
                    entry,
                    number,
                    self._bodies.size,
                    place=self._entries.place,
                    limits=self._limits,
                )
                yield entry

    def blocks(self, body: BodyPlace | None) -> Iterator[bytes]:
        """A body, unpacked and checked, in blocks of at most 1 MiB.

        Raises:
            TapeError: it is not what its place says.
        """
        if body is None:
            return
        inflate, digest, left = zlib.decompressobj(), sha256(), body.bytes
        end = body.at + body.packed
        try:
            for block in chain(self._bodies.blocks(body.at, end), (b"",)):
                data = block
                while True:
                    piece = inflate.decompress(data, _BLOCK)
                    data = inflate.unconsumed_tail
                    left -= len(piece)
                    if left < 0 or (not piece and not data):
                        break
                    digest.update(piece)
                    yield piece
        except zlib.error as exc:
            raise TapeError(f"a body cannot be unpacked: {exc}", where=self._place(body)) from exc
        if left or not inflate.eof or inflate.unused_data:
            raise TapeError(f"a body is not {body.bytes} bytes long", where=self._place(body))
        if digest.hexdigest() != body.sha256:
            raise TapeError(
                f"a body's sha256 is {digest.hexdigest()}, but its entry has {body.sha256}",
                where=self._place(body),
            )

    def _place(self, body: BodyPlace) -> str:
        return f"{self._bodies.place} at {body.at}"


class RecordedExchange:
    """A question with its answer.

    Attributes:
        entry: what is said of it.
    """

    def __init__(self, entry: TapeEntry, tape: Tape) -> None:
        self.entry = entry
        self._tape = tape

    def question(self) -> bytes:
        """The body of the question, unpacked; as ``Tape.blocks``."""
        return b"".join(self._tape.blocks(self.entry.body))

    def answer(self) -> bytes:
        """The body of the answer, unpacked; empty without one."""
        return b"".join(chunk for _, chunk in self.pieces())

    def pieces(self) -> Iterator[tuple[Chunk, bytes]]:
        """The chunks of the answer, each with its bytes, in bounded memory but for one chunk."""
        answer = self.entry.answer
        if answer is None:
            return
        blocks, held = self._tape.blocks(answer.body), b""
        for chunk in answer.chunks:
            parts = [held]
            missing = chunk.length - len(held)
            while missing > 0:
                parts.append(next(blocks, b""))
                if not parts[-1]:
                    break
                missing -= len(parts[-1])
            whole = b"".join(parts)
            held = whole[chunk.length :]
            yield chunk, whole[: chunk.length]
        for _ in blocks:  # to its end, where it is checked
            pass


def verify_tape(tape: Tape, files: Mapping[str, FileHandle], limits: Limits) -> int:
    """Check every entry, every body once, and the service events that they name.

    Returns:
        The number of entries.

    Raises:
        InvalidCassetteError: the first rule that is broken.
    """
    place = files[TAPE].place
    moments: dict[int, tuple[int, str]] = {}
    seen: set[BodyPlace] = set()
    number = 0
    for entry in tape.entries():
        number += 1
        for seq, kind in moments_of(entry):
            if seq in moments:
                raise TapeError(f"seq {seq} is named twice", where=f"{place} line {number}")
            moments[seq] = (number, kind)
        for body in (entry.body, entry.answer.body if entry.answer is not None else None):
            if body is not None and body not in seen:
                seen.add(body)
                for _ in tape.blocks(body):
                    pass
    _check_covered(seen, files[TAPE_BODIES])
    if number != len(tape):
        raise TapeError(f"{number} entries, but the manifest counts {len(tape)}", where=place)
    _check_moments(moments, files[SERVICE_EVENTS], limits)
    return number


def _check_covered(bodies: Iterable[BodyPlace], file: FileHandle) -> None:
    """Every byte belongs to a body: what nobody reads could hold anything."""
    end = 0
    for at, packed in sorted({(body.at, body.packed) for body in bodies}):
        if at > end:
            break
        end = max(end, at + packed)
    if end != file.size:
        raise TapeError(f"the bytes from {end} on belong to no entry", where=file.place)


def _check_moments(moments: dict[int, tuple[int, str]], file: FileHandle, limits: Limits) -> None:
    reader = LineReader(SERVICE_EVENT_CODEC, place=file.place, limits=limits)
    for batch in record_batches(file, reader):
        for record in batch.records:
            named = moments.pop(record.seq, None)
            if named is None:
                continue
            said = record.payload if isinstance(record.payload, dict) else {}
            if (said.get("entry"), said.get("type")) != named:
                raise TapeError(
                    f"the service event with seq {record.seq} is not the {named[1]} of entry"
                    f" {named[0]}",
                    where=file.place,
                )
    if moments:
        seq, (number, kind) = min(moments.items())
        raise TapeError(
            f"entry {number} names seq {seq} as its {kind}, and no service event has it",
            where=file.place,
        )
