"""Scrubs an existing cassette.

The cassette is converted back to the session that was recorded. Records keep their numbers and
times, output and input keep their lengths. Frames of our own emulator are rendered again
from the scrubbed bytes; others are masked row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette._tape_lines import TAPE_KEY
from ptycassette.cassette.edits import event_without_old_digests, without_old_digests
from ptycassette.cassette.frames import frame_of
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.errors import SecretLeftError
from ptycassette.model.events import Event, FrameRecord
from ptycassette.model.geometry import Size
from ptycassette.model.journal import (
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    Resized,
    TapeMoment,
    Traffic,
    Typed,
)
from ptycassette.model.json_values import native, native_text, storable, storable_text
from ptycassette.model.manifest import Manifest
from ptycassette.model.ports import EventSource
from ptycassette.model.records import ScrubReport
from ptycassette.model.resolved_types import resolved
from ptycassette.model.streams import painted_bytes
from ptycassette.model.visible_text import visible
from ptycassette.recording._scrub_reports import merged_reports
from ptycassette.recording._secrets_apart import input_was_scrubbed
from ptycassette.recording._tape_writer import TapeWriter
from ptycassette.recording.io._cassette_session import cassette_session, refuse_unknown_files
from ptycassette.recording.io._tape_again import TapeAgain
from ptycassette.scrub.session import SessionScrubber
from ptycassette.terminal.emulator import PyteEmulator, default_emulator
from ptycassette.timeline.match_secrets import SECRET_DIGESTS_KEY

_FINDINGS_SHOWN = 5


def scrub_cassette(
    path: Path,
    scrubber: SessionScrubber,
    *,
    target: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> ScrubReport:
    """Scrub the cassette at ``path``, in its place or into ``target``.

    Nothing is written if the cassette was scrubbed before and nothing new is found.

    Args:
        path: its directory; one that was recorded without scrubbing is fine.
        scrubber: fresh.
        target: where to write; the cassette's own place when None.
        environment: as for ``cassette_session``.

    Returns:
        What was done.

    Raises:
        RefusedError: it has files that only a newer version understands.
        SecretLeftError: the verification still found something; nothing was written.
        CassetteError: it cannot be read or written.
    """
    with open_cassette(path, allow_unscrubbed=True) as cassette:
        refuse_unknown_files(cassette, verb="scrub")
        meta, source = cassette_session(cassette, environment=environment)
        work = _Rewrite(cassette, scrubber)
        before = cassette.scrub_report.status
        for _ in scrubber.steps(meta, source):
            pass
        with CassetteWriter(target or path, overwrite=target is None) as writer:
            work.write(source, writer)
            manifest = work.manifest
            if scrubber.left:
                raise _left(scrubber.left, path)
            report = scrubber.report()
            if target is None and report.status == "clean" and before != "unscrubbed":
                writer.abort()
                return cassette.scrub_report
            writer.put(merged_reports(cassette.scrub_report, report))
            writer.publish(manifest)
            return report


def _left(findings: tuple[str, ...], path: Path) -> SecretLeftError:
    shown = "\n".join(findings[:_FINDINGS_SHOWN])
    more = len(findings) - _FINDINGS_SHOWN
    tail = f"\nand {more} more" if more > 0 else ""
    return SecretLeftError(
        f"scrubbing left what looks like a secret; nothing was written\n{shown}{tail}",
        where=visible(str(path)),
        hint="declare the value (--known-file) or add a rule (docs/scrubbing.md)",
    )


class _Rewrite:
    """Writes one scrubbed cassette."""

    def __init__(self, cassette: Cassette, scrubber: SessionScrubber) -> None:
        self._cassette = cassette
        self._scrubber = scrubber
        terminal = cassette.manifest.terminal
        self._screen: PyteEmulator = default_emulator(
            Size(terminal.initial_rows, terminal.initial_cols)
        )
        self._renders = terminal.emulator == self._screen.identity
        self._fed = 0

    def write(self, source: EventSource, writer: CassetteWriter) -> None:
        """Write all records, scrubbed; search the texts that are in no event."""
        scrubbed = self._scrubber.masked(source)
        tape = None
        if self._cassette.has_tape:
            tape = TapeWriter(writer.tape(), keys=TapeAgain(self._cassette))
        for event in self._cassette.events():
            if isinstance(event.record, FrameRecord):
                frame = self._frame(event.record)
                writer.add(frame)
                self._scrubber.check(frame.title, channel="frames", t_us=event.t_us)
                continue
            journal = event_without_old_digests(next(scrubbed))
            while isinstance(journal, Probed | Traffic):
                if isinstance(journal, Probed):
                    for document in (journal.quota, journal.discovery):
                        if document is not None:
                            writer.put(document)
                elif tape is not None:
                    tape.piece(journal)
                journal = event_without_old_digests(next(scrubbed))
            writer.add(*self._record(event, journal))
            if tape is not None and isinstance(journal, TapeMoment):
                tape.moment(journal, seq=event.seq, t_us=event.t_us)
        if tape is not None:
            tape.finish()
        harness = msgspec.to_builtins(self.manifest.harness)
        harness.pop("binary_path_digest_sha256", None)
        self._scrubber.check(native([self.manifest.command.argv, harness]))

    def _record(self, event: Event, journal: JournalEvent) -> tuple[Any, bytes]:
        """The record of one scrubbed event."""
        record: Any = event.record
        replace = msgspec.structs.replace
        match journal:
            case Output(_, data):
                self._screen.feed(painted_bytes(msgspec.structs.replace(event, data=data)))
                self._fed += len(data)
                return record, data
            case Resized(_, size):
                self._screen.resize(size)
                return record, b""
            case Typed(_, data, _, key):
                return replace(record, bytes=data, key=key), b""
            case Noted(payload=payload):
                return replace(record, payload=payload), b""
            case Finished():
                return (
                    replace(
                        record,
                        metadata=journal.metadata,
                        usage=journal.usage,
                        routing_actual=journal.routing_actual,
                        session_log_path=journal.session_log_path,
                        final_text=journal.final_text,
                    ),
                    b"",
                )
            case _:
                return record, b""

    def _frame(self, record: FrameRecord) -> FrameRecord:
        """One frame: rendered again if that reproduces it, else masked."""
        if self._renders and record.raw_end == self._fed:
            made = frame_of(
                self._screen,
                seq=record.seq,
                t_ms=record.t_ms,
                raw_start=record.raw_start,
                raw_end=record.raw_end,
            )
            return msgspec.structs.replace(
                made,
                t_us=record.t_us,
                styles=made.styles if record.styles is not None else None,
            )
        text = self._scrubber.rows(record.text)
        return msgspec.structs.replace(
            record,
            text=text,
            title=self._scrubber.text(record.title, channel="title"),
            cells=self._scrubber.value(record.cells, channel="frames"),
            styles=self._scrubber.value(msgspec.to_builtins(record.styles), channel="frames")
            and record.styles,
            hash=record.hash if text == record.text else None,
        )

    def _harness(self) -> Any:
        harness = msgspec.to_builtins(self._cassette.manifest.harness)
        digest = harness.pop("binary_path_digest_sha256", None)
        scrubbed = storable(self._scrubber.value(native(harness), channel="harness"))
        return {**scrubbed, **({"binary_path_digest_sha256": digest} if digest else {})}

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest with its texts scrubbed; the writer fills in the digests."""
        manifest = self._cassette.manifest
        argv = manifest.command.argv
        words = argv and tuple(
            storable_text(self._scrubber.text(native_text(word), channel="argv")) for word in argv
        )
        optional = dict(manifest.optional or {})
        optional.pop("artifacts", None)
        digests = optional.pop(SECRET_DIGESTS_KEY, None)
        tape = optional.pop(TAPE_KEY, None)
        optional = without_old_digests(optional)
        scrubbed = storable(self._scrubber.value(native(optional), channel="manifest"))
        if tape is not None:
            tape.pop("fingerprint_version", None)
            tape.pop("fingerprint", None)  # of the bodies as they were
            scrubbed[TAPE_KEY] = tape  # its key is no secret of the recording
        if (
            digests is not None
            and words == argv
            and not input_was_scrubbed(self._scrubber.report())
        ):
            scrubbed[SECRET_DIGESTS_KEY] = digests  # they are of what is still masked there
        return msgspec.structs.replace(
            manifest,
            harness=msgspec.convert(self._harness(), resolved(type(manifest.harness))),
            command=msgspec.structs.replace(manifest.command, argv=words),
            optional=scrubbed or None,
        )
