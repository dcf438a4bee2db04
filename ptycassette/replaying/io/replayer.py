"""``replay`` and ``areplay``: stream a cassette's events in recorded, scaled or no time.

The decisions are those of ``ptycassette.replaying.scheduler.Scheduler``; here are only the
clock and the sleeping. Replays share nothing, so one open cassette serves any
number of threads or tasks at once. To stop, leave the loop: there is nothing to
close, and a cancelled task is cancelled in its sleep.
"""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from ptycassette.cassette.timeline.index import TimeIndex
from ptycassette.cassette.timeline.transforms import between, chain, limit_idle
from ptycassette.keys.quantities import clock_text
from ptycassette.model.ports import AsyncSleeper, Clock, Emulator, EmulatorFactory, Sleeper
from ptycassette.model.records import (
    Event,
    FinalRecord,
    InputRecord,
    Manifest,
    moment_us,
    painted_bytes,
)
from ptycassette.model.screen import Screen, Size
from ptycassette.replaying.paint import clipped, paint, with_status
from ptycassette.replaying.scheduler import Emit, ReplayMode, Scheduler, Wait, replay_mode
from ptycassette.system.clock import MonotonicClock, SystemAsyncSleeper, SystemSleeper


class Replayable(Protocol):
    """An open ``Cassette``, or anything with the same methods."""

    @property
    def manifest(self) -> Manifest:
        """Has the default mode of replays."""
        ...

    def events(self) -> Iterator[Event]:
        """A fresh pass over all events."""
        ...


def seconds_to_us(seconds: float | None) -> int | None:
    """Seconds as whole microseconds; None stays None."""
    return None if seconds is None else round(seconds * 1_000_000)


def _idle_us(cassette: Replayable, idle_limit: float | None) -> int | None:
    """The limit of pauses; the cassette's own when None. None if pauses are as recorded."""
    limit_s = cassette.manifest.idle_limit_s if idle_limit is None else idle_limit
    return None if limit_s == math.inf else seconds_to_us(limit_s)


def timed_events(
    cassette: Replayable,
    *,
    start: float | None = None,
    end: float | None = None,
    idle_limit: float | None = None,
) -> Iterator[Event]:
    """The events from ``start`` to ``end`` (seconds as recorded), pauses cut to ``idle_limit``.

    The slice is taken first; after it, time starts at ``start``.
    """
    idle_us = _idle_us(cassette, idle_limit)
    start_us = seconds_to_us(start) or 0
    idle = None if idle_us is None else limit_idle(idle_us, start_us=start_us)
    return chain(cassette.events(), between(start_us, seconds_to_us(end)), idle)


def _scheduler(
    cassette: Replayable,
    *,
    mode: ReplayMode | None,
    scale: float,
    start: float | None,
    end: float | None,
    idle_limit: float | None,
) -> Scheduler:
    if isinstance(cassette, str | os.PathLike):
        raise TypeError(
            f"a replay needs an open cassette, not a path: use open_cassette({str(cassette)!r})"
        )
    return Scheduler(
        timed_events(cassette, start=start, end=end, idle_limit=idle_limit),
        mode=replay_mode(cassette.manifest, mode, scale=scale),
        scale=scale,
        start_us=seconds_to_us(start) or 0,
    )


def replay(
    cassette: Replayable,
    *,
    mode: ReplayMode | None = None,
    scale: float = 1.0,
    sleeper: Sleeper | None = None,
    clock: Clock | None = None,
    start: float | None = None,
    end: float | None = None,
    idle_limit: float | None = None,
) -> Iterator[Event]:
    """Iterate over the events of ``cassette``, each when it is due.

    Args:
        cassette: an open cassette; stays open and the caller's.
        mode: ``realtime`` sleeps the recorded gaps, ``scaled`` multiplies them
            by ``scale``, ``collapsed`` never sleeps. None: ``scaled`` when a scale is given, else
            the mode in the manifest.
        scale: 2.0 is half as fast, 0.5 twice as fast.
        sleeper: sleeps; the system's when None. Give the clock too: both must agree.
        clock: gives the time; the system's monotonic clock when None.
        start: from this moment on, seconds as recorded; included.
        end: up to this moment, seconds as recorded; included.
        idle_limit: no pause longer than this, seconds; ``math.inf`` keeps all pauses. None: what
            the recording suggests (``Manifest.idle_limit_s``).

    Yields:
        Events in order of ``seq``, chunks as recorded. A slow caller gets late events at once;
        nothing is dropped, and delays do not add up.

    Raises:
        TypeError: ``cassette`` is a path.
        ValueError: an unknown mode, a scale that is not a positive number or that
            the mode does not use, an end before the start.
    """
    scheduler = _scheduler(
        cassette, mode=mode, scale=scale, start=start, end=end, idle_limit=idle_limit
    )
    return _run(scheduler, sleeper or SystemSleeper(), clock or MonotonicClock())


def _run(scheduler: Scheduler, sleeper: Sleeper, clock: Clock) -> Iterator[Event]:
    while True:
        decision = scheduler.step(clock.now_us())
        if isinstance(decision, Emit):
            yield decision.event
        elif isinstance(decision, Wait):
            sleeper.sleep(decision.us / 1_000_000)
        else:
            return


def areplay(
    cassette: Replayable,
    *,
    mode: ReplayMode | None = None,
    scale: float = 1.0,
    sleeper: AsyncSleeper | None = None,
    clock: Clock | None = None,
    start: float | None = None,
    end: float | None = None,
    idle_limit: float | None = None,
) -> AsyncIterator[Event]:
    """Iterate as ``replay`` does, in an event loop; arguments, events and errors are the same.

    Without sleeps (``collapsed``) it still lets other tasks run now and then.
    """
    scheduler = _scheduler(
        cassette, mode=mode, scale=scale, start=start, end=end, idle_limit=idle_limit
    )
    return _arun(scheduler, sleeper or SystemAsyncSleeper(), clock or MonotonicClock())


TURN_EVENTS = 64
"""After so many events without a sleep, other tasks get their turn."""


async def _arun(scheduler: Scheduler, sleeper: AsyncSleeper, clock: Clock) -> AsyncIterator[Event]:
    since_turn = 0
    while True:
        decision = scheduler.step(clock.now_us())
        if isinstance(decision, Emit):
            since_turn += 1
            if since_turn >= TURN_EVENTS:
                since_turn = 0
                await sleeper.sleep(0)
            yield decision.event
        elif isinstance(decision, Wait):
            since_turn = 0
            await sleeper.sleep(decision.us / 1_000_000)
        else:
            return


# Checkpoints of the emulator, so that seeking back need not start from the beginning.


EVERY_BYTES = 500_000
KEEP = 32

E = TypeVar("E", bound=Emulator)


class Checkpoints(Generic[E]):
    """Saves a state every so many bytes; if there are too many, every second one is dropped.

    Args:
        save: the whole state of an emulator as bytes.
        load: an emulator that continues as the saved one would have.
        every_bytes: the first distance between two states.
    """

    def __init__(
        self,
        save: Callable[[E], bytes],
        load: Callable[[bytes], E],
        *,
        every_bytes: int = EVERY_BYTES,
    ) -> None:
        self._save = save
        self._load = load
        self._every = every_bytes
        self._since = 0
        self._states: list[tuple[int, int, bytes]] = []

    def fed(self, emulator: E, event: Event) -> None:
        """Save the state of ``emulator``, which has just seen ``event``, if that is due."""
        self._since += len(event.data)
        if self._since < self._every or (self._states and event.seq <= self._states[-1][0]):
            return
        self._since = 0
        self._states.append((event.seq, event.t_us, self._save(emulator)))
        if len(self._states) > KEEP:
            del self._states[::2]
            self._every *= 2

    def before(self, t_us: int) -> tuple[int, E] | None:
        """The last state at or before ``t_us``: the ``seq`` of its last event, and an emulator."""
        for seq, at_us, state in reversed(self._states):
            if at_us <= t_us:
                self._since = 0
                return seq, self._load(state)
        self._since = 0
        return None


# The views of a player: painted from our emulator, or the recorded bytes unchanged.


class TerminalPort(Protocol):
    """The player's port to a terminal, such as ``PlayerTerminal``."""

    resized: bool

    @property
    def size(self) -> Size:
        """The size now."""
        ...

    def write(self, data: bytes) -> None:
        """Paint."""
        ...

    def keys(self, timeout_s: float) -> list[str]:
        """Wait for keys."""
        ...

    def suspend(self) -> None:
        """Stop the process, as ctrl-z does."""
        ...


def feed_event(emulator: Emulator, event: Event) -> None:
    """Apply an event to ``emulator``: output or a resize; others change nothing."""
    if event.kind == "output":
        emulator.feed(painted_bytes(event))
    elif (
        isinstance(event.record, InputRecord)
        and event.record.kind == "resize"
        and event.record.size is not None
    ):
        emulator.resize(event.record.size)


class PaintedView:
    """Paints the screens of an emulator; only harmless sequences reach the terminal.

    If the terminal has more rows than the recording, the status is below it; otherwise it
    covers the last row while it is shown.
    """

    seekable = True

    def __init__(
        self,
        terminal: TerminalPort,
        factory: EmulatorFactory,
        size: Size,
        *,
        colors: bool = True,
        checkpoints: Checkpoints[Any] | None = None,
    ) -> None:
        self._checkpoints = checkpoints
        self._terminal = terminal
        self._factory = factory
        self._initial = size
        self._colors = colors
        self._emulator = factory(size)
        self._painted: Screen | None = None
        self._screen: Screen | None = None

    @property
    def screen(self) -> Screen:
        """The recording's screen now."""
        if self._screen is None:
            self._screen = self._emulator.snapshot()
        return self._screen

    def restart(self, target_us: int) -> int:
        """Go to the last checkpoint before ``target_us``; returns the ``seq`` of its last event."""
        found = self._checkpoints.before(target_us) if self._checkpoints is not None else None
        seq, self._emulator = found or (0, self._factory(self._initial))
        self._screen = None
        return seq

    def feed(self, event: Event) -> None:
        """Take an event; paints nothing yet."""
        feed_event(self._emulator, event)
        if self._checkpoints is not None:
            self._checkpoints.fed(self._emulator, event)
        self._screen = None

    def show(self, status: str, *, demand: bool = True) -> None:
        """Paint the screen; ``status`` where there is room, or over it on demand."""
        screen, size = self.screen, self._terminal.size
        view = clipped(screen, size)
        if demand or size.rows > screen.size.rows:
            view = with_status(view, status)
        data = paint(self._painted, view, colors=self._colors)
        if data:
            self._terminal.write(data)
        self._painted = view

    def repaint(self) -> None:
        """Paint everything next time, because the terminal has changed."""
        self._painted = None

    def notice(self) -> str:
        """A notice for the user if the screen is cut; else empty."""
        screen, size = self.screen.size, self._terminal.size
        if screen.rows <= size.rows and screen.cols <= size.cols:
            return ""
        return f"recorded at {screen.cols}x{screen.rows}, cut to {size.cols}x{size.rows}"


class RawView:
    """Writes the recorded bytes unchanged; without seeking back and without a status."""

    seekable = False

    def __init__(self, terminal: TerminalPort, *, clear: bytes = b"\x1b[0m\x1b[2J\x1b[H") -> None:
        self._terminal = terminal
        self._clear = clear
        self._fresh = True

    def restart(self, target_us: int) -> int:  # noqa: ARG002 - there is one place to start
        """Clear the screen, except before the first round."""
        if not self._fresh:
            self._terminal.write(self._clear)
        self._fresh = False
        return 0

    def feed(self, event: Event) -> None:
        """Write the output."""
        if event.kind == "output":
            self._terminal.write(event.data)

    def show(self, status: str, *, demand: bool = True) -> None:
        """Do nothing: only the recording is on the screen."""

    def repaint(self) -> None:
        """Do nothing: the terminal repaints itself."""

    def notice(self) -> str:
        """No notice."""
        return ""


# Plays a cassette in a terminal.


PAINT_EVERY_US = 33_000
"""Under continuous output, so often is painted and are keys looked at."""
STATUS_EVERY_US = 250_000
SEEK_US = 5_000_000
NOTICE_US = 2_000_000
SPEED_STEP = 1.5
KEYS_HINTS = ("space pause", "q quit", "<- -> seek", ". step", "+- speed", "home end")
"""What keys do, the most useful first: as many as fit are shown."""
FASTEST, SLOWEST = 100.0, 0.01


class PlayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to play. Times in seconds; ``speed`` 2.0 is twice as fast, in mode ``scaled``.

    ``idle_limit`` is as in ``replay``.
    """

    mode: ReplayMode = "realtime"
    speed: float = 1.0
    start: float | None = None
    end: float | None = None
    idle_limit: float | None = None
    loop: bool = False


class Playable(Protocol):
    """An open ``Cassette``, or anything with the same methods."""

    @property
    def manifest(self) -> Manifest:
        """The manifest, which has the size of the screen."""
        ...

    @property
    def final(self) -> FinalRecord:
        """The final record, which has the duration."""
        ...

    def events(self) -> Iterator[Event]:
        """A fresh pass over all events."""
        ...


class Player:
    """Plays ``cassette`` into ``view``, listening to the keys of ``terminal``.

    ``run`` returns when the recording is over or the user quits. The context manager of the
    terminal restores it.
    """

    def __init__(
        self,
        cassette: Playable,
        terminal: TerminalPort,
        view: PaintedView | RawView,
        *,
        options: PlayOptions | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._cassette = cassette
        self._terminal = terminal
        self._view = view
        self._options = options or PlayOptions()
        self._clock = clock or MonotonicClock()
        self._start_us = seconds_to_us(self._options.start) or 0
        self._speed = self._options.speed
        self._paused_us: int | None = None
        self._notice = ""
        self._notice_until = 0
        self._painted_at = -PAINT_EVERY_US
        self._index: TimeIndex | None = None
        self._quit = False
        self._scheduler = self._rewound()

    def run(self) -> None:
        """Play until the end, until ``q`` or ctrl-c, or, looping, until one of those."""
        self._seek(self._start_us)
        self._notify(self._view.notice())
        while not self._quit:
            if self._paused_us is not None:
                self._show()
                self._listen(STATUS_EVERY_US)
                continue
            now = self._clock.now_us()
            decision = self._scheduler.step(now)
            if isinstance(decision, Emit):
                self._view.feed(decision.event)
                if now - self._painted_at >= PAINT_EVERY_US:
                    self._show()
                    self._listen(0)
            elif isinstance(decision, Wait):
                self._show()
                self._listen(min(decision.us, STATUS_EVERY_US))
            elif not self._options.loop:
                self._show()
                return
            else:
                self._show()
                self._listen(PAINT_EVERY_US)  # an empty recording must not spin
                self._scheduler = self._rewound()
                self._seek(self._start_us)

    def _events(self) -> Iterator[Event]:
        """All events up to the end, including those before the start, which paint its screen."""
        idle_us = _idle_us(self._cassette, self._options.idle_limit)
        idle = None if idle_us is None else limit_idle(idle_us, start_us=self._start_us)
        return chain(self._cassette.events(), between(None, seconds_to_us(self._options.end)), idle)

    def _rewound(self, target_us: int = 0) -> Scheduler:
        """A scheduler for the events that the view still needs to reach ``target_us``."""
        seen = self._view.restart(target_us)
        scale = 1 / self._speed
        mode: ReplayMode = "collapsed" if self._options.mode == "collapsed" else "scaled"
        return Scheduler(
            (event for event in self._events() if event.seq > seen),
            mode=mode,
            scale=scale if mode == "scaled" else 1.0,
        )

    def _seek(self, target_us: int) -> None:
        """Seek to ``target_us``: forward by feeding events, back from a checkpoint or the start."""
        now = self._clock.now_us()
        if target_us < self._position_us(now):
            self._scheduler = self._rewound(target_us)
        looked_at = now
        while (event := self._scheduler.next_event) is not None and event.t_us <= target_us:
            self._view.feed(self._scheduler.skip(now))
            now = self._clock.now_us()
            if now - looked_at > STATUS_EVERY_US:
                looked_at = now
                self._view.show(f"seeking {_shown(event.t_us)} ...")
        self._scheduler.anchor(self._clock.now_us(), target_us)
        if self._paused_us is not None:
            self._paused_us = target_us

    def _position_us(self, now: int) -> int:
        if self._paused_us is not None:
            return self._paused_us
        return self._scheduler.position_us(now)

    def _listen(self, timeout_us: int) -> None:
        """Wait for keys, for a limited time, and perform their commands."""
        for key in self._terminal.keys(timeout_us / 1_000_000):
            self._press(key)
        if self._terminal.resized:
            self._terminal.resized = False
            self._view.repaint()
            self._notify(self._view.notice())

    def _press(self, key: str) -> None:
        now = self._clock.now_us()
        match key:
            case "q" | "Q" | "ctrl-c" | "ctrl-d":
                self._quit = True
            case "ctrl-z":
                position = self._position_us(now)
                self._terminal.suspend()
                self._scheduler.anchor(self._clock.now_us(), position)
            case "space":
                self._toggle_pause(now)
            case "+" | "=" | ">" | "up":
                self._change_speed(now, self._speed * SPEED_STEP)
            case "-" | "_" | "<" | "down":
                self._change_speed(now, self._speed / SPEED_STEP)
            case ".":
                self._step(now)
            case _ if self._view.seekable:
                self._press_seek(key, self._position_us(now))

    def _press_seek(self, key: str, position_us: int) -> None:
        match key:
            case "right":
                self._seek(min(position_us + SEEK_US, self._duration_us()))
            case "left":
                self._seek(max(position_us - SEEK_US, self._start_us))
            case "home":
                self._seek(self._start_us)
            case "end":
                self._seek(self._duration_us())
            case "]" | "[":
                self._seek_input(position_us, forward=key == "]")
            case "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9":
                span = self._duration_us() - self._start_us
                self._seek(self._start_us + span * int(key) // 10)

    def _seek_input(self, position_us: int, *, forward: bool) -> None:
        index = self._timed()
        at = index.seek(position_us if forward else position_us - 1)
        seq = index.after(at, "input") if forward else index.before(at + 1, "input")
        if seq is not None:
            self._seek(max(index.time_of(seq), self._start_us))

    def _step(self, now: int) -> None:
        while (event := self._scheduler.next_event) is not None:
            self._view.feed(self._scheduler.skip(now))
            self._paused_us = event.t_us
            if event.kind == "output":
                return

    def _toggle_pause(self, now: int) -> None:
        if self._paused_us is None:
            self._paused_us = self._position_us(now)
        else:
            self._scheduler.anchor(now, self._paused_us)
            self._paused_us = None

    def _change_speed(self, now: int, speed: float) -> None:
        self._speed = min(max(speed, SLOWEST), FASTEST)
        self._scheduler.rescale(now, 1 / self._speed)
        self._notify(f"speed {self._speed:.3g}x")

    def _timed(self) -> TimeIndex:
        if self._index is None:
            self._index = TimeIndex(self._events())
        return self._index

    def _duration_us(self) -> int:
        """The duration of playback; the time of the final record if no pause is cut."""
        idle_us = _idle_us(self._cassette, self._options.idle_limit)
        if idle_us is None and self._options.end is None:
            return moment_us(self._cassette.final)
        return self._timed().duration_us

    def _notify(self, text: str) -> None:
        self._notice = text
        self._notice_until = self._clock.now_us() + NOTICE_US

    def _show(self) -> None:
        now = self._clock.now_us()
        self._painted_at = now
        noticed = now < self._notice_until and bool(self._notice)
        state = "paused" if self._paused_us is not None else "playing"
        at, length = _shown(self._position_us(now)), _shown(self._duration_us())
        states = [f"{state} {at} / {length}", f"{state} {at}", at]
        if noticed:
            states = [*(f"{self._notice}  {one}" for one in states), self._notice, *states]
        extras = (f"{self._speed:.3g}x", *KEYS_HINTS)
        text = status_line(states, extras, self._terminal.size.cols)
        self._view.show(text, demand=noticed or state == "paused")


def _shown(t_us: int) -> str:
    return clock_text(t_us, decimals=1, minutes=True)


def status_line(states: Sequence[str], extras: Sequence[str], cols: int) -> str:
    """The longest of ``states`` that fits, then whatever else fits whole."""
    line = next((f" {state}" for state in states if len(state) < cols), states[-1][:cols])
    for extra in extras:
        if len(line) + 2 + len(extra) <= cols:
            line += f"  {extra}"
    return line
