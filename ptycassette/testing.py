"""Public fakes for tests of programs that use ptycassette: clocks, scripted sessions, events."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Self

import msgspec

from ptycassette.cassette.io.writer import CassetteWriter
from ptycassette.model.ports import Clock, Emulator
from ptycassette.model.records import (
    Command,
    ContentDigest,
    EmulatorId,
    Event,
    ExitStatus,
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
from ptycassette.model.screen import DEFAULT_STYLE, Screen, Size, Style
from ptycassette.recording.sink_writer import event_of
from ptycassette.scrub.session import default_scrubber
from ptycassette.system.pty.process import exit_status, signal_name, signal_number
from ptycassette.system.pty.terminal import LineMode
from ptycassette.terminal.emulator import backend, default_emulator

# A PTY whose program is a script: sessions without a process, a thread or a clock.
#
# ::
#
# clock = ManualClock() pty = ScriptedPty(clock).say("> ").expect("hi\r").say("hello",
# after_s=1.5).exits(0) with Session.over(pty, clock=clock, sleeper=clock) as session:
# session.submit("hi") session.wait_for_text("hello")
#
# Time passes only while the session waits, through the sleeper that it got.


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the script: due ``after_us`` after the step before, once ``ready`` is true."""

    action: Callable[[], None]
    after_us: int = 0
    ready: Callable[[], bool] | None = None


class ScriptedPty:
    """A program that follows its script; each method below adds a step and returns self.

    Args:
        clock: the session's clock.

    Attributes:
        written: all input that the terminal took.
        sizes: every size that was set.
        signals: the short name of every signal that was sent.
        room: how many more bytes of input the terminal takes; None for any number.
        closed: whether the session has closed it.
    """

    def __init__(self, clock: Clock) -> None:
        self.written = b""
        self.sizes: list[Size] = []
        self.signals: list[str] = []
        self.room: int | None = None
        self.closed = False
        self._clock = clock
        self._at_us = clock.now_us()
        self._steps: deque[_Step] = deque()
        self._output: deque[bytes] = deque()
        self._unexpected = b""
        self._mode = LineMode()
        self._status: ExitStatus | None = None

    # --- the script --------------------------------------------------------------------

    def say(self, data: bytes | str, *, after_s: float = 0) -> Self:
        """Write output."""
        chunk = data.encode() if isinstance(data, str) else data
        return self._then(lambda: self._output.append(chunk), after_s=after_s)

    def expect(self, data: bytes | str) -> Self:
        """Read input until ``data`` has arrived."""
        wanted = data.encode() if isinstance(data, str) else data

        def consume() -> None:
            self._unexpected = self._unexpected.partition(wanted)[2]

        return self._then(consume, ready=lambda: wanted in self._unexpected)

    def expect_signal(self, which: str | int) -> Self:
        """Wait for a signal."""
        name = signal_name(which)
        return self._then(lambda: None, ready=lambda: name in self.signals)

    def mode(self, mode: LineMode) -> Self:
        """Switch the line discipline."""

        def switch() -> None:
            self._mode = mode

        return self._then(switch)

    def takes(self, room: int | None, *, after_s: float = 0) -> Self:
        """Limit the input queue to ``room`` more bytes; None for any number."""

        def make_room() -> None:
            self.room = room

        return self._then(make_room, after_s=after_s)

    def exits(self, code: int = 0, *, signal: str | None = None, after_s: float = 0) -> Self:
        """End, with a status or by a signal."""
        word = code << 8 if signal is None else signal_number(signal)
        return self._then(lambda: self._end(exit_status(word)), after_s=after_s)

    # --- the Pty -----------------------------------------------------------------------

    @property
    def ended(self) -> ExitStatus | None:
        """How the script ended."""
        self._run()
        return self._status

    def poll(self) -> ExitStatus | None:
        """How the script ended."""
        return self.ended

    def due_us(self) -> int | None:
        """When something happens by itself: at once for unread output, None for never."""
        self._run()
        if self._output:
            return self._clock.now_us()
        if not self._steps or self._steps[0].ready is not None:
            return None
        return self._at_us + self._steps[0].after_us

    def read(self, max_bytes: int) -> bytes | None:
        """The next output of the script."""
        self._run()
        if not self._output:
            return None if self._status is None else b""
        data = self._output.popleft()
        if len(data) > max_bytes:
            self._output.appendleft(data[max_bytes:])
        return data[:max_bytes]

    def write(self, data: bytes) -> int:
        """Take input, as far as there is room."""
        taken = data if self.room is None else data[: self.room]
        if self.room is not None:
            self.room -= len(taken)
        self.written += taken
        self._unexpected += taken
        self._run()
        return len(taken)

    def line_mode(self) -> LineMode:
        """The mode that the script has set."""
        self._run()
        return self._mode

    def set_size(self, size: Size) -> None:
        """Note the size."""
        self.sizes.append(size)

    def send_signal(self, which: str | int) -> None:
        """Note the signal."""
        self.signals.append(signal_name(which))
        self._run()

    def request_end(self, grace_s: float) -> None:
        """End at once: by SIGTERM, or by SIGKILL when there is no grace."""
        self._steps.clear()
        if self._status is None:
            self._end(exit_status(signal_number("term" if grace_s > 0 else "kill")))

    def close(self) -> None:
        """Note that the session closed it."""
        self.closed = True

    # --- inside ------------------------------------------------------------------------

    def _then(
        self,
        action: Callable[[], None],
        *,
        after_s: float = 0,
        ready: Callable[[], bool] | None = None,
    ) -> Self:
        self._steps.append(_Step(action=action, after_us=round(after_s * 1e6), ready=ready))
        return self

    def _run(self) -> None:
        """Do every step that is due."""
        while self._steps:
            step = self._steps[0]
            if step.ready is not None:
                if not step.ready():
                    return
                self._at_us = self._clock.now_us()
            elif self._clock.now_us() < self._at_us + step.after_us:
                return
            else:
                self._at_us += step.after_us
            self._steps.popleft()
            step.action()

    def _end(self, status: ExitStatus) -> None:
        self._status = status


# An adapter for reference checks: plain rows, cursor and cells.
#
# For scripts that compare emulators: an object with ``feed``, ``resize(rows, cols)``, ``rows()``,
# ``cursor()`` as (x, y) and ``cells()`` as rows of (text, foreground, background, attributes).
# Colours are ``None``, ``pN`` or ``#rrggbb``; attributes the letters ``b i u r s``. Links count as
# underlined, as xterm.js draws them.


CheckedCell = tuple[str, str | None, str | None, str]


def _color(color: int | str | None) -> str | None:
    return f"p{color}" if isinstance(color, int) else color


def _checked(text: str, style: Style) -> CheckedCell:
    attributes = (
        ("b", style.bold),
        ("i", style.italic),
        ("u", bool(style.underline) or style.link is not None),
        ("r", style.reverse),
        ("s", style.strike),
    )
    letters = "".join(letter for letter, on in attributes if on)
    return text, _color(style.fg), _color(style.bg), letters


def cell_texts(emulator: Emulator) -> list[list[str]]:
    """The text of every cell; the right half of a wide one is empty.

    Taken from the emulator's own cells, because the text of a row does not show how
    many cells a cluster takes.
    """
    cells = getattr(emulator, "cells", None)
    if cells is None:
        raise TypeError(f"{type(emulator).__name__} does not show its cells")
    texts: list[list[str]] = cells()
    return texts


class CheckedScreen:
    """Wraps an emulator for a reference check.

    Args:
        emulator: any backend.
    """

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator

    def feed(self, data: bytes) -> None:
        """Consume output."""
        self.emulator.feed(data)

    def resize(self, rows: int, cols: int) -> None:
        """Take another size."""
        self.emulator.resize(Size(rows, cols))

    def rows(self) -> list[str]:
        """The visible rows."""
        return list(self.emulator.snapshot().rows)

    def cursor(self) -> tuple[int, int]:
        """Column and row, counted from 0."""
        cursor = self.emulator.snapshot().cursor
        return cursor.col, cursor.row

    def cells(self) -> list[list[CheckedCell]]:
        """Every cell with its style."""
        screen = self.emulator.snapshot()
        return [
            [_checked(text, style) for text, style in zip(row, styles, strict=True)]
            for row, styles in zip(cell_texts(self.emulator), _cell_styles(screen), strict=True)
        ]


def _cell_styles(screen: Screen) -> list[list[Style]]:
    rows = []
    for runs in screen.styles:
        styles = [DEFAULT_STYLE] * screen.size.cols
        for run in runs:
            styles[run.col : run.col + run.length] = [run.style] * run.length
        rows.append(styles)
    return rows


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
        TypeError: an item is not a timed event (a ``Probed``, for example).
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
