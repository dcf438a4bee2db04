"""Turns a cassette back into the session that it was recorded from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import msgspec

from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.layout import MANIFEST, OPTIONAL_FILES, REQUIRED_FILES
from ptycassette.errors import RefusedError
from ptycassette.model.events import (
    Event,
    FinalRecord,
    InputRecord,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.geometry import Size
from ptycassette.model.journal import (
    Finished,
    JournalEvent,
    Noted,
    Output,
    Probed,
    Resized,
    SessionMeta,
    Signalled,
    Typed,
)
from ptycassette.model.json_values import native, native_text
from ptycassette.model.manifest import Harness
from ptycassette.model.ports import EventSource
from ptycassette.model.resolved_types import resolved
from ptycassette.model.streams import STREAMS_KEY, streams_of
from ptycassette.model.tape import TAPE, TAPE_BODIES
from ptycassette.model.visible_text import visible
from ptycassette.recording.io._tape_again import TapeAgain


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
        RefusedError: it has; ``verb`` is what cannot be done to them.
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
