"""The full check of a cassette, in one pass over each file and in bounded memory.

Order of the rules, after those of the manifest (``_manifest``), of the
entries of the directory and of the documents: over all streams merged, each
line, ``seq`` and time, chunks and frames in range; bytes without a chunk; the
digest of ``output.raw``; the digests of the chunks; and last the digests of
all other files and of the manifest, which only a pinned cassette has. So what
the reference format forbids is reported as such, even if a pin is broken as well.

``output.raw`` is read once, for its own digest and for those of the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256

import msgspec

from ptycassette.cassette._artifacts import CHANGED_HINT, Artifact, check_artifact
from ptycassette.cassette._chunks import ChunkCoverage, check_frame_range, chunk_fault
from ptycassette.cassette._lines import LineReader
from ptycassette.cassette._order import Source, merge_runs
from ptycassette.cassette._records import STREAM_CODECS
from ptycassette.cassette.io._digest import WholeDigest
from ptycassette.cassette.io._events import final_source, record_batches
from ptycassette.cassette.layout import FRAMES, OUTPUT, OUTPUT_RAW, STREAMS
from ptycassette.errors import ChunkError, DigestError
from ptycassette.model.events import FinalRecord, OutputRecord
from ptycassette.model.limits import Limits
from ptycassette.system.files.directory_handle import BLOCK_BYTES, FileHandle

_OUTPUT_SOURCE = STREAMS.index(OUTPUT)
_FRAME_SOURCE = STREAMS.index(FRAMES)

Progress = Callable[[int, int], None]
"""Called with the number of bytes done, and their total."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What a full check covered. ``pinned``: every file is pinned, not only ``output.raw``."""

    inputs: int
    outputs: int
    frames: int
    service_events: int
    output_bytes: int
    duration_ms: int
    pinned: bool
    tape_entries: int = 0


class _RawPass:
    """One pass over ``output.raw``: its digest, and the first chunk whose digest is wrong."""

    def __init__(
        self, file: FileHandle, place: str, whole: WholeDigest, progress: Progress | None
    ) -> None:
        self._file = file
        self._place = place
        self._progress = progress
        self._whole = whole
        self._start = 0  # of the window
        self._end = 0  # of the window, and of what the digest has seen
        self._window = memoryview(b"")
        self.fault: ChunkError | None = None

    def take(self, records: list[OutputRecord]) -> None:
        """Hash up to the end of these records, which are in order and within the file."""
        window, start, known = self._window, self._start, self._end
        for record in records:
            begin = record.offset - start
            end = begin + record.length
            if end > known - start:
                if record.length > BLOCK_BYTES:
                    self._take_large(record)
                    window, start, known = self._window, self._start, self._end
                    continue
                self._advance(record.offset)
                window, start, known = self._window, self._start, self._end
                begin, end = 0, record.length
            expected = record.sha256
            if expected is None or self.fault is not None:
                continue
            found = sha256(window[begin:end]).hexdigest()
            if found != expected:
                self.fault = chunk_fault(record, found, self._place)

    def _advance(self, start: int) -> None:
        """Move the window so that it begins at ``start``, hashing all on the way."""
        if start > self._end:
            for block in self._file.blocks(self._end, start):
                self._whole.update(memoryview(block))
            self._end = start
        length = min(BLOCK_BYTES, self._file.size - start)
        data = memoryview(self._file.read_at(start, length))
        self._whole.update(data[self._end - start :])
        self._window, self._start, self._end = data, start, start + length
        if self._progress is not None:
            self._progress(self._end, self._file.size)

    def _take_large(self, record: OutputRecord) -> None:
        """Hash a chunk that is larger than the window, block by block."""
        digest = sha256()
        for offset in range(record.offset, record.offset + record.length, BLOCK_BYTES):
            length = min(BLOCK_BYTES, record.offset + record.length - offset)
            if offset + length > self._end:
                self._advance(offset)
            digest.update(self._window[offset - self._start : offset + length - self._start])
        found = digest.hexdigest()
        if self.fault is None and record.sha256 is not None and record.sha256 != found:
            self.fault = chunk_fault(record, found, self._place)

    def finish(self) -> str:
        """The digest of the whole file."""
        self._advance(self._file.size)
        return self._whole.hexdigest()


def verify_streams(
    files: dict[str, FileHandle],
    final: FinalRecord,
    *,
    artifacts: dict[str, Artifact] | None,
    content_sha256: str,
    resolution_ms: int,
    limits: Limits,
    progress: Progress | None = None,
) -> Verified:
    """Check the streams and ``output.raw`` by every rule; see the module for their order.

    Raises:
        InvalidCassetteError: the first rule that is broken.
    """
    readers = {
        codec.name: LineReader(codec, place=files[codec.name].place, limits=limits)
        for codec in STREAM_CODECS
    }
    sources = [
        Source(files[name].place, record_batches(files[name], reader))
        for name, reader in readers.items()
    ]
    sources.append(final_source(files, final))
    raw_file = files[OUTPUT_RAW]
    with WholeDigest(raw_file.size) as whole:
        raw = _RawPass(raw_file, files[OUTPUT].place, whole, progress)
        coverage = ChunkCoverage(
            raw_file.size, pinned=artifacts is not None, place=files[OUTPUT].place, limits=limits
        )
        counts = [0] * len(sources)
        for run in merge_runs(sources, resolution_ms=resolution_ms):
            counts[run.source] += len(run.records)
            if run.source == _OUTPUT_SOURCE:
                coverage.take(run.records)
                raw.take(run.records)
            elif run.source == _FRAME_SOURCE:
                for record in run.records:
                    check_frame_range(record, raw_file.size, files[FRAMES].place)
        coverage.finish()
        _check_raw(raw, content_sha256, raw_file.place)
    for name, reader in readers.items():
        check_artifact(
            name, artifacts, sha256=reader.sha256, size=reader.size, place=files[name].place
        )
    check_artifact(
        OUTPUT_RAW, artifacts, sha256=content_sha256, size=raw_file.size, place=raw_file.place
    )
    return Verified(
        inputs=counts[0],
        outputs=counts[1],
        frames=counts[2],
        service_events=counts[3],
        output_bytes=raw_file.size,
        duration_ms=final.duration_ms,
        pinned=artifacts is not None,
    )


def verify_artifacts(files: dict[str, FileHandle], artifacts: dict[str, Artifact] | None) -> None:
    """Check every pinned file that ``verify_streams`` has not read.

    That is documents, and what later versions add.

    Raises:
        DigestError: one has other bytes than the manifest pins.
    """
    for name, pin in (artifacts or {}).items():
        if name in STREAMS or name == OUTPUT_RAW:
            continue
        file = files[name]
        digest = sha256()
        if file.size == pin.bytes:
            for block in file.blocks():
                digest.update(block)
        check_artifact(name, artifacts, sha256=digest.hexdigest(), size=file.size, place=file.place)


def verify_digests(
    files: Mapping[str, FileHandle], pins: Mapping[str, str], *, most_bytes: int
) -> None:
    """Check whole files by their digests, from the smallest on; see ``Cassette.check_pins``."""
    for name, file in sorted(files.items(), key=lambda item: item[1].size):
        most_bytes -= file.size
        if most_bytes < 0:
            return
        digest = sha256()
        for block in file.blocks():
            digest.update(block)
        if (found := digest.hexdigest()) != pins[name]:
            raise DigestError(
                f"the sha256 is {found}, and the manifest pins {pins[name]}",
                where=file.place,
                hint=CHANGED_HINT,
            )


def _check_raw(raw: _RawPass, expected: str, place: str) -> None:
    found = raw.finish()
    if found != expected:
        also = f"; first seen at {raw.fault.where}" if raw.fault is not None else ""
        raise DigestError(
            f"the sha256 is {found}, and the manifest pins {expected}{also}",
            where=place,
            hint=CHANGED_HINT,
        )
    if raw.fault is not None:
        raise raw.fault
