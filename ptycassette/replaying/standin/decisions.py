"""The decisions of the stand-in engine, and its options."""

from __future__ import annotations

import msgspec

from ptycassette.model.events import Event, ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.replaying.scheduler import ReplayMode


class Play(msgspec.Struct, frozen=True):
    """Write the bytes of ``event``, an output event, now."""

    event: Event


class Listen(msgspec.Struct, frozen=True):
    """Wait for the driver, at most ``us`` microseconds (forever when None), then step again."""

    us: int | None


class Halt(msgspec.Struct, frozen=True):
    """Stop as the recorded program did, by ``signal`` (``tstp``), until it is continued."""

    signal: str


class RunEnded(msgspec.Struct, frozen=True):
    """The run is over.

    ``exit`` is the recorded end when the recording was played to it and holds one.
    ``killed_by`` is the signal by which the driver ended the program, if it was not recorded.
    """

    exit: ExitStatus | None
    complete: bool = True
    killed_by: str = ""


class Unplayed(msgspec.Struct, frozen=True):
    """The parts of the recording that were never reached."""

    inputs: int = 0
    outputs: int = 0
    output_bytes: int = 0
    first_seq: int = 0

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)


class StandinOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to play and compare.

    ``recorded_size`` is None when sizes are not compared (over pipes).
    ``input_timeout_us`` is how long the driver may take to act; None is for ever.
    ``stdin_is_stream``: the program's stdin was not a terminal.
    ``timing_tolerance_us`` is how far its pause may be from the recorded one; None is any.
    """

    mode: ReplayMode = "collapsed"
    scale: float = 1.0
    lenient: bool = False
    recorded_size: Size | None = None
    input_timeout_us: int | None = 60_000_000
    timing_tolerance_us: int | None = None
    stdin_is_stream: bool = False
