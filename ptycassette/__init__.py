"""Record a coding-agent CLI once through a real PTY; test against the recording for ever.

Public names load on first use: importing this package loads none of pyte,
ptyprocess, textual, pytest or aiohttp.
"""

from __future__ import annotations

from ptycassette.version import __version__

# The stand-in's first byte counts in milliseconds, and loading typing takes eight: type
# checkers know this name as well.
TYPE_CHECKING = False

if TYPE_CHECKING:
    import typing

    from ptycassette.cassette.io.reader import Cassette, open_cassette
    from ptycassette.cassette.io.writer import CassetteWriter
    from ptycassette.errors import CassetteError
    from ptycassette.export.registry import export_of_file, exports_of
    from ptycassette.export.screen_html import screen_html
    from ptycassette.export.svg import still_svg
    from ptycassette.harness.io.scenario_environment import scenario_environment
    from ptycassette.model import (
        Cursor,
        Event,
        FinalRecord,
        FrameRecord,
        InputRecord,
        OutputRecord,
        Screen,
        ServiceEventRecord,
        SessionMeta,
        Size,
        Style,
        StyleRun,
    )
    from ptycassette.model.visible import printable, visible, visible_bytes
    from ptycassette.recording.io.async_record import AsyncRecording, arecord
    from ptycassette.recording.io.journal_follow import JournalFollower, live_journals
    from ptycassette.recording.io.record import Recording, record
    from ptycassette.replaying.cells import Cell, cells_of_row
    from ptycassette.replaying.drift import Drift, drift_lines
    from ptycassette.replaying.io.embeddings import embeddings_scorer
    from ptycassette.replaying.io.replayer import areplay, replay
    from ptycassette.replaying.io.sides import drift, semantic_drift
    from ptycassette.replaying.io.use import Use, UseResult, use
    from ptycassette.replaying.standin.io.report_file import read_reports
    from ptycassette.replaying.stored import screen_of
    from ptycassette.session.async_session import AsyncSession
    from ptycassette.session.session import Session
    from ptycassette.system.pty.process import spawn
    from ptycassette.terminal import (
        PyteEmulator,
        default_emulator,
        load_emulator,
        render_ansi,
        render_text,
        save_emulator,
    )
    from ptycassette.timeline import (
        Exchange,
        ExchangeCutter,
        TerminalSignal,
        exchanges,
        terminal_signals,
    )
    from ptycassette.timeline.match import Matching
    from ptycassette.timeline.match_text import semantic_match

# Where each public name lives. One line per name; the test of the public API holds it.
_HOMES = {
    "AsyncRecording": "ptycassette.recording.io.async_record",
    "AsyncSession": "ptycassette.session.async_session",
    "Cassette": "ptycassette.cassette.io.reader",
    "CassetteError": "ptycassette.errors",
    "CassetteWriter": "ptycassette.cassette.io.writer",
    "Cell": "ptycassette.replaying.cells",
    "Cursor": "ptycassette.model",
    "Drift": "ptycassette.replaying.drift",
    "Event": "ptycassette.model",
    "Exchange": "ptycassette.timeline",
    "ExchangeCutter": "ptycassette.timeline",
    "FinalRecord": "ptycassette.model",
    "FrameRecord": "ptycassette.model",
    "InputRecord": "ptycassette.model",
    "JournalFollower": "ptycassette.recording.io.journal_follow",
    "Matching": "ptycassette.timeline.match",
    "OutputRecord": "ptycassette.model",
    "PyteEmulator": "ptycassette.terminal",
    "Recording": "ptycassette.recording.io.record",
    "Screen": "ptycassette.model",
    "ServiceEventRecord": "ptycassette.model",
    "Session": "ptycassette.session.session",
    "SessionMeta": "ptycassette.model",
    "Size": "ptycassette.model",
    "Style": "ptycassette.model",
    "StyleRun": "ptycassette.model",
    "TerminalSignal": "ptycassette.timeline",
    "Use": "ptycassette.replaying.io.use",
    "UseResult": "ptycassette.replaying.io.use",
    "arecord": "ptycassette.recording.io.async_record",
    "areplay": "ptycassette.replaying.io.replayer",
    "cells_of_row": "ptycassette.replaying.cells",
    "default_emulator": "ptycassette.terminal",
    "drift": "ptycassette.replaying.io.sides",
    "drift_lines": "ptycassette.replaying.drift",
    "embeddings_scorer": "ptycassette.replaying.io.embeddings",
    "exchanges": "ptycassette.timeline",
    "export_of_file": "ptycassette.export.registry",
    "exports_of": "ptycassette.export.registry",
    "live_journals": "ptycassette.recording.io.journal_follow",
    "load_emulator": "ptycassette.terminal",
    "open_cassette": "ptycassette.cassette.io.reader",
    "printable": "ptycassette.model.visible",
    "read_reports": "ptycassette.replaying.standin.io.report_file",
    "record": "ptycassette.recording.io.record",
    "render_ansi": "ptycassette.terminal",
    "render_text": "ptycassette.terminal",
    "replay": "ptycassette.replaying.io.replayer",
    "save_emulator": "ptycassette.terminal",
    "scenario_environment": "ptycassette.harness.io.scenario_environment",
    "screen_html": "ptycassette.export.screen_html",
    "screen_of": "ptycassette.replaying.stored",
    "semantic_drift": "ptycassette.replaying.io.sides",
    "semantic_match": "ptycassette.timeline.match_text",
    "spawn": "ptycassette.system.pty.process",
    "still_svg": "ptycassette.export.svg",
    "terminal_signals": "ptycassette.timeline",
    "use": "ptycassette.replaying.io.use",
    "visible": "ptycassette.model.visible",
    "visible_bytes": "ptycassette.model.visible",
}

__all__ = [
    "AsyncRecording",
    "AsyncSession",
    "Cassette",
    "CassetteError",
    "CassetteWriter",
    "Cell",
    "Cursor",
    "Drift",
    "Event",
    "Exchange",
    "ExchangeCutter",
    "FinalRecord",
    "FrameRecord",
    "InputRecord",
    "JournalFollower",
    "Matching",
    "OutputRecord",
    "PyteEmulator",
    "Recording",
    "Screen",
    "ServiceEventRecord",
    "Session",
    "SessionMeta",
    "Size",
    "Style",
    "StyleRun",
    "TerminalSignal",
    "Use",
    "UseResult",
    "__version__",
    "arecord",
    "areplay",
    "cells_of_row",
    "default_emulator",
    "drift",
    "drift_lines",
    "embeddings_scorer",
    "exchanges",
    "export_of_file",
    "exports_of",
    "live_journals",
    "load_emulator",
    "open_cassette",
    "printable",
    "read_reports",
    "record",
    "render_ansi",
    "render_text",
    "replay",
    "save_emulator",
    "scenario_environment",
    "screen_html",
    "screen_of",
    "semantic_drift",
    "semantic_match",
    "spawn",
    "still_svg",
    "terminal_signals",
    "use",
    "visible",
    "visible_bytes",
]


def _public(name: str) -> typing.Any:
    """What a public name stands for, from where it lives."""
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __getattr__(name: str) -> typing.Any:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = _public(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for completion."""
    return sorted(__all__)
