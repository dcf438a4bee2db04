"""The port between a session and its PTY: ``PtyChild`` or ``testing.ScriptedPty``.

Nothing here blocks. Whoever drives the session waits, on descriptors or for a script.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from ptycassette.model.events import ExitStatus
from ptycassette.model.geometry import Size


class LineMode(msgspec.Struct, frozen=True, kw_only=True):
    """The current mode of the terminal's line discipline (termios(3)).

    Attributes:
        canonical: ICANON: the program gets whole lines; the kernel silently cuts those
            of more than ``max_line`` bytes.
        echo: ECHO: what is typed is shown.
        resets: bytes that end the line or throw it away: newline, carriage
            return if ICRNL, VEOF, VEOL, VKILL, and VINTR, VQUIT, VSUSP if ISIG.
        max_line: how many bytes a line may have before its end.
    """

    canonical: bool = False
    echo: bool = True
    resets: bytes = b"\n\r"
    max_line: int = 4095

    @property
    def secret(self) -> bool:
        """Whether this is how a password prompt reads: whole lines, not shown."""
        return self.canonical and not self.echo


class Pty(Protocol):
    """The master side of a PTY with a program on its other side."""

    @property
    def ended(self) -> ExitStatus | None:
        """How the program ended, as soon as it did."""
        ...

    def read(self, max_bytes: int) -> bytes | None:
        """What the program wrote; None if there is nothing now, empty if nobody can write."""
        ...

    def write(self, data: bytes) -> int:
        """How many bytes from the front of ``data`` the terminal took; 0 when its queue is full."""
        ...

    def line_mode(self) -> LineMode:
        """The current mode of the line discipline."""
        ...

    def set_size(self, size: Size) -> None:
        """Give the terminal another size."""
        ...

    def send_signal(self, which: str | int) -> None:
        """Signal the foreground process group."""
        ...

    def request_end(self, grace_s: float) -> None:
        """Ask for the end of the program and all that it started; returns at once."""
        ...

    def poll(self) -> ExitStatus | None:
        """How the program ended, once nothing that it started is left either."""
        ...

    def close(self) -> None:
        """Close everything. Idempotent."""
        ...


class Scripted(Pty, Protocol):
    """A PTY whose program is a script: it knows when its next output is due."""

    def due_us(self) -> int | None:
        """The time, on the session's clock, of the next event that needs no input."""
        ...
