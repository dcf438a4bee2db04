"""Whether a cassette may be published at a target, which depends on the target's content.

===========================================  ==========================
the target                                   with ``overwrite``
===========================================  ==========================
nothing, or an empty directory               publish (also without)
a cassette of this version or an older one   replace
a diagnostic directory of a failed run       replace
a cassette of a newer version                ``NewerCassetteError``
anything else, a link included               ``ExistsError``
===========================================  ==========================

Without ``overwrite`` everything but the first line is an ``ExistsError``, or
a ``NewerCassetteError`` where that is more exact.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ptycassette.cassette._manifest import decode_manifest, peek_version
from ptycassette.cassette.io.staging import disk_errors, lost_race
from ptycassette.cassette.layout import (
    DIAGNOSTIC,
    FORMAT_VERSION,
    GIT_ATTRIBUTES,
    MANIFEST,
    OPTIONAL_FILES,
    REQUIRED_FILES,
    Artifact,
    is_litter,
)
from ptycassette.errors import CassetteError, ExistsError, NewerCassetteError, VersionError
from ptycassette.model.visible_text import visible
from ptycassette.system.files.directory_handle import DirectoryHandle

_LOOKS = 20  # each further look means that another writer published in between
_OWN = frozenset({MANIFEST, GIT_ATTRIBUTES, *REQUIRED_FILES, *OPTIONAL_FILES})


def check_target(target: Path, *, overwrite: bool) -> os.stat_result | None:
    """The directory that publishing will replace, None without one.

    Raises:
        ExistsError: something is there, and it may not be replaced.
        NewerCassetteError: a cassette of a newer version is there.
        StorageError: the disk refuses the check.
    """
    for _ in range(_LOOKS):
        found = _status(target)
        refused: CassetteError | None = None
        replaces: os.stat_result | None = None
        try:
            replaces = _look_at(target, found, overwrite=overwrite)
        except CassetteError as exc:
            refused = exc
        # A directory that another writer replaces loses its files while we look at it.
        if not _same(found, _status(target)):
            continue
        if refused is not None:
            raise refused
        return replaces
    raise lost_race(target)


def _look_at(
    target: Path, found: os.stat_result | None, *, overwrite: bool
) -> os.stat_result | None:
    if found is None:
        return None
    if not stat.S_ISDIR(found.st_mode):
        raise _exists(target, "there is something there that is not a directory")
    with DirectoryHandle(target) as directory:
        if not directory.entries():
            return None
        _check_replaceable(directory, target, overwrite=overwrite)
    return found


def _same(then: os.stat_result | None, now: os.stat_result | None) -> bool:
    if then is None or now is None:
        return then is now
    return os.path.samestat(then, now)


def _status(target: Path) -> os.stat_result | None:
    with disk_errors("looking at the target", target):
        try:
            return target.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None


def _check_replaceable(directory: DirectoryHandle, target: Path, *, overwrite: bool) -> None:
    entries = directory.entries()
    if DIAGNOSTIC not in entries:
        _check_cassette(directory, entries, target)
    if not overwrite:
        raise ExistsError(
            "this cassette exists already",
            where=str(target),
            hint="choose another name, or overwrite it (--overwrite)",
        )


def _check_cassette(directory: DirectoryHandle, entries: frozenset[str], target: Path) -> None:
    """Refuse to replace other directories, newer cassettes, and cassettes with foreign files."""
    if MANIFEST not in entries:
        raise _exists(target, "the directory there is not a cassette: it has no manifest.json")
    with directory.open(MANIFEST) as file:
        data = file.read_document()
    try:
        version = peek_version(data)
    except VersionError as exc:
        raise _exists(target, "the manifest.json there is not that of a cassette") from exc
    if version > FORMAT_VERSION:
        raise NewerCassetteError(
            f"the cassette there has format version {version}, and this writes {FORMAT_VERSION}",
            where=str(target),
            hint="install a newer ptycassette, or choose another name",
        )
    pinned: dict[str, Artifact] = {}
    try:
        pinned = decode_manifest(data).artifacts or {}
    except CassetteError as exc:
        # A broken cassette may be replaced, but only if nothing but a cassette's files is there.
        if b'"content_digest"' not in data:
            raise _exists(target, "the manifest.json there is not that of a cassette") from exc
    extra = sorted(name for name in entries - _OWN - set(pinned) if not is_litter(name))
    if extra:
        raise _exists(
            target,
            f"the directory there has files that are not part of a cassette: "
            f"{visible(extra[0], limit=100)}",
        )


def _exists(target: Path, reason: str) -> ExistsError:
    return ExistsError(
        reason,
        where=str(target),
        hint="choose another name, or move away what is there",
    )
