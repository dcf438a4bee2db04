"""Makes of a complete journal what it becomes: a cassette, or the diagnostic of a failed run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ptycassette.cassette.io.staging import disk_errors, fsync_directory
from ptycassette.model.journal import SessionMeta
from ptycassette.model.manifest import Manifest
from ptycassette.recording.io._journal_source import JournalSource
from ptycassette.recording.io._saver_messages import Published
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.recording.io.journal_name import tape_journal_of
from ptycassette.recording.io.options import RecordPlan
from ptycassette.recording.io.saver import Saver

if TYPE_CHECKING:
    from ptycassette.recording.io.finalising import Finaliser


class Publisher:
    """Publishes one journal at ``target``. The journal stays; its owner discards it.

    Attributes:
        saved: the result of the saver, if it did the work.
    """

    def __init__(
        self, plan: RecordPlan, meta: SessionMeta, journal: JournalFile, target: Path
    ) -> None:
        self._plan = plan
        self._meta = meta
        self._journal = journal
        self._target = target
        self.saved: Published | None = None

    def publish(self, saver: Saver | None) -> Manifest:
        """Take the saver's result. Without a saver, or if it failed, do its work here.

        Raises:
            RunFailedError: the journal says that the run failed; its diagnostic has been written.
            SecretLeftError, StorageError, ...: not published.
        """
        progress = self._progress()
        if saver is not None:
            self.saved = saver.finish(progress)
            if self.saved is not None:
                return self.saved.manifest
            # It may have been killed after it published, before it could report.
            from ptycassette.cassette.io.pending import remove_abandoned_recordings
            from ptycassette.cassette.io.published import published_manifest

            published = published_manifest(self._target, self._meta.id)
            if published is not None:
                with disk_errors("publishing the cassette", self._target):
                    fsync_directory(self._target.parent)
                remove_abandoned_recordings(self._target)
                return published
        return self._finaliser(progress).publish(
            self._meta, self._source(), self._target, overwrite=self._plan.overwrite
        )

    def diagnose(self, reason: str, *, stage: str) -> Path:
        """Write the diagnostic of a failed run beside the target; returns its path."""
        return self._finaliser(self._progress()).diagnose(
            self._meta, self._source(), self._target, reason=reason, stage=stage
        )

    def _finaliser(self, progress: Callable[[int], None] | None) -> Finaliser:
        from ptycassette.recording.io.finalising import Finaliser  # a saver may have done it all

        return Finaliser(
            emulator=self._plan.emulator,
            scrubber=self._plan.scrubber,
            known=tuple(self._plan.known),
            progress=progress,
            before_record=self._plan.before_record,
            tape=tape_journal_of(self._journal.path),
        )

    def _progress(self) -> Callable[[int], None] | None:
        tell, total = self._plan.progress, self._journal.size
        if tell is None:
            return None
        tell(0, total)
        return lambda done: tell(done, total)

    def _source(self) -> JournalSource:
        return JournalSource(self._journal.path)
