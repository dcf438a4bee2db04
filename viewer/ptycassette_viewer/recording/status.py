"""The lines above and below the screen. Pure; text from outside is escaped."""

from __future__ import annotations

from ptycassette import printable, visible
from ptycassette_viewer.browse import harness_text
from ptycassette_viewer.playback import Playback, clock_text
from ptycassette_viewer.seeker import Shown
from ptycassette_viewer.session.session import Progress, ViewerSession
from ptycassette_viewer.session.source import CassetteSource


def playing_text(playback: Playback, session: ViewerSession, *, live: bool) -> list[str]:
    """Position and speed of the playhead, then further parts."""
    state = "\u25b6" if playback.playing else "\u2016"
    at, end = clock_text(playback.t_us), clock_text(session.duration_us)
    parts = [
        f"{'LIVE' if live else state} {at} / {end}  {playback.speed:g}x",
        f"seq {playback.seq}/{session.index.count}",
    ]
    if playback.collapsed:
        parts.append("collapsed")
    if playback.idle_limit_us is not None:
        parts.append(f"idle \u2264{playback.idle_limit_us / 1e6:g}s")
    return parts


def top_text(
    session: ViewerSession,
    shown: Shown | None,
    *,
    rows: tuple[int, int] | None = None,
    cols: tuple[int, int] | None = None,
) -> str:
    """The recording, the state of its terminal, and the progress of the background work.

    ``rows`` and ``cols`` are those in view, if not all are.
    """
    parts = [printable(session.source.name, limit=60)]
    progress = session.progress
    background = _background(progress, live=session.source.live)
    if background:
        parts.append(background)
    if progress.problem is not None:
        parts.append("DAMAGED")
    source = session.source
    if isinstance(source, CassetteSource):
        harness = source.cassette.manifest.harness
        parts.append(visible(harness_text(harness.name, harness.binary_version), limit=40))
    if shown is not None:
        screen = shown.screen
        view = "" if rows is None else f" rows {rows[0]}-{rows[1]}"
        view += "" if cols is None else f" columns {cols[0]}-{cols[1]}"
        parts.append(f"{screen.size}{view}")
        if screen.alt_screen:
            parts.append("alternate screen")
        title = screen.title.strip()
        if title:
            parts.append(f"\u201c{visible(title, limit=60)}\u201d")
    return " \u2502 ".join(parts)


def _background(progress: Progress, *, live: bool) -> str:
    if live:
        return "ended" if progress.indexed >= 1 else "in progress, not scrubbed yet"
    if progress.indexed < 1:
        return f"reading {progress.indexed:.0%}"
    if progress.emulated < 1:
        return f"indexing {progress.emulated:.0%}"
    return "verified" if progress.verified else ""
