"""Record a coding-agent CLI once through a real PTY; test against the recording for ever.

Public names load on first use: importing this package loads none of pyte,
ptyprocess, textual, pytest or aiohttp.
"""

from __future__ import annotations

import sys
from types import ModuleType

from ptycassette.version import __version__

# The stand-in's first byte counts in milliseconds, and loading typing takes eight: type
# checkers know this name as well.
TYPE_CHECKING = False

if TYPE_CHECKING:
    import typing

    from ptycassette.cassette.io.reader import Cassette, open_cassette
    from ptycassette.cassette.io.writer import CassetteWriter
    from ptycassette.errors import CassetteError
    from ptycassette.export.screen_html import screen_html
    from ptycassette.export.svg import still_svg
    from ptycassette.host.harnesses.scenario_environment import scenario_environment
    from ptycassette.host.replaying.embeddings import embeddings_scorer
    from ptycassette.host.replaying.replayer import areplay, replay
    from ptycassette.host.replaying.standin_report_file import read_reports
    from ptycassette.host.replaying.use import Use, UseResult, use
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
    from ptycassette.replay.cells import Cell, cells_of_row
    from ptycassette.replay.drift import Drift, drift, drift_lines, semantic_drift
    from ptycassette.replay.stored import screen_of
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
    "Cell": "ptycassette.replay.cells",
    "Cursor": "ptycassette.model",
    "Drift": "ptycassette.replay.drift",
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
    "Use": "ptycassette.host.replaying.use",
    "UseResult": "ptycassette.host.replaying.use",
    "arecord": "ptycassette.recording.io.async_record",
    "areplay": "ptycassette.host.replaying.replayer",
    "cells_of_row": "ptycassette.replay.cells",
    "default_emulator": "ptycassette.terminal",
    "drift": "ptycassette.replay.drift",
    "drift_lines": "ptycassette.replay.drift",
    "embeddings_scorer": "ptycassette.host.replaying.embeddings",
    "exchanges": "ptycassette.timeline",
    "live_journals": "ptycassette.recording.io.journal_follow",
    "load_emulator": "ptycassette.terminal",
    "open_cassette": "ptycassette.cassette.io.reader",
    "printable": "ptycassette.model.visible",
    "read_reports": "ptycassette.host.replaying.standin_report_file",
    "record": "ptycassette.recording.io.record",
    "render_ansi": "ptycassette.terminal",
    "render_text": "ptycassette.terminal",
    "replay": "ptycassette.host.replaying.replayer",
    "save_emulator": "ptycassette.terminal",
    "scenario_environment": "ptycassette.host.harnesses.scenario_environment",
    "screen_html": "ptycassette.export.screen_html",
    "screen_of": "ptycassette.replay.stored",
    "semantic_drift": "ptycassette.replay.drift",
    "semantic_match": "ptycassette.timeline.match_text",
    "spawn": "ptycassette.system.pty.process",
    "still_svg": "ptycassette.export.svg",
    "terminal_signals": "ptycassette.timeline",
    "use": "ptycassette.host.replaying.use",
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


class _CallableModule(ModuleType):
    """A subpackage that has the name of a public function; calling it calls the function.

    ``ptycassette.replay`` is both. Importing anything below a subpackage binds the
    subpackage to its name here, and whoever calls the function must not notice.
    """

    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        return _public(self.__name__.rpartition(".")[2])(*args, **kwargs)


class _Package(ModuleType):
    """This package: makes such subpackages callable when the import system binds them."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in _HOMES:
            value.__class__ = _CallableModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


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
    return globals().setdefault(name, value)  # loading may have bound a callable subpackage


def __dir__() -> list[str]:
    """The public names, for completion."""
    return sorted(__all__)
