"""Publishes a cassette again in another form: the same files, another manifest."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.io.staging import StagedFile, Staging, check_target, stage_git_attributes
from ptycassette.cassette.ladder import LADDER, NEWEST, climbed, descended, form_of, migrated_by
from ptycassette.cassette.layout import GIT_ATTRIBUTES, MANIFEST, OUTPUT_RAW, Artifact
from ptycassette.errors import DigestError, UsageError
from ptycassette.model.limits import DEFAULT_LIMITS
from ptycassette.system.files.directory_handle import DirectoryHandle


class Migrated(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a migration.

    ``cassette`` is the new one, None if none was made. ``files`` and ``bytes`` count the part that
    is
    the same in both: everything but the manifest. ``reversible``: the way back was tried, and gives
    the old manifest, byte for byte.
    """

    source: str
    cassette: str | None
    was: str
    now: str
    files: int = 0
    bytes: int = 0
    reversible: bool = False


def migrate_cassette(
    path: Path,
    target: Path | None = None,
    *,
    to: str = NEWEST,
    by: str = "",
    allow_unscrubbed: bool = False,
    overwrite: bool = False,
) -> Migrated:
    """Publish a cassette in another form; the old one stays as it is.

    Args:
        path: the cassette.
        target: where the new one will be; None only reports its form.
        to: a form of ``ladder.LADDER``.
        by: the name that the manifest gets as its migrator.
        allow_unscrubbed: accept a cassette that was recorded without scrubbing.
        overwrite: replace the cassette that is there.

    Raises:
        VersionError: it is of a newer version.
        InvalidCassetteError: it is not valid, or would be invalid in that form.
        RefusedError: it cannot be converted to that form.
        UsageError: the target is the cassette.
        ExistsError, StorageError: nothing was published.
    """
    with open_cassette(path, allow_unscrubbed=allow_unscrubbed, check="full") as cassette:
        was = form_of(cassette.manifest)
    if target is None or was == to:
        return Migrated(source=str(path), cassette=None, was=was, now=was)
    if target.resolve() == path.resolve():
        raise UsageError(
            "the output is the cassette itself, and migrate never changes that",
            hint="write to another --output",
        )
    names = [rung.name for rung in LADDER]
    rises = names.index(to) > names.index(was)
    replaces = check_target(target, overwrite=overwrite)
    staging = Staging(target)
    try:
        with DirectoryHandle(path) as directory:
            entries = sorted(directory.entries() - {MANIFEST, GIT_ATTRIBUTES})
            artifacts = {name: _copied(directory, name, staging) for name in entries}
            with directory.open(MANIFEST) as file:
                before, where = file.read_document(), file.place
        pins = {name: one for name, one in artifacts.items() if name != OUTPUT_RAW}
        after = (
            climbed(before, pins, to=to, by=by, where=where)
            if rises
            else descended(before, to=to, where=where)
        )
        stage_git_attributes(staging)
        page = StagedFile(staging, MANIFEST, max_bytes=DEFAULT_LIMITS.max_document_bytes)
        page.append(after)
        page.finish()
        _check_same(staging.content, artifacts, allow_unscrubbed=allow_unscrubbed)
        reversible = (
            descended(after, to=was) == before
            if rises
            else climbed(after, pins, to=was, by=migrated_by(before)) == before
        )
        staging.publish(replaces)
    except BaseException:
        staging.remove()
        raise
    return Migrated(
        source=str(path),
        cassette=str(target),
        was=was,
        now=to,
        files=len(artifacts),
        bytes=sum(one.bytes for one in artifacts.values()),
        reversible=reversible,
    )


def _copied(directory: DirectoryHandle, name: str, staging: Staging) -> Artifact:
    with directory.open(name) as source:
        copy = StagedFile(staging, name, max_bytes=DEFAULT_LIMITS.max_output_bytes)
        try:
            for block in source.blocks():
                copy.append(block)
            return copy.finish()
        finally:
            copy.close()


def _check_same(content: Path, artifacts: dict[str, Artifact], *, allow_unscrubbed: bool) -> None:
    """Read the new cassette to its end, and every file for what was copied.

    Raises:
        InvalidCassetteError: it is not valid in this form.
        DigestError: the disk gave other bytes than it was given.
    """
    with open_cassette(os.fspath(content), allow_unscrubbed=allow_unscrubbed, check="full"):
        pass
    with DirectoryHandle(content) as directory:
        for name, artifact in artifacts.items():
            sha256, _ = directory.digest(name)
            if sha256 != artifact.sha256:
                raise DigestError("the copy has other bytes", where=str(content / name))
