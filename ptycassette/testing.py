"""Public fakes for tests of programs that use ptycassette: clocks, scripted sessions, events."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.model.records import (
    Command,
    ContentDigest,
    EmulatorId,
    Event,
    Finished,
    FrameRecord,
    Harness,
    JournalEvent,
    Manifest,
    Output,
    Provenance,
    ScrubReport,
    SessionMeta,
    Terminal,
    Timing,
    Typed,
    moment_us,
)
from ptycassette.model.screen import Size
from ptycassette.recording.sink_writer import event_of
from ptycassette.scrub.session import default_scrubber
from ptycassette.system.pty.scripted import ScriptedPty
from ptycassette.system.pty.terminal import LineMode
from ptycassette.terminal.checking import CheckedScreen
from ptycassette.terminal.emulator import backend, default_emulator

__all__ = [
    "LineMode",
    "ManualClock",
    "ScriptedPty",
    "events_of",
    "fixed_id",
    "manifest_of",
    "screen_check",
    "screen_check_ghostty",
    "scrub_chunks",
    "write_cassette",
]


def scrub_chunks(
    chunks: Iterable[bytes],
    *,
    rows: int,
    cols: int,
    known: Iterable[str] = (),
    channel: str = "output",
) -> list[bytes]:
    """The chunks of one stream, scrubbed as a recording is: as many, each as long as before.

    Args:
        chunks: the bytes, cut anywhere.
        rows: rows of the terminal that they are for.
        cols: its columns.
        known: values declared secret.
        channel: ``output``, ``input`` (what was typed), or anything else for traffic with a
            provider (JSON, server-sent events).
    """
    given = list(chunks)
    scrubber = default_scrubber(known=known)
    if channel not in {"output", "input"}:
        return scrubber.traffic(given)
    events: list[JournalEvent] = [
        Output(number, data) if channel == "output" else Typed(number, data)
        for number, data in enumerate(given)
    ]
    meta = SessionMeta(
        id=fixed_id(),
        argv=(),
        size=Size(rows, cols),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="test"),
    )
    return [
        event.data
        for event in scrubber.events(meta, lambda: iter(events))
        if isinstance(event, Output | Typed)
    ]


def screen_check(rows: int, cols: int) -> CheckedScreen:
    """The default emulator, as a reference check of screens wants to see it."""
    return CheckedScreen(default_emulator(Size(rows, cols)))


def screen_check_ghostty(rows: int, cols: int) -> CheckedScreen:
    """The ghostty backend, likewise. Needs the extra ``[ghostty]``."""
    return CheckedScreen(backend("ghostty")(Size(rows, cols)))


class ManualClock:
    """A clock that advances only when asked to. Also a sleeper: sleeping advances it.

    Args:
        start_us: monotonic microseconds at the start.
        wall: the wall clock at the start; 2026-01-01T00:00:00Z when None.
    """

    def __init__(self, start_us: int = 0, wall: datetime | None = None) -> None:
        self._now_us = start_us
        self._wall = wall or datetime(2026, 1, 1, tzinfo=UTC)
        self.slept: list[float] = []

    def now_us(self) -> int:
        """Monotonic microseconds."""
        return self._now_us

    def wall(self) -> datetime:
        """The wall clock; moves with ``advance`` and jumps with ``jump_wall``."""
        return self._wall

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass on both clocks."""
        step_us = round(seconds * 1_000_000)
        self._now_us += step_us
        self._wall += timedelta(microseconds=step_us)

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an administrator or NTP would."""
        self._wall += timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        """Advance instead of waiting; ``slept`` keeps the requested times."""
        self.slept.append(seconds)
        self.advance(max(0.0, seconds))


def fixed_id(number: int = 1) -> str:
    """A well-formed UUID that is the same every time."""
    return f"00000000-0000-4000-8000-{number:012x}"


def events_of(*items: JournalEvent | FrameRecord) -> list[Event]:
    """Number ``items`` as the events of a cassette: ``seq`` from 1, offsets of output counted.

    Takes what a journal holds (``Output(0, b"$ ")``, ``Typed(1_000, b"ls")``, ...) and
    ``FrameRecord``, whose own ``seq`` is replaced. ``t_ms`` is ``t_us`` floored.

    Raises:
        TypeError: an item is no timed event (a ``Probed``, for example).
    """
    events: list[Event] = []
    offset = 0
    for seq, item in enumerate(items, 1):
        event = _event_of(seq, item, offset)
        if event.kind == "output":
            offset += len(event.data)
        events.append(event)
    return events


def _event_of(seq: int, item: JournalEvent | FrameRecord, offset: int) -> Event:
    if isinstance(item, FrameRecord):
        t_us = moment_us(item)
        return Event(seq, t_us, "frame", msgspec.structs.replace(item, seq=seq))
    event = event_of(item, seq, offset)
    if event is not None:
        return event
    raise TypeError(f"{type(item).__name__} is not a timed event of a cassette")


def manifest_of(
    *,
    size: Size | None = None,
    replay_default: str = "realtime",
    argv: tuple[str, ...] = ("sh",),
    sha256: str = "0" * 64,
) -> Manifest:
    """A whole manifest of version 1 with the few things set that a test is about."""
    size = size or Size(rows=24, cols=80)
    return Manifest(
        version=1,
        id=fixed_id(),
        content_digest=ContentDigest(sha256=sha256),
        harness=Harness(name="sh"),
        command=Command(workdir_policy="inherited", argv=argv),
        terminal=Terminal(
            initial_rows=size.rows,
            initial_cols=size.cols,
            emulator=EmulatorId(name="none", version="0"),
        ),
        timing=Timing(
            resolution_ms=1, clock_policy="monotonic-elapsed", replay_default=replay_default
        ),
        provenance=Provenance(
            os="linux",
            arch="amd64",
            recorded_at="2026-01-01T00:00:00Z",
            recorder_version="test",
        ),
    )


def write_cassette(
    target: str | os.PathLike[str],
    *items: JournalEvent | FrameRecord,
    manifest: Manifest | None = None,
    overwrite: bool = False,
) -> Manifest:
    """Publish a cassette of ``items`` (see ``events_of``) at ``target``; return its manifest.

    A ``Finished`` is added at the end if missing.
    """
    events = events_of(*items)
    if not events or events[-1].kind != "final":
        events = events_of(*items, Finished(t_us=events[-1].t_us if events else 0))
    with CassetteWriter(target, overwrite=overwrite) as writer:
        for event in events:
            writer.add(event.record, event.data)
        writer.put(ScrubReport(status="clean"))
        return writer.publish(manifest or manifest_of())
