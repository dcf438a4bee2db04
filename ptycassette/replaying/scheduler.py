"""The replay state machine: events and the time go in, decisions come out. No I/O, no clock.

Rules:

- Events are emitted in the given order, which is the order of ``seq``.
- An event is due at ``anchor_now + (t - anchor_t) * scale``. The anchor is a
  pair of moments (the caller's clock, the recording's) set when the replay
  starts; every due time is computed from it, so that a late sleeper makes one
  event late, but not those after it. The anchor moves only when the
  caller changes the clock of the replay: pause, another scale, an awaited
  input that arrived.
- ``realtime`` is scale 1. ``scaled`` multiplies every gap by ``scale`` (2.0 is
  half as fast). ``collapsed`` never waits; times are still the recording's.
- Asked to await input (the stand-in does), the scheduler stops before
  every input that the driver must send, and goes on when ``input_arrived`` is
  called; what follows is timed from that moment.

The caller's loop::

    match scheduler.step(clock.now_us()):
        case Emit(event=event): ...
        case Wait(us=us): sleeper.sleep(us / 1e6)
        case AwaitInput(event=event): ...      # only with await_input=True
        case Done(): break
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

import msgspec

from ptycassette.cassette.timeline.terminal_answers import is_terminal_answer
from ptycassette.errors import ManifestError
from ptycassette.model.records import Event, Manifest

ReplayMode = Literal["realtime", "scaled", "collapsed"]

LONGEST_WAIT_US = 3_600_000_000
"""One sleep at most; a recording may name times that no system call takes."""
FOREVER_US = 10**18


class Emit(msgspec.Struct, frozen=True, gc=False):
    """Emit ``event`` now."""

    event: Event


class Wait(msgspec.Struct, frozen=True, gc=False):
    """Step again in ``us`` microseconds (above 0). Earlier is harmless."""

    us: int


class AwaitInput(msgspec.Struct, frozen=True, gc=False):
    """The next event of the recording is ``event``, an input that must be sent first."""

    event: Event


class Done(msgspec.Struct, frozen=True, gc=False):
    """Everything was emitted."""


DONE = Done()
Decision = Emit | Wait | AwaitInput | Done


def replay_mode(
    manifest: Manifest, mode: ReplayMode | None = None, *, scale: float = 1.0
) -> ReplayMode:
    """The mode to replay in: the one asked for, else ``scaled`` for a scale, else the manifest's.

    Raises:
        ValueError: ``mode`` is not one of the three.
        ManifestError: no mode is asked for, and that of the manifest is unknown.
    """
    if mode is not None:
        return _mode(mode)
    if scale != 1.0:
        return "scaled"
    default = manifest.timing.replay_default
    if default not in get_args(ReplayMode):
        raise ManifestError(
            f"replay_default is {default!r}, none of {', '.join(get_args(ReplayMode))}",
            where="manifest.json",
            hint="choose the mode of the replay",
        )
    return _mode(default)


def _mode(mode: str) -> ReplayMode:
    for known in get_args(ReplayMode):
        if mode == known:
            found: ReplayMode = known
            return found
    raise ValueError(f"replay mode is one of {', '.join(get_args(ReplayMode))}, not {mode!r}")


class Scheduler:
    """Decides what a replay does next.

    Args:
        events: in order; read one ahead, never stored.
        mode: see the module.
        scale: what every gap is multiplied by in mode ``scaled``.
        start_us: the moment of the recording at which the replay starts; the
            first event is due as long after the start as it is after this moment.
        await_input: stop before inputs, see the module.

    Raises:
        ValueError: ``scale`` is not a finite number above 0, or is given in a
            mode that does not scale; ``mode`` is unknown.
    """

    def __init__(
        self,
        events: Iterable[Event],
        *,
        mode: ReplayMode = "realtime",
        scale: float = 1.0,
        start_us: int = 0,
        await_input: bool = False,
    ) -> None:
        if scale != 1.0 and mode != "scaled":
            raise ValueError(f"a scale is for mode 'scaled', not for {mode!r}")
        self._events: Iterator[Event] = iter(events)
        self._mode = _mode(mode)
        self._scale = _positive(scale)
        self._anchor_us = start_us
        self._anchor_now: int | None = None
        self._await_input = await_input
        self._next: Event | None = next(self._events, None)

    @property
    def next_event(self) -> Event | None:
        """The next event, or None at the end. Reading it does not change the state."""
        return self._next

    @property
    def scale(self) -> float:
        """The current factor for gaps."""
        return self._scale

    def step(self, now_us: int) -> Decision:
        """Decide the action at ``now_us`` of the caller's clock.

        The first call starts the replay.
        """
        event = self._next
        if event is None:
            return DONE
        if self._await_input and event.kind == "input" and not is_terminal_answer(event):
            return AwaitInput(event)
        if self._mode != "collapsed":
            wait_us = self._due_us(event, now_us) - now_us
            if wait_us > 0:
                return Wait(min(wait_us, LONGEST_WAIT_US))
        self._next = next(self._events, None)
        return Emit(event)

    def input_arrived(self, now_us: int) -> Event:
        """The awaited input came; what follows is timed from now. Returns the recorded input.

        Raises:
            RuntimeError: no input is awaited.
        """
        event = self._next
        if not self._await_input or event is None or event.kind != "input":
            raise RuntimeError("no input is awaited; call this after AwaitInput only")
        return self.skip(now_us)

    def skip(self, now_us: int) -> Event:
        """Take the next event now, due or not; what follows is timed from it.

        Raises:
            RuntimeError: everything was emitted.
        """
        event = self._next
        if event is None:
            raise RuntimeError("the replay is over, there is nothing to skip to")
        self.anchor(now_us, event.t_us)
        self._next = next(self._events, None)
        return event

    def position_us(self, now_us: int) -> int:
        """The current position in the recording; never beyond the next event."""
        if self._anchor_now is None:
            return self._anchor_us
        position = self._anchor_us + int((now_us - self._anchor_now) / self._scale)
        return position if self._next is None else min(position, self._next.t_us)

    def anchor(self, now_us: int, position_us: int) -> None:
        """Set the anchor: ``position_us`` of the recording is at ``now_us``. Ends a pause."""
        self._anchor_now = now_us
        self._anchor_us = position_us

    def rescale(self, now_us: int, scale: float) -> None:
        """Multiply gaps by ``scale`` from now on; ``realtime`` becomes ``scaled``.

        Raises:
            ValueError: ``scale`` is not a finite number above 0.
        """
        exact = _positive(scale)
        self.anchor(now_us, self.position_us(now_us))
        self._scale = exact
        if self._mode == "realtime":
            self._mode = "scaled"

    def _due_us(self, event: Event, now_us: int) -> int:
        if self._anchor_now is None:
            self._anchor_now = now_us
        gap_us = (event.t_us - self._anchor_us) * self._scale
        return self._anchor_now + (round(gap_us) if gap_us < FOREVER_US else FOREVER_US)


def _positive(scale: float) -> float:
    if not math.isfinite(scale) or scale <= 0:
        raise ValueError(f"a scale is a finite number above 0, not {scale}")
    return float(scale)
