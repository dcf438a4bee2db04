"""Cassettes from journals that a crash left behind.

A journal whose recorder is alive is locked, and is not touched. The others are
finalised as their recorder would have done it: scrubbed first, published with
one rename, and only then deleted. So recovery can itself be killed at any
time and repeated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from ptycassette.cassette.framing import EmptyJournalError
from ptycassette.cassette.io.pending import published_path, remove_abandoned_recordings
from ptycassette.cassette.io.published import published_manifest
from ptycassette.cassette.io.staging import disk_errors
from ptycassette.errors import (
    CassetteError,
    ExistsError,
    JournalError,
    LockedError,
    RefusedError,
    RunFailedError,
    UsageError,
)
from ptycassette.model.journal import Finished, JournalEvent, Output, SessionMeta
from ptycassette.model.visible_text import visible
from ptycassette.recording.io._journal_source import JournalSource, lock_left_behind
from ptycassette.recording.io.diagnostic_writer import diagnostic_path
from ptycassette.recording.io.finalising import Finaliser
from ptycassette.recording.io.journal_name import (
    HIDDEN_SUFFIX,
    JOURNAL_SUFFIX,
    delete_journal,
    tape_journal_of,
)
from ptycassette.scrub.io.conceal import concealed_head
from ptycassette.system.files.state_dirs import absolute
from ptycassette.system.pty.core_dumps import NoCoreDumps
from ptycassette.terminal.policies import POLICY_NAMES

_BEING_MADE_S = 60.0


class LeftJournal(msgspec.Struct, frozen=True, kw_only=True):
    """A journal in the state directory.

    ``state`` is ``crashed`` (to be recovered), ``live`` (its recorder runs),
    ``empty`` (its recorder died before it had written anything) or
    ``unreadable``. ``problem`` says why, for the last. ``argv`` and the name of
    ``target`` are scrubbed.
    """

    path: str
    state: Literal["crashed", "live", "empty", "unreadable"]
    bytes: int
    argv: tuple[str, ...] = ()
    target: str = ""
    recorded_at: str = ""
    problem: str | None = None


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """The result of recovering a journal.

    ``outcome`` is ``published`` (``target`` is the cassette now), ``already``
    (it had been published before the crash), ``diagnostic`` (the run had failed;
    ``target`` is its diagnostic), ``empty`` (it had no events) or
    ``discarded`` (it was deleted on demand). ``ended`` is whether the program's end had been
    recorded.
    """

    path: str
    outcome: Literal["published", "already", "diagnostic", "empty", "discarded"]
    target: str = ""
    output_bytes: int = 0
    torn_bytes: int = 0
    ended: bool = False
    damage: str | None = None


def left_journals(directory: Path) -> Iterator[LeftJournal]:
    """All journals of a directory, those of live recorders included, by name.

    Raises:
        UsageError: the configuration of scrubbing is wrong, so nothing can be shown.
    """
    _sweep(directory)
    for path in sorted(directory.glob(f"*{JOURNAL_SUFFIX}")):
        state: Literal["crashed", "live"] = "crashed"
        try:
            size = path.lstat().st_size
            try:
                with _locked(path):
                    meta = _head_of(path)
            except LockedError:
                state = "live"
                meta = _head_of(path)
        except (CassetteError, FileNotFoundError) as exc:
            if state == "live":
                yield LeftJournal(path=str(path), state="live", bytes=size)
            elif isinstance(exc, EmptyJournalError):
                yield LeftJournal(path=str(path), state="empty", bytes=size, problem=exc.message)
            elif isinstance(exc, JournalError):
                yield LeftJournal(
                    path=str(path), state="unreadable", bytes=size, problem=exc.message
                )
            # otherwise it has disappeared meanwhile
        else:
            yield _left(path, state, size, meta)


def _head_of(path: Path) -> SessionMeta:
    """The head of a journal, checked."""
    source = JournalSource(path)
    _check_head(source)
    return source.meta


def _sweep(directory: Path) -> None:
    """Delete the empty files of recorders that died before they named their journal."""
    for path in directory.glob(f".*{HIDDEN_SUFFIX}"):
        with suppress(OSError):
            if path.lstat().st_mtime < time.time() - _BEING_MADE_S:
                path.unlink()


def _left(
    path: Path, state: Literal["crashed", "live"], size: int, meta: SessionMeta
) -> LeftJournal:
    target = published_path(Path(meta.target))
    name, *argv = concealed_head(msgspec.structs.replace(meta, argv=(target.name, *meta.argv)))
    return LeftJournal(
        path=str(path),
        state=state,
        bytes=size,
        argv=tuple(argv),
        target=str(target.parent / name) if meta.target else "",
        recorded_at=meta.recorded_at,
    )


def recover(
    path: Path,
    *,
    output: Path | None = None,
    overwrite: bool = False,
    salvage: bool = False,
    unproved: bool = False,
    finaliser: Finaliser | None = None,
) -> Recovered:
    """Make a cassette from one journal, then delete the journal.

    Args:
        path: the journal.
        output: where to publish; when None, where the recorder would have, or the library that
            it recorded for.
        overwrite: replace the cassette that is there.
        salvage: from a journal that is damaged in the middle, take what precedes the damage.
        unproved: publish a tape that could answer wrongly, too, marked as not checked.
        finaliser: makes the cassette; the default one when None.

    Raises:
        NotFoundError: no such journal.
        LockedError: its recorder is alive.
        RefusedError: a journal from elsewhere, and no ``output``.
        JournalError: it is damaged; nothing was changed.
        SecretLeftError: scrubbing left something; the journal stays.
        ExistsError, StorageError: the cassette cannot be written; the journal stays.
    """
    if output is None:
        _check_ours(path)
    with NoCoreDumps(), _locked(path):
        try:
            source = JournalSource(path, salvage=salvage)
        except EmptyJournalError:
            delete_journal(path)
            return Recovered(path=str(path), outcome="empty")
        _check_head(source)
        recovered = _recovered(source, output or published_path(Path(source.meta.target)))
        if recovered.target and published_manifest(Path(recovered.target), source.meta.id):
            delete_journal(path)
            return msgspec.structs.replace(recovered, outcome="already")
        try:
            made = msgspec.structs.replace(
                finaliser or Finaliser(),
                tape=tape_journal_of(path),
                salvage=salvage,
                unproved=unproved,
            )
            recovered = _publish(source, recovered, overwrite=overwrite, finaliser=made)
        except ExistsError:
            # The saver of a recorder that was killed may have published it meanwhile.
            if not published_manifest(Path(recovered.target), source.meta.id):
                raise
            recovered = msgspec.structs.replace(recovered, outcome="already")
        delete_journal(path)
        if output is None:
            remove_abandoned_recordings(Path(recovered.target).parent)
        return recovered


def discard(path: Path) -> Recovered:
    """Delete a journal, and its model traffic, for good.

    Raises:
        UsageError: the file is not named like a journal.
        NotFoundError: no such journal.
        LockedError: its recorder is alive.
    """
    if path.suffix != JOURNAL_SUFFIX:
        raise UsageError(
            "not a journal, so it is not deleted",
            where=str(path),
            hint=f"name a file that `ptycassette recover --list` shows (*{JOURNAL_SUFFIX})",
        )
    with _locked(path):
        delete_journal(path)
    return Recovered(path=str(path), outcome="discarded")


def _check_ours(path: Path) -> None:
    """Accept a target only from the user's own journals: another's could name any path."""
    try:
        path.lstat()
        found = path.parent.stat()
    except OSError:
        return  # reading it says why
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise RefusedError(
            "the journal is not in a private directory of yours, so its target is not used",
            where=str(path),
            hint="choose the place with --output",
        )


def _check_head(source: JournalSource) -> None:
    """Refuse a head that no recorder writes, before it is used."""
    meta = source.meta
    policy = str(meta.options.get("frame_policy", POLICY_NAMES[0]))
    paths = (meta.home, meta.user_home, meta.cwd, meta.target)
    if meta.resolution_ms < 1:
        wrong = f"resolution_ms is {meta.resolution_ms}"
    elif policy not in POLICY_NAMES:
        wrong = f"there is no frame policy {visible(policy, limit=100)}"
    elif any("\0" in path for path in paths):
        wrong = "a path holds a zero byte"
    else:
        return
    raise JournalError(f"the head is not that of a recorder: {wrong}", where=str(source.path))


def _recovered(source: JournalSource, target: Path) -> Recovered:
    """Read the whole journal once, for its size, its damage, and whether it has its end."""
    ended, size = False, 0
    for event in source():
        ended = ended or isinstance(event, Finished)
        if isinstance(event, Output):
            size += len(event.data)
    return Recovered(
        path=str(source.path),
        outcome="published",
        target=str(absolute(target)),
        output_bytes=size,
        torn_bytes=source.torn_bytes,
        ended=ended,
        damage=None if source.damage is None else source.damage.message,
    )


def _publish(
    source: JournalSource, recovered: Recovered, *, overwrite: bool, finaliser: Finaliser
) -> Recovered:
    target = Path(recovered.target)
    meta = source.meta
    if not recovered.ended:
        options = {**meta.options, "recovered": True}
        meta = msgspec.structs.replace(meta, options=options)
    try:
        with disk_errors("making the directory", target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
        finaliser.publish(meta, lambda: _with_end(source), target, overwrite=overwrite)
    except RunFailedError:
        return msgspec.structs.replace(
            recovered, outcome="diagnostic", target=str(diagnostic_path(target))
        )
    return recovered


def _with_end(source: JournalSource) -> Iterator[JournalEvent]:
    """The events, with an added end if it was lost in the crash. Its exit is unknown."""
    t_us = 0
    for event in source():
        t_us = max(t_us, event.t_us)
        yield event
        if isinstance(event, Finished):
            return
    yield Finished(t_us=t_us, metadata={"recovered": True})


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    fd = lock_left_behind(path)
    try:
        yield
    finally:
        os.close(fd)
