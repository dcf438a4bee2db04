"""The saver's core: turns the events of a journal into a cassette, also while it is recorded.

A scrubber returns the events with their output masked. Each is numbered, its time is floored, and
it is written, with the frames between them. If the scrubber finds that something written before
must be masked, everything is discarded and written again. Events other than output are masked
last, when all secrets are known; they keep their numbers. Then the manifest is written, and the
sink publishes.

It reads no clock and makes no id: the same events, head and scrubber give the same calls of the
sink, byte for byte. Nothing is visible before the sink publishes, and it publishes only if the
verification found nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from ptycassette.cassette.frames import FrameMaker
from ptycassette.errors import RunFailedError, SecretLeftError
from ptycassette.model import (
    CassetteSink,
    Command,
    ContentDigest,
    DiscoveryRecord,
    EmulatorFactory,
    EmulatorId,
    EventSource,
    FinalRecord,
    Finished,
    Harness,
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
    Scrubber,
    ScrubReport,
    ServiceEventRecord,
    SessionMeta,
    Signalled,
    Step,
    StepScrubber,
    Terminal,
    Timing,
    Typed,
)
from ptycassette.recording.capability import with_probed
from ptycassette.recording.secrets_apart import input_was_scrubbed, typed_digests
from ptycassette.terminal import default_emulator
from ptycassette.terminal.policies import FramePolicy, frame_policy
from ptycassette.timeline.match_secrets import (
    SECRET_DIGESTS_KEY,
    InputDigest,
    stored_secrets,
    word_digests,
)
from ptycassette.typed import TypedWatch

__all__ = ["Progress", "finalise", "finalise_failed"]

FORMAT_VERSION = 1
_SHAPED = ("binary_path_digest_sha256", "captured_at", "freshness_window")
_FINDINGS_SHOWN = 5

Progress = Callable[[int], None]
_Sink = TypeVar("_Sink", bound=CassetteSink)


def finalise(
    meta: SessionMeta,
    source: EventSource,
    open_sink: Callable[[], CassetteSink],
    *,
    emulator: EmulatorFactory,
    scrubber: Scrubber,
    typed: TypedWatch | None = None,
    policy: Callable[[], FramePolicy] | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Turn a session into a cassette and publish it.

    Args:
        meta: the head of the journal.
        source: its events, in order, ending with ``Finished``. They may still be coming: its
            iterators wait for them.
        open_sink: makes what takes the parts, called again where everything written is void;
            aborted when anything raises.
        emulator: makes the frames.
        scrubber: fresh, for this session alone.
        typed: learns what was typed and is secret, where the scrubber is a ``StepScrubber``.
        policy: makes what says when to take frames; the one named in ``meta.options`` when None.
        progress: told the number of output bytes after each output.

    Returns:
        The manifest as published.

    Raises:
        RunFailedError: the run failed, so it is no cassette.
        SecretLeftError: the verification found something after scrubbing.
        ValueError: ``meta.options`` names an unknown frame policy.
    """
    run = _Run(meta, source, open_sink, emulator=emulator, scrubber=scrubber, policy=policy)
    run.typed = typed
    try:
        run.write(progress=progress)
        _refuse(run.left())
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
    """Hand the scrubbed records of a failed run to a sink, as far as they go; publish nothing.

    Returns:
        The sink, and what the verification found. Unless that is empty the sink must be aborted.
    """
    run = _Run(meta, source, open_sink, emulator=emulator, scrubber=scrubber, policy=None)
    run.typed = typed
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
    """One session on its way into sinks, of which the last one counts."""

    def __init__(
        self,
        meta: SessionMeta,
        source: EventSource,
        open_sink: Callable[[], _Sink],
        *,
        emulator: EmulatorFactory,
        scrubber: Scrubber,
        policy: Callable[[], FramePolicy] | None,
    ) -> None:
        self._meta, self._source, self._open = meta, source, open_sink
        self._scrubber, self._emulator = scrubber, emulator
        self._policy = policy
        self.typed: TypedWatch | None = None
        self.sink = open_sink()
        self.work = self._new_work()

    def _new_work(self) -> _Work:
        name = str(self._meta.options.get("frame_policy", "settled"))
        policy = (
            self._policy()
            if self._policy is not None
            else frame_policy(name, resolution_ms=self._meta.resolution_ms)
        )
        return _Work(self._meta, self.sink, self._emulator, self._scrubber, policy)

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
        self.work.end(self._rest(), failed=failed, hidden=hidden)

    def tell_secrets_apart(self) -> None:
        """Give the manifest digests of the secrets that were typed, where there were any."""
        if not input_was_scrubbed(self._scrubber.report()):
            return
        hidden = self.typed.hidden if self.typed is not None else ()
        self.work.secrets = typed_digests(
            self._meta.id,
            self.work.inputs(self._source(), hidden),
            self.work.inputs(self._rest(), hidden),
            typed=self.typed.values if self.typed is not None else (),
        )

    def left(self) -> tuple[str, ...]:
        """What the verification found."""
        scrubber = self._scrubber
        if isinstance(scrubber, StepScrubber):
            scrubber.check(self.work.texts())
            return scrubber.left
        looked = False

        def scrubbed() -> Iterator[JournalEvent]:
            nonlocal looked
            yield from scrubber.events(self._meta, self._source)
            yield Noted(0, self.work.texts())
            looked = True

        findings = scrubber.verify(self._meta, scrubbed)
        if not findings and not looked:
            raise RuntimeError("the scrubber verified without looking at all events")
        return findings

    def _steps(self) -> Iterator[Step | None]:
        if isinstance(self._scrubber, StepScrubber):
            yield from self._scrubber.steps(self._meta, self._source, self.typed)
            return
        events = self._scrubber.events(self._meta, self._source)
        held: JournalEvent | None = None
        for event in events:
            if held is not None:
                yield Step(held, event, None)
            held = event
        if held is not None:
            yield Step(held, None, None)

    def _rest(self) -> Iterator[JournalEvent]:
        if isinstance(self._scrubber, StepScrubber):
            return self._scrubber.rest(self._source)
        events = self._scrubber.events(self._meta, self._source)
        return (event for event in events if not isinstance(event, Output))


class _Work:
    """One session on its way into one sink.

    Attributes:
        offset: how many bytes of output were written.
        secrets: the digests of what was masked in the input.
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
        self._frames = FrameMaker(None if shared else own, policy)
        self._quota: QuotaRecord | None = None
        self._discovery: DiscoveryRecord | None = None
        self._reserved = array("Q")
        self._times_us = array("Q")
        self._numbers = array("Q")
        self._end: Finished | None = None
        self._taken = 0
        self._seq = 0
        self._t_us = 0
        self._ended = False
        self.offset = 0
        self.secrets: list[InputDigest] = []

    def take(self, step: Step) -> None:
        """Write one event, if it is output, and the frame after it; else keep its number."""
        event = step.event
        self._taken += 1
        if self._ended:
            raise RunFailedError("the journal continues after its end", stage="final")
        self._t_us = max(self._t_us, event.t_us)
        match event:
            case Finished():
                self._ended = True
                return
            case Probed():
                pass
            case Output(_, data):
                self._write_output(data)
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
        self, rest: Iterator[JournalEvent], *, failed: bool, hidden: Collection[int] = ()
    ) -> None:
        """Write what is no output, masked, and the documents.

        ``hidden`` are the numbers of events that were typed unseen without being marked so.

        Raises:
            RunFailedError: unless ``failed``, the run must not become a cassette.
        """
        final: Finished | None = None
        number = 0
        for event in rest:
            match event:
                case Finished():
                    final = self._end = event
                case Probed():
                    self._quota = event.quota or self._quota
                    self._discovery = event.discovery or self._discovery
                    for document in (event.quota, event.discovery):
                        if document is not None:
                            self._sink.put(document)
                case Output():
                    pass
                case _:
                    unseen = self._numbers[number] in hidden
                    seq, t_us = self._reserved[number], self._times_us[number]
                    record = self._record(event, seq, t_us, unseen=unseen)
                    self._sink.add(record)
                    number += 1
        if not failed:
            self._check(final)
        if final is not None:
            self._sink.add(self._final_record(final))
        self._sink.put(self._report())

    def inputs(
        self, events: Iterator[JournalEvent], hidden: Collection[int]
    ) -> Iterator[InputRecord]:
        """The input records that ``end`` writes, of other events of the same session."""
        number = 0
        for event in events:
            if isinstance(event, Output | Probed | Finished):
                continue
            unseen = self._numbers[number] in hidden
            seq, t_us = self._reserved[number], self._times_us[number]
            record = self._record(event, seq, t_us, unseen=unseen)
            if isinstance(record, InputRecord):
                yield record
            number += 1

    def texts(self) -> dict[str, Any]:
        """The texts of the manifest, for verification; digests are none."""
        manifest = self.manifest()
        harness = msgspec.to_builtins(manifest.harness)
        for name in _SHAPED:  # a digest looks like a key to some rules
            harness.pop(name, None)
        return {
            "command": msgspec.to_builtins(manifest.command),
            "harness": harness,
            "optional": {
                name: value
                for name, value in (manifest.optional or {}).items()
                if name != SECRET_DIGESTS_KEY
            },
        }

    def manifest(self) -> Manifest:
        """The manifest; the sink fills in the digest."""
        meta, text = self._meta, self._scrubber.text
        argv = tuple(text(word, channel="argv") for word in meta.argv)
        secrets = stored_secrets(self.secrets, word_digests(meta.id, meta.argv, argv))
        return Manifest(
            version=FORMAT_VERSION,
            id=meta.id,
            content_digest=ContentDigest(""),
            harness=self._harness(),
            command=Command(
                argv=argv,
                workdir_policy=meta.workdir_policy,
                env_allowlist=meta.env_allowlist or None,
                timeout_ms=meta.timeout_ms,
                permission_mode=self._text(meta.permission_mode, "permission-mode"),
            ),
            terminal=Terminal(
                initial_rows=meta.size.rows,
                initial_cols=meta.size.cols,
                locale=meta.locale,
                term=meta.term,
                pty_mode=meta.pty_mode,
                emulator=self._emulator_id,
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
                recorded_at=meta.recorded_at,
                recorder_version=meta.recorder_version,
            ),
            optional={**self._optional(), **secrets} or None,
        )

    def _text(self, value: str | None, channel: str) -> str | None:
        return None if value is None else self._scrubber.text(value, channel=channel)

    def _harness(self) -> Harness:
        harness = msgspec.to_builtins(with_probed(self._meta.harness, self._quota, self._discovery))
        if self._end is not None and self._end.binary_version is not None:
            harness["binary_version"] = self._end.binary_version
        # What the format gives a shape is no text of anybody's, and keeps it.
        shaped = {name: harness.pop(name) for name in _SHAPED if name in harness}
        scrubbed = self._scrubber.value(harness, channel="harness")
        return msgspec.convert({**scrubbed, **shaped}, Harness)

    def _optional(self) -> dict[str, Any]:
        options = self._meta.options
        known = ("frame_policy", "idle_limit_ms", "meta", "recovered")
        found = {name: options[name] for name in known if options.get(name) is not None}
        if self._end is not None and self._end.version_missing is not None:
            found["binary_version_missing"] = self._end.version_missing
        if self._meta.title is not None:
            found["title"] = self._meta.title
        value: dict[str, Any] = self._scrubber.value(found, channel="manifest")
        return value

    def _write_output(self, data: bytes) -> None:
        self._seq += 1
        record = OutputRecord(
            seq=self._seq,
            t_ms=self._t_ms,
            t_us=self._t_us,
            offset=self.offset,
            length=len(data),
        )
        self.offset += len(data)
        self._sink.add(record, data)

    def _record(
        self, event: Typed | Resized | Signalled | Noted, seq: int, t_us: int, *, unseen: bool
    ) -> InputRecord | ServiceEventRecord:
        t_ms = self._floored(t_us)
        match event:
            case Noted(_, payload):
                return ServiceEventRecord(seq=seq, t_ms=t_ms, t_us=t_us, payload=payload)
            case Typed():
                event = msgspec.structs.replace(event, masked=event.masked or unseen).hidden()
                return InputRecord(
                    seq=seq,
                    t_ms=t_ms,
                    t_us=t_us,
                    kind="input",
                    bytes=event.data,
                    key=event.key,
                    source=event.source,
                    paste=event.paste,
                    masked=event.masked,
                )
            case Resized(_, size):
                return InputRecord(seq=seq, t_ms=t_ms, t_us=t_us, kind="resize", size=size)
            case Signalled(_, signal):
                return InputRecord(seq=seq, t_ms=t_ms, t_us=t_us, kind="signal", signal=signal)

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
        if self.offset == 0 and final.exit is None:
            raise RunFailedError(
                "it has no output, and the end of the program is not recorded", stage="output"
            )

    def _final_record(self, final: Finished) -> FinalRecord:
        return FinalRecord(
            seq=self._seq + 1,
            t_ms=self._t_ms,
            t_us=self._t_us,
            duration_ms=self._t_us // 1000,
            exit=final.exit,
            metadata=final.metadata,
            usage=final.usage,
            cost_usd=final.cost_usd,
            routing_actual=final.routing_actual,
            session_log_path=final.session_log_path,
            final_text=final.final_text,
        )

    def _report(self) -> ScrubReport:
        report = self._scrubber.report()
        if report.env_allowlist is msgspec.UNSET and self._meta.env_allowlist:
            report = msgspec.structs.replace(report, env_allowlist=self._meta.env_allowlist)
        return report

    @property
    def _t_ms(self) -> int:
        return self._floored(self._t_us)

    def _floored(self, t_us: int) -> int:
        t_ms = t_us // 1000
        return t_ms - t_ms % self._meta.resolution_ms
