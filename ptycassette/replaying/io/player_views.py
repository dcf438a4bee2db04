"""What a player shows a recording on: painted from our emulator, or the bytes as they are."""

from __future__ import annotations

from typing import Any, Protocol

from ptycassette.model import (
    Emulator,
    EmulatorFactory,
    Event,
    InputRecord,
    Screen,
    Size,
    painted_bytes,
)
from ptycassette.replaying.io.player_checkpoints import Checkpoints
from ptycassette.replaying.paint import clipped, paint, with_status


class TerminalPort(Protocol):
    """What the player needs of a terminal; ``PlayerTerminal`` is one."""

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
    """Let ``emulator`` see an event: output is fed, a resize is taken, the rest changes nothing."""
    if event.kind == "output":
        emulator.feed(painted_bytes(event))
    elif (
        isinstance(event.record, InputRecord)
        and event.record.kind == "resize"
        and event.record.size is not None
    ):
        emulator.resize(event.record.size)


class PaintedView:
    """Paints the screens of an emulator; nothing but paint reaches the terminal.

    Where the terminal has a row more than the recording, the status stands
    there; elsewhere it covers the last row while it is asked for.
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
        """Be as near before ``target_us`` as can be; returns the ``seq`` that was seen last."""
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
        """Paint the screen now; ``status`` where there is room, or on top when demanded."""
        screen, size = self.screen, self._terminal.size
        view = clipped(screen, size)
        if demand or size.rows > screen.size.rows:
            view = with_status(view, status)
        data = paint(self._painted, view, colors=self._colors)
        if data:
            self._terminal.write(data)
        self._painted = view

    def repaint(self) -> None:
        """The terminal is not what it was: paint everything next time."""
        self._painted = None

    def notice(self) -> str:
        """What the user should know about this view: that the screen is cut, or nothing."""
        screen, size = self.screen.size, self._terminal.size
        if screen.rows <= size.rows and screen.cols <= size.cols:
            return ""
        return f"recorded at {screen.cols}x{screen.rows}, cut to {size.cols}x{size.rows}"


class RawView:
    """Writes the recorded bytes as they are. There is no way back, and no status."""

    seekable = False

    def __init__(self, terminal: TerminalPort, *, clear: bytes = b"\x1b[0m\x1b[2J\x1b[H") -> None:
        self._terminal = terminal
        self._clear = clear
        self._fresh = True

    def restart(self, target_us: int) -> int:  # noqa: ARG002 - there is one place to start
        """Clear the screen before the next time round; the first time, leave it as it is."""
        if not self._fresh:
            self._terminal.write(self._clear)
        self._fresh = False
        return 0

    def feed(self, event: Event) -> None:
        """Write output through."""
        if event.kind == "output":
            self._terminal.write(event.data)

    def show(self, status: str, *, demand: bool = True) -> None:
        """Show nothing: the screen is the recording's alone."""

    def repaint(self) -> None:
        """Leave it to the terminal."""

    def notice(self) -> str:
        """Say nothing."""
        return ""
