"""Turns a journal on disk into a published cassette, or into the diagnostic of a failed run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.errors import RunFailedError, SecretLeftError
from ptycassette.model.journal import SessionMeta
from ptycassette.model.manifest import Manifest
from ptycassette.model.ports import (
    EmulatorFactory,
    EventSource,
    Scrubber,
    ScrubberFactory,
    StepScrubber,
)
from ptycassette.recording._diagnostic import diagnostic_of
from ptycassette.recording._finalise import UNPUBLISHABLE_NAME, Progress, finalise, finalise_failed
from ptycassette.recording._tape_option import TAPE_OPTION
from ptycassette.recording._unscrubbed import Unscrubbed
from ptycassette.recording.hooks import BeforeRecord, hooked
from ptycassette.recording.io.diagnostic_writer import DiagnosticWriter
from ptycassette.recording.journal_events import answers_apart
from ptycassette.scrub.io.process_secrets import remember
from ptycassette.scrub.io.setup import session_scrubber
from ptycassette.scrub.search._known import SHORTEST_KNOWN, KnownValue
from ptycassette.terminal.emulator import default_emulator
from ptycassette.typed._watch import TypedWatch

if TYPE_CHECKING:
    from ptycassette.recording._tape_writer import EntryKeys


class Finaliser(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for making cassettes, and the functions that publish them.

    Attributes:
        emulator: makes the frames.
        scrubber: makes a scrubber for one session; None for the default one.
        known: secrets that the caller declares. Typed secrets are learnt from the events.
        progress: called with the number of output bytes that are done.
        before_record: sees each event first, but those of the tape; see ``recording/hooks.py``.
        tape: the proxy's journal, where model traffic was recorded.
        salvage: of a proxy's journal that is damaged in the middle, take what stands before.
        unproved: publish a tape that could answer wrongly, too, marked as not checked.
        recorded: the events were published before, so that nothing typed is secret any more.
    """

    emulator: EmulatorFactory = default_emulator
    scrubber: ScrubberFactory | None = None
    known: tuple[str, ...] = ()
    progress: Progress | None = None
    before_record: BeforeRecord | None = None
    tape: Path | None = None
    salvage: bool = False
    unproved: bool = False
    recorded: bool = False

    def publish(
        self,
        meta: SessionMeta,
        source: EventSource,
        target: Path,
        *,
        overwrite: bool = False,
        keys: EntryKeys | None = None,
    ) -> Manifest:
        """Finalise and publish at ``target``; when it returns the cassette is durable.

        ``keys`` tells the questions of the tape apart; None for how a recording does.

        Raises:
            RunFailedError: the run failed; its diagnostic has been written.
            SecretLeftError: scrubbing left something; a diagnostic without
                streams has been written.
            StorageError, ExistsError, NewerCassetteError: ``target`` cannot be written.
            JournalError: the journal is damaged.
        """
        typed = None if self.recorded else TypedWatch()
        source = self._whole(meta, source)
        try:
            return finalise(
                msgspec.structs.replace(meta, target=str(target)),
                source,
                lambda: CassetteWriter(target, overwrite=overwrite),
                emulator=self.emulator,
                scrubber=self._scrubber(meta),
                typed=typed,
                keys=keys or _keys(meta),
                unproved=self.unproved,
                progress=self.progress,
            )
        except RunFailedError as exc:
            self._diagnose(meta, source, target, reason=exc.message, stage=exc.stage)
            raise
        except SecretLeftError as exc:
            if exc.message == UNPUBLISHABLE_NAME:
                raise
            self._diagnose_without_streams(meta, source, target, reason=exc.message, stage="scrub")
            raise
        finally:
            if typed is not None:
                remember(typed.values)

    def diagnose(
        self,
        meta: SessionMeta,
        source: EventSource,
        target: Path,
        *,
        reason: str,
        stage: str,
    ) -> Path:
        """Write the diagnostic of a failed run; returns its path.

        Args:
            meta: the head.
            source: the events, which may end early.
            target: where the cassette would have been.
            reason: what failed.
            stage: see ``Diagnostic``.
        """
        source = self._whole(meta, source)
        return self._diagnose(meta, source, target, reason=reason, stage=stage)

    def _diagnose(
        self, meta: SessionMeta, source: EventSource, target: Path, *, reason: str, stage: str
    ) -> Path:
        typed = TypedWatch()
        scrubber = self._scrubber(meta)
        sink, findings = finalise_failed(
            meta,
            source,
            lambda: DiagnosticWriter(target),
            emulator=self.emulator,
            scrubber=scrubber,
            typed=typed,
        )
        remember(typed.values)
        with sink:
            if not findings:
                return sink.publish_failure(
                    diagnostic_of(meta, scrubber, reason=reason, stage=stage)
                )
        return self._diagnose_without_streams(
            meta, source, target, reason=reason, stage=stage, findings=findings
        )

    def _diagnose_without_streams(
        self,
        meta: SessionMeta,
        source: EventSource,
        target: Path,
        *,
        reason: str,
        stage: str,
        findings: tuple[str, ...] = (),
    ) -> Path:
        """As ``diagnose``, but without any streams."""
        scrubber = self._scrubber(meta)
        if isinstance(scrubber, StepScrubber):  # it learns the environment, and what was typed
            for _ in scrubber.steps(meta, source, TypedWatch()):
                pass
        with DiagnosticWriter(target) as sink:
            return sink.publish_failure(
                diagnostic_of(meta, scrubber, reason=reason, stage=stage, findings=findings)
            )

    def _whole(self, meta: SessionMeta, source: EventSource) -> EventSource:
        if meta.streams is None or meta.streams.stdin == "terminal":
            events = hooked(lambda: answers_apart(source()), self.before_record)
        else:
            events = hooked(source, self.before_record)
        if TAPE_OPTION not in meta.options or self.tape is None:
            return events
        from ptycassette.recording.io.tape_journal import with_tape  # few recordings have one

        return with_tape(events, self.tape, salvage=self.salvage)

    def _scrubber(self, meta: SessionMeta) -> Scrubber:
        if meta.options.get("scrub") is False:
            return Unscrubbed()
        if self.scrubber is not None:
            return self.scrubber()
        tape: Mapping[str, Any] = meta.options.get(TAPE_OPTION, {})
        known = (*self.known, *tape.get("secrets", ()))
        return session_scrubber(
            known=[text for text in known if len(text.strip()) >= SHORTEST_KNOWN],
            typed=[
                KnownValue(address, "tape-address", "<address>", pieces=False, word=True)
                for address in (tape.get("address"),)
                if address
            ],
            home=Path(meta.home) if meta.home else None,
            cwd=Path(meta.cwd) if meta.cwd else None,
        )


def _keys(meta: SessionMeta) -> EntryKeys | None:
    """What tells the questions of the tape apart; None without a tape."""
    if TAPE_OPTION not in meta.options:
        return None
    from ptycassette.recording.io.tape_keys import TapeKeys  # few recordings have a tape

    return TapeKeys(meta)
