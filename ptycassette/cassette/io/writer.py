"""Writes a cassette: streaming, in bounded memory, published whole or not at all.

Records come in the order of ``seq``. Every file is hashed as it grows; at the
end the manifest pins them all, everything is made durable, and one rename
publishes the directory (``docs/decisions/0010-publishing-by-rename.md``).
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from ptycassette.cassette.io.staging import (
    StagedFile,
    Staging,
    check_target,
    disk_errors,
    lost_race,
    stage_git_attributes,
)
from ptycassette.cassette.layout import (
    DISCOVERY,
    FINAL,
    FRAME_CODEC,
    FRAMES,
    INPUT,
    INPUT_CODEC,
    MANIFEST,
    OUTPUT,
    OUTPUT_CODEC,
    OUTPUT_RAW,
    QUOTA,
    SCRUB_REPORT,
    SERVICE_EVENT_CODEC,
    SERVICE_EVENTS,
    Artifact,
    RecordCodec,
    encode_document,
    with_artifacts,
)
from ptycassette.cassette.manifest import encode_manifest, with_manifest_digest
from ptycassette.cassette.tape_lines import TAPE_CODEC, TAPE_VERSION, TapeDeclared, most_unpacked
from ptycassette.errors import LimitError
from ptycassette.model.limits import DEFAULT_LIMITS, Limits
from ptycassette.model.records import (
    ContentDigest,
    DiscoveryRecord,
    FinalRecord,
    FrameRecord,
    InputRecord,
    Manifest,
    OutputRecord,
    QuotaRecord,
    ScrubReport,
    ServiceEventRecord,
    TimedRecord,
)
from ptycassette.model.tape import TAPE, TAPE_BODIES, BodyPlace, TapeEntry
from ptycassette.system.files.state_dirs import absolute
from ptycassette.system.ownership import Owner

if TYPE_CHECKING:  # few recordings have a tape
    from ptycassette.cassette.io.tape import RecordedExchange

# Writes the tape: entries, and bodies that are packed, and stored once if they are equal.


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
        """Give up unfinished bodies."""
        while self._unfinished:
            self._unfinished.pop().close()

    def add(self, entry: TapeEntry) -> None:
        """See ``EntrySink.add``.

        Raises:
            RecordError: a field has a value that the format does not allow.
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
        from ptycassette.cassette.io.tape import Tape  # noqa: PLC0415 - few recordings have one
        from ptycassette.system.files.directory_handle import DirectoryHandle  # noqa: PLC0415

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
        """Store a body unpacked if it packs so well that readers would take it for a bomb."""
        packed.seek(0)
        inflate, deflate = zlib.decompressobj(), zlib.compressobj(0)
        while block := packed.read(_BLOCK):
            while block:
                self.bodies.append(deflate.compress(inflate.decompress(block, _BLOCK)))
                block = inflate.unconsumed_tail
        self.bodies.append(deflate.compress(inflate.flush()) + deflate.flush())


class _Body:
    """Writes one body into the file. A ``BodySink``."""

    def __init__(self, files: TapeFiles, packed: IO[bytes]) -> None:
        self._files, self._packed = files, packed
        self._deflate = zlib.compressobj(_LEVEL)
        self._digest = sha256()
        self._length = 0

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._length += len(data)
        with disk_errors("writing a body of the tape", TAPE_BODIES):
            self._packed.write(self._deflate.compress(data))

    def finish(self) -> BodyPlace | None:
        with disk_errors("writing a body of the tape", TAPE_BODIES):
            self._packed.write(self._deflate.flush())
        return self._files.keep(self._digest.hexdigest(), self._length, self._packed)


_CODECS: dict[type, RecordCodec[Any]] = {
    InputRecord: INPUT_CODEC,
    OutputRecord: OUTPUT_CODEC,
    FrameRecord: FRAME_CODEC,
    ServiceEventRecord: SERVICE_EVENT_CODEC,
}
_DOCUMENT_NAMES: dict[type, str] = {
    QuotaRecord: QUOTA,
    DiscoveryRecord: DISCOVERY,
    ScrubReport: SCRUB_REPORT,
}


class CassetteWriter:
    """A cassette in the making (the ``CassetteSink`` port). Use it in a ``with``, or ``abort``.

    Args:
        target: the directory to publish. It must not exist, or be empty.
        overwrite: replace an existing cassette of this format version or an older one, and nothing
            else.
        limits: the limits of its readers.

    Raises:
        ExistsError: something is there, and it may not be replaced.
        NewerCassetteError: a cassette of a newer version is there.
        StorageError: the disk refused.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._target = Path(os.path.normpath(absolute(target)))  # resolve() would follow links
        self._overwrite = overwrite
        self._limits = limits
        self._replaces = check_target(self._target, overwrite=overwrite)
        self._seq = 0
        self._t_ms = 0
        self._done = False
        self._owner = Owner()
        self._reserved: deque[tuple[int, int]] = deque()
        self._documents: dict[str, msgspec.Struct] = {}
        self._tape: TapeFiles | None = None
        self._files: dict[str, StagedFile] = {}
        self._staging = Staging(self._target)
        try:
            for name in (INPUT, OUTPUT, FRAMES, SERVICE_EVENTS):
                self._files[name] = self._stage(name, limits.max_stream_bytes)
            self._raw = self._files[OUTPUT_RAW] = self._stage(OUTPUT_RAW, limits.max_output_bytes)
        except BaseException:
            self.abort()
            raise
        self._output = self._files[OUTPUT]

    def _stage(self, name: str, max_bytes: int) -> StagedFile:
        return StagedFile(self._staging, name, max_bytes=max_bytes)

    def add(self, record: TimedRecord, data: bytes = b"") -> None:
        """Append a timed record; ``data`` are the bytes of an output record.

        An output record's ``sha256`` is filled in here.

        Raises:
            ValueError: records out of order, something after the final record,
                an output record that does not fit its bytes, a closed writer.
            RecordError: a field has a value that the format does not allow.
            LimitError: longer or deeper than readers accept.
            StorageError: the disk refused.
        """
        if self._done or FINAL in self._documents:
            raise ValueError("the cassette is complete or aborted: nothing can be added")
        if self._reserved and record.seq == self._reserved[0][0]:
            if not isinstance(record, InputRecord | ServiceEventRecord) or (
                record.t_ms != self._reserved[0][1]
            ):
                raise ValueError(f"seq {record.seq} is kept for something else")
            self._append(record)
            self._reserved.popleft()
            return
        if record.seq != self._seq + 1 or record.t_ms < self._t_ms:
            raise ValueError(
                f"seq {record.seq}, t_ms {record.t_ms} after seq {self._seq}, t_ms {self._t_ms}"
            )
        if isinstance(record, OutputRecord):
            self._add_output(record, data)
        elif isinstance(record, FinalRecord):
            encode_document(record, where=FINAL)
            self._documents[FINAL] = record
        else:
            self._append(record)
        self._seq, self._t_ms = record.seq, record.t_ms

    def reserve(self, seq: int, t_ms: int) -> None:
        """Reserve a ``seq`` and its time for input or a service event that is added later.

        Such records are added in the order in which they were reserved.

        Raises:
            ValueError: as for ``add``.
        """
        if seq != self._seq + 1 or t_ms < self._t_ms or self._done or FINAL in self._documents:
            raise ValueError(f"seq {seq}, t_ms {t_ms} after seq {self._seq}, t_ms {self._t_ms}")
        self._reserved.append((seq, t_ms))
        self._seq, self._t_ms = seq, t_ms

    def _append(self, record: TimedRecord) -> None:
        codec = _CODECS[type(record)]
        line = codec.encode(record, limits=self._limits)
        self._check_line(len(line), codec.name, record.seq)
        self._files[codec.name].append(line)

    def _add_output(self, record: OutputRecord, data: bytes) -> None:
        if record.offset != self._raw.size or record.length != len(data):
            raise ValueError(
                f"an output record of {record.length} bytes at {record.offset} "
                f"for {len(data)} bytes at {self._raw.size}"
            )
        if len(data) > self._limits.max_chunk_bytes:
            raise LimitError(
                f"a chunk of {len(data)} bytes, "
                f"and a reader accepts {self._limits.max_chunk_bytes}",
                where=f"{OUTPUT} seq {record.seq}",
            )
        pinned = OutputRecord(
            seq=record.seq,
            t_ms=record.t_ms,
            offset=record.offset,
            length=record.length,
            sha256=sha256(data).hexdigest(),
            t_us=record.t_us,
            stream=record.stream,
            eof=record.eof,
        )
        self._output.append(OUTPUT_CODEC.encode(pinned, limits=self._limits))
        self._raw.append(data)

    def _check_line(self, length: int, name: str, seq: int) -> None:
        if length > self._limits.max_line_bytes:
            raise LimitError(
                f"a line of {length} bytes, and a reader accepts {self._limits.max_line_bytes}",
                where=f"{name} seq {seq}",
            )

    def tape(self) -> TapeFiles:
        """The tape, which the cassette has from now on.

        Raises:
            StorageError: the disk refused.
        """
        if self._tape is None:
            self._tape = TapeFiles(self._stage, staging=self._staging, limits=self._limits)
            self._files[TAPE] = self._tape.entries
            self._files[TAPE_BODIES] = self._tape.bodies
        return self._tape

    def put(self, document: QuotaRecord | DiscoveryRecord | ScrubReport) -> None:
        """Set an untimed document; the last of each kind counts.

        Raises:
            RecordError: a field has a value that the format does not allow.
            LimitError: longer or deeper than readers accept.
        """
        name = _DOCUMENT_NAMES[type(document)]
        encode_document(document, where=name)
        self._documents[name] = document

    def publish(self, manifest: Manifest) -> Manifest:
        """Fill in digests, make everything durable, and publish atomically.

        Returns the manifest as written: ``content_digest``, ``optional.artifacts``
        and ``optional.manifest_digest`` are filled in, whatever the argument holds, and so is an
        empty ``provenance.contract_version``.

        Raises:
            ValueError: no final record or no scrub report, or a closed writer.
            ManifestError: a reader would refuse the manifest.
            ExistsError: another writer was faster, or the target has changed.
            NewerCassetteError: the target is now a cassette of a newer version.
            StorageError: the disk refused; nothing was published.
        """
        if self._done:
            raise ValueError("the cassette is published or aborted")
        if self._reserved:
            raise ValueError(f"seq {self._reserved[0][0]} was reserved, and nothing was added")
        for name in (FINAL, SCRUB_REPORT):
            if name not in self._documents:
                raise ValueError(f"a cassette needs {name} before it can be published")
        for name, document in self._documents.items():
            self._files[name] = self._stage(name, self._limits.max_document_bytes)
            self._files[name].append(encode_document(document, where=name))
        artifacts = {name: file.finish() for name, file in self._files.items()}
        stage_git_attributes(self._staging)
        whole = _pinned(manifest, artifacts)
        page = self._files[MANIFEST] = self._stage(MANIFEST, self._limits.max_document_bytes)
        page.append(encode_manifest(whole))
        page.finish()
        self._staging.publish(self._still_replaces())
        self._done = True
        return whole

    def _still_replaces(self) -> os.stat_result | None:
        """The directory that publishing will replace; raise if it changed since the start."""
        now = check_target(self._target, overwrite=self._overwrite)
        then = self._replaces
        if now is not None and (then is None or not os.path.samestat(now, then)):
            raise lost_race(self._target)
        return now

    def abort(self) -> None:
        """Remove all written files. After ``publish`` it removes only unfinished ones."""
        if self._tape is not None:
            self._tape.close()
        if self._done or not self._owner.here:
            return
        self._done = True
        for file in self._files.values():
            file.close()
        self._staging.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.abort()


def _pinned(manifest: Manifest, artifacts: dict[str, Artifact]) -> Manifest:
    raw = artifacts.pop(OUTPUT_RAW)
    digest = ContentDigest(sha256=raw.sha256)
    manifest = with_artifacts(msgspec.structs.replace(manifest, content_digest=digest), artifacts)
    try:
        return with_manifest_digest(manifest)
    except Exception:
        encode_manifest(manifest)  # raises a ManifestError for the digest's problem
        raise
