"""Reads a journal back, and finds out whether its recorder is alive."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from ptycassette.cassette.framing import EmptyJournalError
from ptycassette.errors import (
    CassetteError,
    JournalError,
    LockedError,
    NotFoundError,
)
from ptycassette.model.journal import JournalEvent, SessionMeta
from ptycassette.recording._journal_codec import JournalDecoder
from ptycassette.system.clock import monotonic_s
from ptycassette.system.files.locks import is_gone, try_lock
from ptycassette.system.files.plain_file import open_plain

_BLOCK = 1 << 20
_PATIENCE_S = 0.2


class JournalSource:
    """A journal read back. An ``EventSource``: call it for a fresh pass over the events.

    Args:
        path: the file.
        salvage: end the events before damage in the middle instead of raising.

    Raises:
        NotFoundError: there is no such file.
        JournalError: it is not a journal, or it ends before its head.
    """

    def __init__(self, path: Path, *, salvage: bool = False) -> None:
        self.path = path
        self.salvage = salvage
        self.torn_bytes = 0
        self.damage: JournalError | None = None
        self.meta: SessionMeta = self._read_head()

    def __call__(self) -> Iterator[JournalEvent]:
        """The events, from the first.

        Raises:
            JournalError: damaged in the middle (unless ``salvage``).
        """
        decoder = JournalDecoder()
        try:
            yield from self._decode(decoder)
            decoder.finish()
        except JournalError as exc:
            if not self.salvage:
                raise self._located(exc) from exc.__cause__
            self.damage = exc
        self.torn_bytes = decoder.torn_bytes

    def _read_head(self) -> SessionMeta:
        decoder = JournalDecoder()
        try:
            for _ in self._decode(decoder):
                break
            if decoder.meta is None:
                decoder.finish()
        except JournalError as exc:
            if decoder.meta is None:
                raise self._located(exc) from exc.__cause__
        assert decoder.meta is not None  # noqa: S101 - narrows the type
        return decoder.meta

    def _located(self, exc: JournalError) -> JournalError:
        where = f"{self.path}, {exc.where}" if exc.where else str(self.path)
        return type(exc)(exc.message, where=where, hint=exc.hint)

    def _decode(self, decoder: JournalDecoder) -> Iterator[JournalEvent]:
        try:
            with os.fdopen(_opened(self.path), "rb", buffering=0) as file:
                while block := file.read(_BLOCK):
                    yield from decoder.feed(block)
        except OSError as exc:
            raise JournalError(f"cannot be read: {exc.strerror}") from exc


def _opened(path: Path) -> int:
    """Open a regular file that is not a link; see ``lock_left_behind`` for the errors."""
    try:
        return open_plain(path, follow_links=False)
    except NotFoundError as exc:
        raise NotFoundError("no such journal", where=str(path)) from exc
    except CassetteError as exc:
        if isinstance(exc.__cause__, PermissionError):
            raise
        raise JournalError(exc.message, where=str(path)) from exc


def lock_left_behind(path: Path) -> int:
    """Lock a journal whose recorder is gone. Returns the descriptor that holds the lock.

    A recorder that is killed while it starts its program leaves a fork, which keeps the
    lock for a moment. So this tries several times.

    Raises:
        LockedError: its recorder is alive, or another ``recover`` works on it.
        NotFoundError: it is gone.
        JournalError: it is not a regular file, or cannot be read.
    """
    fd = _opened(path)
    deadline = monotonic_s() + _PATIENCE_S
    while True:
        taken = try_lock(fd)
        if taken:
            return fd
        if taken is False and monotonic_s() < deadline:
            time.sleep(_PATIENCE_S / 20)
            continue
        try:
            _refuse(path, locked=taken is False)
        except BaseException:
            os.close(fd)
            raise
        return fd


def _refuse(path: Path, *, locked: bool) -> None:
    """Raise if it is locked; without locks, if the journal's recorder may be alive."""
    if locked:
        raise LockedError("another process is recording to it or recovering it", where=str(path))
    try:
        holder = JournalSource(path).meta.holder
    except EmptyJournalError:
        return
    if not is_gone(holder):
        raise LockedError(
            "its recorder may be alive: this file system has no locks that would show it",
            where=str(path),
            hint="recover it on the machine that recorded it; or copy it to another directory"
            " and recover the copy, with --output",
        )
