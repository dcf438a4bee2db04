"""Writes one session to one sink: events numbered, times floored, with their frames.

Output and frames are written as they come. For all other events a number is reserved; they are
written at the end, when all secrets are known.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import msgspec

from ptycassette.cassette.frames import FrameMaker
from ptycassette.errors import RunFailedError
from ptycassette.model.events import InputRecord, OutputRecord, ServiceEventRecord
from ptycassette.model.journal import (
    Begun,
    Finished,
    JournalEvent,
    Output,
    Probed,
    SessionMeta,
    TapeMoment,
    Traffic,
    Typed,
)
from ptycassette.model.json_values import storable_text
from ptycassette.model.manifest import EmulatorId, Manifest
from ptycassette.model.ports import CassetteSink, EmulatorFactory, Scrubber, ScrubStep, StepScrubber
from ptycassette.model.records import ScrubReport
from ptycassette.recording._manifest import Learnt, make_manifest
from ptycassette.recording._scrub_reports import REPORT_OPTION, merged_reports
from ptycassette.recording._tape_option import TAPE_OPTION
from ptycassette.recording.journal_events import final_record, floored_ms, record_of
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.policies import FramePolicy

if TYPE_CHECKING:
    from ptycassette.recording._tape_writer import EntryKeys, TapeWriter


class SinkWriter:
    """Writes one session to one sink.

    Attributes:
        offset: how many bytes of output were written.
        learnt: facts for the manifest beyond the head of the journal.
    """

    def __init__(
        self,
        meta: SessionMeta,
        sink: CassetteSink,
        emulator: EmulatorFactory,
        scrubber: Scrubber,
        policy: FramePolicy,
    ) -> None:
        self._meta, self._sink, self._scrubber = meta, sink, scrubber
        own = emulator(meta.size)
        self._emulator_id: EmulatorId = own.identity
        shared = emulator is default_emulator and isinstance(scrubber, StepScrubber)
        shared = shared and meta.streams is None  # the scrubber paints what is searched, not these
        self._frames = FrameMaker(None if shared else own, policy)
        self._reserved = array("Q")
        self._times_us = array("Q")
        self._numbers = array("Q")
        self._taken = 0
        self._seq = 0
        self._t_us = 0
        self._ended = False
        self.offset = 0
        self.learnt = Learnt()

    def take(self, step: ScrubStep) -> None:
        """Write one event and the frame after it, if it is output; otherwise reserve its number."""
        event = step.event
        self._taken += 1
        if self._ended:
            raise RunFailedError("the journal goes on after its end", stage="final")
        self._t_us = max(self._t_us, event.t_us)
        match event:
            case Finished():
                self._ended = True
                return
            case Begun(wall=wall):
                self.learnt.began = wall
            case Probed() | Traffic():
                pass
            case Output():
                self._write_output(event)
            case _:
                self._seq += 1
                self._reserved.append(self._seq)
                self._times_us.append(self._t_us)
                self._numbers.append(self._taken - 1)
                self._sink.reserve(self._seq, self._t_ms)
        frame = self._frames.after(
            event, step.following, t_ms=self._t_ms, seq=self._seq + 1, screen=step.screen
        )
        if frame is not None:
            self._seq += 1
            self._sink.add(msgspec.structs.replace(frame, t_us=self._t_us))

    def end(
        self,
        rest: Iterator[JournalEvent],
        *,
        failed: bool,
        hidden: Collection[int] = (),
        keys: EntryKeys | None = None,
    ) -> None:
        """Write all other events, masked, and the documents.

        ``hidden`` are the numbers of events that are secret input without being marked so;
        ``keys`` tells the questions of the tape apart.

        Raises:
            RunFailedError: unless ``failed``, the run must not become a cassette.
        """
        learnt = self.learnt
        tape = self._tape_writer(keys)
        for event, record in self._recorded(rest, hidden):
            match event:
                case Traffic() if tape is not None:
                    tape.piece(event)
                case TapeMoment() if tape is not None and record is not None:
                    tape.moment(event, seq=record.seq, t_us=record.t_us or 0)
                case Finished():
                    learnt.end = event
                case Probed():
                    learnt.quota = event.quota or learnt.quota
                    learnt.discovery = event.discovery or learnt.discovery
                    for document in (event.quota, event.discovery):
                        if document is not None:
                            self._sink.put(document)
            if record is not None:
                self._sink.add(record)
        if tape is not None:
            rules = {} if keys is None else keys.described
            learnt.tape = {"entries": tape.finish(), **rules}
        final = learnt.end
        if not failed:
            self._check(final)
        if final is not None:
            self._sink.add(
                final_record(
                    final,
                    seq=self._seq + 1,
                    t_us=self._t_us,
                    resolution_ms=self._meta.resolution_ms,
                )
            )
        self._sink.put(self._report())

    def _tape_writer(self, keys: EntryKeys | None) -> TapeWriter | None:
        """What writes the tape, where model traffic was recorded."""
        if TAPE_OPTION not in self._meta.options:
            return None
        from ptycassette.recording._tape_writer import (  # noqa: PLC0415 - few have a tape
            TapeWriter,
        )

        return TapeWriter(self._sink.tape(), keys=keys)

    def inputs(
        self, events: Iterator[JournalEvent], hidden: Collection[int], *, real: bool = False
    ) -> Iterator[InputRecord]:
        """The input records as ``end`` would write them, for other events of the same session.

        With ``real`` those that are masked have the bytes that were typed.
        """
        for event, record in self._recorded(events, hidden):
            if isinstance(record, InputRecord):
                if real and record.masked and isinstance(event, Typed):
                    record = msgspec.structs.replace(record, bytes=event.data)  # noqa: PLW2901
                yield record

    def manifest(self) -> Manifest:
        """The manifest; the sink fills in the digest."""
        return make_manifest(
            self._meta, self.learnt, emulator=self._emulator_id, scrubber=self._scrubber
        )

    def _recorded(
        self, events: Iterator[JournalEvent], hidden: Collection[int]
    ) -> Iterator[tuple[JournalEvent, InputRecord | ServiceEventRecord | None]]:
        """Events, each with its record under the reserved number; None for output."""
        number = 0
        for event in events:
            if isinstance(event, Output | Probed | Finished | Begun | Traffic):
                yield event, None
                continue
            item = event
            if isinstance(item, Typed) and self._numbers[number] in hidden:
                item = msgspec.structs.replace(item, masked=True)
            yield (
                event,
                record_of(
                    item,
                    seq=self._reserved[number],
                    t_us=self._times_us[number],
                    resolution_ms=self._meta.resolution_ms,
                ),
            )
            number += 1

    def _write_output(self, event: Output) -> None:
        data = event.data
        self._seq += 1
        record = OutputRecord(
            seq=self._seq,
            t_ms=self._t_ms,
            t_us=self._t_us,
            offset=self.offset,
            length=len(data),
            stream=event.stream,
            eof=event.eof,
        )
        self.offset += len(data)
        self._sink.add(record, data)

    def _check(self, final: Finished | None) -> None:
        """Raise if the run must not become a cassette."""
        if final is None:
            raise RunFailedError(
                "the recording ends before the program did",
                stage="final",
                hint="ptycassette recover turns its journal into a cassette",
            )
        if final.failure is not None:
            raise RunFailedError(final.failure, stage="run")
        no_program = not {"imported", "in_process"}.isdisjoint(self._meta.options)
        if self.offset == 0 and final.exit is None and not no_program:
            raise RunFailedError(
                "it holds no output, and the end of the program was not seen", stage="output"
            )

    def _report(self) -> ScrubReport:
        report = self._scrubber.report()
        if report.env_allowlist is msgspec.UNSET and self._meta.env_allowlist:
            names = tuple(map(storable_text, self._meta.env_allowlist))
            report = msgspec.structs.replace(report, env_allowlist=names)
        before = self._meta.options.get(REPORT_OPTION)
        return report if before is None else merged_reports(before, report)

    @property
    def _t_ms(self) -> int:
        return floored_ms(self._t_us, self._meta.resolution_ms)
