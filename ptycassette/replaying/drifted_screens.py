"""The screens before and now of every exchange that drifted. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ptycassette.cassette.timeline.match import read_entries
from ptycassette.model.records import InputRecord, painted_bytes
from ptycassette.model.screen import Screen, Size
from ptycassette.replaying.divergence import Drift, DriftChange, Side
from ptycassette.replaying.stored import DriftPicture
from ptycassette.terminal.emulator import default_emulator

MAX_PICTURES = 20


def drift_pictures(found: Drift, old: Side, new: Side) -> list[DriftPicture]:
    """The pictures in the order of the exchanges, at most ``MAX_PICTURES``."""
    exchanges: dict[tuple[int, int], list[DriftChange]] = {}
    for change in (*found.exchanges, *found.screens):
        exchanges.setdefault((change.old, change.new), []).append(change)
    screens = [_screens(side) for side in (old, new)] if exchanges else []
    return [
        DriftPicture(
            old=before,
            new=now,
            changes=tuple(changes),
            before=None if _is_of(changes, "added") else screens[0].get(before),
            now=None if _is_of(changes, "removed") else screens[1].get(now),
        )
        for (before, now), changes in sorted(exchanges.items(), key=_by_new)[:MAX_PICTURES]
    ]


def _is_of(changes: Sequence[DriftChange], kind: str) -> bool:
    return any(change.kind == kind for change in changes)


def _by_new(exchange: tuple[tuple[int, int], object]) -> tuple[int, int]:
    before, now = exchange[0]
    return now or before, before


def _screens(side: Side) -> dict[int, Screen]:
    """The screen at the end of every exchange, rendered from the output."""
    events = side.events
    records = [event.record for event in events if isinstance(event.record, InputRecord)]
    starts = [entry.seq for entry in read_entries(records)]
    terminal = side.manifest.terminal
    emulator = default_emulator(Size(rows=terminal.initial_rows, cols=terminal.initial_cols))
    screens: dict[int, Screen] = {}
    for event in events:
        while len(screens) < len(starts) and event.seq >= starts[len(screens)]:
            screens[len(screens)] = emulator.snapshot()
        if event.kind == "output":
            emulator.feed(painted_bytes(event))
        elif isinstance(event.record, InputRecord) and event.record.size is not None:
            emulator.resize(event.record.size)
    return {**screens, len(screens): emulator.snapshot()}
