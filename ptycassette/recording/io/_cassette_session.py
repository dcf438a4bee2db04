"""Turns a cassette back into the session that it was recorded from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ptycassette.cassette.io import Cassette
from ptycassette.model import (
    STREAMS_KEY,
    Event,
    EventSource,
    FinalRecord,
    Finished,
    InputRecord,
    JournalEvent,
    Noted,
    Output,
    OutputRecord,
    Probed,
    Resized,
    ServiceEventRecord,
    SessionMeta,
    Signalled,
    Size,
    Typed,
    streams_of,
)
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
        argv=manifest.command.argv or (),
        size=Size(manifest.terminal.initial_rows, manifest.terminal.initial_cols),
        recorded_at=manifest.provenance.recorded_at,
        harness=manifest.harness,
        env_allowlist=manifest.command.env_allowlist or (),
        environment=variables,
        home=variables.get("HOME", ""),
        streams=streams_of(manifest) if STREAMS_KEY in (manifest.optional or {}) else None,
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
            return Typed(t_us, event.data, record.source or "user", record.key)
        case ServiceEventRecord():
            return Noted(t_us, record.payload)
        case FinalRecord():
            return Finished(
                t_us=t_us,
                metadata=record.metadata,
                usage=record.usage,
                routing_actual=record.routing_actual,
                session_log_path=record.session_log_path,
                final_text=record.final_text,
            )
        case _:
            return None
