"""Writes one session to one sink: events numbered, times floored, with their frames.

Output and frames are written as they come. For all other events a number is reserved; they are
written at the end, when all secrets are known.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import msgspec

from ptycassette.cassette.frames import FrameMaker
from ptycassette.cassette.tape_lines import TAPE_KEY, TAPE_VERSION
from ptycassette.cassette.timeline.match import (
    SECRET_DIGESTS_KEY,
    InputDigest,
    input_digests,
    iter_entries,
    masked_digests,
    stored_secrets,
    word_digests,
)
from ptycassette.errors import AmbiguousTapeError, RunFailedError, SecretLeftError
from ptycassette.keys.reader import LATENCY_US, AnswerReader
from ptycassette.model.ports import (
    BodySink,
    CassetteSink,
    EmulatorFactory,
    EntrySink,
    EventSource,
    Scrubber,
    ScrubStep,
    StepScrubber,
)
from ptycassette.model.records import (
    STREAMS_KEY,
    Begun,
    Command,
    ContentDigest,
    DiscoveryRecord,
    EmulatorId,
    Event,
    FinalRecord,
    Finished,
    Harness,
    HeadSecret,
    InputRecord,
    JournalEvent,
    Manifest,
    Noted,
    Output,
    OutputRecord,
    Probed,
    Provenance,
    QuotaRecord,
    Resized,
    ScrubReport,
    ServiceEventRecord,
    SessionMeta,
    Signalled,
    TapeMoment,
    Terminal,
    Timing,
    Traffic,
    Typed,
    native,
    storable,
    storable_text,
)
from ptycassette.model.resolved_types import resolved
from ptycassette.model.tape import (
    TAPE_OPTION,
    Chunk,
    MaskedDigest,
    TapeAnswer,
    TapeEntry,
    VolatileToken,
)
from ptycassette.scrub.placeholders import whole_json
from ptycassette.scrub.typed.secrets import TypedSecret
from ptycassette.scrub.typed.watch import TypedWatch
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.policies import FramePolicy, frame_policy

if TYPE_CHECKING:
    from ptycassette.tape.matching.checking import TapeCheck


# Results of probing the recorded CLI, for ``harness.capability`` of the manifest.


def with_probed(
    harness: Harness, quota: QuotaRecord | None, discovery: DiscoveryRecord | None
) -> Harness:
    """The harness block with the results of this run's probes: models, reasoning levels, quota.

    Values of the caller are kept. ``quota`` is true if usage windows were read.
    """
    found: dict[str, Any] = {}
    if discovery is not None:
        found["models"] = list(discovery.models or ())
        found["reasoning_levels"] = list(discovery.reasoning_levels or ())
    if quota is not None and quota.windows:
        found["quota"] = True
    known = {name: value for name, value in found.items() if value}
    if not known:
        return harness
    return msgspec.structs.replace(harness, capability=known | (harness.capability or {}))


# The manifest of a recording, from the head of its journal and from facts that the run revealed.


_FORMAT_VERSION: Final = 1
_SHAPED: Final = ("binary_path_digest_sha256", "captured_at", "freshness_window")
_KEPT_OPTIONS: Final = (
    *("edited", "frame_policy", "idle_limit_ms", "imported", "in_process", "meta", "recovered"),
)


class Learnt(msgspec.Struct, kw_only=True):
    """Facts about a run that the head of its journal does not hold.

    Attributes:
        began: when the program started, RFC 3339; empty if the journal does not have it.
        quota: the quota from the last probe.
        discovery: the models from the last probe.
        end: how the program ended.
        secrets: the digests of the masked input.
        tape: the tape's fields for the manifest, besides its key; None without a tape.
    """

    began: str = ""
    quota: QuotaRecord | None = None
    discovery: DiscoveryRecord | None = None
    end: Finished | None = None
    secrets: list[InputDigest] = []
    tape: dict[str, Any] | None = None


def make_manifest(
    meta: SessionMeta, learnt: Learnt, *, emulator: EmulatorId, scrubber: Scrubber
) -> Manifest:
    """The manifest with scrubbed texts. The sink fills in the digest of the output."""
    argv = tuple(scrubber.text(word, channel="argv") for word in meta.argv)
    secrets = stored_secrets(learnt.secrets, word_digests(meta.id, meta.argv, argv))
    mode = meta.permission_mode
    return Manifest(
        version=_FORMAT_VERSION,
        id=meta.id,
        content_digest=ContentDigest(""),
        harness=_harness(meta, learnt, scrubber),
        command=Command(
            argv=tuple(map(storable_text, argv)),
            workdir_policy=meta.workdir_policy,
            env_allowlist=tuple(map(storable_text, meta.env_allowlist)) or None,
            timeout_ms=meta.timeout_ms,
            permission_mode=mode and storable_text(scrubber.text(mode, channel="permission-mode")),
        ),
        terminal=Terminal(
            initial_rows=meta.size.rows,
            initial_cols=meta.size.cols,
            locale=None if meta.locale is None else storable_text(meta.locale),
            term=storable_text(meta.term),
            pty_mode=meta.pty_mode,
            emulator=emulator,
        ),
        timing=Timing(
            resolution_ms=meta.resolution_ms,
            clock_policy="monotonic-elapsed",
            replay_default="realtime",
        ),
        provenance=Provenance(
            git_sha=meta.git_sha,
            os=meta.os,
            arch=meta.arch,
            recorded_at=learnt.began or meta.recorded_at,
            recorder_version=meta.recorder_version,
        ),
        optional={
            **_optional(meta, learnt, scrubber),
            **_streams(meta, learnt),
            **_tape(meta, learnt, scrubber),
            **secrets,
        }
        or None,
    )


def manifest_texts(manifest: Manifest) -> dict[str, Any]:
    """The texts of a manifest, for verification: without digests, which look like keys."""
    harness = msgspec.to_builtins(manifest.harness)
    optional = dict(manifest.optional or {})
    for name in (SECRET_DIGESTS_KEY, TAPE_KEY):
        optional.pop(name, None)
    return {
        "command": native(msgspec.to_builtins(manifest.command)),
        "harness": native({one: value for one, value in harness.items() if one not in _SHAPED}),
        "optional": native(optional),
    }


def _harness(meta: SessionMeta, learnt: Learnt, scrubber: Scrubber) -> Harness:
    given = meta.harness
    if learnt.end is not None and learnt.end.other_program:
        given = msgspec.structs.replace(given, capability=None)
    harness = msgspec.to_builtins(with_probed(given, learnt.quota, learnt.discovery))
    if learnt.end is not None and learnt.end.binary_version is not None:
        harness["binary_version"] = learnt.end.binary_version
    shaped = {name: harness.pop(name) for name in _SHAPED if name in harness}
    scrubbed = storable(scrubber.value(harness, channel="harness"))
    return msgspec.convert({**scrubbed, **shaped}, resolved(Harness))


def _streams(meta: SessionMeta, learnt: Learnt) -> dict[str, Any]:
    """The kinds of the program's streams; empty if all were its terminal."""
    if meta.streams is None:
        return {}
    offset = learnt.end.stdin_offset if learnt.end is not None else None
    return {STREAMS_KEY: msgspec.structs.replace(meta.streams, stdin_offset=offset).written()}


def _tape(meta: SessionMeta, learnt: Learnt, scrubber: Scrubber) -> dict[str, Any]:
    """The manifest fields for the tape; empty without one."""
    if learnt.tape is None:
        return {}
    option = meta.options[TAPE_OPTION]
    described = storable(scrubber.value(option.get("described", {}), channel="manifest"))
    return {
        TAPE_KEY: {
            "version": TAPE_VERSION,
            "key": option.get("key", ""),
            **described,
            **learnt.tape,
        }
    }


def _optional(meta: SessionMeta, learnt: Learnt, scrubber: Scrubber) -> dict[str, Any]:
    options = meta.options
    found = {name: options[name] for name in _KEPT_OPTIONS if options.get(name) is not None}
    if learnt.end is not None and learnt.end.version_missing is not None:
        found["binary_version_missing"] = learnt.end.version_missing
    if meta.title is not None:
        found["title"] = meta.title
    value: dict[str, Any] = storable(scrubber.value(found, channel="manifest"))
    return value


# The scrub report of a cassette that is made of another one.


REPORT_OPTION: Final = "scrub_report"
"""The option of a session that was published before: the report of that time."""


def merged_reports(old: ScrubReport, new: ScrubReport) -> ScrubReport:
    """The report of a second scrub, merged with that of the first."""
    if old.status == "unscrubbed":
        return new
    counts = dict(old.hit_counts or {})
    for rule, number in (new.hit_counts or {}).items():
        counts[rule] = counts.get(rule, 0) + number
    return msgspec.structs.replace(
        new,
        status="redacted" if "redacted" in {old.status, new.status} else new.status,
        hit_counts=dict(sorted(counts.items())),
        rules=tuple(sorted({*(old.rules or ()), *(new.rules or ())})),
        env_allowlist=old.env_allowlist,
    )


# Converts items of a journal to records and events of a cassette, one for one.


_MOST_HELD = 64


def answers_apart(events: Iterable[JournalEvent]) -> Iterator[JournalEvent]:
    """The same events, with each answer of the terminal as a separate ``Typed`` event.

    A terminal's answers arrive in the same stream as typing, split anywhere. Input that may
    continue an answer is held back for at most ``LATENCY_US``.

    Args:
        events: the events of a session whose stdin is a terminal.
    """
    reader = AnswerReader()
    held: list[JournalEvent] = []
    last_us = 0
    for event in events:
        late = event.t_us - last_us > LATENCY_US or len(held) >= _MOST_HELD
        typed = isinstance(event, Typed) and event.source != "terminal" and not event.paste
        if held and (
            late or isinstance(event, Finished) or (isinstance(event, Typed) and not typed)
        ):
            yield from _apart(held, reader)
            held = []
        match event:
            case Typed() if typed:
                held.append(event)
                last_us = event.t_us
                if not reader.typed(event.data, focus=event.source == "user"):
                    yield from _apart(held, reader)
                    held = []
                continue
            case Output(stream=None):
                reader.output(event.data)
        if held:
            held.append(event)
        else:
            yield event
    yield from _apart(held, reader)


def _apart(held: list[JournalEvent], reader: AnswerReader) -> Iterator[JournalEvent]:
    """Events that were held back, cut at the answers that ``reader`` found in typed input."""
    pieces = iter(reader.take())
    for event in held:
        if not isinstance(event, Typed):
            yield event
            continue
        stretches = next(pieces)
        if not any(stretch.answer for stretch in stretches):
            yield event
            continue
        for number, stretch in enumerate(stretches, 1):
            last = number == len(stretches)
            part = msgspec.structs.replace(
                event, data=stretch.data, key=None, eof=event.eof and last
            )
            if stretch.answer:
                part = msgspec.structs.replace(part, source="terminal", masked=False)
            yield part


def event_of(item: JournalEvent, seq: int, offset: int) -> Event | None:
    """One item of a journal as the event of a cassette; None if it makes none.

    Args:
        item: the item.
        seq: its number in the cassette.
        offset: the start of its output in ``output.raw``.
    """
    t_us = item.t_us
    match item:
        case Output(data=data):
            output = OutputRecord(
                seq=seq,
                t_ms=floored_ms(t_us),
                t_us=t_us,
                offset=offset,
                length=len(data),
                stream=item.stream,
                eof=item.eof,
            )
            return Event(seq, t_us, "output", output, data)
        case Finished():
            return Event(seq, t_us, "final", final_record(item, seq=seq, t_us=t_us))
        case Probed() | Begun() | Traffic():
            return None
    record = record_of(item, seq=seq, t_us=t_us)
    if isinstance(record, InputRecord):
        return Event(seq, t_us, "input", record, record.bytes or b"")
    return Event(seq, t_us, "service-event", record)


def record_of(
    item: Typed | Resized | Signalled | Noted, *, seq: int, t_us: int, resolution_ms: int = 1
) -> InputRecord | ServiceEventRecord:
    """The record of any event except output and the end; secret input is hidden in it.

    Args:
        item: the item.
        seq: its number in the cassette.
        t_us: its time in the cassette, which never goes back, as the item's may.
        resolution_ms: to which ``t_ms`` is floored.
    """
    t_ms = floored_ms(t_us, resolution_ms)
    match item:
        case Noted(_, payload):
            return ServiceEventRecord(seq=seq, t_ms=t_ms, t_us=t_us, payload=payload)
        case Typed():
            shown = item.hidden()
            return InputRecord(
                seq=seq,
                t_ms=t_ms,
                t_us=t_us,
                kind="input",
                bytes=shown.data,
                key=shown.key,
                source=shown.source,
                paste=shown.paste,
                masked=shown.masked,
                eof=shown.eof,
            )
        case Resized(_, size):
            return InputRecord(seq=seq, t_ms=t_ms, t_us=t_us, kind="resize", size=size)
        case Signalled(_, signal):
            return InputRecord(seq=seq, t_ms=t_ms, t_us=t_us, kind="signal", signal=signal)


def final_record(item: Finished, *, seq: int, t_us: int, resolution_ms: int = 1) -> FinalRecord:
    """The final record."""
    return FinalRecord(
        seq=seq,
        t_ms=floored_ms(t_us, resolution_ms),
        t_us=t_us,
        duration_ms=t_us // 1000,
        exit=item.exit,
        metadata=item.metadata,
        usage=item.usage,
        cost_usd=item.cost_usd,
        routing_actual=item.routing_actual,
        session_log_path=item.session_log_path,
        final_text=item.final_text,
    )


def floored_ms(t_us: int, resolution_ms: int = 1) -> int:
    """Microseconds as whole milliseconds, floored to a multiple of the resolution."""
    t_ms = t_us // 1000
    return t_ms - t_ms % resolution_ms


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
        shared = shared and meta.streams is None  # the scrubber paints the searched text, not these
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

        ``hidden`` are the numbers of events with secret input that is not marked as secret;
        ``keys`` makes the keys of the tape's questions.

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
        """None if model traffic was not recorded."""
        if TAPE_OPTION not in self._meta.options:
            return None

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


# Writes the tape: entries out of moments and pieces of bodies, as they come from the scrubber.


class EntryKeys(Protocol):
    """Tells the questions of one tape apart; asked for each in their order."""

    @property
    def described(self) -> Mapping[str, Any]:
        """The manifest's description of how the keys are made."""
        ...

    def of(
        self,
        head: Mapping[str, Any],
        body: bytes,
        stored: bytes,
        secrets: Sequence[HeadSecret] = (),
    ) -> tuple[str, Sequence[VolatileToken], Sequence[MaskedDigest]]:
        """The key and the volatile tokens of a question, and digests of what was scrubbed.

        Args:
            head: as it is kept, with ``entry``.
            secrets: what was scrubbed of the head.
            body: as it was sent, unpacked.
            stored: as it is kept: scrubbed, and as long.
        """
        ...

    def check(self, exchanges: Sequence[Any]) -> TapeCheck:
        """Whether a tape can be trusted to answer."""
        ...


_MOST_CHUNKS = 50_000
"""What comes later belongs to the last one."""
_MOST_TOKENS = 50_000
_MOST_KEYED = 64 << 20
_HELD, _MOST_TAPE_HELD = 1 << 20, 8 << 20


class TapeWriter:
    """Writes the tape of one session into a sink.

    Args:
        sink: takes the tape.
        keys: makes the keys of questions.
    """

    def __init__(self, sink: EntrySink, *, keys: EntryKeys | None) -> None:
        self._sink, self._keys = sink, keys
        self._open: dict[int, _Entry] = {}
        self._done: dict[int, TapeEntry] = {}
        self._written = 0

    def moment(self, event: TapeMoment, *, seq: int, t_us: int) -> None:
        """Take an event of an entry, and its number in the cassette."""
        if event.moment == "question":
            entry = self._open[event.entry] = _Entry(self._sink)
            entry.begin(event, seq=seq, t_us=t_us)
            return
        open_entry = self._open.get(event.entry)
        if open_entry is None:
            return
        if event.moment == "answer":
            open_entry.answer(event, seq=seq, t_us=t_us)
            return
        del self._open[event.entry]
        self._done[event.entry] = open_entry.end(event, seq=seq, t_us=t_us)
        self._write()

    def piece(self, event: Traffic) -> None:
        """Take a piece of a body."""
        entry = self._open.get(event.entry)
        if entry is not None:
            entry.piece(event)
            if event.last and event.side == "question" and self._keys is not None:
                entry.tell_apart(self._keys)

    def finish(self) -> int:
        """Write the rest; return the number of entries."""
        self._write()
        return self._written

    def _write(self) -> None:
        while (entry := self._done.pop(self._written + 1, None)) is not None:
            self._sink.add(entry)
            self._written += 1


class _Entry:
    """An entry that is not complete yet."""

    def __init__(self, sink: EntrySink) -> None:
        self._sink = sink
        self._fields: dict[str, Any] = {}
        self._head: Mapping[str, Any] = {}
        self._secrets: tuple[HeadSecret, ...] = ()
        self._question = _Body(sink, kept=True)
        self._raw: bytearray | None = bytearray()
        self._answer: dict[str, Any] | None = None
        self._answer_body: _Body | None = None
        self._chunks: list[Chunk] = []

    def begin(self, event: TapeMoment, *, seq: int, t_us: int) -> None:
        self._head = {**event.head, "entry": event.entry}
        self._secrets = event.secrets
        self._fields = {"entry": event.entry, "seq": seq, "t_us": t_us, **_filled(event.head)}

    def answer(self, event: TapeMoment, *, seq: int, t_us: int) -> None:
        self._answer = {"seq": seq, "t_us": t_us, **_filled(event.head)}
        self._answer_body = _Body(self._sink)

    def piece(self, event: Traffic) -> None:
        raw = event.data if event.unscrubbed is None else event.unscrubbed
        if event.side == "question":
            self._question.write(raw, event.data)
            self._remember(raw)
        elif self._answer_body is not None:
            self._answer_body.write(raw, event.data)
            self._count(event)

    def _remember(self, raw: bytes) -> None:
        """Keep a question for its key, unless it is too long for one."""
        if self._raw is None:
            return
        self._raw += raw
        if len(self._raw) > _MOST_KEYED:
            self._raw = self._question.kept = None

    def _count(self, event: Traffic) -> None:
        assert self._answer is not None  # noqa: S101 - it has a body
        last = self._chunks[-1] if self._chunks else None
        t_us = max(event.t_us, self._answer["t_us"] if last is None else last.t_us)
        if last is not None and (event.continues or len(self._chunks) >= _MOST_CHUNKS):
            length = last.length + len(event.data)
            self._chunks[-1] = Chunk(last.t_us, length, last.form)
        elif not event.last or event.data:
            self._chunks.append(Chunk(t_us, len(event.data), event.form))

    def tell_apart(self, keys: EntryKeys) -> None:
        """Give the question its key, and drop the bytes that were kept for it."""
        if self._raw is None:
            return
        raw, stored = bytes(self._raw), self._question.whole()
        self._raw = self._question.kept = None
        key, tokens, digests = keys.of(self._head, raw, stored, self._secrets)
        if len(tokens) <= _MOST_TOKENS:
            self._fields |= {"key": key, "tokens": tuple(tokens), "digests": tuple(digests)}

    def end(self, event: TapeMoment, *, seq: int, t_us: int) -> TapeEntry:
        fields = {**self._fields, **_filled(event.head), "end_seq": seq, "end_us": t_us}
        fields["body"] = self._question.finish()
        answer = None
        if self._answer is not None and self._answer_body is not None:
            answer = {
                **self._answer,
                "body": self._answer_body.finish(),
                "chunks": tuple(self._chunks),
            }
        made = {name: value for name, value in fields.items() if value is not None}
        if answer is not None:
            made["answer"] = msgspec.convert(answer, resolved(TapeAnswer))
        return msgspec.convert(made, resolved(TapeEntry))


class _Body:
    """Writes one body into the sink. Masked JSON is repaired, so that it stays valid.

    Attributes:
        kept: what was written so far, for the key of a question; None if no key is needed.
    """

    def __init__(self, sink: EntrySink, *, kept: bool = False) -> None:
        self._body: BodySink = sink.body()
        self.kept: bytearray | None = bytearray() if kept else None
        self._raw, self._masked = bytearray(), bytearray()

    def write(self, raw: bytes, masked: bytes) -> None:
        """Append a piece, unscrubbed and scrubbed.

        If several lines are held, write the complete ones.
        """
        self._raw += raw
        self._masked += masked
        if len(self._raw) < _HELD:
            return
        cut = self._raw.rfind(b"\n") + 1
        if cut or len(self._raw) > _MOST_TAPE_HELD:
            self._pass_on(cut or len(self._raw))

    def whole(self) -> bytes:
        """The kept bytes of the body, in stored form. Nothing may be written afterwards."""
        self._pass_on(len(self._raw))
        return bytes(self.kept or b"")

    def finish(self) -> Any:
        self._pass_on(len(self._raw))
        return self._body.finish()

    def _pass_on(self, cut: int) -> None:
        raw, masked = bytes(self._raw[:cut]), bytes(self._masked[:cut])
        del self._raw[:cut], self._masked[:cut]
        if raw != masked:
            masked = whole_json(raw.decode("latin-1"), masked.decode("latin-1")).encode("latin-1")
        self._body.write(masked)
        if self.kept is not None:
            self.kept += masked


def _filled(head: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in head.items() if value is not None}


# The saver's core: turns the events of a journal into a cassette, also while it is recorded.
#
# A scrubber returns the events with their output masked. Each is numbered, its time is floored,
# and it is written, with the frames between them. If the scrubber finds that something written
# before must be masked, everything is discarded and written again. Events other than output are
# masked last, when all secrets are known; they keep their numbers. Then the manifest is written,
# and the sink publishes.
#
# It reads no clock and makes no id: the same events, head and scrubber give the same calls of the
# sink, byte for byte. Nothing is visible before the sink publishes, and it publishes only if the
# verification found nothing.


# Makes the digests by which a replay recognises the recorded secrets.


def input_was_scrubbed(report: ScrubReport) -> bool:
    """Whether anything was masked in the input."""
    channels = report.channels
    return channels is not msgspec.UNSET and bool(channels.get("input"))


def typed_digests(
    cassette_id: str,
    raw: Iterable[InputRecord],
    shown: Callable[[], Iterable[InputRecord]],
    real: Iterable[InputRecord],
    *,
    typed: Sequence[TypedSecret],
) -> list[InputDigest]:
    """The digests of the secrets in a session's input.

    Args:
        cassette_id: of the manifest.
        raw: the input as it was typed, but masked where it was typed without echo.
        shown: gives the same records as they are published.
        real: the same records as they were typed, also where they are masked.
        typed: input at prompts for secrets. No other line that contains it gets a digest, because
            people choose such secrets.
    """
    pairs = zip(iter_entries(raw), iter_entries(shown()), strict=False)
    found = input_digests(cassette_id, pairs, apart_from=[secret.text for secret in typed])
    masked = [entry for entry in iter_entries(shown()) if entry.masked]
    return found + masked_digests(cassette_id, masked, real, but=found)


_FINDINGS_SHOWN = 5
_FINDINGS_KEPT, _MESSAGE_SHOWN = 50, 300

UNPUBLISHABLE_NAME = (
    "the name of the cassette holds what looks like a secret; nothing was published"
)
"""The message then. A diagnostic would lie beside it, under the same name, and is not written."""

Progress = Callable[[int], None]
_Sink = TypeVar("_Sink", bound=CassetteSink)


def finalise(  # noqa: PLR0913 - the seams
    meta: SessionMeta,
    source: EventSource,
    open_sink: Callable[[], CassetteSink],
    *,
    emulator: EmulatorFactory,
    scrubber: Scrubber,
    typed: TypedWatch | None = None,
    policy: Callable[[], FramePolicy] | None = None,
    keys: EntryKeys | None = None,
    unproved: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Turn a session into a cassette and publish it.

    Args:
        meta: the head of the journal; the name of its target is verified as well.
        source: its events, in order, ending with ``Finished``. They may still be coming: its
            iterators wait for them.
        open_sink: makes the sink; called again when everything written is discarded. The sink is
            aborted when anything raises.
        emulator: makes the frames.
        scrubber: fresh, for this session alone.
        typed: finds typed secrets, if the scrubber is a ``StepScrubber``.
        policy: makes the frame policy; the one named in ``meta.options`` when None.
        keys: makes the keys of the tape's questions; no keys when None.
        unproved: publish a tape that could answer wrongly, too, marked as not checked.
        progress: called with the number of output bytes after each output.

    Returns:
        The manifest as published.

    Raises:
        RunFailedError: the run failed, so there is no cassette.
        SecretLeftError: the verification found something after scrubbing, or in the name.
        AmbiguousTapeError: the tape could answer wrongly.
        ValueError: ``meta.options`` names an unknown frame policy.
    """
    run = _Run(
        meta, source, open_sink, emulator=emulator, scrubber=scrubber, policy=policy, typed=typed
    )
    try:
        run.keys = keys
        run.write(progress=progress)
        _refuse(run.left())
        run.look_at_name()
        run.look_at_tape(unproved=unproved)
        run.tell_secrets_apart()
        return run.sink.publish(run.work.manifest())
    except BaseException:
        run.sink.abort()
        raise


def finalise_failed(
    meta: SessionMeta,
    source: EventSource,
    open_sink: Callable[[], _Sink],
    *,
    emulator: EmulatorFactory,
    scrubber: Scrubber,
    typed: TypedWatch | None = None,
) -> tuple[_Sink, tuple[str, ...]]:
    """Write the scrubbed records of a failed run to a sink, as far as they go; publish nothing.

    Returns:
        The sink, and what the verification found. Unless that is empty the sink must be aborted.
    """
    run = _Run(
        meta, source, open_sink, emulator=emulator, scrubber=scrubber, policy=None, typed=typed
    )
    try:
        run.write(failed=True)
        return run.sink, run.left()
    except BaseException:
        run.sink.abort()
        raise


def _refuse(findings: tuple[str, ...]) -> None:
    if not findings:
        return
    shown = "\n".join(findings[:_FINDINGS_SHOWN])
    more = len(findings) - _FINDINGS_SHOWN
    tail = f"\nand {more} more" if more > 0 else ""
    raise SecretLeftError(
        f"scrubbing left what looks like a secret; nothing was published\n{shown}{tail}",
        hint="add a rule for it, then finalise the journal again with: ptycassette recover",
    )


class _Run(Generic[_Sink]):
    """Writes one session, possibly several times; only the last sink is published."""

    def __init__(
        self,
        meta: SessionMeta,
        source: EventSource,
        open_sink: Callable[[], _Sink],
        *,
        emulator: EmulatorFactory,
        scrubber: Scrubber,
        policy: Callable[[], FramePolicy] | None,
        typed: TypedWatch | None,
    ) -> None:
        self._meta, self._source, self._open = meta, source, open_sink
        self._scrubber, self._emulator = scrubber, emulator
        self._policy = policy
        self.typed = typed
        self.keys: EntryKeys | None = None
        self.sink = open_sink()
        try:
            self.work = self._new_work()
        except BaseException:
            self.sink.abort()
            raise

    def _new_work(self) -> SinkWriter:
        name = str(self._meta.options.get("frame_policy", "settled"))
        policy = (
            self._policy()
            if self._policy is not None
            else frame_policy(name, resolution_ms=self._meta.resolution_ms)
        )
        return SinkWriter(self._meta, self.sink, self._emulator, self._scrubber, policy)

    def write(self, *, failed: bool = False, progress: Progress | None = None) -> None:
        """Write everything but the manifest."""
        for step in self._steps():
            if step is None:
                self.sink.abort()
                self.sink = self._open()
                self.work = self._new_work()
                continue
            self.work.take(step)
            if progress is not None and isinstance(step.event, Output):
                progress(self.work.offset)
        hidden = self.typed.hidden if self.typed is not None else ()
        self.work.end(self._rest(), failed=failed, hidden=hidden, keys=self.keys)

    def tell_secrets_apart(self) -> None:
        """Add digests of typed secrets to the manifest, if there were any."""
        streams = self._meta.streams
        typed = streams is None or streams.stdin == "terminal"  # a stream has no entries
        if not typed or not input_was_scrubbed(self._scrubber.report()):
            return
        hidden = self.typed.hidden if self.typed is not None else ()
        self.work.learnt.secrets = typed_digests(
            self._meta.id,
            self.work.inputs(self._source(), hidden),
            lambda: self.work.inputs(self._rest(), hidden),
            self.work.inputs(self._source(), hidden, real=True),
            typed=self.typed.values if self.typed is not None else (),
        )

    def left(self) -> tuple[str, ...]:
        scrubber = self._scrubber
        if isinstance(scrubber, StepScrubber):
            scrubber.check(manifest_texts(self.work.manifest()))
            return scrubber.left
        looked = False

        def scrubbed() -> Iterator[JournalEvent]:
            nonlocal looked
            yield from scrubber.events(self._meta, self._source)
            yield Noted(0, manifest_texts(self.work.manifest()))
            looked = True

        findings = scrubber.verify(self._meta, scrubbed)
        if not findings and not looked:
            raise RuntimeError("the scrubber verified without looking at all events")
        return findings

    def look_at_name(self) -> None:
        scrubber = self._scrubber
        if not isinstance(scrubber, StepScrubber):
            return
        scrubber.check(self._meta.target.rpartition("/")[2])
        if scrubber.left:
            raise SecretLeftError(
                UNPUBLISHABLE_NAME, hint="recover it under another name, with --output"
            )

    def look_at_tape(self, *, unproved: bool = False) -> None:
        """Refuse a tape that could answer wrongly; put other findings into the manifest.

        The manifest also gets whether the check finished.
        """
        tape = self.work.learnt.tape
        if self.keys is None or tape is None:
            return
        check = self.keys.check(self.sink.tape().exchanges())
        findings = check.findings
        blocking = [f"entry {one.entry}: {one.message}" for one in findings if one.blocking]
        if blocking and not unproved:
            shown = "\n".join(blocking[:_FINDINGS_SHOWN])
            raise AmbiguousTapeError(
                f"the tape could answer wrongly; nothing was published\n{shown}",
                hint="declare what varies in a file of rules (docs/tape.md), then save the journal"
                " again with: ptycassette recover (--unproved saves it as it is, --discard deletes"
                " it)",
            )
        unchecked = "it could answer wrongly" if blocking else check.unchecked
        tape["checked"] = not unchecked
        if unchecked:
            tape["unchecked"] = unchecked
        if check.fingerprint and not blocking:
            tape["fingerprint"] = check.fingerprint
            if check.fingerprint_version > 1:
                tape["fingerprint_version"] = check.fingerprint_version
        if findings:
            tape["findings"] = [
                {"entry": one.entry, "kind": one.kind, "message": one.message[:_MESSAGE_SHOWN]}
                for one in findings[:_FINDINGS_KEPT]
            ]

    def _steps(self) -> Iterator[ScrubStep | None]:
        if isinstance(self._scrubber, StepScrubber):
            yield from self._scrubber.steps(self._meta, self._source, self.typed)
            return
        events = self._scrubber.events(self._meta, self._source)
        held: JournalEvent | None = None
        for event in events:
            if held is not None:
                yield ScrubStep(held, event, None)
            held = event
        if held is not None:
            yield ScrubStep(held, None, None)

    def _rest(self) -> Iterator[JournalEvent]:
        if isinstance(self._scrubber, StepScrubber):
            return self._scrubber.rest(self._source)
        events = self._scrubber.events(self._meta, self._source)
        return (event for event in events if not isinstance(event, Output))
