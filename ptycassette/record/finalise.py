"""The finaliser: what a journal holds becomes what a cassette holds.

scrub -> number and floor -> frames from the scrubbed bytes -> verify that no
secret is left -> manifest -> publish, as one stream in bounded memory. It reads
no clock and makes no id: the same events, head and scrubber give the same
calls of the sink, byte for byte.

One pass does everything: the verification pulls the scrubbed events through,
and each is written to the sink on its way. Nothing is visible before the sink
publishes, and it publishes only when the verification came back empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ptycassette.errors import RunFailedError, SecretLeftError
from ptycassette.model import (
    CassetteSink,
    Command,
    ContentDigest,
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
    Resized,
    Scrubber,
    ScrubReport,
    ServiceEventRecord,
    SessionMeta,
    Signalled,
    Terminal,
    Timing,
    Typed,
)
from ptycassette.record.frames import FrameMaker
from ptycassette.screen.policies import FramePolicy, frame_policy

__all__ = ["Progress", "finalise", "finalise_failed"]

FORMAT_VERSION = 1
_FINDINGS_SHOWN = 5

Progress = Callable[[int], None]


def finalise(
    meta: SessionMeta,
    source: EventSource,
    sink: CassetteSink,
    *,
    emulator: EmulatorFactory,
    scrubber: Scrubber,
    policy: FramePolicy | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Turn a session into a cassette and publish it.

    Args:
        meta: the head of the journal.
        source: its events, in order, ending with ``Finished``.
        sink: takes the parts; aborted when anything raises.
        emulator: makes the frames.
        scrubber: fresh, for this session alone.
        policy: when to take frames, fresh; the one named in ``meta.options`` when None.
        progress: told the number of output bytes after each output.

    Returns:
        The manifest as published.

    Raises:
        RunFailedError: the run failed, so it is no cassette.
        SecretLeftError: the verification found something after scrubbing.
        ValueError: ``meta.options`` names an unknown frame policy.
    """
    try:
        work = _Work(meta, source, sink, emulator=emulator, scrubber=scrubber, policy=policy)
        work.progress = progress
        _verify(scrubber.verify(meta, work.run), all_seen=work.done)
        return sink.publish(work.manifest())
    except BaseException:
        sink.abort()
        raise


def finalise_failed(
    meta: SessionMeta,
    source: EventSource,
    sink: CassetteSink,
    *,
    emulator: EmulatorFactory,
    scrubber: Scrubber,
) -> tuple[str, ...]:
    """Hand the scrubbed records of a failed run to ``sink``, as far as they go; publish nothing.

    Returns:
        What the verification found. Unless it is empty the sink must be aborted.
    """
    work = _Work(meta, source, sink, emulator=emulator, scrubber=scrubber, policy=None)
    work.failed = True
    return scrubber.verify(meta, work.run)


def _verify(findings: tuple[str, ...], *, all_seen: bool) -> None:
    if not findings:
        if not all_seen:
            raise RuntimeError("the scrubber verified without looking at all events")
        return
    shown = "\n".join(findings[:_FINDINGS_SHOWN])
    more = len(findings) - _FINDINGS_SHOWN
    tail = f"\nand {more} more" if more > 0 else ""
    raise SecretLeftError(
        f"scrubbing left what looks like a secret; nothing was published\n{shown}{tail}",
        hint="add a rule for it, then finalise the journal again with: ptycassette recover",
    )


class _Work:
    """One session on its way into one sink."""

    def __init__(
        self,
        meta: SessionMeta,
        source: EventSource,
        sink: CassetteSink,
        *,
        emulator: EmulatorFactory,
        scrubber: Scrubber,
        policy: FramePolicy | None,
    ) -> None:
        self._meta, self._source, self._sink, self._scrubber = meta, source, sink, scrubber
        screen = emulator(meta.size)
        self._emulator_id: EmulatorId = screen.identity
        if policy is None:
            name = str(meta.options.get("frame_policy", "settled"))
            policy = frame_policy(name, resolution_ms=meta.resolution_ms)
        self._frames = FrameMaker(screen, policy)
        self.failed = False
        self._seq = 0
        self._t_us = 0
        self._offset = 0
        self._probes: list[Probed] = []
        self._final: Finished | None = None
        self._started = False
        self.done = False
        self.progress: Progress | None = None

    def run(self) -> Iterator[JournalEvent]:
        """The scrubbed events, each written on its way; a second call only scrubs again."""
        if self._started:
            yield from self._scrubber.events(self._meta, self._source)
            return
        self._started = True
        for event, following in _with_following(self._scrubber.events(self._meta, self._source)):
            self._take(event, following)
            yield event
        yield from self._end()
        self.done = True

    def manifest(self) -> Manifest:
        """The manifest; the sink fills in the digest."""
        meta, text = self._meta, self._scrubber.text
        return Manifest(
            version=FORMAT_VERSION,
            id=meta.id,
            content_digest=ContentDigest(""),
            harness=self._harness(),
            command=Command(
                argv=tuple(text(word, channel="argv") for word in meta.argv),
                workdir_policy=meta.workdir_policy,
                env_allowlist=meta.env_allowlist or None,
                timeout_ms=meta.timeout_ms,
                permission_mode=meta.permission_mode,
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
            optional=self._optional() or None,
        )

    def _harness(self) -> Harness:
        told = msgspec.to_builtins(self._meta.harness)
        digest = told.pop("binary_path_digest_sha256", None)
        scrubbed = self._scrubber.value(told, channel="harness")
        return msgspec.convert({**scrubbed, "binary_path_digest_sha256": digest}, Harness)

    def _optional(self) -> dict[str, Any]:
        options = self._meta.options
        known = ("frame_policy", "idle_limit_ms", "meta", "recovered")
        found = {name: options[name] for name in known if options.get(name) is not None}
        if self._meta.title is not None:
            found["title"] = self._meta.title
        value: dict[str, Any] = self._scrubber.value(found, channel="manifest")
        return value

    def _take(self, event: JournalEvent, following: JournalEvent | None) -> None:
        """Write one event, and the frame after it."""
        if self._final is not None:
            raise RunFailedError("the journal goes on after its end", stage="final")
        self._t_us = max(self._t_us, event.t_us)
        match event:
            case Finished():
                self._final = event
                return
            case Probed():
                self._probes.append(event)
            case Output(_, data):
                self._write_output(data)
            case Noted(_, payload):
                self._sink.add(
                    ServiceEventRecord(
                        seq=self._next(), t_ms=self._t_ms, t_us=self._t_us, payload=payload
                    )
                )
            case _:
                self._sink.add(self._input(event))
        frame = self._frames.after(event, following, t_ms=self._t_ms, seq=self._seq + 1)
        if frame is not None:
            self._seq += 1
            self._sink.add(msgspec.structs.replace(frame, t_us=self._t_us))

    def _write_output(self, data: bytes) -> None:
        record = OutputRecord(
            seq=self._next(),
            t_ms=self._t_ms,
            t_us=self._t_us,
            offset=self._offset,
            length=len(data),
        )
        self._offset += len(data)
        self._sink.add(record, data)
        if self.progress is not None:
            self.progress(self._offset)

    def _input(self, event: Typed | Resized | Signalled) -> InputRecord:
        seq, t_ms, t_us = self._next(), self._t_ms, self._t_us
        match event:
            case Typed():
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

    def _end(self) -> Iterator[JournalEvent]:
        """Write what stands at the end; yield the texts of the manifest for verification."""
        final = self._final
        if not self.failed:
            self._check(final)
        for probe in self._probes:
            for document in (probe.quota, probe.discovery):
                if document is not None:
                    self._sink.put(document)
        if final is not None:
            self._sink.add(self._final_record(final))
        self._sink.put(self._report())
        yield Noted(self._t_us, self._texts())

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
        if self._offset == 0 and final.exit is None:
            raise RunFailedError(
                "it holds no output, and nobody saw the program end", stage="output"
            )

    def _texts(self) -> dict[str, Any]:
        manifest = self.manifest()
        harness = msgspec.to_builtins(manifest.harness)
        harness.pop("binary_path_digest_sha256", None)  # a digest looks like a key to some rules
        return {"argv": manifest.command.argv, "harness": harness, "optional": manifest.optional}

    def _final_record(self, final: Finished) -> FinalRecord:
        return FinalRecord(
            seq=self._next(),
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

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    @property
    def _t_ms(self) -> int:
        t_ms = self._t_us // 1000
        return t_ms - t_ms % self._meta.resolution_ms


def _with_following(
    events: Iterator[JournalEvent],
) -> Iterator[tuple[JournalEvent, JournalEvent | None]]:
    """Each event with the one after it, None after the last."""
    held: JournalEvent | None = None
    for event in events:
        if held is not None:
            yield held, event
        held = event
    if held is not None:
        yield held, None
