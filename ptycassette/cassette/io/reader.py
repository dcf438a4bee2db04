"""Opens a cassette: checked first, then streamed, whatever its size.

One open cassette serves any number of iterators and threads at once: files
are read by position. Memory is bounded by a few blocks per iterator.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from ptycassette.cassette._chunks import check_output_range
from ptycassette.cassette._lines import LineReader
from ptycassette.cassette._manifest_digest import check_manifest_digest
from ptycassette.cassette._records import (
    FRAME_CODEC,
    INPUT_CODEC,
    OUTPUT_CODEC,
    SERVICE_EVENT_CODEC,
    R,
    RecordCodec,
)
from ptycassette.cassette.edits import edits_of
from ptycassette.cassette.io._events import answered_inputs, merged_events, record_batches
from ptycassette.cassette.io._frame_at import frame_at
from ptycassette.cassette.io._opening import OpenedFiles, open_checked
from ptycassette.cassette.io.tape import Tape, verify_tape
from ptycassette.cassette.io.verify import (
    Progress,
    Verified,
    verify_artifacts,
    verify_digests,
    verify_streams,
)
from ptycassette.cassette.layout import (
    DISCOVERY,
    FINAL,
    FRAMES,
    MANIFEST,
    OUTPUT,
    OUTPUT_RAW,
    QUOTA,
    SCRUB_REPORT,
)
from ptycassette.errors import (
    CassetteError,
    InvalidCassetteError,
    MissingFileError,
    UnscrubbedError,
)
from ptycassette.model.events import (
    Event,
    FinalRecord,
    FrameRecord,
    InputRecord,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.limits import DEFAULT_LIMITS, Limits
from ptycassette.model.manifest import EmulatorId, Manifest
from ptycassette.model.records import DiscoveryRecord, QuotaRecord, ScrubReport
from ptycassette.model.streams import streams_of
from ptycassette.model.visible_text import visible
from ptycassette.system.closing import Closing


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

    The caller closes it: with ``with``, or by ``close``. One that nobody refers to any more
    closes its files by itself, each when the last iterator over it is gone, so that
    ``b"".join(open_cassette(path).raw())`` reads all.

    Args:
        path: its directory. The last part may not be a link, unless links are followed.
        expect_id: the id it must have.
        expect_sha256: the digest that its manifest must give for ``output.raw``.
        require_emulator: what must have made the frames; an empty version
            allows any.
        allow_unscrubbed: also open what was recorded without scrubbing.
        check: ``full`` goes over every byte. ``manifest`` checks the manifest,
            the presence of all files and the form of the small documents; the
            streams are then checked as far as they are read, digests are not.
        limits: how large, long and deep it may be.
        follow_links: whether the directory and its files may be links, as in sandboxes of Bazel
            and in stores of Nix and DVC; when None, whether PTYCASSETTE_FOLLOW_LINKS is 1.

    Raises:
        NotFoundError: nothing is there.
        UnreadableError: the system refuses to open or read it.
        InvalidCassetteError: it is not valid; the subclass is the rule.
        PinError: it is valid, and not what the caller pins.
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
    """Let an error about the cassette at ``path`` say what git or another tool did to it."""
    try:
        yield
    except CassetteError as error:
        from ptycassette.cassette.io.repair import explained  # noqa: PLC0415 - it is seldom needed

        explained(error, path)
        raise


class Cassette(Closing):
    """An open cassette. Made by ``open_cassette``, which says who closes it.

    Attributes:
        path: its directory.
        manifest: the manifest.
        document: the whole JSON object of the manifest, unknown fields included.
        final: the last event.
        scrub_report: what scrubbing did.
        quota: what was probed about usage windows, None when nothing was.
        discovery: what was probed about models, None when nothing was.
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
        """See ``answered_inputs``; what is not valid is reported where it is read."""
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
            InvalidCassetteError: while iterating, at what is not valid.
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
            MissingFileError: none was recorded.
        """
        if self._tape is None:
            edits = edits_of(self.manifest)
            raise MissingFileError(
                f"there is no tape in it: it was edited ({visible(', '.join(edits))})"
                if edits
                else "there is no tape in it: model traffic was not recorded",
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
