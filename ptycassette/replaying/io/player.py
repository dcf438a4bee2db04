"""Plays a cassette in a terminal.

``PaintedView`` renders the recording with our own emulator, and paints its screens
with safe sequences only (``ptycassette.replaying.paint``). ``RawView`` writes the
recorded bytes themselves, on request.

Seeking back renders again, from the last checkpoint before that moment or from
the beginning: only that gives the exact screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from ptycassette.keys.quantities import clock_text
from ptycassette.model.events import Event, FinalRecord, moment_us
from ptycassette.model.manifest import Manifest
from ptycassette.model.ports import Clock
from ptycassette.replaying.io.player_views import PaintedView, RawView, TerminalPort
from ptycassette.replaying.io.replayer import seconds_to_us
from ptycassette.replaying.scheduler import Emit, ReplayMode, Scheduler, Wait
from ptycassette.system.clock import MonotonicClock
from ptycassette.timeline.index import TimeIndex
from ptycassette.timeline.transforms import between, chain, limit_idle

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
    """How to play. Times in seconds; ``speed`` 2.0 is twice as fast, in mode ``scaled``."""

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
        idle_us = seconds_to_us(self._options.idle_limit)
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
        """Seek to the next or the previous input."""
        index = self._timed()
        at = index.seek(position_us if forward else position_us - 1)
        seq = index.after(at, "input") if forward else index.before(at + 1, "input")
        if seq is not None:
            self._seek(max(index.time_of(seq), self._start_us))

    def _step(self, now: int) -> None:
        """Show the next output and pause."""
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
        """The duration of playback; that of the final record if no pause is cut."""
        if self._options.idle_limit is None and self._options.end is None:
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
