"""Turns a journal on disk into a published cassette, or into the diagnostic of a failed run."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ptycassette.cassette.framing import EmptyJournalError
from ptycassette.cassette.io.pending import published_path, remove_abandoned_recordings
from ptycassette.cassette.io.staging import disk_errors, published_manifest
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.cassette.layout import DIAGNOSTIC, encode_document
from ptycassette.errors import (
    CassetteError,
    ExistsError,
    JournalError,
    LockedError,
    NotFoundError,
    RefusedError,
    RunFailedError,
    SecretLeftError,
    UsageError,
)
from ptycassette.model.ports import (
    EmulatorFactory,
    EventSource,
    Scrubber,
    ScrubberFactory,
    StepScrubber,
)
from ptycassette.model.records import (
    ExitStatus,
    Finished,
    HeadSecret,
    JournalEvent,
    Manifest,
    Output,
    ScrubReport,
    SessionMeta,
    storable_text,
)
from ptycassette.model.tape import TAPE_OPTION, MaskedDigest, VolatileToken
from ptycassette.model.visible_text import visible
from ptycassette.recording.hooks import BeforeRecord, hooked
from ptycassette.recording.io.journal_file import (
    HIDDEN_SUFFIX,
    JOURNAL_SUFFIX,
    delete_journal,
    tape_journal_of,
)
from ptycassette.recording.io.options import TapeStarter
from ptycassette.recording.io.saver import JournalSource, lock_left_behind
from ptycassette.recording.sink_writer import (
    UNPUBLISHABLE_NAME,
    Progress,
    answers_apart,
    finalise,
    finalise_failed,
)
from ptycassette.scrub.io.conceal import concealed_head
from ptycassette.scrub.io.process_secrets import remember
from ptycassette.scrub.io.setup import session_scrubber
from ptycassette.scrub.mask import masked_places
from ptycassette.scrub.search.known import SHORTEST_KNOWN, KnownValue
from ptycassette.scrub.typed.watch import TypedWatch
from ptycassette.system.clock import monotonic_s
from ptycassette.system.files.state_dirs import absolute
from ptycassette.system.ownership import Closing
from ptycassette.system.pty.process import NoCoreDumps
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.policies import POLICY_NAMES

if TYPE_CHECKING:
    from ptycassette.recording.sink_writer import EntryKeys
    from ptycassette.recording.tape_source import ItemReader
    from ptycassette.tape.items import TapeItem
    from ptycassette.tape.journal_codec import TapeHead
    from ptycassette.tape.matching.checking import TapeCheck


DIAGNOSTIC_VERSION = 1


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a run did not become a cassette. Scrubbed like everything else.

    Attributes:
        reason: the reason as a sentence.
        stage: ``spawn`` (it could not be started), ``run`` (a timeout), ``driver`` (the code that
            drove it failed), ``final`` (the recording ends early), ``output`` (it failed without
            output), ``scrub`` (a secret would have been left; no streams are kept).
        findings: what the scrub verification found: channel, moment and rule, never a value.
    """

    version: int
    reason: str
    stage: str
    id: str
    argv: tuple[str, ...]
    recorded_at: str
    recorder_version: str
    findings: tuple[str, ...] = ()


def diagnostic_of(
    meta: SessionMeta,
    scrubber: Scrubber,
    *,
    reason: str,
    stage: str,
    findings: tuple[str, ...] = (),
) -> Diagnostic:
    """The diagnostic of a session whose events ``scrubber`` has processed already."""
    return Diagnostic(
        version=DIAGNOSTIC_VERSION,
        reason=storable_text(scrubber.text(reason, channel="diagnostic")),
        stage=stage,
        id=meta.id,
        argv=tuple(storable_text(scrubber.text(word, channel="argv")) for word in meta.argv),
        recorded_at=meta.recorded_at,
        recorder_version=meta.recorder_version,
        findings=tuple(map(storable_text, findings)),
    )


# The scrubber of ``--no-scrub``, which removes nothing and reports so.
#
# A cassette made with it is marked ``unscrubbed``. Readers refuse it by default.


class Unscrubbed:
    """A ``Scrubber`` that changes nothing."""

    def events(self, meta: SessionMeta, source: EventSource) -> Iterator[JournalEvent]:  # noqa: ARG002 - the port
        """The events as they are."""
        return source()

    def text(self, value: str, *, channel: str) -> str:  # noqa: ARG002 - the port
        """The text as it is."""
        return value

    def value(self, value: Any, *, channel: str) -> Any:  # noqa: ARG002 - the port
        """The value as it is."""
        return value

    def verify(self, meta: SessionMeta, source: EventSource) -> tuple[str, ...]:  # noqa: ARG002 - the port
        """Iterate over all events, as the port requires, without searching them."""
        for _ in source():
            pass
        return ()

    def report(self) -> ScrubReport:
        """A report that nothing was scrubbed, on explicit demand."""
        return ScrubReport(status="unscrubbed")


# Writes the diagnostic directory of a failed run: the scrubbed streams, and the failure.


def diagnostic_path(target: Path) -> Path:
    """The path of the diagnostic of a failed run whose cassette would have been ``target``."""
    return target.with_name(f"{target.name}.diagnostic")


class DiagnosticWriter(CassetteWriter):
    """A ``CassetteSink`` that publishes a diagnostic instead; it replaces an earlier one.

    Args:
        target: where the cassette would have been.
    """

    def __init__(self, target: Path) -> None:
        self.path = diagnostic_path(target)
        super().__init__(self.path, overwrite=True)

    def publish_failure(self, diagnostic: Diagnostic) -> Path:
        """Make everything durable and publish; returns the path.

        Raises:
            ExistsError: something other than a diagnostic is at that path.
            StorageError: the disk refused.
        """
        for name, document in {**self._documents, DIAGNOSTIC: diagnostic}.items():
            self._files[name] = self._stage(name, self._limits.max_document_bytes)
            self._files[name].append(encode_document(document, where=name))
        for file in self._files.values():
            file.finish()
        self._staging.publish(self._still_replaces())
        self._done = True
        return self.path


class Finaliser(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for making cassettes, and the functions that publish them.

    Attributes:
        emulator: makes the frames.
        scrubber: makes a scrubber for one session; None for the default one.
        known: secrets that the caller declares. Typed secrets are learnt from the events.
        progress: called with the number of output bytes that are done.
        before_record: sees each event first, except those of the tape; see ``recording/hooks.py``.
        tape: the proxy's journal, where model traffic was recorded.
        salvage: if a proxy's journal is damaged in the middle, use the part before the damage.
        unproved: publish a tape that could answer wrongly, too, marked as not checked.
        recorded: the events were published before, so nothing typed is still secret.
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

        ``keys`` makes the keys of the tape's questions; None for those that a recording makes.

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
        if isinstance(scrubber, StepScrubber):  # it learns the environment and the typed input
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
    """None without a tape."""
    if TAPE_OPTION not in meta.options:
        return None

    return TapeKeys(meta)


# Cassettes from journals that a crash left behind.


_BEING_MADE_S = 60.0


class LeftJournal(msgspec.Struct, frozen=True, kw_only=True):
    """A journal in the state directory.

    ``state`` is ``crashed`` (to be recovered), ``live`` (its recorder runs),
    ``empty`` (its recorder died before it had written anything) or
    ``unreadable``, with the reason in ``problem``. ``argv`` and the name of
    ``target`` are scrubbed.
    """

    path: str
    state: Literal["crashed", "live", "empty", "unreadable"]
    bytes: int
    argv: tuple[str, ...] = ()
    target: str = ""
    recorded_at: str = ""
    problem: str | None = None


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """The result of recovering a journal.

    ``outcome`` is ``published`` (``target`` is the cassette now), ``already``
    (it had been published before the crash), ``diagnostic`` (the run had failed;
    ``target`` is its diagnostic), ``empty`` (it had no events) or
    ``discarded`` (it was deleted on demand). ``ended`` is whether the program's end had been
    recorded.
    """

    path: str
    outcome: Literal["published", "already", "diagnostic", "empty", "discarded"]
    target: str = ""
    output_bytes: int = 0
    torn_bytes: int = 0
    ended: bool = False
    damage: str | None = None


def left_journals(directory: Path) -> Iterator[LeftJournal]:
    """All journals of a directory, those of live recorders included, by name.

    Raises:
        UsageError: the configuration of scrubbing is wrong, so nothing can be shown.
    """
    _sweep(directory)
    for path in sorted(directory.glob(f"*{JOURNAL_SUFFIX}")):
        state: Literal["crashed", "live"] = "crashed"
        try:
            size = path.lstat().st_size
            try:
                with _locked(path):
                    meta = _head_of(path)
            except LockedError:
                state = "live"
                meta = _head_of(path)
        except (CassetteError, FileNotFoundError) as exc:
            if state == "live":
                yield LeftJournal(path=str(path), state="live", bytes=size)
            elif isinstance(exc, EmptyJournalError):
                yield LeftJournal(path=str(path), state="empty", bytes=size, problem=exc.message)
            elif isinstance(exc, JournalError):
                yield LeftJournal(
                    path=str(path), state="unreadable", bytes=size, problem=exc.message
                )
            # otherwise it has disappeared meanwhile
        else:
            yield _left(path, state, size, meta)


def _head_of(path: Path) -> SessionMeta:
    source = JournalSource(path)
    _check_head(source)
    return source.meta


def _sweep(directory: Path) -> None:
    """Delete the empty files of recorders that died before they named their journal."""
    for path in directory.glob(f".*{HIDDEN_SUFFIX}"):
        with suppress(OSError):
            if path.lstat().st_mtime < time.time() - _BEING_MADE_S:
                path.unlink()


def _left(
    path: Path, state: Literal["crashed", "live"], size: int, meta: SessionMeta
) -> LeftJournal:
    target = published_path(Path(meta.target))
    name, *argv = concealed_head(msgspec.structs.replace(meta, argv=(target.name, *meta.argv)))
    return LeftJournal(
        path=str(path),
        state=state,
        bytes=size,
        argv=tuple(argv),
        target=str(target.parent / name) if meta.target else "",
        recorded_at=meta.recorded_at,
    )


def recover(
    path: Path,
    *,
    output: Path | None = None,
    overwrite: bool = False,
    salvage: bool = False,
    unproved: bool = False,
    finaliser: Finaliser | None = None,
) -> Recovered:
    """Make a cassette from one journal, then delete the journal.

    Args:
        path: the journal.
        output: where to publish; when None, where the recorder would have, or the library that
            it recorded for.
        overwrite: replace the cassette that is there.
        salvage: from a journal that is damaged in the middle, take what precedes the damage.
        unproved: publish a tape that could answer wrongly, too, marked as not checked.
        finaliser: makes the cassette; the default one when None.

    Raises:
        NotFoundError: no such journal.
        LockedError: its recorder is alive.
        RefusedError: a journal from elsewhere, and no ``output``.
        JournalError: it is damaged; nothing was changed.
        SecretLeftError: scrubbing left something; the journal stays.
        ExistsError, StorageError: the cassette cannot be written; the journal stays.
    """
    if output is None:
        _check_ours(path)
    with NoCoreDumps(), _locked(path):
        try:
            source = JournalSource(path, salvage=salvage)
        except EmptyJournalError:
            delete_journal(path)
            return Recovered(path=str(path), outcome="empty")
        _check_head(source)
        recovered = _recovered(source, output or published_path(Path(source.meta.target)))
        if recovered.target and published_manifest(Path(recovered.target), source.meta.id):
            delete_journal(path)
            return msgspec.structs.replace(recovered, outcome="already")
        try:
            made = msgspec.structs.replace(
                finaliser or Finaliser(),
                tape=tape_journal_of(path),
                salvage=salvage,
                unproved=unproved,
            )
            recovered = _publish(source, recovered, overwrite=overwrite, finaliser=made)
        except ExistsError:
            # The saver of a recorder that was killed may have published it meanwhile.
            if not published_manifest(Path(recovered.target), source.meta.id):
                raise
            recovered = msgspec.structs.replace(recovered, outcome="already")
        delete_journal(path)
        if output is None:
            remove_abandoned_recordings(Path(recovered.target).parent)
        return recovered


def discard(path: Path) -> Recovered:
    """Delete a journal, and its model traffic, for good.

    Raises:
        UsageError: the file is not named like a journal.
        NotFoundError: no such journal.
        LockedError: its recorder is alive.
    """
    if path.suffix != JOURNAL_SUFFIX:
        raise UsageError(
            "not a journal, so it is not deleted",
            where=str(path),
            hint=f"name a file that `ptycassette recover --list` shows (*{JOURNAL_SUFFIX})",
        )
    with _locked(path):
        delete_journal(path)
    return Recovered(path=str(path), outcome="discarded")


def _check_ours(path: Path) -> None:
    """Accept a target only from the user's own journals: another user's could name any path."""
    try:
        path.lstat()
        found = path.parent.stat()
    except OSError:
        return  # reading it shows the reason
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise RefusedError(
            "the journal is not in a private directory of yours, so its target is not used",
            where=str(path),
            hint="choose the place with --output",
        )


def _check_head(source: JournalSource) -> None:
    """Refuse a head that no recorder writes, before it is used."""
    meta = source.meta
    policy = str(meta.options.get("frame_policy", POLICY_NAMES[0]))
    paths = (meta.home, meta.user_home, meta.cwd, meta.target)
    if meta.resolution_ms < 1:
        wrong = f"resolution_ms is {meta.resolution_ms}"
    elif policy not in POLICY_NAMES:
        wrong = f"there is no frame policy {visible(policy, limit=100)}"
    elif any("\0" in path for path in paths):
        wrong = "a path holds a zero byte"
    else:
        return
    raise JournalError(f"the head is not that of a recorder: {wrong}", where=str(source.path))


def _recovered(source: JournalSource, target: Path) -> Recovered:
    """Read the whole journal once, for its size, its damage, and whether it has its end."""
    ended, size = False, 0
    for event in source():
        ended = ended or isinstance(event, Finished)
        if isinstance(event, Output):
            size += len(event.data)
    return Recovered(
        path=str(source.path),
        outcome="published",
        target=str(absolute(target)),
        output_bytes=size,
        torn_bytes=source.torn_bytes,
        ended=ended,
        damage=None if source.damage is None else source.damage.message,
    )


def _publish(
    source: JournalSource, recovered: Recovered, *, overwrite: bool, finaliser: Finaliser
) -> Recovered:
    target = Path(recovered.target)
    meta = source.meta
    if not recovered.ended:
        options = {**meta.options, "recovered": True}
        meta = msgspec.structs.replace(meta, options=options)
    try:
        with disk_errors("making the directory", target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
        finaliser.publish(meta, lambda: _with_end(source), target, overwrite=overwrite)
    except RunFailedError:
        return msgspec.structs.replace(
            recovered, outcome="diagnostic", target=str(diagnostic_path(target))
        )
    return recovered


def _with_end(source: JournalSource) -> Iterator[JournalEvent]:
    """The events. If a crash lost the end, one with an unknown exit is added."""
    t_us = 0
    for event in source():
        t_us = max(t_us, event.t_us)
        yield event
        if isinstance(event, Finished):
            return
    yield Finished(t_us=t_us, metadata={"recovered": True})


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    fd = lock_left_behind(path)
    try:
        yield
    finally:
        os.close(fd)


# The proxy's journal beside the recorder's: its part in the events of the session.


_EMPTY = (
    "the tape is empty: the program succeeded and sent no request through the tape's proxy. Either"
    " it needed no model (record it without a tape), or it has a provider URL of its own, which the"
    " proxy does not see (remove the setting, name its profile by --harness, or try --proxy-env)"
)


class TapeInPlace(Closing):
    """A ``RunningTape`` that keeps its journal beside the recorder's.

    It starts before the recorder, because the head of the recorder's journal holds its environment.
    Its journal stays hidden until the recorder's journal appears. A crash in between leaves an
    empty file, which is removed like an empty journal of a recorder.

    Args:
        start: starts it.
        place: the directory of journals.
        environment: the environment in which the program will start.

    Attributes:
        environment, arguments, secrets, address, described: as in ``RunningTape``.
    """

    def __init__(self, start: TapeStarter, place: Path, environment: Mapping[str, str]) -> None:
        self._hidden: Path | None = place / f".{secrets.token_hex(8)}{HIDDEN_SUFFIX}"
        self._running = start(self._hidden, environment)
        self.environment = self._running.environment
        self.arguments: Sequence[str] = tuple(self._running.arguments)
        self.secrets: Sequence[str] = tuple(self._running.secrets)
        self.address = self._running.address
        self.described = self._running.described
        self.needed = self._running.needed
        self._journal: Path | None = None

    def appear(self, journal: Path) -> None:
        """Give its journal the name beside the recorder's."""
        assert self._hidden is not None  # noqa: S101 - it appears once
        self._journal = tape_journal_of(journal)
        with disk_errors("naming the tape's journal", journal):
            self._hidden.rename(self._journal)
        self._hidden = None

    @property
    def problem(self) -> str | None:
        """See ``RunningTape.problem``."""
        return self._running.problem

    @property
    def reports(self) -> Sequence[str]:
        """See ``RunningTape.reports``."""
        return self._running.reports

    def failure(self, status: ExitStatus | None) -> str | None:
        """Why the run must not become a cassette, after ``close``.

        Args:
            status: how the program ended. If it succeeded without asking anything through the
                proxy, it asked nothing, or somebody else.
        """
        problem = self._running.problem
        if problem is not None:
            return f"model traffic was not recorded to its end: {problem}"
        succeeded = status is not None and status.exited and status.code == 0
        return _EMPTY if succeeded and self.needed and self._is_empty() else None

    def _is_empty(self) -> bool:
        if self._journal is None:
            return False
        reader = _reader(self._journal, salvage=False)
        try:
            return next(reader.poll(), None) is None
        finally:
            reader.close()

    def close(self) -> None:
        """End it. Does nothing the second time."""
        self._running.close()
        if self._hidden is not None:
            self._hidden.unlink(missing_ok=True)
            self._hidden = None


def with_tape(source: EventSource, tape: Path, *, salvage: bool = False) -> EventSource:
    """``source`` with the events of the tape.

    Args:
        source: the recorder's events.
        tape: the proxy's journal.
        salvage: if that journal is damaged in the middle, use the part before the damage.
    """
    from ptycassette.recording.tape_source import TapeSource
    from ptycassette.tape.io.price_table import load_prices

    return TapeSource(source, lambda: _reader(tape, salvage=salvage), load_prices())


class _Nothing:
    """The journal of a proxy that ended before it wrote one."""

    head = None

    def poll(self) -> Iterator[Any]:
        return iter(())

    def close(self) -> None:
        """Nothing."""


def _reader(tape: Path, *, salvage: bool) -> ItemReader:
    from ptycassette.tape.io.journal_file import TapeJournalReader

    try:
        reader: ItemReader = TapeJournalReader(tape)
    except NotFoundError:
        return _Nothing()
    return _Salvaging(reader) if salvage else reader


class _Salvaging:
    """A reader whose items end where the journal is damaged."""

    def __init__(self, reader: ItemReader) -> None:
        self._reader = reader
        self._damaged = False
        self.close = reader.close

    @property
    def head(self) -> TapeHead | None:
        return self._reader.head

    def poll(self) -> Iterator[TapeItem]:
        try:
            if not self._damaged:
                yield from self._reader.poll()
        except JournalError:
            self._damaged = True


# Tells the questions of a tape apart, by the rules of providers, of the CLI, and of the user.


_MOST_S = 60.0
"""Of a check: enough for 60 MB of answers on the machine that this was measured on."""


class TapeKeys:
    """The ``EntryKeys`` of a session.

    Args:
        meta: its head.

    Raises:
        UsageError: a file of rules is wrong.
    """

    def __init__(self, meta: SessionMeta) -> None:
        from ptycassette.tape.io.recorded_answers import load_matching_rules
        from ptycassette.tape.matching.question import QuestionKeys

        option = meta.options[TAPE_OPTION]
        self._key = bytes.fromhex(option["key"])
        self._day = meta.recorded_at[:10]
        described = option.get("described", {})
        harness = described.get("harness", meta.harness.name)
        self._rules = load_matching_rules((harness,), tape=described)
        declared = {"cwd": meta.cwd, "home": meta.home, "tmp": tempfile.gettempdir()}
        self._keys = QuestionKeys(
            self._rules,
            {name: value for name, value in declared.items() if value},
            key=self._key,
        )

    @property
    def described(self) -> Mapping[str, Any]:
        """See ``EntryKeys.described``."""
        return {"rules": list(self._rules.names), "rules_digest": self._rules.digest}

    def of(
        self,
        head: Mapping[str, Any],
        body: bytes,
        stored: bytes,
        secrets: Sequence[HeadSecret] = (),
    ) -> tuple[str, Sequence[VolatileToken], Sequence[MaskedDigest]]:
        """See ``EntryKeys.of``."""
        from ptycassette.tape.matching.question import Question

        number = head["entry"] if head["kind"] == "websocket" else head.get("within")
        keyed = self._keys.of(
            Question(
                kind=head["kind"],
                method=head.get("method", ""),
                upstream=head.get("upstream", ""),
                target=head.get("target", ""),
                headers=tuple((name, value) for name, value in head.get("headers", ())),
                body=body,
                form=head.get("form", ""),
                within=number,
                stored=stored,
                secrets=masked_places(body, stored),
                head_secrets=tuple(secrets),
            )
        )
        return keyed.key, keyed.tokens, keyed.digests

    def check(self, exchanges: Sequence[Any]) -> TapeCheck:
        """See ``EntryKeys.check``. It ends after a minute."""
        from ptycassette.tape.matching.checking import check_tape

        until = monotonic_s() + _MOST_S
        return check_tape(
            exchanges,
            self._rules,
            key=self._key,
            day=self._day,
            in_time=lambda: monotonic_s() < until,
        )
