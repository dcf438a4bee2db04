"""Faults of the terminal: what a driver may meet at a CLI that it drives. Pure.

A fault stands between a recording that is played and its driver. It sees each piece of output
before the driver does, each input before the recording does, and the end. What it adds is a valid
stream of a terminal: text, whole escape sequences, and bytes in any pieces, as a PTY delivers them.
The stand-in (``replaying.standin``) does what it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from ptycassette.faults.fault import Fault, FaultSpec
from ptycassette.faults.scene import Scene
from ptycassette.model.events import Event, ExitStatus
from ptycassette.model.geometry import Size
from ptycassette.model.streams import painted_bytes
from ptycassette.terminal.emulator import PyteEmulator
from ptycassette.terminal.repaint import RESET, repaint_bytes


class Show(msgspec.Struct, frozen=True):
    """Write ``data``, ``after_s`` seconds later than what came before."""

    data: bytes
    after_s: float = 0.0


class End(msgspec.Struct, frozen=True):
    """End the program, although the recording goes on."""

    exit: ExitStatus


Act = Show | End


class Typed(msgspec.Struct, frozen=True):
    """What becomes of input: ``passed`` goes to the recording; ``acts`` come at once."""

    passed: bytes = b""
    acts: tuple[Act, ...] = ()


class TerminalFault(Fault):
    """A fault of one run.

    Args:
        spec: what was asked for.
        scene: the recording.

    Attributes:
        fatal: the recorded conversation cannot be had with it: a driver can only say so. Of all
            others a driver can recover.
        needs_keys: it has no meaning for a program over pipes.
        at: the input that it is about; 0 is the start.
        met: whether the driver has met it.
        holds: the recording does not go on: a screen of the fault is shown.
        exchange: inputs that were played so far.
        offset: bytes of output since the last of them.
    """

    fatal: ClassVar[bool] = False
    needs_keys: ClassVar[bool] = False

    def __init__(self, spec: FaultSpec, scene: Scene) -> None:
        super().__init__(spec)
        self.scene = scene
        self.at = self.default_place() if spec.at is None else scene.checked(spec.at)
        self.met = False
        self.holds = False
        self.exchange = 0
        self.offset = 0
        self._emulator: PyteEmulator | None = None

    def default_place(self) -> int:
        """The input that it is about where none was named."""
        return self.scene.first_answered()

    def played(self, event: Event) -> None:
        """Note output that the recording has played, before ``output`` is asked."""
        if self._emulator is not None:
            self._emulator.feed(painted_bytes(event))

    def followed(self, size: Size) -> None:
        """Note that the recording has taken another size."""
        if self._emulator is not None:
            self._emulator.resize(size)

    # -- what a fault changes ------------------------------------------------------

    def begin(self) -> Iterator[Act]:
        """Before the first output."""
        yield from ()

    def output(self, event: Event) -> Iterator[Act]:
        """In place of a piece of output."""
        yield Show(event.data)

    def quiet(self) -> Iterator[Act]:
        """When the recording waits for the driver, or is over."""
        yield from ()

    def typed(self, data: bytes, now_us: int) -> Typed:
        """In place of input."""
        del now_us
        return Typed(data)

    def resized(self) -> bool:
        """Whether a resize reaches the recording."""
        return True

    def ending(self, exit_status: ExitStatus | None) -> ExitStatus | None:
        """How the program ends."""
        return exit_status

    # -- for those who paint -------------------------------------------------------

    def follow(self) -> None:
        """Follow the screen from now on, for ``repaint``."""
        self._emulator = PyteEmulator(self.scene.size)

    @property
    def screen(self) -> PyteEmulator:
        """The screen as the recording has it; after ``follow``."""
        assert self._emulator is not None  # noqa: S101 - followed since the start
        return self._emulator

    def repaint(self) -> bytes:
        """The recorded screen, whatever is shown."""
        return RESET + repaint_bytes(self.screen)

    @property
    def middle(self) -> int:
        """Half of the answer to the input that it is about, in bytes."""
        return self.scene.answers[self.at] // 2

    def cut(self, event: Event) -> tuple[bytes, bytes] | None:
        """A piece of output in which the middle of that answer is, cut there; None otherwise."""
        here = self.exchange == self.at and not self.met
        if not here or not self.scene.answers[self.at]:
            return None
        left = self.middle - self.offset
        if left >= len(event.data):
            return None
        self.met = True
        return event.data[: max(0, left)], event.data[max(0, left) :]


def exited(code: int) -> ExitStatus:
    """The end with a status."""
    return ExitStatus(code=code, exited=True, signaled=False)
