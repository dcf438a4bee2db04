"""The views of a player: painted from our emulator, or the recorded bytes unchanged."""

from __future__ import annotations

from typing import Any, Protocol

from ptycassette.model.events import Event, InputRecord
from ptycassette.model.geometry import Size
from ptycassette.model.ports import Emulator, EmulatorFactory
from ptycassette.model.screen import Screen
from ptycassette.model.streams import painted_bytes
from ptycassette.replaying.io.player_checkpoints import Checkpoints
from ptycassette.replaying.paint import clipped, paint, with_status


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
