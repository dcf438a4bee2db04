"""Writes the tape: entries, and bodies that are packed, and stored once if they are equal."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from hashlib import sha256
from typing import IO

from ptycassette.cassette._tape_lines import (
    TAPE_CODEC,
    TAPE_VERSION,
    TapeDeclared,
    most_unpacked,
)
from ptycassette.cassette.io._file import StagedFile
from ptycassette.cassette.io.staging import Staging, disk_errors
from ptycassette.cassette.io.tape import RecordedExchange, Tape
from ptycassette.errors import LimitError
from ptycassette.model.limits import Limits
from ptycassette.model.tape import TAPE, TAPE_BODIES, BodyPlace, TapeEntry
from ptycassette.system.files.directory_handle import DirectoryHandle

_IN_MEMORY = 1 << 20
_BLOCK = 1 << 20
_LEVEL = 6


class TapeFiles:
    """The two files of a tape. An ``EntrySink``.

    Args:
        stage: makes a file of the cassette.
        staging: where they are made, and what of bodies is not whole yet, scrubbed.
        limits: the limits of the readers it is for.
    """

    def __init__(
        self, stage: Callable[[str, int], StagedFile], *, staging: Staging, limits: Limits
    ) -> None:
        self._limits = limits
        self._spool, self._content = str(staging.path), staging.content
        self._places: dict[str, BodyPlace] = {}
        self._unfinished: set[IO[bytes]] = set()
        self.entries = stage(TAPE, limits.max_stream_bytes)
        self.bodies = stage(TAPE_BODIES, limits.max_output_bytes)

    def body(self) -> _Body:
        """See ``EntrySink.body``."""
        import tempfile  # noqa: PLC0415 - few recordings have a tape

        packed = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=self._spool)  # noqa: SIM115 - closed by ``finish`` or ``close``
        self._unfinished.add(packed)
        return _Body(self, packed)

    def close(self) -> None:
        """Give up the bodies that are not finished."""
        while self._unfinished:
            self._unfinished.pop().close()

    def add(self, entry: TapeEntry) -> None:
        """See ``EntrySink.add``.

        Raises:
            RecordError: a field holds what the format does not allow.
            LimitError: longer than readers accept.
        """
        line = TAPE_CODEC.encode(entry, limits=self._limits)
        if len(line) > self._limits.max_line_bytes:
            raise LimitError(
                f"a line of {len(line)} bytes, and a reader accepts {self._limits.max_line_bytes}",
                where=f"{TAPE} entry {entry.entry}",
            )
        self.entries.append(line)

    def exchanges(self) -> list[RecordedExchange]:
        """See ``EntrySink.exchanges``."""
        for file in (self.entries, self.bodies):
            file.flush()
        with DirectoryHandle(self._content) as directory:
            files = {name: directory.open(name) for name in (TAPE, TAPE_BODIES)}
        return list(Tape(files, TapeDeclared(version=TAPE_VERSION), self._limits))

    def keep(self, digest: str, length: int, packed: IO[bytes]) -> BodyPlace | None:
        """Store a packed body, unless it is empty or an equal one is there; closes it."""
        self._unfinished.discard(packed)
        with packed:
            return self._kept(digest, length, packed) if length else None

    def _kept(self, digest: str, length: int, packed: IO[bytes]) -> BodyPlace:
        there = self._places.get(digest)
        if there is not None:
            return there
        if length > self._limits.max_body_bytes:
            raise LimitError(
                f"a body of {length} bytes, and a reader accepts {self._limits.max_body_bytes}",
                where=TAPE_BODIES,
            )
        at = self.bodies.size
        if length > most_unpacked(packed.tell()):
            self._keep_loosely(packed)
        else:
            packed.seek(0)
            while block := packed.read(_BLOCK):
                self.bodies.append(block)
        place = BodyPlace(sha256=digest, bytes=length, at=at, packed=self.bodies.size - at)
        self._places[digest] = place
        return place

    def _keep_loosely(self, packed: IO[bytes]) -> None:
        """Store a body that packs so well that readers would take it for a bomb: unpacked."""
        packed.seek(0)
        inflate, deflate = zlib.decompressobj(), zlib.compressobj(0)
        while block := packed.read(_BLOCK):
            while block:
                self.bodies.append(deflate.compress(inflate.decompress(block, _BLOCK)))
                block = inflate.unconsumed_tail
        self.bodies.append(deflate.compress(inflate.flush()) + deflate.flush())


class _Body:
    """A body on its way into the file. A ``BodySink``."""

    def __init__(self, files: TapeFiles, packed: IO[bytes]) -> None:
        self._files, self._packed = files, packed
        self._deflate = zlib.compressobj(_LEVEL)
        self._digest = sha256()
        self._length = 0

    def write(self, data: bytes) -> None:
        """See ``BodySink.write``."""
        self._digest.update(data)
        self._length += len(data)
        with disk_errors("writing a body of the tape", TAPE_BODIES):
            self._packed.write(self._deflate.compress(data))

    def finish(self) -> BodyPlace | None:
        """See ``BodySink.finish``."""
        with disk_errors("writing a body of the tape", TAPE_BODIES):
            self._packed.write(self._deflate.flush())
        return self._files.keep(self._digest.hexdigest(), self._length, self._packed)
