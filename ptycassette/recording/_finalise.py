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

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from ptycassette.errors import AmbiguousTapeError, SecretLeftError
from ptycassette.model.ports import (
    CassetteSink,
    EmulatorFactory,
    EventSource,
    Scrubber,
    ScrubStep,
    StepScrubber,
)
from ptycassette.model.records import (
    InputRecord,
    JournalEvent,
    Manifest,
    Noted,
    Output,
    ScrubReport,
    SessionMeta,
)
from ptycassette.recording.sink_writer import SinkWriter, manifest_texts
from ptycassette.scrub.typed.secrets import TypedSecret
from ptycassette.scrub.typed.watch import TypedWatch
from ptycassette.terminal.policies import FramePolicy, frame_policy

if TYPE_CHECKING:
    from ptycassette.cassette.timeline.match import InputDigest
    from ptycassette.recording.sink_writer import EntryKeys


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
    from ptycassette.cassette.timeline.match import (  # noqa: PLC0415
        input_digests,
        iter_entries,
        masked_digests,
    )

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
