"""Follow a journal while its recorder writes: strictly read-only, nothing locked or deleted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ptycassette.errors import CassetteError, JournalError, NotFoundError
from ptycassette.model.records import Event, JournalEvent, SessionMeta
from ptycassette.recording.io.journal_file import JOURNAL_SUFFIX, JournalDecoder
from ptycassette.recording.sink_writer import event_of
from ptycassette.system.files.state_dirs import journal_dirs
from ptycassette.system.ownership import Closing

_BLOCK = 1 << 20


class JournalFollower(Closing):
    """The events of a journal as they come. Use it in a ``with``, or close it.

    Args:
        path: the journal; a link is not followed.

    Raises:
        NotFoundError: there is no such file.
        JournalError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._begin(path)
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError as exc:
            raise NotFoundError("no such journal", where=str(path)) from exc
        except OSError as exc:
            raise JournalError(f"cannot be read: {exc.strerror}", where=str(path)) from exc

    def _begin(self, path: Path) -> None:
        self.path = path
        self._decoder = JournalDecoder()
        self._position = 0
        self._seq = 0
        self._offset = 0

    def again(self) -> JournalFollower:
        """Another follower of the same journal from its start, even if its file was unlinked.

        Raises:
            JournalError: this one is closed.
        """
        other = object.__new__(JournalFollower)
        other._begin(self.path)
        other._fd = -1
        try:
            other._fd = os.dup(self._fd)
        except OSError as exc:
            raise JournalError(f"cannot be read: {exc.strerror}", where=str(self.path)) from exc
        return other

    @property
    def meta(self) -> SessionMeta | None:
        """The head of the session; None before it was read."""
        return self._decoder.meta

    @property
    def gone(self) -> bool:
        """Whether the recorder has finished, and has unlinked the journal."""
        try:
            return os.fstat(self._fd).st_nlink == 0
        except OSError:
            return True

    def poll(self) -> Iterator[Event]:
        """The events that were written since the last call, as a cassette would number them.

        They are not scrubbed yet, and there are no frames. Never waits.

        Raises:
            JournalError: it is not a journal, or damaged.
        """
        for item in self._items():
            event = event_of(item, self._seq + 1, self._offset)
            if event is not None:
                self._seq += 1
                self._offset += len(event.data) if event.kind == "output" else 0
                yield event

    def _items(self) -> Iterator[JournalEvent]:
        while self._fd >= 0:
            try:
                block = os.pread(self._fd, _BLOCK, self._position)
            except OSError as exc:
                raise JournalError(f"cannot be read: {exc.strerror}", where=str(self.path)) from exc
            if not block:
                return
            self._position += len(block)
            yield from self._decoder.feed(block)

    def close(self) -> None:
        """Close the file. Does nothing the second time."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def live_journals(directory: Path | None = None) -> list[tuple[Path, SessionMeta]]:
    """The readable journals of a directory, the newest first.

    Locks are not checked: the journal of a dead recorder is listed as well.
    """
    places = journal_dirs() if directory is None else [directory]
    found = []
    for path in (path for place in places for path in place.glob(f"*{JOURNAL_SUFFIX}")):
        try:
            changed = path.lstat().st_mtime
            with JournalFollower(path) as follower:
                next(follower.poll(), None)
                if follower.meta is not None:
                    found.append((changed, path, follower.meta))
        except (CassetteError, OSError):
            continue
    found.sort(key=lambda item: (-item[0], item[1]))
    return [(path, meta) for _, path, meta in found]
