"""The JSON of a trace: untrusted, so it is read with limits. Text is escaped when shown."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ptycassette import CassetteError, Cursor, ReportedDivergence, Screen, Size, StyleRun
from ptycassette.system.files.plain_file import read_plain

_MAX_BYTES = 100_000_000
_MAX_ROWS = 1_000
_MAX_COLS = 1_000


class KeptScreen(msgspec.Struct, frozen=True):
    """A screen down to its last row that is not empty."""

    rows: tuple[str, ...] = ()
    cols: int = 80
    styles: tuple[tuple[StyleRun, ...], ...] = ()

    def screen(self) -> Screen:
        """The screen for the viewer."""
        rows = self.rows[:_MAX_ROWS]
        return Screen(
            size=Size(max(1, len(rows)), min(max(1, self.cols), _MAX_COLS)),
            rows=rows or ("",),
            styles=self.styles[:_MAX_ROWS],
            cursor=Cursor(0, 0, visible=False),
        )


class Place(msgspec.Struct, frozen=True):
    """A line of a file."""

    file: str
    line: int


class Step(msgspec.Struct, frozen=True):
    """A call of the test; ``screen`` is a number in the run's screens."""

    name: str
    detail: str = ""
    places: tuple[Place, ...] = ()
    t_ms: int = 0
    start_seq: int | None = None
    seq: int | None = None
    error: str = ""
    screen: int | None = None


class TraceEvent(msgspec.Struct, frozen=True):
    """An event of the recording, or consecutive output."""

    seq: int
    t_ms: int
    kind: str
    last_seq: int = 0
    exchange: int = 0
    text: str = ""
    bytes: int = 0


class Frame(KeptScreen, frozen=True):
    """A stored frame."""

    seq: int = 0
    t_ms: int = 0


class Diverged(msgspec.Struct, frozen=True):
    """Where the run diverged: what the driver saw, and how the recording continued."""

    now: KeptScreen
    recorded: KeptScreen
    exchange: int = 0
    seq: int = 0


class Recorded(msgspec.Struct, frozen=True):
    """The recording in a trace."""

    events: tuple[TraceEvent, ...] = ()
    frames: tuple[Frame, ...] = ()
    diverged: Diverged | None = None
    error: str = ""


class Change(msgspec.Struct, frozen=True):
    """One change of an exchange."""

    kind: str
    what: str
    expected: str = ""
    got: str = ""


class Drifted(msgspec.Struct, frozen=True):
    """An exchange that differs between the cassette and the new recording."""

    old: int = 0
    new: int = 0
    changes: tuple[Change, ...] = ()
    before: KeptScreen | None = None
    now: KeptScreen | None = None


class RunTrace(msgspec.Struct, frozen=True):
    """One use of a recording."""

    cassette: str
    action: str = ""
    divergences: tuple[ReportedDivergence, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    screens: tuple[KeptScreen, ...] = ()
    drift: tuple[Drifted, ...] = ()
    recordings: tuple[Recorded, ...] = ()

    @property
    def recorded(self) -> Recorded:
        """Its recording."""
        return self.recordings[0] if self.recordings else Recorded()


class Trace(msgspec.Struct, frozen=True):
    """A trace of a test."""

    report: str
    test: str
    outcome: str
    message: str = ""
    steps: tuple[Step, ...] = ()
    runs: tuple[RunTrace, ...] = ()

    @property
    def headline(self) -> str:
        """A summary: the first divergence, the drift, or the message."""
        for run in self.runs:
            if run.divergences:
                return run.divergences[0].line
            if run.drift:
                return "drifted: " + ", ".join(_named(one) for one in run.drift)
            if run.errors:
                return run.errors[0]
        errors = [line for line in self.message.split("\n") if line.startswith("E ")]
        return (errors[0][1:] if errors else self.message.strip().partition("\n")[0]).strip()


def _named(drifted: Drifted) -> str:
    number = drifted.old or drifted.new
    return f"input {number}" if number else "before any input"


def read_trace(path: Path) -> Trace:
    """The trace at ``path``.

    Raises:
        CassetteError: it cannot be read, is too large, or is not a trace.
    """
    try:
        data = read_plain(path, max_bytes=_MAX_BYTES)
    except CassetteError as exc:
        raise CassetteError(f"cannot be read: {exc.message}", where=str(path)) from exc
    try:
        trace = msgspec.json.decode(data, type=Trace)
    except (ValueError, RecursionError) as exc:
        raise CassetteError(f"not a trace of a test: {exc}", where=str(path)) from exc
    if trace.report != "ptycassette-trace":
        raise CassetteError("not a trace of a test", where=str(path))
    return trace
