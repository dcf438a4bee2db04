"""Record a coding-agent CLI once through a real PTY; test against the recording for ever.

Public names load on first use: importing this package loads none of pyte,
textual, pytest or aiohttp.
"""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use
from ptycassette.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.cassette.io import Cassette, CassetteWriter, open_cassette
    from ptycassette.editing import Mask, Region
    from ptycassette.editing.io import mask_cassette, preview_mask
    from ptycassette.errors import CassetteError
    from ptycassette.export import export_of_file, exports_of, screen_html, still_svg
    from ptycassette.fork import ForkRecord, fork_of, lineage_lines
    from ptycassette.fork.io import ForkBetween, fork_between, fork_mark, read_lineage
    from ptycassette.harness.io import scenario_environment
    from ptycassette.inprocess import (
        OpenTape,
        TapeFork,
        TapeResult,
        ToolError,
        UseTape,
        drift,
        semantic_drift,
        tape_tool,
        tool_call,
        use_tape,
        with_turns,
    )
    from ptycassette.keys import parse_time
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
        StreamKinds,
        Style,
        StyleRun,
        painted_bytes,
        printable,
        screen_of,
        streams_of,
        visible,
        visible_bytes,
    )
    from ptycassette.recording.io import (
        AsyncRecording,
        JournalFollower,
        Recording,
        arecord,
        live_journals,
        record,
    )
    from ptycassette.replaying import Cell, Drift, cells_of_row, drift_lines
    from ptycassette.replaying.io import (
        Use,
        UseResult,
        areplay,
        embeddings_scorer,
        replay,
        use,
    )
    from ptycassette.replaying.standin import ReportedDivergence, reported_divergences
    from ptycassette.replaying.standin.io import read_reports
    from ptycassette.rerun import RerunReport
    from ptycassette.rerun.io import rerun_cassette
    from ptycassette.session import AsyncSession, Session
    from ptycassette.system.pty import spawn
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
        Matching,
        TerminalSignal,
        exchanges,
        semantic_match,
        terminal_signals,
    )
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "cassette.io": ("Cassette", "CassetteWriter", "open_cassette"),
            "editing": ("Mask", "Region"),
            "editing.io": ("mask_cassette", "preview_mask"),
            "errors": ("CassetteError",),
            "export": ("export_of_file", "exports_of", "screen_html", "still_svg"),
            "fork": ("ForkRecord", "fork_of", "lineage_lines"),
            "fork.io": ("ForkBetween", "fork_between", "fork_mark", "read_lineage"),
            "harness.io": ("scenario_environment",),
            "inprocess": (
                "OpenTape",
                "TapeFork",
                "TapeResult",
                "ToolError",
                "UseTape",
                "drift",
                "semantic_drift",
                "tape_tool",
                "tool_call",
                "use_tape",
                "with_turns",
            ),
            "keys": ("parse_time",),
            "model": (
                "Cursor",
                "Event",
                "FinalRecord",
                "FrameRecord",
                "InputRecord",
                "OutputRecord",
                "Screen",
                "ServiceEventRecord",
                "SessionMeta",
                "Size",
                "StreamKinds",
                "Style",
                "StyleRun",
                "painted_bytes",
                "printable",
                "screen_of",
                "streams_of",
                "visible",
                "visible_bytes",
            ),
            "recording.io": (
                "AsyncRecording",
                "JournalFollower",
                "Recording",
                "arecord",
                "live_journals",
                "record",
            ),
            "replaying": ("Cell", "Drift", "cells_of_row", "drift_lines"),
            "replaying.io": (
                "Use",
                "UseResult",
                "areplay",
                "embeddings_scorer",
                "replay",
                "use",
            ),
            "replaying.standin": ("ReportedDivergence", "reported_divergences"),
            "replaying.standin.io": ("read_reports",),
            "rerun": ("RerunReport",),
            "rerun.io": ("rerun_cassette",),
            "session": ("AsyncSession", "Session"),
            "system.pty": ("spawn",),
            "terminal": (
                "PyteEmulator",
                "default_emulator",
                "load_emulator",
                "render_ansi",
                "render_text",
                "save_emulator",
            ),
            "timeline": (
                "Exchange",
                "ExchangeCutter",
                "Matching",
                "TerminalSignal",
                "exchanges",
                "semantic_match",
                "terminal_signals",
            ),
        },
    )

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
    "ForkBetween",
    "ForkRecord",
    "FrameRecord",
    "InputRecord",
    "JournalFollower",
    "Mask",
    "Matching",
    "OpenTape",
    "OutputRecord",
    "PyteEmulator",
    "Recording",
    "Region",
    "ReportedDivergence",
    "RerunReport",
    "Screen",
    "ServiceEventRecord",
    "Session",
    "SessionMeta",
    "Size",
    "StreamKinds",
    "Style",
    "StyleRun",
    "TapeFork",
    "TapeResult",
    "TerminalSignal",
    "ToolError",
    "Use",
    "UseResult",
    "UseTape",
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
    "fork_between",
    "fork_mark",
    "fork_of",
    "lineage_lines",
    "live_journals",
    "load_emulator",
    "mask_cassette",
    "open_cassette",
    "painted_bytes",
    "parse_time",
    "preview_mask",
    "printable",
    "read_lineage",
    "read_reports",
    "record",
    "render_ansi",
    "render_text",
    "replay",
    "reported_divergences",
    "rerun_cassette",
    "save_emulator",
    "scenario_environment",
    "screen_html",
    "screen_of",
    "semantic_drift",
    "semantic_match",
    "spawn",
    "still_svg",
    "streams_of",
    "tape_tool",
    "terminal_signals",
    "tool_call",
    "use",
    "use_tape",
    "visible",
    "visible_bytes",
    "with_turns",
]


def __dir__() -> list[str]:
    """The public names, for completion."""
    return sorted(__all__)
