"""Scrubs an existing cassette.

The cassette is converted back to the session that was recorded. Records keep their numbers and
times, output and input keep their lengths. Frames of our own emulator are rendered again
from the scrubbed bytes; others are masked row by row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette.edits import event_without_old_digests, without_old_digests
from ptycassette.cassette.frames import frame_of
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.cassette.layout import MANIFEST, OPTIONAL_FILES, REQUIRED_FILES
from ptycassette.cassette.tape_lines import TAPE_KEY
from ptycassette.cassette.timeline.match import SECRET_DIGESTS_KEY
from ptycassette.errors import RefusedError, SecretLeftError
from ptycassette.model.ports import EventSource
from ptycassette.model.records import (
    STREAMS_KEY,
    Event,
    FinalRecord,
    Finished,
    FrameRecord,
    Harness,
    HeadSecret,
    InputRecord,
    JournalEvent,
    Manifest,
    Noted,
    Output,
    OutputRecord,
    Probed,
    Resized,
    ScrubReport,
    ServiceEventRecord,
    SessionMeta,
    Signalled,
    TapeMoment,
    Traffic,
    Typed,
    decoded_json,
    moment_us,
    native,
    native_text,
    painted_bytes,
    storable,
    storable_text,
    streams_of,
)
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Size
from ptycassette.model.tape import TAPE, TAPE_BODIES, MaskedDigest, TapeEntry, VolatileToken
from ptycassette.model.visible_text import visible
from ptycassette.recording.sink_writer import TapeWriter, input_was_scrubbed, merged_reports
from ptycassette.scrub.session import SessionScrubber
from ptycassette.scrub.views.structured import strings_of
from ptycassette.system.files.directory_handle import links_followed
from ptycassette.system.files.whole_file import read_plain
from ptycassette.tape.matching.checking import TapeCheck
from ptycassette.terminal.emulator import PyteEmulator, default_emulator

# The tape of a cassette as the events that it was made of, to be scrubbed once more.


_BLOCK = 1 << 20
_HEADS = {
    "question": (
        *("kind", "connection", "method", "upstream", "target", "within", "headers", "form"),
        "packing",
    ),
    "answer": ("status", "headers", "packing"),
    "end": ("outcome", "detail", "close_code"),
}


class TapeAgain:
    """Turns the service events that entries name back into moments. ``EntryKeys``, too.

    Args:
        cassette: open.
    """

    def __init__(self, cassette: Cassette) -> None:
        self._entries: dict[int, tuple[str, RecordedExchange]] = {}
        self._keys: dict[int, TapeEntry] = {}
        for exchange in cassette.tape() if cassette.has_tape else ():
            entry = exchange.entry
            self._keys[entry.entry] = entry
            self._entries[entry.seq] = "question", exchange
            if entry.answer is not None:
                self._entries[entry.answer.seq] = "answer", exchange
            if entry.end_seq is not None:
                self._entries[entry.end_seq] = "end", exchange

    def events(self, seq: int, noted: Noted) -> Iterator[Noted | Traffic]:
        """A service event, and the bodies that belong to it, a question's with its beginning."""
        named = self._entries.get(seq)
        if named is None:
            yield noted
            return
        moment, exchange = named
        yield _moment(noted, moment, exchange.entry)
        if moment != "end":
            yield from _traffic(exchange, moment)

    @property
    def described(self) -> Mapping[str, Any]:
        """See ``EntryKeys``: the manifest stays as it is."""
        return {}

    def of(
        self,
        head: Mapping[str, Any],
        body: bytes,
        stored: bytes,
        secrets: Sequence[HeadSecret] = (),
    ) -> tuple[str, Sequence[VolatileToken], Sequence[MaskedDigest]]:
        """Return the old key, unless more of the question was scrubbed. See ``EntryKeys``.

        The key comes from the question as it was asked, and that text no longer exists.
        """
        if body != stored or secrets:
            return "", (), ()
        entry = self._keys[head["entry"]]
        return entry.key, entry.tokens, entry.digests

    def check(self, exchanges: Sequence[Any]) -> TapeCheck:
        """See ``EntryKeys``: it was checked when it was recorded."""
        del exchanges
        return TapeCheck()


def _moment(noted: Noted, moment: Any, entry: TapeEntry) -> TapeMoment:
    fields: Mapping[str, Any] = msgspec.to_builtins(entry.answer if moment == "answer" else entry)
    head = {name: fields[name] for name in _HEADS[moment] if name in fields}
    return TapeMoment(noted.t_us, noted.payload, entry=entry.entry, moment=moment, head=head)


def _traffic(exchange: RecordedExchange, side: Any) -> Iterator[Traffic]:
    """The pieces of one body."""
    entry = exchange.entry
    number = entry.entry
    if side == "question":
        body = exchange.question()
        for at in range(0, len(body), _BLOCK):
            yield Traffic(
                t_us=entry.t_us, entry=number, side="question", data=body[at : at + _BLOCK]
            )
        yield Traffic(t_us=entry.t_us, entry=number, side="question", last=True)
        return
    for chunk, data in exchange.pieces():
        for at in range(0, max(1, len(data)), _BLOCK):
            yield Traffic(
                t_us=chunk.t_us, entry=number, side="answer", data=data[at : at + _BLOCK],
                form=chunk.form, continues=at > 0,
            )  # fmt: skip
    t_us = entry.answer.t_us if entry.answer is not None else entry.t_us
    yield Traffic(t_us=t_us, entry=number, side="answer", continues=True, last=True)


# Turns a cassette back into the session that it was recorded from.


def cassette_session(
    cassette: Cassette, *, environment: Mapping[str, str] | None = None
) -> tuple[SessionMeta, EventSource]:
    """The session that a cassette was recorded from.

    Args:
        cassette: open.
        environment: of the machine that recorded it; its secrets are removed. This
            process's when None.
    """
    manifest = cassette.manifest
    variables = dict(os.environ if environment is None else environment)
    meta = SessionMeta(
        id=manifest.id,
        argv=tuple(map(native_text, manifest.command.argv or ())),
        size=Size(manifest.terminal.initial_rows, manifest.terminal.initial_cols),
        recorded_at=manifest.provenance.recorded_at,
        harness=msgspec.convert(native(msgspec.to_builtins(manifest.harness)), resolved(Harness)),
        env_allowlist=tuple(map(native_text, manifest.command.env_allowlist or ())),
        environment=variables,
        home=variables.get("HOME", ""),
        streams=streams_of(manifest) if STREAMS_KEY in (manifest.optional or {}) else None,
        workdir_policy=manifest.command.workdir_policy,
        term=native_text(manifest.terminal.term or "xterm-256color"),
        locale=native(manifest.terminal.locale),
        timeout_ms=manifest.command.timeout_ms,
        permission_mode=native(manifest.command.permission_mode),
        pty_mode=manifest.terminal.pty_mode,
        git_sha=manifest.provenance.git_sha,
        os=manifest.provenance.os,
        arch=manifest.provenance.arch,
        recorder_version=manifest.provenance.recorder_version,
        resolution_ms=manifest.timing.resolution_ms,
        title=native((manifest.optional or {}).get("title")),
    )

    def source() -> Iterator[JournalEvent]:
        if cassette.quota is not None or cassette.discovery is not None:
            yield Probed(0, cassette.quota, cassette.discovery)
        tape = TapeAgain(cassette)
        for event in cassette.events():
            journal = _as_journal(event)
            if isinstance(journal, Noted):
                yield from tape.events(event.seq, journal)
            elif journal is not None:
                yield journal

    return meta, source


def refuse_unknown_files(cassette: Cassette, *, verb: str) -> None:
    """Raise if a cassette has files that this version knows nothing of.

    Raises:
        RefusedError: it has; ``verb`` names the operation for the message.
    """
    known = {MANIFEST, *REQUIRED_FILES, *OPTIONAL_FILES}
    if cassette.has_tape:
        known |= {TAPE, TAPE_BODIES}
    artifacts = (cassette.manifest.optional or {}).get("artifacts", {})
    unknown = sorted(name for name in artifacts if name not in known)
    if unknown:
        raise RefusedError(
            f"holds {visible(unknown[0])}, which this version cannot {verb}",
            where=visible(str(cassette.path)),
            hint=f"{verb} it with the version that recorded it",
        )


def _as_journal(event: Event) -> JournalEvent | None:  # noqa: PLR0911 - one per kind
    """One event of a cassette as an item of a journal; None for frames."""
    t_us, record = event.t_us, event.record
    match record:
        case OutputRecord():
            return Output(t_us, event.data, record.stream, record.eof)
        case InputRecord(kind="resize", size=Size() as size):
            return Resized(t_us, size)
        case InputRecord(kind="signal", signal=str() as signal):
            return Signalled(t_us, signal)
        case InputRecord():
            return Typed(
                t_us,
                event.data,
                record.source or "user",
                record.key,
                record.paste,
                record.masked,
                record.eof,
            )
        case ServiceEventRecord():
            return Noted(t_us, record.payload)
        case FinalRecord():
            return Finished(
                t_us=t_us,
                exit=record.exit,
                metadata=record.metadata,
                usage=record.usage,
                cost_usd=record.cost_usd,
                routing_actual=record.routing_actual,
                session_log_path=record.session_log_path,
                final_text=record.final_text,
            )
        case _:
            return None


_FINDINGS_SHOWN = 5


def scrub_cassette(
    path: Path,
    scrubber: SessionScrubber,
    *,
    target: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> ScrubReport:
    """Scrub the cassette at ``path`` in place, or write the result to ``target``.

    Nothing is written if the cassette was scrubbed before and nothing new is found.

    Args:
        path: its directory; it may have been recorded without scrubbing.
        scrubber: fresh.
        target: where to write; the cassette's own place when None.
        environment: as for ``cassette_session``.

    Returns:
        The report of the scrubbing.

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
        """Write all records, scrubbed; also search the texts outside of events."""
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
            scrubbed[SECRET_DIGESTS_KEY] = digests  # they belong to text that is still masked there
        return msgspec.structs.replace(
            manifest,
            harness=msgspec.convert(self._harness(), resolved(type(manifest.harness))),
            command=msgspec.structs.replace(manifest.command, argv=words),
            optional=scrubbed or None,
        )


# Checks whether secrets are left in a cassette.


_EVENT_FIELDS = {
    "input.jsonl": {"bytes"},
    "output.jsonl": set[str](),
    "frames.jsonl": {"text", "title", "cells"},
    "service-events.jsonl": {"payload"},
    "tape.jsonl": set[str](),
}
"""The files of records, and the fields that are searched as events or as frames."""

_DOCUMENTS = {"final.json", "scrub-report.json", "quota.json", "discovery.json"}
_DIGESTS = {
    *("sha256", "hash", "digest", "key", "fingerprint", "rules_digest", "manifest_sha256"),
    "binary_path_digest_sha256",
}
_SHA256 = re.compile("[0-9a-f]{64}")
_MOST_BYTES = 256 << 20


def find_secrets_left(
    path: Path,
    scrubber: SessionScrubber,
    *,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The secrets left in a cassette: channel, time and rule, never the value."""
    with open_cassette(path, allow_unscrubbed=True) as cassette:
        meta, source = cassette_session(cassette, environment=environment)
        findings = list(scrubber.verify(meta, source))
        if cassette.scrub_report.status == "unscrubbed":
            findings.insert(0, "the cassette was recorded without scrubbing")
        _check_texts(cassette, scrubber)
        return (*findings, *dict.fromkeys(scrubber.left))


def _check_texts(cassette: Cassette, scrubber: SessionScrubber) -> None:
    """Search what is in no event: names, documents, frames, unknown fields, unknown files.

    Every byte of a cassette is searched here or as an event; ``verify`` refuses what belongs to no
    record.
    """
    scrubber.check({"manifest": _without_digests(cassette.document), "path": cassette.path.name})
    searched: set[str] = set()
    for path in sorted(cassette.path.iterdir()):
        scrubber.check(path.name, channel="files")
        if path.is_symlink():
            target = os.fsdecode(path.readlink())
            scrubber.check(target, channel=f"{path.name}: the target of the link")
            known = path.name in _EVENT_FIELDS.keys() | _DOCUMENTS  # the reader has followed these
            if not path.is_file() or not (known or links_followed()):  # such as an editor's lock
                continue
        match path.name:
            case "manifest.json" | "output.raw" | "tape-bodies.bin":
                pass
            case name if name in _EVENT_FIELDS:
                for number, line in enumerate(_lines(path), start=1):
                    fields = _without_digests(decoded_json(line))
                    if isinstance(fields, dict):
                        fields = {k: v for k, v in fields.items() if k not in _EVENT_FIELDS[name]}
                    new = {text for _, text in strings_of(fields)} - searched
                    searched |= new
                    scrubber.check(sorted(new), channel=f"{name} line {number}")
            case name if name in _DOCUMENTS:
                document = decoded_json(read_plain(path, max_bytes=_MOST_BYTES))
                scrubber.check(_without_digests(document), channel=name)
            case name:
                text = read_plain(path, max_bytes=_MOST_BYTES).decode("utf-8", "replace")
                scrubber.check(text, channel=name)
    _check_frames(cassette, scrubber)


def _check_frames(cassette: Cassette, scrubber: SessionScrubber) -> None:
    seen: set[tuple[str, ...]] = set()
    for frame in cassette.frames():
        if frame.text in seen:
            continue
        seen.add(frame.text)
        t_us = moment_us(frame)
        texts = [frame.title, frame.cells]
        if scrubber.rows(frame.text) != frame.text:
            texts.append("\n".join(frame.text))
        scrubber.check(texts, channel="frames", t_us=t_us)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _without_digests(value: Any) -> Any:
    """A document without members that are SHA-256 digests by their name and their shape."""
    if isinstance(value, dict):
        return {
            name: _without_digests(one)
            for name, one in value.items()
            if not (name in _DIGESTS and isinstance(one, str) and _SHA256.fullmatch(one))
        }
    if isinstance(value, list):
        return [_without_digests(one) for one in value]
    return value
