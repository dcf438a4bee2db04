"""Everything that is checked before the first line of a stream is read.

The rules 1 to 18 of ``FORMAT.md``, in that order: the directory, the manifest,
what the caller pins, which files there are, and the small documents. What
comes out is a set of open files and what they hold so far.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ptycassette.cassette._artifacts import CHANGED_HINT, check_entries
from ptycassette.cassette._manifest import ManifestPage, decode_manifest
from ptycassette.cassette._manifest_digest import MANIFEST_DIGEST_KEY
from ptycassette.cassette._tape_lines import TapeDeclared, declared_tape
from ptycassette.cassette.documents import decode_document
from ptycassette.cassette.layout import (
    DIAGNOSTIC,
    DISCOVERY,
    DOCUMENTS,
    FINAL,
    GIT_ATTRIBUTES,
    MANIFEST,
    MAX_GIT_ATTRIBUTES_BYTES,
    OPTIONAL_FILES,
    QUOTA,
    REQUIRED_FILES,
    SCRUB_REPORT,
    STREAMS,
)
from ptycassette.errors import DiagnosticError, MissingFileError, TruncatedError
from ptycassette.model.events import FinalRecord
from ptycassette.model.limits import Limits
from ptycassette.model.manifest import EmulatorId
from ptycassette.model.records import DiscoveryRecord, QuotaRecord, ScrubReport
from ptycassette.model.tape import TAPE, TAPE_BODIES
from ptycassette.system.files.directory_handle import DirectoryHandle, FileHandle


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
    """A manifest that pins itself ends with a newline, which no digest of its values covers."""
    pinned = (page.manifest.optional or {}).get(MANIFEST_DIGEST_KEY) is not None
    if pinned and not data.endswith(b"\n"):
        raise TruncatedError("the last newline is missing", where=place, hint=CHANGED_HINT)


def _close_all(files: dict[str, FileHandle]) -> None:
    for file in files.values():
        file.close()


def _check_is_cassette(entries: frozenset[str], place: str) -> None:
    if DIAGNOSTIC in entries:
        raise DiagnosticError(
            "the diagnostic directory of a failed run, and no cassette",
            where=place,
            hint=f"read in {DIAGNOSTIC} why the run failed, then record again",
        )
    if MANIFEST not in entries:
        raise MissingFileError(
            f"{MANIFEST} is missing: no cassette, or one that is incomplete",
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
    """What the manifest says of the tape, whose files must be there and pinned then."""
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
