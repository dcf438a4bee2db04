"""Opens a cassette: checked first, then streamed, whatever its size.

One open cassette serves any number of iterators and threads at once: files
are read by position. Memory is bounded by a few blocks per iterator.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple

import msgspec

from ptycassette.cassette._lines import (
    ChunkCoverage,
    LineReader,
    Source,
    check_frame_range,
    check_output_range,
    chunk_fault,
    merge_runs,
)
from ptycassette.cassette.edits import edits_of
from ptycassette.cassette.io.tape import (
    Tape,
    answered_inputs,
    final_source,
    merged_events,
    record_batches,
    verify_tape,
)
from ptycassette.cassette.layout import (
    CHANGED_HINT,
    DIAGNOSTIC,
    DISCOVERY,
    DOCUMENTS,
    FINAL,
    FRAME_CODEC,
    FRAMES,
    GIT_ATTRIBUTES,
    INPUT_CODEC,
    MANIFEST,
    MAX_GIT_ATTRIBUTES_BYTES,
    OPTIONAL_FILES,
    OUTPUT,
    OUTPUT_CODEC,
    OUTPUT_RAW,
    QUOTA,
    REQUIRED_FILES,
    SCRUB_REPORT,
    SERVICE_EVENT_CODEC,
    STREAM_CODECS,
    STREAMS,
    Artifact,
    R,
    RecordCodec,
    check_artifact,
    check_entries,
    decode_document,
)
from ptycassette.cassette.manifest import (
    MANIFEST_DIGEST_KEY,
    ManifestPage,
    check_manifest_digest,
    decode_manifest,
)
from ptycassette.cassette.tape_lines import TapeDeclared, declared_tape
from ptycassette.errors import (
    CassetteError,
    ChunkError,
    DiagnosticError,
    DigestError,
    InvalidCassetteError,
    LimitError,
    MissingFileError,
    TruncatedError,
    UnscrubbedError,
)
from ptycassette.model.limits import DEFAULT_LIMITS, Limits
from ptycassette.model.records import (
    DiscoveryRecord,
    EmulatorId,
    Event,
    FinalRecord,
    FrameRecord,
    InputRecord,
    Manifest,
    OutputRecord,
    QuotaRecord,
    ScrubReport,
    ServiceEventRecord,
    moment_us,
    streams_of,
)
from ptycassette.model.tape import TAPE, TAPE_BODIES
from ptycassette.model.visible_text import visible
from ptycassette.system.files.directory_handle import BLOCK_BYTES, DirectoryHandle, FileHandle
from ptycassette.system.ownership import Closing

# The stored frame at a given time, found by binary search in the file, without an index.


_NEAR_BYTES = 1 << 16
"""So much is read line by line; more is halved."""


def frame_at(file: FileHandle, t_us: int, *, limits: Limits) -> FrameRecord | None:
    """The last frame at or before ``t_us`` (microseconds); None if no frame is that early.

    Raises:
        InvalidCassetteError: a line on the way is not valid.
        LimitError: a line on the way is too long.
    """
    low, high = 0, file.size
    while high - low > _NEAR_BYTES:
        middle = (low + high) // 2
        start = middle + len(_line(file, middle - 1, limits))  # of this line or a later one
        line = _line(file, start, limits) if start < high else b""
        if line and moment_us(_record(line, file, limits)) <= t_us:
            low = start
        else:
            high = middle
    found = None
    for line in _lines(file, low, limits):
        record = _record(line, file, limits)
        if moment_us(record) > t_us:
            break
        found = record
    return found


def _record(line: bytes, file: FileHandle, limits: Limits) -> FrameRecord:
    (record,) = FRAME_CODEC.decode(line + b"\n", place=file.place, limits=limits)
    return record


def _lines(file: FileHandle, start: int, limits: Limits) -> Iterator[bytes]:
    while start < file.size:
        line = _line(file, start, limits)
        yield line
        start += len(line) + 1


def _line(file: FileHandle, start: int, limits: Limits) -> bytes:
    """The bytes from ``start`` up to the next newline or the end, without it."""
    parts: list[bytes] = []
    length = 0
    while start < file.size:
        block = file.read_at(start, min(_NEAR_BYTES, file.size - start))
        head, newline, _ = block.partition(b"\n")
        parts.append(head)
        length += len(head)
        if newline:
            break
        if length > limits.max_line_bytes:
            raise LimitError(f"a line of more than {limits.max_line_bytes} bytes", where=file.place)
        start += len(block)
    return b"".join(parts)


# Everything that is checked before the first line of a stream is read.


class OpenedFiles(NamedTuple):
    """The files of a cassette, open; ``documents`` holds the small ones by name, decoded."""

    page: ManifestPage
    files: dict[str, FileHandle]
    documents: dict[str, Any]
    tape: TapeDeclared | None = None

    def close(self) -> None:
        """Close all of them."""
        _close_all(self.files)


def open_checked(
    path: str | os.PathLike[str],
    *,
    expect_id: str | None,
    expect_sha256: str | None,
    require_emulator: EmulatorId | None,
    limits: Limits,
    follow_links: bool | None = None,
) -> OpenedFiles:
    """Open a cassette's files; see ``open_cassette`` for what the arguments are.

    Raises:
        CassetteError: the first rule that is broken; nothing stays open then.
    """
    files: dict[str, FileHandle] = {}
    with DirectoryHandle(path, follow_links=follow_links) as directory:
        try:
            entries = directory.entries(limits)
            _check_is_cassette(entries, directory.place)
            with directory.open(MANIFEST) as file:
                data = file.read_document(limits)
                page = decode_manifest(
                    data,
                    where=file.place,
                    expect_id=expect_id,
                    expect_sha256=expect_sha256,
                    require_emulator=require_emulator,
                    limits=limits,
                )
                _check_whole(data, page, file.place)
            check_entries(entries, page.artifacts, place=directory.place)
            _open_files(directory, entries, page, files, limits)
            tape = _declared_tape(page, files, directory.place)
            return OpenedFiles(page, files, _read_documents(files, limits), tape)
        except BaseException:
            _close_all(files)
            raise


def _check_whole(data: bytes, page: ManifestPage, place: str) -> None:
    """Check the final newline of a manifest that pins itself: its digest does not cover it."""
    pinned = (page.manifest.optional or {}).get(MANIFEST_DIGEST_KEY) is not None
    if pinned and not data.endswith(b"\n"):
        raise TruncatedError("the last newline is missing", where=place, hint=CHANGED_HINT)


def _close_all(files: dict[str, FileHandle]) -> None:
    for file in files.values():
        file.close()


def _check_is_cassette(entries: frozenset[str], place: str) -> None:
    if DIAGNOSTIC in entries:
        raise DiagnosticError(
            "this is the diagnostic directory of a failed run, not a cassette",
            where=place,
            hint=f"read in {DIAGNOSTIC} why the run failed, then record again",
        )
    if MANIFEST not in entries:
        raise MissingFileError(
            f"{MANIFEST} is missing: this is not a cassette, or it is incomplete",
            where=place,
            hint="give the directory of a cassette",
        )


def _open_files(
    directory: DirectoryHandle,
    entries: frozenset[str],
    page: ManifestPage,
    files: dict[str, FileHandle],
    limits: Limits,
) -> None:
    """Open every file that belongs to the cassette into ``files``, sizes checked."""
    if GIT_ATTRIBUTES in entries:
        with directory.open(GIT_ATTRIBUTES) as file:
            file.check_size(MAX_GIT_ATTRIBUTES_BYTES)
    optional = [name for name in OPTIONAL_FILES if name in entries]
    for name in dict.fromkeys((*REQUIRED_FILES, *optional, *(page.artifacts or ()))):
        file = files[name] = directory.open(name)
        if name in DOCUMENTS:
            file.check_size(limits.max_document_bytes)
        elif name in STREAMS or name == TAPE:
            file.check_size(limits.max_stream_bytes)
        else:
            file.check_size(limits.max_output_bytes)


def _declared_tape(
    page: ManifestPage, files: dict[str, FileHandle], place: str
) -> TapeDeclared | None:
    """The tape that the manifest declares; its files must then exist and be pinned."""
    declared = declared_tape(page.manifest, where=f"{place}/{MANIFEST}")
    for name in (TAPE, TAPE_BODIES) if declared is not None else ():
        if name not in files:
            raise MissingFileError(
                f"{name} is missing, but optional.tape declares a tape",
                where=place,
                hint="the copy is incomplete: fetch the cassette again, or record it again",
            )
    return declared


def _read_documents(files: dict[str, FileHandle], limits: Limits) -> dict[str, Any]:
    documents: dict[str, Any] = {}
    types: dict[str, Any] = {
        FINAL: FinalRecord,
        SCRUB_REPORT: ScrubReport,
        QUOTA: QuotaRecord,
        DISCOVERY: DiscoveryRecord,
    }
    for name, struct in types.items():
        if name not in files:
            continue
        file = files[name]
        documents[name] = decode_document(
            file.read_document(limits), struct, where=file.place, limits=limits
        )
    return documents


# The digest of a large file, computed in a thread beside the reading of it.


_WORTH_A_THREAD_BYTES = 8 << 20
_BLOCKS_AHEAD = 4


class WholeDigest(Closing):
    """SHA-256 of a file whose blocks are handed in in order. Use it in a ``with``.

    Args:
        size: how long the file is; short ones get no thread.
    """

    def __init__(self, size: int) -> None:
        self._hash = sha256()
        self._room = threading.Semaphore(_BLOCKS_AHEAD)
        self._blocks: SimpleQueue[memoryview | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        if size >= _WORTH_A_THREAD_BYTES:
            self._thread = threading.Thread(target=self._run, name="sha256", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (block := self._blocks.get()) is not None:
            self._hash.update(block)
            self._room.release()

    def update(self, block: memoryview) -> None:
        """Take the next block; it must not change afterwards."""
        if self._thread is None:
            self._hash.update(block)
        else:
            self._room.acquire()  # so that few blocks are in memory at once
            self._blocks.put(block)

    def hexdigest(self) -> str:
        """The digest of all blocks; nothing can be handed in afterwards."""
        self.close()
        return self._hash.hexdigest()

    def close(self) -> None:
        """Wait for the thread; does nothing the second time."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._blocks.put(None)
            thread.join()


# The full check of a cassette, in one pass over each file and in bounded memory.


_OUTPUT_SOURCE = STREAMS.index(OUTPUT)
_FRAME_SOURCE = STREAMS.index(FRAMES)

Progress = Callable[[int, int], None]
"""Called with the number of bytes done, and their total."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """The coverage of a full check. ``pinned``: every file is pinned, not only ``output.raw``."""

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
        self._end = 0  # end of the window, and of the hashed bytes
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
        """Move the window so that it begins at ``start``, and hash the bytes on the way."""
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


def open_cassette(
    path: str | os.PathLike[str],
    *,
    expect_id: str | None = None,
    expect_sha256: str | None = None,
    require_emulator: EmulatorId | None = None,
    allow_unscrubbed: bool = False,
    check: Literal["full", "manifest"] = "full",
    limits: Limits = DEFAULT_LIMITS,
    follow_links: bool | None = None,
) -> Cassette:
    """Open a cassette and check it.

    The caller closes it: with ``with``, or by ``close``. One without references closes its files by
    itself, each when the last iterator over it is gone, so ``b"".join(open_cassette(path).raw())``
    reads everything.

    Args:
        path: its directory. The last part may not be a link, unless links are followed.
        expect_id: the id it must have.
        expect_sha256: the digest that its manifest must give for ``output.raw``.
        require_emulator: the emulator that must have made the frames; an empty version allows any.
        allow_unscrubbed: also open a cassette that was recorded without scrubbing.
        check: ``full`` goes over every byte. ``manifest`` checks the manifest,
            the presence of all files and the form of the small documents; the
            streams are then checked as far as they are read, digests are not.
        limits: how large, long and deep it may be.
        follow_links: whether the directory and its files may be links, as in sandboxes of Bazel
            and in stores of Nix and DVC; when None, whether PTYCASSETTE_FOLLOW_LINKS is 1.

    Raises:
        NotFoundError: nothing is there.
        UnreadableError: the system refuses to open or read it.
        InvalidCassetteError: it is not valid; the subclass shows the rule.
        PinError: it is valid, but does not match the caller's pins.
    """
    if check not in {"full", "manifest"}:
        raise ValueError(f"check must be 'full' or 'manifest', not {check!r}")
    with _explaining(path):
        opened = open_checked(
            path,
            expect_id=expect_id,
            expect_sha256=expect_sha256,
            require_emulator=require_emulator,
            limits=limits,
            follow_links=follow_links,
        )
    cassette = Cassette(Path(path), opened, limits)
    try:
        if not allow_unscrubbed:
            _refuse_unscrubbed(cassette)
        if check == "full":
            cassette.verify()
    except BaseException:
        cassette.close()
        raise
    return cassette


@contextmanager
def _explaining(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add to an error about the cassette at ``path`` the damage that git or another tool did."""
    try:
        yield
    except CassetteError as error:
        from ptycassette.cassette.io.repair import explained  # noqa: PLC0415 - it is seldom needed

        explained(error, path)
        raise


class Cassette(Closing):
    """An open cassette. Made by ``open_cassette``; see there for closing it.

    Attributes:
        path: its directory.
        manifest: the manifest.
        document: the whole JSON object of the manifest, unknown fields included.
        final: the last event.
        scrub_report: the report of scrubbing.
        quota: the probed usage windows, None without a probe.
        discovery: the probed models, None without a probe.
    """

    def __init__(self, path: Path, opened: OpenedFiles, limits: Limits) -> None:
        documents = opened.documents
        self.path = path
        self.manifest: Manifest = opened.page.manifest
        self.document: dict[str, Any] = opened.page.document
        self.final: FinalRecord = documents[FINAL]
        self.scrub_report: ScrubReport = documents[SCRUB_REPORT]
        self.quota: QuotaRecord | None = documents.get(QUOTA)
        self.discovery: DiscoveryRecord | None = documents.get(DISCOVERY)
        self._page = opened.page
        self._files = opened.files
        self._limits = limits
        self._opened = opened
        self._tape = opened.tape

    @property
    def output_size(self) -> int:
        """How many bytes of output were recorded."""
        return self._files[OUTPUT_RAW].size

    @property
    def pinned(self) -> bool:
        """Whether the manifest pins every file, not only ``output.raw``."""
        return self._page.artifacts is not None

    def inputs(self) -> Iterator[InputRecord]:
        """The records of ``input.jsonl``, in order; answers of a terminal are marked as such.

        Raises:
            InvalidCassetteError: while iterating, at a line that is not valid.
        """
        for record in self._records(INPUT_CODEC):
            yield self._answered.get(record.seq, record)

    @cached_property
    def _answered(self) -> dict[int, InputRecord]:
        """See ``answered_inputs``; invalid records are reported when they are read."""
        found: dict[int, InputRecord] = {}
        if streams_of(self.manifest).stdin == "terminal":
            with suppress(InvalidCassetteError):
                found = answered_inputs(self._records(INPUT_CODEC), self._painted())
        return found

    def _painted(self) -> Iterator[tuple[int, bytes]]:
        for record in self.outputs():
            if record.stream is None:
                yield record.seq, self.output_bytes(record)

    def outputs(self) -> Iterator[OutputRecord]:
        """The records of ``output.jsonl``, in order. Raises as ``inputs`` does."""
        return self._records(OUTPUT_CODEC)

    def frames(self) -> Iterator[FrameRecord]:
        """The records of ``frames.jsonl``, in order. Raises as ``inputs`` does."""
        return self._records(FRAME_CODEC)

    def frame_at(self, t_us: int) -> FrameRecord | None:
        """The last stored frame at or before a given time; fast for any size.

        Args:
            t_us: microseconds since the start.

        Raises:
            InvalidCassetteError: at a line on the way that is not valid.
        """
        return frame_at(self._files[FRAMES], t_us, limits=self._limits)

    def service_events(self) -> Iterator[ServiceEventRecord]:
        """The records of ``service-events.jsonl``, in order. Raises as ``inputs`` does."""
        return self._records(SERVICE_EVENT_CODEC)

    def _records(self, codec: RecordCodec[R]) -> Iterator[R]:
        file = self._files[codec.name]
        reader = LineReader(codec, place=file.place, limits=self._limits)
        for batch in record_batches(file, reader):
            yield from batch.records

    def events(self) -> Iterator[Event]:
        """All events in the order of ``seq``, with their bytes.

        Raises:
            InvalidCassetteError: while iterating, at the first invalid record.
        """
        events = merged_events(
            self._files,
            self.final,
            resolution_ms=self.manifest.timing.resolution_ms,
            limits=self._limits,
        )
        answered = self._answered
        if not answered:
            yield from events
            return
        for event in events:
            record = answered.get(event.seq)
            if record is None:
                yield event
            else:
                yield Event(event.seq, event.t_us, event.kind, record, record.bytes or b"")

    def output_bytes(self, record: OutputRecord) -> bytes:
        """The bytes of one output record.

        Raises:
            ChunkError: the record points outside of ``output.raw``.
        """
        place = self._files[OUTPUT].place
        check_output_range(record, self.output_size, place, limits=self._limits)
        return self._files[OUTPUT_RAW].read_at(record.offset, record.length)

    def raw(self, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Bytes of ``output.raw`` in blocks of at most 1 MiB.

        Args:
            offset: where to start.
            length: how many, all to the end when None; cut at the end of the file.

        Raises:
            ValueError: a negative offset or length.
        """
        if offset < 0 or (length is not None and length < 0):
            raise ValueError("offset and length must not be negative")
        file = self._files[OUTPUT_RAW]
        end = file.size if length is None else min(file.size, offset + length)
        return file.blocks(offset, end)

    def artifact(self, name: str) -> Iterator[bytes]:
        """A pinned file that this version does not interpret, in blocks of at most 1 MiB.

        Raises:
            MissingFileError: the cassette has no such file.
        """
        file = self._files.get(name)
        if file is None:
            raise MissingFileError(
                f"{visible(name)} is not a file of this cassette", where=str(self.path)
            )
        return file.blocks()

    @property
    def has_tape(self) -> bool:
        """Whether the model traffic was recorded, too."""
        return self._tape is not None

    def tape(self) -> Tape:
        """The recorded model traffic.

        Raises:
            MissingFileError: no model traffic was recorded.
        """
        if self._tape is None:
            edits = edits_of(self.manifest)
            raise MissingFileError(
                f"it has no tape: it was edited ({visible(', '.join(edits))})"
                if edits
                else "it has no tape: model traffic was not recorded",
                where=visible(str(self.path)),
                hint="take the recording that it was made of"
                if edits
                else "record it with ptycassette rec --tape",
            )
        return Tape(self._files, self._tape, self._limits)

    def verify(self, progress: Progress | None = None) -> Verified:
        """Check every byte.

        Args:
            progress: called now and then with the bytes of output done and their total.

        Raises:
            InvalidCassetteError: the first rule that is broken.
        """
        with _explaining(self.path):
            return self._verified(progress)

    def _verified(self, progress: Progress | None) -> Verified:
        page = self._page
        verified = verify_streams(
            self._files,
            self.final,
            artifacts=page.artifacts,
            content_sha256=page.manifest.content_digest.sha256,
            resolution_ms=page.manifest.timing.resolution_ms,
            limits=self._limits,
            progress=progress,
        )
        verify_artifacts(self._files, page.artifacts)
        if self._tape is not None:
            entries = verify_tape(self.tape(), self._files, self._limits)
            verified = msgspec.structs.replace(verified, tape_entries=entries)
        check_manifest_digest(page.manifest, where=visible(str(self.path / MANIFEST)))
        return verified

    def check_pins(self, *, most_bytes: int, checked: Collection[str] = ()) -> None:
        """Check the digests of the pinned files, the small ones first, and of the manifest.

        Args:
            most_bytes: how much to read at most; larger files are left out.
            checked: names of files that need not be looked at.

        Raises:
            DigestError: one has other bytes than the manifest pins.
        """
        page = self._page
        check_manifest_digest(page.manifest, where=visible(str(self.path / MANIFEST)))
        pins = {name: pin.sha256 for name, pin in (page.artifacts or {}).items()}
        pins[OUTPUT_RAW] = page.manifest.content_digest.sha256
        files = {name: self._files[name] for name in pins if name not in checked}
        with _explaining(self.path):
            verify_digests(files, pins, most_bytes=most_bytes)

    def __repr__(self) -> str:
        return f"<Cassette {str(self.path)!r} id={self.manifest.id!r}>"

    def close(self) -> None:
        """Close its files; iterators stop working. Does nothing the second time."""
        self._opened.close()


def _refuse_unscrubbed(cassette: Cassette) -> None:
    if cassette.scrub_report.status == "unscrubbed":
        raise UnscrubbedError(
            "recorded without scrubbing: it may hold secrets",
            where=str(cassette.path),
            hint="scrub it (ptycassette scrub), or allow it on purpose",
        )
